import numpy as np
import pytest
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Ridge
from sklearn.metrics import r2_score

from skimp.budgets import Fixed
from skimp.features import Nystroem, RandomFourier
from skimp.kernels import Gaussian, Laplacian
from tests.models import ALPHA, APPROXIMATIONS, regressor
from tests.pairs import pairwise
from tests.problems import difference, regression
from tests.reference import naive


@pytest.mark.parametrize(
    ("weighted", "kernel"), [(True, "rbf"), (False, "laplacian"), (True, "poly")]
)
def test_exact_equals_kernel_ridge_of_scikit_learn(weighted, kernel):
    X, y, weight = regression(150)
    weight = weight if weighted else None
    model = regressor(None, kernel, fit_intercept=False).fit(X, y, weight)
    kept = slice(None) if weight is None else weight > 0
    total = 150 if weight is None else weight.sum()
    theirs = KernelRidge(
        alpha=ALPHA * total, kernel=kernel, gamma=getattr(model.kernel_, "gamma", None), coef0=1
    )
    theirs.fit(X[kept], y[kept], sample_weight=None if weight is None else weight[kept])
    assert difference(model.predict(X), theirs.predict(X)) <= 1e-9


@pytest.mark.parametrize("weighted", [False, True])
def test_exact_with_an_intercept_equals_its_naive_twin(weighted):
    X, y, weight = regression(150)
    weight = weight + 1 if weighted else None
    model = regressor(None, Gaussian(0.5)).fit(X, y, weight)
    K = naive.gaussian(X, X, 0.5)
    coef, intercept = naive.kernel_ridge(K, y[:, None], alpha=ALPHA, weight=weight)
    assert difference(model.predict(X), (K @ coef + intercept)[:, 0]) <= 1e-9


@pairwise(
    weighted=[False, True], fit_intercept=[False, True], kernel=[Laplacian(0.5), Gaussian(0.5)]
)
def test_a_full_budget_is_exact(weighted, fit_intercept, kernel):
    bound = 1e-6 if isinstance(kernel, Gaussian) else 1e-9
    X, y, weight = regression(150)
    weight = weight if weighted else None
    exact = regressor(None, kernel, fit_intercept=fit_intercept).fit(X, y, weight)
    budget = regressor(1000, kernel, fit_intercept=fit_intercept).fit(X, y, weight)
    assert difference(budget.predict(X), exact.predict(X)) <= bound


@pairwise(weighted=[False, True], fit_intercept=[False, True], approximation=[None, 50])
def test_the_linear_kernel_is_ridge(weighted, fit_intercept, approximation):
    X, y, weight = regression(150)
    weight = weight if weighted else None
    total = 150 if weight is None else weight.sum()
    ridge = Ridge(alpha=total * 0.1, fit_intercept=fit_intercept).fit(X, y, weight)
    model = regressor(approximation, "linear", alpha=0.1, fit_intercept=fit_intercept)
    assert difference(model.fit(X, y, weight).predict(X), ridge.predict(X)) <= 1e-9


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_a_budget_equals_its_naive_twin(fit_intercept):
    X, y, weight = regression(150)
    model = regressor(20, Gaussian(0.5), fit_intercept=fit_intercept).fit(X, y, weight)
    B = model.approximation_.budget_.points
    Z, P = naive.gaussian(X, B, 0.5), naive.gaussian(B, B, 0.5)
    coef, intercept = naive.ridge(
        Z, y[:, None], alpha=ALPHA, weight=weight, penalty=P, fit_intercept=fit_intercept
    )
    F = Z @ coef + intercept
    assert difference(model.predict(X), F[:, 0]) <= 1e-7
    norm = (coef.T @ P @ coef).item()
    expected = naive.objective(y[:, None], F, alpha=ALPHA, norm=norm, weight=weight)
    assert model.solution_.history[-1] == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("approximation", APPROXIMATIONS[1:])
def test_features_are_a_ridge(approximation):
    X, y, _ = regression(150)
    model = regressor(approximation).fit(X, y)
    Z = model.approximation_.transform(X)
    coef, intercept = naive.ridge(Z, y[:, None], alpha=ALPHA)
    assert difference(model.predict(X), (Z @ coef + intercept)[:, 0]) <= 1e-7


@pytest.mark.parametrize(("approximation", "fit_intercept"), [(None, True), (30, False)])
def test_several_outputs_are_several_models(approximation, fit_intercept):
    X, y, weight = regression(150)
    Y = np.column_stack([y, X[:, 0], y**2])
    model = regressor(approximation, fit_intercept=fit_intercept).fit(X, Y, weight)
    assert model.predict(X).shape == (150, 3)
    assert model.coef_.shape[1] == model.intercept_.size == 3
    for j in range(3):
        single = regressor(approximation, fit_intercept=fit_intercept).fit(X, Y[:, j], weight)
        assert single.predict(X).shape == (150,)
        assert difference(model.predict(X)[:, j], single.predict(X)) <= 1e-8


@pytest.mark.parametrize("approximation", APPROXIMATIONS)
def test_a_weight_is_a_number_of_rows(approximation):
    X, y, weight = regression(100)
    counts = weight.astype(int)
    X, y, counts = X[counts > 0], y[counts > 0], counts[counts > 0]
    if approximation == 30 or isinstance(approximation, Nystroem):
        rank = getattr(approximation, "rank", None)
        approximation = Nystroem(selector=Fixed(X[:30]), rank=rank)
    weighted = regressor(approximation).fit(X, y, counts)
    repeated = regressor(approximation).fit(np.repeat(X, counts, axis=0), np.repeat(y, counts))
    assert difference(weighted.predict(X), repeated.predict(X)) <= 1e-7


@pytest.mark.parametrize("approximation", APPROXIMATIONS)
def test_a_weight_of_zero_is_an_absent_row(approximation):
    X, y, _ = regression(120)
    weight = np.r_[np.ones(100), np.zeros(20)]
    y[100:] = 1e9
    weighted = regressor(approximation).fit(X, y, weight)
    absent = regressor(approximation).fit(X[:100], y[:100])
    assert difference(weighted.predict(X), absent.predict(X)) <= 1e-8


@pytest.mark.parametrize("approximation", [None, 30, RandomFourier(n_components=100)])
def test_a_large_mean_of_y_loses_no_digits_in_float32(approximation):
    X, y, _ = regression(200, dtype=np.float32)
    near = regressor(approximation).fit(X, y)
    far = regressor(approximation).fit(X, y + 1e6)
    assert difference(far.predict(X) - 1e6, near.predict(X)) <= 0.05


@pytest.mark.parametrize(
    ("approximation", "kernel", "dtype"),
    [
        (None, "linear", np.float32),
        (30, "linear", np.float64),
        (Nystroem(budget=30, rank=8), "rbf", np.float32),
        (RandomFourier(n_components=31), "laplacian", np.float32),
    ],
)
def test_a_constant_y_and_constant_rows(approximation, kernel, dtype):
    X, y, _ = regression(50, dtype=dtype)
    model = regressor(approximation, kernel).fit(X, np.full(50, 3.0))
    np.testing.assert_allclose(model.predict(X), 3, rtol=1e-5)
    for value in (0, 1):
        X = np.full((50, 3), value, dtype)
        model = regressor(approximation, kernel).fit(X, y)
        np.testing.assert_allclose(model.predict(X), y.mean(), rtol=1e-5)


@pytest.mark.parametrize("weighted", [False, True])
def test_outliers_do_not_keep_a_robust_fit_from_converging(weighted):
    X, y, weight = regression(300)
    weight = weight if weighted else None
    spoilt = np.where(np.arange(300) % 10 == 0, 1e6, y)
    expected, model = (regressor(loss="huber", tol=tol) for tol in (1e-12, None))
    predictions = (fitted.fit(X, spoilt, weight).predict(X) for fitted in (expected, model))
    assert r2_score(*predictions) > 0.8
    assert abs(model.intercept_ - np.median(y)) < 3
