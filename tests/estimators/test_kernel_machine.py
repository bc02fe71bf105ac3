import re
import tracemalloc

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError

from skimp import KernelRegressor
from skimp.data import open_rows
from skimp.diagnostics import budget_curve, plan
from skimp.features import KernelProjection, Nystroem, RandomBinning, RandomFourier
from skimp.kernels import Gaussian, Laplacian, Linear, Polynomial
from skimp.losses import squared
from skimp.solvers import direct
from tests.models import APPROXIMATIONS, every_estimator, regressor
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


@every_estimator
@pytest.mark.parametrize("approximation", APPROXIMATIONS[1:])
def test_a_seed_decides(estimator, approximation):
    X, y, _ = labelled(200)
    first, again, other = (
        estimator(approximation=approximation, random_state=seed).fit(X, y).coef_
        for seed in (0, 0, 1)
    )
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


@every_estimator
@pytest.mark.parametrize("approximation", [None, 200, RandomFourier(n_components=200)])
def test_what_does_not_fit_in_memory_is_refused(estimator, approximation):
    X, y, _ = labelled(200)
    model = estimator(approximation=approximation, loss="squared", memory_limit="100KB")
    what = "an exact model of 200 rows" if approximation is None else "a model of 200 landmarks"
    with pytest.raises(MemoryError, match=f"{what}.* needs .* memory limit of .*memory_limit"):
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


NO_MAP = (
    "approximation must be None or an integer >= 1 or 'auto' or 'nystroem' or 'fourier' or "
    "'binning' or a feature map"
)


@every_estimator
@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"approximation": 0}, NO_MAP),
        ({"approximation": "automatic"}, NO_MAP),
        ({"approximation": Nystroem}, NO_MAP),
        ({"alpha": 0}, "alpha must be a number > 0 or 'auto', got 0."),
        ({"alpha": "automatic"}, "alpha must be a number > 0 or 'auto', got 'automatic'."),
        ({"alpha": np.nan}, "alpha must be a number > 0 or 'auto', got nan."),
        ({"fit_intercept": 1}, "fit_intercept must be True or False, got 1."),
        ({"memory_limit": "much"}, "memory_limit must be None or an integer >= 1 or a size such"),
        ({"memory_limit": 0}, "memory_limit must be None or an integer >= 1 or a size such as"),
        ({"n_jobs": 0}, "n_jobs must be None or an integer other than 0, got 0."),
        ({"verbose": -1}, "verbose must be an integer >= 0 or True or False, got -1."),
        ({"random_state": "x"}, "random_state must be None or an integer >= 0 or a NumPy random"),
        ({"kernel": "wavelet"}, "kernel must be 'auto', a kernel object or one of 'rbf'"),
        ({"loss": "zero_one"}, "loss must be a loss object or one of 'squared', 'hinge', "),
        ({"loss": 2}, "loss must be a loss object or one of 'squared', 'hinge', "),
        ({"solver": "sgd"}, "solver must be a solver object or one of 'auto', 'direct', 'newton',"),
        ({"solver": None}, "solver must be a solver object or one of 'auto', 'direct', 'newton',"),
        ({"tol": 0}, "tol must be None or a number > 0, got 0."),
        ({"tol": -1e-3}, "tol must be None or a number > 0, got -0.001."),
        ({"tol": "tight"}, "tol must be None or a number > 0, got 'tight'."),
        ({"max_iter": 0}, "max_iter must be None or an integer >= 1, got 0."),
        ({"max_iter": 2.5}, "max_iter must be None or an integer >= 1, got 2.5."),
        ({"warm_start": 1}, "warm_start must be True or False, got 1."),
        ({"early_stopping": "yes"}, "early_stopping must be True or False, got 'yes'."),
        ({"validation_fraction": 0.0}, "validation_fraction must be"),
        ({"validation_fraction": 1.0}, "validation_fraction must be"),
        ({"solver": "direct", "tol": 1e-3}, "tol must be None for Direct, got 0.001."),
        ({"solver": "direct", "max_iter": 7}, "max_iter must be None for Direct, got 7."),
    ],
)
def test_rules(estimator, params, message):
    X, y, _ = labelled(20)
    with pytest.raises(ValueError, match=re.escape(f"{estimator.__name__}: {message}")):
        estimator(**params).fit(X, y)


@every_estimator
@pytest.mark.parametrize("kernel", ["auto", "rbf"])
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
def test_a_size_in_the_place_of_a_kernel(estimator, kernel, approximation, call):
    X, y, _ = labelled(20)
    model = estimator(kernel, approximation=approximation)
    name, _, size = call.rstrip(")").partition("(")
    number = size.partition("=")[2]
    message = f"{name}: kernel must be a kernel, got the number {number}: write {call}."
    for use in (
        lambda: model.fit(X, y),
        lambda: plan(model, X),
        lambda: budget_curve(model, X, y),
        lambda: approximation.fit(X),
    ):
        with pytest.raises(ValueError, match=f"^{re.escape(message)}"):
            use()


@every_estimator
def test_a_budget_in_the_place_of_a_kernel(estimator):
    X, y, _ = labelled(20)
    message = f"got the number 300: write {estimator.__name__}(approximation=300)."
    with pytest.raises(ValueError, match=re.escape(message)):
        estimator(300).fit(X, y)


@every_estimator
def test_a_map_has_no_kernel_to_choose(estimator):
    X, y, _ = labelled(20)
    with pytest.raises(ValueError, match=r"Nystroem: kernel must be None, .* got 'auto'"):
        estimator(approximation=Nystroem("auto", budget=5)).fit(X, y)


@every_estimator
@pytest.mark.parametrize("kernel", ["auto", "laplacian"])
@pytest.mark.parametrize(
    ("name", "kind"),
    [("nystroem", Nystroem), ("fourier", RandomFourier), ("binning", RandomBinning)],
)
def test_names_stand_for_maps(estimator, name, kind, kernel):
    X, y, _ = labelled(60)
    options = {"alpha": 0.1, "random_state": 0}
    named = estimator(kernel, approximation=name, **options).fit(X, y)
    given = estimator(kernel, approximation=kind(), **options).fit(X, y)
    assert isinstance(named.approximation_, kind)
    assert repr(named.kernel_) == repr(given.kernel_)
    np.testing.assert_array_equal(named.predict(X), given.predict(X))
    assert [p.name for p in plan(named, X).phases] == [p.name for p in plan(given, X).phases]


@every_estimator
@pytest.mark.parametrize("random_state", [-1, "seed"])
def test_the_rule_for_the_seed_of_a_map(estimator, random_state):
    X, y, _ = labelled(20)
    feature_map = Nystroem(budget=3, random_state=random_state)
    with pytest.raises(ValueError, match="Nystroem: random_state must be None or an integer >= 0"):
        estimator(approximation=feature_map).fit(X, y)


@every_estimator
def test_objects_stand_for_their_names(estimator):
    X, y, _ = labelled(100)
    named = estimator("rbf", approximation=9, loss="squared", random_state=0).fit(X, y)
    given = estimator(Gaussian(), approximation=9, loss=squared, solver=direct, random_state=0)
    assert np.array_equal(given.fit(X, y).coef_, named.coef_)


@every_estimator
@pytest.mark.parametrize("approximation", [None, 5])
@pytest.mark.parametrize("bad", BAD)
def test_bad_rows_are_refused(estimator, approximation, bad):
    X, message = BAD[bad]
    model = estimator(approximation=approximation)
    with pytest.raises((ValueError, TypeError), match=message):
        model.fit(X, np.arange(X.shape[0]) % 2)
    model.fit(np.eye(3), [0, 1, 1])
    with pytest.raises((ValueError, TypeError), match=message):
        model.predict(X)


@every_estimator
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_negative_rows_are_refused_by_the_chi_square_kernel(estimator, n_jobs):
    X, y, _ = labelled(200)
    X = np.abs(X)
    X[150, 1] = -3
    rows = open_rows(X, target=y, block_rows=16)
    with pytest.raises(ValueError, match=re.escape("must not be negative for the Chi2 kernel")):
        estimator("chi2", approximation=5, n_jobs=n_jobs, random_state=0).fit(rows)


@every_estimator
@pytest.mark.parametrize("approximation", [None, 5])
def test_rows_without_any_row_that_counts(estimator, approximation):
    empty = ChunkedRows(np.empty((0, 3)), np.empty(0))
    absent = ChunkedRows(np.ones((5, 3)), np.arange(5) % 2, np.zeros(5))
    for rows in (empty, absent):
        with pytest.raises(ValueError, match="X must have at least one row of positive weight"):
            estimator(approximation=approximation).fit(rows)


@every_estimator
def test_rows_without_targets(estimator):
    message = f"{estimator.__name__} requires y to be passed, but the rows have none."
    with pytest.raises(ValueError, match=re.escape(message)):
        estimator().fit(open_rows(np.ones((5, 2))))


@every_estimator
def test_rows_bring_their_own_targets(estimator):
    X, y, _ = labelled(20)
    with pytest.raises(ValueError, match="targets and weights must be None for Rows"):
        estimator().fit(open_rows(X), y)


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
    with pytest.raises(MemoryError, match="a model of 300 landmarks"):
        regressor(4000, memory_limit="1MB").fit(X, y)


@pytest.mark.parametrize("approximation", [None, 30])
def test_overflow_is_an_error_that_says_what_to_rescale(approximation):
    X, y, _ = regression(100)
    with pytest.raises(ValueError, match="found infinity or NaN: rescale the columns"):
        regressor(approximation, Polynomial(99, gamma=9.0)).fit(1e200 * X, y)


@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_an_offset_of_the_columns_does_not_matter_to_a_linear_model(offset):
    X, y, _ = regression(400)
    expected = regressor(20, Linear()).fit(X, y).predict(X)
    shifted = regressor(20, Linear()).fit(X + offset, y).predict(X + offset)
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
