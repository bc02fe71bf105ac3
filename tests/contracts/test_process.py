"""Fits in other processes and in several threads at once."""

import os
from concurrent.futures import ThreadPoolExecutor

import joblib
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from threadpoolctl import threadpool_info

from skimp import KRLS, KernelRegressor
from skimp.kernels import Gaussian
from tests.catalog import parts
from tests.contracts.test_block_sources import outputs, problem
from tests.machines import ESTIMATORS
from tests.repository import run_python


def blas_threads():
    return [lib["num_threads"] for lib in threadpool_info() if lib["user_api"] == "blas"]


FORK = """
import os
import numpy as np
import signal
from skimp import KernelClassifier, KernelRegressor

X = np.random.default_rng(0).normal(size=(2000, 3))
y = X[:, 0] * X[:, 1]

def fit():
    given = {"approximation": 50, "alpha": 1e-3, "random_state": 0}
    # landmarks of a classifier are centres of scikit-learn's k-means, which runs on OpenMP
    classifier = KernelClassifier("rbf", **given).fit(X, y > 0)
    return np.c_[KernelRegressor("rbf", **given).fit(X, y).predict(X), classifier.predict(X)]

expected = fit()
child = os.fork()
if child == 0:
    signal.alarm(60)
    os._exit(0 if np.array_equal(fit(), expected) else 1)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
assert np.array_equal(fit(), expected)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_forked_child_fits():
    run_python("-c", FORK)


@pytest.mark.parametrize("estimator", parts(ESTIMATORS), ids=repr)
def test_joblib_file_predicts_the_same(estimator, tmp_path):
    X, y, _ = problem(estimator)
    model = clone(estimator).set_params(random_state=0).fit(X, y)
    joblib.dump(model, tmp_path / "model.joblib")
    loaded = joblib.load(tmp_path / "model.joblib")
    np.testing.assert_array_equal(outputs(loaded, X), outputs(model, X))


def test_grid_search_in_two_processes():
    X, y, _ = problem(KernelRegressor())
    grid = {"kernel__gamma": [0.1, 1.0], "approximation": [10, 20]}
    one, two = (
        GridSearchCV(
            KernelRegressor(Gaussian(), random_state=0), grid, cv=3, n_jobs=n_jobs, refit=True
        ).fit(X, y)
        for n_jobs in (1, 2)
    )
    assert one.best_params_ == two.best_params_
    np.testing.assert_allclose(
        one.cv_results_["mean_test_score"], two.cv_results_["mean_test_score"], rtol=1e-12
    )


@pytest.mark.parametrize("estimator", parts(ESTIMATORS), ids=repr)
def test_concurrent_fits(estimator):
    X, y, weight = problem(estimator)
    estimator = clone(estimator).set_params(random_state=0)

    def fit(_):
        return outputs(clone(estimator).fit(X, y, sample_weight=weight), X)

    expected, threads = fit(None), blas_threads()
    # LAPACK runs on all cores in the exact KRLS, which is equal to rounding (decision 0014)
    tolerance = 1e-9 if isinstance(estimator, KRLS) else 0.0
    with ThreadPoolExecutor(2) as pool:
        for found in pool.map(fit, range(4)):
            np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)
    assert blas_threads() == threads
