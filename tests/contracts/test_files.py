"""Every estimator and map writes to a file what it returns."""

import inspect

import numpy as np
import pytest
from pyarrow import parquet
from scipy import sparse
from sklearn.base import clone, is_classifier

import skimp
import skimp.features
from skimp.data import open_rows
from tests.catalog import MAPS, parts
from tests.contracts.test_block_sources import CLASSIFIERS, REGRESSORS, problem
from tests.machines import CLUSTERINGS, ESTIMATORS, HASHINGS, LOGISTIC, OF_ARRAYS
from tests.problems import labelled, regression
from tests.sources import ChunkedRows

METHODS = ["predict_proba", "predict_log_proba", "decision_function"]
PREDICTORS = [*parts(ESTIMATORS), *(p for p in parts(OF_ARRAYS) if is_classifier(p))]
TRANSFORMERS = [
    *parts(MAPS),
    *parts(HASHINGS),
    *parts(CLUSTERINGS),
    *(p for p in parts(ESTIMATORS) if hasattr(p, "transform")),
    *(p for p in parts(OF_ARRAYS) if hasattr(p, "transform")),
]
NAMES = np.array(["no", "maybe", "yes"])


def seeded(part):
    part = clone(part)
    return part.set_params(random_state=0) if "random_state" in part.get_params() else part


def columns(path):
    """Return the columns of a file by name."""
    table = parquet.read_table(path)
    return {name: table[name].to_numpy() for name in table.column_names}


@pytest.mark.parametrize("estimator", PREDICTORS, ids=repr)
def test_predictions(estimator, tmp_path):
    X, y, _ = problem(estimator)
    model = seeded(estimator).fit(X, y)
    written = model.predict_to(X, tmp_path / "y.parquet")
    assert written == tmp_path / "y.parquet"
    found = columns(written)
    assert list(found) == ["prediction"]
    expected = model.predict(X)
    np.testing.assert_array_equal(found["prediction"], expected)
    assert found["prediction"].dtype == expected.dtype


@pytest.mark.parametrize("estimator", parts(ESTIMATORS), ids=repr)
def test_predictions_of_rows(estimator, tmp_path):
    X, y, _ = problem(estimator)
    model = seeded(estimator).fit(X, y)
    rows = ChunkedRows(X, block_rows=open_rows(X).block_rows)
    found = columns(model.predict_to(rows, tmp_path / "y.parquet"))
    np.testing.assert_array_equal(found["prediction"], model.predict(X))


@pytest.mark.parametrize("estimator", CLASSIFIERS, ids=repr)
def test_strings_and_scores(estimator, tmp_path):
    X, y, _ = labelled()
    X = np.abs(X)
    model = seeded(estimator).fit(X, NAMES[y])
    found = columns(model.predict_to(X, tmp_path / "y.parquet"))
    assert found["prediction"].tolist() == model.predict(X).tolist()
    for method in METHODS:
        if not hasattr(model, method):
            with pytest.raises(ValueError, match=f"method='{method}' is not available"):
                model.predict_to(X, tmp_path / "no.parquet", method=method)
            continue
        found = columns(model.predict_to(X, tmp_path / "scores.parquet", method=method))
        prefix = {"predict_proba": "probability", "predict_log_proba": "log_probability"}
        prefix = prefix.get(method, "score")
        assert list(found) == [f"{prefix}_{name}" for name in model.classes_]
        expected = getattr(model, method)(X)
        np.testing.assert_array_equal(np.column_stack(list(found.values())), expected)
    assert not (tmp_path / "no.parquet").exists()


@pytest.mark.parametrize("estimator", REGRESSORS, ids=repr)
def test_several_outputs(estimator, tmp_path):
    X, y, _ = problem(estimator)
    model = seeded(estimator).fit(X, np.column_stack([y, X[:, 0]]))
    found = columns(model.predict_to(X, tmp_path / "y.parquet"))
    assert list(found) == ["prediction_0", "prediction_1"]
    np.testing.assert_array_equal(np.column_stack(list(found.values())), model.predict(X))


def test_two_classes_have_one_score(tmp_path):
    X, y, _ = labelled(n_classes=2)
    model = clone(LOGISTIC).fit(X, y.astype(bool))
    found = columns(model.predict_to(X, tmp_path / "s.parquet", method="decision_function"))
    assert list(found) == ["score"]
    np.testing.assert_array_equal(found["score"], model.decision_function(X))
    found = columns(model.predict_to(X, tmp_path / "s.parquet"))
    assert found["prediction"].dtype == bool
    found = columns(model.predict_to(X, tmp_path / "s.parquet", method="predict_proba"))
    assert list(found) == ["probability_False", "probability_True"]


@pytest.mark.parametrize("clustering", parts(CLUSTERINGS), ids=repr)
def test_clusters(clustering, tmp_path):
    X = regression()[0]
    model = seeded(clustering).fit(X)
    found = columns(model.predict_to(X, tmp_path / "clusters.parquet"))
    np.testing.assert_array_equal(found["prediction"], model.predict(X))


@pytest.mark.parametrize("transformer", TRANSFORMERS, ids=repr)
def test_features(transformer, tmp_path):
    X, y, _ = labelled(d=5)
    X = np.abs(X)
    model = seeded(transformer).fit(X, y)
    expected = model.transform(X)
    found = columns(model.transform_to(X, tmp_path / "Z.parquet"))
    assert list(found) == list(model.get_feature_names_out())
    expected = expected.toarray() if sparse.issparse(expected) else expected
    np.testing.assert_array_equal(np.column_stack(list(found.values())), expected)


def test_nothing_is_left_out():
    public = [getattr(folder, name) for folder in (skimp, skimp.features) for name in dir(folder)]
    classes = [part for part in public if inspect.isclass(part)]
    for method in ("predict", "transform"):
        found = [kind for kind in classes if hasattr(kind, method)]
        assert found
        assert all(hasattr(kind, f"{method}_to") for kind in found)
