import joblib
import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skimp import KernelClassifier, KernelRegressor
from skimp.features import RandomFourier
from skimp.kernels import Gaussian
from tests.problems import labelled

ESTIMATORS = [KernelRegressor, KernelClassifier]

every_estimator = pytest.mark.parametrize("estimator", ESTIMATORS)


def test_a_model_from_a_mapped_file_predicts_the_same(tmp_path):
    X, y, _ = labelled(200)
    model = KernelClassifier(approximation=20, random_state=0).fit(X, y)
    joblib.dump(model, tmp_path / "model.joblib")
    loaded = joblib.load(tmp_path / "model.joblib", mmap_mode="r")
    assert np.array_equal(loaded.predict(X), model.predict(X))


@every_estimator
def test_parameters_of_objects_can_be_set(estimator):
    model = estimator(Gaussian(1.0), approximation=RandomFourier(n_components=5))
    model.set_params(kernel__gamma=2.0, approximation__n_components=7, approximation__form="phase")
    assert model.kernel.gamma == 2.0
    assert model.approximation.n_components == 7
    copy = clone(model)
    assert copy.kernel is not model.kernel
    assert repr(copy) == repr(model)


@pytest.mark.parametrize(
    ("name", "params"),
    [
        ("kernel", "kernel__gamma"),
        ("approximation", "approximation__budget"),
        ("loss", "loss__epsilon"),
        ("solver", "solver__tol"),
    ],
)
def test_parameters_of_names_ask_for_an_object(name, params):
    with pytest.raises(ValueError, match=rf"{name} must be .*object"):
        KernelRegressor().set_params(**{params: 1})


def test_one_model_predicts_from_several_threads():
    X, y, _ = labelled(400)
    model = KernelRegressor("rbf", approximation=20, random_state=0).fit(X, y)
    fresh = joblib.Parallel(n_jobs=4, backend="threading")(
        joblib.delayed(model.predict)(X) for _ in range(8)
    )
    assert all(np.array_equal(predicted, model.predict(X)) for predicted in fresh)


def test_weights_are_routed_through_a_pipeline():
    X, y, weight = labelled(120)
    model = KernelRegressor("rbf", approximation=10, random_state=0)
    expected = clone(model).fit(StandardScaler().fit_transform(X), y, weight)
    with sklearn.config_context(enable_metadata_routing=True):
        scaler = StandardScaler().set_fit_request(sample_weight=False)
        asked = clone(model).set_fit_request(sample_weight=True)
        pipeline = make_pipeline(scaler, asked).fit(X, y, sample_weight=weight)
    assert np.array_equal(pipeline[-1].coef_, expected.coef_)
    assert not np.array_equal(expected.coef_, clone(model).fit(scaler.transform(X), y).coef_)


def test_weights_are_routed_through_a_grid_search():
    X, y, weight = labelled(120)
    model = KernelRegressor("rbf", approximation=10, random_state=0)
    with sklearn.config_context(enable_metadata_routing=True):
        asked = model.set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        search = GridSearchCV(asked, {"alpha": [1e-3, 1e3]}, cv=3)
        search.fit(X, y, sample_weight=weight)
    assert search.best_params_ == {"alpha": 1e-3}
    expected = clone(model).set_params(alpha=1e-3).fit(X, y, weight)
    assert np.array_equal(search.best_estimator_.coef_, expected.coef_)


def test_opening_a_task_leaves_a_fitted_model_alone():
    X = np.random.default_rng(0).normal(size=(60, 2))
    y = (X[:, 0] > 0).astype(int)
    model = KernelClassifier("rbf", approximation=10, alpha=1e-3, random_state=0).fit(X, y)
    expected = model.predict(X)
    task = model.open_task(X[:, :1], y + 10)
    assert (task.rows.n_features, model.n_features_in_) == (1, 2)
    assert np.array_equal(model.predict(X), expected)
