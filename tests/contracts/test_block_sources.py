"""Every estimator and map gives the same result from any source of the same rows."""

from itertools import cycle

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, parquet
from scipy import sparse
from sklearn.base import clone, is_classifier, is_regressor

from skimp.data import open_rows
from tests.catalog import MAPS, parts
from tests.machines import ESTIMATORS
from tests.pairs import in_turn
from tests.problems import TOLERANCE, difference, labelled, regression
from tests.sources import ChunkedRows

CLASSIFIERS = [part for part in parts(ESTIMATORS) if is_classifier(part)]
REGRESSORS = [part for part in parts(ESTIMATORS) if is_regressor(part)]
UNEVEN = (3, 0, 1, 17, 0, 5)
SIZES = [(1,), UNEVEN, (0, 150, 0)]
LAYOUTS = ["float64", "float32", "csr"]


def outputs(model, X):
    return model.decision_function(X) if is_classifier(model) else model.predict(X)


def problem(estimator, dtype=np.float64):
    X, y, weight = (labelled if is_classifier(estimator) else regression)(dtype=dtype)
    return np.abs(X), y, weight


def tight(estimator):
    """Return an estimator whose solution depends on the rows alone, up to rounding."""
    estimator = clone(estimator).set_params(random_state=0)
    params = estimator.get_params()
    newton = is_classifier(estimator) and params.get("loss") == "squared_hinge"
    newton = newton and "solver" in params and not params.get("early_stopping")
    return estimator.set_params(tol=1e-12, alpha=1e-3) if newton else estimator


# a layout each, in turns: how rows are read does not depend on what is fitted
@pytest.mark.parametrize(
    ("estimator", "layout"), list(zip(parts(ESTIMATORS), cycle(LAYOUTS), strict=False)), ids=repr
)
def test_fit_and_predict(estimator, layout):
    X, y, weight = problem(estimator, "float64" if layout == "csr" else layout)
    X = sparse.csr_matrix(X) if layout == "csr" else X
    estimator = tight(estimator)
    expected = clone(estimator).fit(X, y, sample_weight=weight)
    block_rows = open_rows(X).block_rows

    model = clone(estimator).fit(ChunkedRows(X, y, weight, sizes=UNEVEN, block_rows=block_rows))
    np.testing.assert_array_equal(outputs(model, X), outputs(expected, X))
    np.testing.assert_array_equal(
        outputs(model, ChunkedRows(X, sizes=UNEVEN, block_rows=block_rows)), outputs(expected, X)
    )

    rows = ChunkedRows(X, y, weight, sizes=UNEVEN, block_rows=16)
    model = clone(estimator).fit(rows)
    allowed = TOLERANCE[rows.dtype]
    assert difference(outputs(model, X), outputs(expected, X)) <= allowed
    assert difference(outputs(expected, rows), outputs(expected, X)) <= allowed


@pytest.mark.parametrize("estimator", parts(ESTIMATORS), ids=repr)
def test_without_weights(estimator):
    X, y, _ = problem(estimator)
    estimator = clone(estimator).set_params(random_state=0)
    expected = clone(estimator).fit(X, y)
    model = clone(estimator).fit(ChunkedRows(X, y, block_rows=open_rows(X).block_rows))
    np.testing.assert_array_equal(outputs(model, X), outputs(expected, X))
    np.testing.assert_array_equal(model.predict(X), expected.predict(X))


@pytest.mark.parametrize("estimator", parts(ESTIMATORS), ids=repr)
def test_one_row_blocks_and_threads(estimator):
    X, y, weight = (values[:40] for values in problem(estimator))
    rows = ChunkedRows(X, y, weight, block_rows=1)
    one, two = (
        clone(estimator).set_params(random_state=0, n_jobs=n_jobs).fit(rows) for n_jobs in (1, 2)
    )
    np.testing.assert_array_equal(outputs(one, rows), outputs(two, rows))


@in_turn(n_classes=[2, 4], estimator=CLASSIFIERS)
def test_labels_of_any_kind(estimator, n_classes):
    X, y, weight = labelled(n_classes=n_classes)
    estimator = clone(estimator).set_params(random_state=0)
    expected = clone(estimator).fit(X, y, sample_weight=weight)
    names = np.array(["a", "bb", "ccc", "dddd"])
    model = clone(estimator).fit(ChunkedRows(X, names[y], weight, block_rows=8192))
    np.testing.assert_array_equal(model.classes_, names[:n_classes])
    np.testing.assert_array_equal(model.predict(ChunkedRows(X)), names[expected.predict(X)])


@pytest.mark.parametrize("estimator", REGRESSORS, ids=repr)
def test_several_outputs(estimator):
    X, y, weight = problem(estimator)
    estimator, Y = clone(estimator).set_params(random_state=0), np.column_stack([y, X[:, 0]])
    expected = clone(estimator).fit(X, Y, sample_weight=weight).predict(X)
    model = clone(estimator).fit(ChunkedRows(X, Y, weight, block_rows=8192))
    np.testing.assert_array_equal(model.predict(X), expected)


@in_turn(sizes=SIZES, feature_map=parts(MAPS))
def test_map(feature_map, sizes):
    X = np.abs(regression(d=5)[0])
    rows = ChunkedRows(X, sizes=sizes, block_rows=open_rows(X).block_rows)
    feature_map = clone(feature_map)
    if "random_state" in feature_map.get_params():
        feature_map.set_params(random_state=0)
    expected = clone(feature_map).fit_transform(X)
    found = clone(feature_map).fit(rows).transform(rows)
    if sparse.issparse(expected):
        found, expected = found.toarray(), expected.toarray()
    np.testing.assert_array_equal(found, expected)


def written(source, X, y, weight, folder):
    """Write rows to a file, and open it."""
    names = [f"x{j}" for j in range(X.shape[1])]
    table = pa.table([*X.T.copy(), y, weight], [*names, "y", "w"])
    if source == "npy":
        np.save(folder / "rows.npy", X)
        return open_rows(folder / "rows.npy", target=y, weight=weight)
    if source == "parquet":
        parquet.write_table(table, folder / "rows.parquet", row_group_size=len(X) // 3)
    else:
        csv.write_csv(table, folder / "rows.csv")
    return open_rows(folder / f"rows.{source}", target="y", weight="w")


FILES = ["npy", "parquet", "csv"]


@in_turn(source=FILES, estimator=parts(ESTIMATORS))
def test_a_file(estimator, source, tmp_path):
    X, y, weight = problem(estimator)
    estimator = clone(estimator).set_params(random_state=0)
    expected = clone(estimator).fit(X, y, sample_weight=weight)
    rows = written(source, X, y, weight, tmp_path)
    model = clone(estimator).fit(rows)
    np.testing.assert_array_equal(outputs(model, rows), outputs(expected, X))
    assert model.predict(rows).dtype == expected.predict(X).dtype


@pytest.mark.thorough
@pytest.mark.parametrize("source", FILES)
@pytest.mark.parametrize("estimator", parts(ESTIMATORS), ids=repr)
def test_every_file(estimator, source, tmp_path):
    test_a_file(estimator, source, tmp_path)
