import re
import threading
import tracemalloc

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from skimp import KernelClassifier, KernelRegressor
from skimp.data import open_rows
from skimp.diagnostics import budget_curve, plan
from skimp.features import KernelProjection, Nystroem, RandomBinning, RandomFourier
from skimp.kernels import Gaussian, Laplacian, Linear, Polynomial
from tests.models import APPROXIMATIONS, ESTIMATORS, every_estimator, regressor
from tests.problems import labelled, regression
from tests.sources import ChunkedRows
from tests.strategies import BAD


def test_a_map_s_own_kernel_and_seed_win():
    X, y, _ = regression(100)
    own = Nystroem(Laplacian(0.7), budget=10, random_state=7)
    model = KernelRegressor("rbf", approximation=own, random_state=0).fit(X, y)
    assert isinstance(model.kernel_, Laplacian)
    assert model.approximation_ is not own
    other = KernelRegressor("rbf", approximation=own, random_state=1).fit(X, y)
    assert np.array_equal(model.coef_, other.coef_)
    given = KernelRegressor(Linear(), approximation=Nystroem(budget=10)).fit(X, y)
    assert isinstance(given.kernel_, Linear)


def test_attributes_of_a_fitted_model():
    X, y, _ = regression(100)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    model = regressor(10).fit(frame, y)
    assert model.n_features_in_ == 3
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]
    assert model.coef_.shape == (10, 1)
    assert model.intercept_.shape == (1,)
    assert model.n_iter_ == 1
    assert model.kernel == "rbf"
    assert model.kernel_.gamma == pytest.approx(1 / (3 * X.var()), rel=1e-9)


@pytest.mark.parametrize(
    ("estimator", "approximation"), list(zip(ESTIMATORS * 2, APPROXIMATIONS[1:], strict=True))
)
def test_a_seed_decides(estimator, approximation):
    X, y, _ = labelled(200)
    first, again, other = (
        estimator(approximation=approximation, random_state=seed).fit(X, y).coef_
        for seed in (0, 0, 1)
    )
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


@pytest.mark.parametrize("approximation", [None, 200, RandomFourier(n_components=200)])
def test_what_does_not_fit_in_memory_is_refused(approximation):
    X, y, _ = regression(200)
    model = KernelRegressor(approximation=approximation, memory_limit="100KB")
    what = "exact model of 200 rows" if approximation is None else "200 landmarks"
    with pytest.raises(MemoryError, match=f"{what}.*100 KB"):
        model.fit(X, y)
    with pytest.raises(NotFittedError):
        model.predict(X)


@pytest.mark.parametrize("approximation", [None, 600, RandomFourier(n_components=600)])
def test_a_fit_stays_within_its_memory_limit(approximation):
    X, y, _ = regression(700)
    model = regressor(approximation, "laplacian", n_jobs=1).fit(X, y)
    tracemalloc.start()
    try:
        model.fit(X, y)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    with pytest.raises(MemoryError):
        model.set_params(memory_limit=int(0.8 * peak)).fit(X, y)


@every_estimator
def test_a_failed_fit_leaves_the_former_model(estimator):
    X, y, _ = labelled(100)
    model = estimator(approximation=10, random_state=0).fit(X, y)
    before, kernel, approximation = model.predict(X), model.kernel_, model.approximation_
    with pytest.raises(MemoryError):
        model.set_params(memory_limit=1, kernel="laplacian").fit(X, y)
    assert np.array_equal(model.predict(X), before)
    assert model.kernel_ is kernel
    assert model.approximation_ is approximation


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("approximation", 0),
        ("approximation", 2.0),
        ("approximation", True),
        ("approximation", "automatic"),
        ("approximation", Nystroem),
        ("alpha", 0),
        ("alpha", "automatic"),
        ("alpha", np.nan),
        ("fit_intercept", 1),
        ("memory_limit", "much"),
        ("memory_limit", 0),
        ("time_limit", -1),
        ("time_limit", "1s"),
        ("time_limit", np.nan),
        ("n_jobs", 0),
        ("verbose", -1),
        ("random_state", "x"),
        ("kernel", "wavelet"),
        ("kernel", None),
        ("loss", "zero_one"),
        ("solver", "lbfgs"),
        ("tol", 0),
        ("max_iter", 2.5),
        ("warm_start", 1),
        ("early_stopping", "yes"),
        ("validation_fraction", 0.0),
        ("validation_fraction", 1.0),
    ],
)
def test_rules(name, value):
    X, y, _ = labelled(20)
    estimator = ESTIMATORS[name == "loss"]
    found = f".*got {re.escape(repr(value))}"
    with pytest.raises(ValueError, match=rf"(?s){estimator.__name__}: {name} must be{found}"):
        estimator(**{name: value}).fit(X, y)


@pytest.mark.parametrize(("name", "value"), [("tol", 1e-3), ("max_iter", 7)])
def test_solvers_have_the_parameters_that_are_given(name, value):
    X, y, _ = regression(20)
    with pytest.raises(ValueError, match=f"{name} must be None for Direct, got {value}"):
        KernelRegressor(solver="direct", **{name: value}).fit(X, y)


@pytest.mark.parametrize(
    ("approximation", "call"),
    [
        (Nystroem(100), "Nystroem(budget=100)"),
        (RandomFourier(30), "RandomFourier(n_components=30)"),
        (RandomBinning(16), "RandomBinning(n_grids=16)"),
        (KernelProjection(8), "KernelProjection(n_components=8)"),
    ],
    ids=str,
)
def test_a_size_given_as_the_kernel(approximation, call):
    X, y, _ = regression(20)
    model = KernelRegressor(approximation=approximation)
    for use in (
        lambda: model.fit(X, y),
        lambda: plan(model, X),
        lambda: budget_curve(model, X, y),
        lambda: approximation.fit(X),
    ):
        with pytest.raises(ValueError, match=rf"kernel must be a kernel.*{re.escape(call)}"):
            use()


@every_estimator
def test_a_budget_given_as_the_kernel(estimator):
    X, y, _ = labelled(20)
    message = f"300.*{estimator.__name__}\\(approximation=300\\)"
    with pytest.raises(ValueError, match=message):
        estimator(300).fit(X, y)


@pytest.mark.parametrize(
    ("estimator", "kernel", "name", "kind"),
    [
        (KernelRegressor, "auto", "nystroem", Nystroem),
        (KernelClassifier, "laplacian", "fourier", RandomFourier),
        (KernelRegressor, "laplacian", "binning", RandomBinning),
    ],
)
def test_names_stand_for_maps(estimator, kernel, name, kind):
    X, y, _ = labelled(60)
    options = {"alpha": 0.1, "random_state": 0}
    named = estimator(kernel, approximation=name, **options).fit(X, y)
    given = estimator(kernel, approximation=kind(), **options).fit(X, y)
    assert isinstance(named.approximation_, kind)
    assert repr(named.kernel_) == repr(given.kernel_)
    np.testing.assert_array_equal(named.predict(X), given.predict(X))
    assert [p.name for p in plan(named, X).phases] == [p.name for p in plan(given, X).phases]


@pytest.mark.parametrize("bad", BAD)
def test_bad_rows_are_refused(bad):
    X, message = BAD[bad]
    model = KernelRegressor(approximation=5)
    with pytest.raises((ValueError, TypeError), match=message):
        model.fit(X, np.arange(X.shape[0]) % 2)
    model.fit(np.eye(3), [0, 1, 1])
    with pytest.raises((ValueError, TypeError), match=message):
        model.predict(X)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_negative_rows_are_refused_by_the_chi_square_kernel(n_jobs):
    X, y, _ = regression(200)
    X = np.abs(X)
    X[150, 1] = -3
    rows = open_rows(X, target=y, block_rows=16)
    with pytest.raises(ValueError, match=r"negative.*Chi2"):
        KernelRegressor("chi2", approximation=5, n_jobs=n_jobs, random_state=0).fit(rows)


@pytest.mark.parametrize("approximation", [None, 5])
def test_rows_without_any_row_that_counts(approximation):
    empty = ChunkedRows(np.empty((0, 3)), np.empty(0))
    absent = ChunkedRows(np.ones((5, 3)), np.arange(5) % 2, np.zeros(5))
    for rows in (empty, absent):
        with pytest.raises(ValueError, match="one row of positive weight"):
            KernelRegressor(approximation=approximation).fit(rows)


@every_estimator
def test_rows_without_targets(estimator):
    with pytest.raises(ValueError, match=f"{estimator.__name__} requires y"):
        estimator().fit(open_rows(np.ones((5, 2))))


@every_estimator
def test_targets_and_weights_of_rows_may_be_arrays(estimator):
    X, y, weight = labelled(60)
    model = estimator(approximation=10, alpha=1e-3, random_state=0)
    expected = clone(model).fit(X, y, weight)
    np.testing.assert_array_equal(model.fit(open_rows(X), y, weight).coef_, expected.coef_)
    with pytest.raises(ValueError, match="one entry for each of the 60 rows, found 59"):
        model.fit(open_rows(X), y[1:])


@every_estimator
def test_predict_before_fit_and_with_other_columns(estimator):
    X, y, _ = labelled(50)
    with pytest.raises(NotFittedError, match="is not fitted yet"):
        estimator().predict(X)
    model = estimator(approximation=5).fit(X, y)
    for other in (X[:, :2], sparse.csr_matrix(X[:, :2]), open_rows(X[:, :2])):
        with pytest.raises(ValueError, match=r"X has 2 features, but .* is expecting 3 features"):
            model.predict(other)


def test_memory_is_refused_before_anything_is_computed(monkeypatch):
    X, y, _ = regression(300)
    monkeypatch.setattr(Nystroem, "fit_rows", lambda *_: pytest.fail("fitted all the same"))
    with pytest.raises(MemoryError, match="300 landmarks"):
        regressor(4000, memory_limit="1MB").fit(X, y)


@pytest.mark.parametrize("approximation", [None, 30])
def test_overflow_is_an_error_that_says_what_to_rescale(approximation):
    X, y, _ = regression(100)
    with pytest.raises(ValueError, match="infinity or NaN: rescale"):
        regressor(approximation, Polynomial(99, gamma=9.0)).fit(1e200 * X, y)


def test_an_offset_of_the_columns_does_not_matter_to_a_linear_model():
    X, y, _ = regression(400)
    expected = regressor(20, Linear()).fit(X, y).predict(X)
    shifted = regressor(20, Linear()).fit(X + 1e6, y).predict(X + 1e6)
    np.testing.assert_allclose(shifted, expected, atol=1e-3)


def test_the_solution_has_the_intercept_of_the_model():
    X, y, _ = regression(100)
    model = regressor(20).fit(X, y + 100)
    assert np.array_equal(model.solution_.intercept, model.intercept_)
    assert model.predict(X).mean() == pytest.approx(y.mean() + 100, abs=0.1)


def test_an_exact_model_keeps_no_kernel_matrix():
    X, y, _ = regression(300)
    model = regressor(None).fit(X, y)
    assert not any(np.shape(value) == (300, 300) for value in vars(model.approximation_).values())


def test_one_job_starts_no_thread(monkeypatch):
    monkeypatch.setattr(threading.Thread, "start", None)
    X, y, _ = labelled(4000)
    model = KernelClassifier(Gaussian(0.5), approximation=20, alpha=1e-3, n_jobs=1).fit(X, y)
    model.typicality(X)
