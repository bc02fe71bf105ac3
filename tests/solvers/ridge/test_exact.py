import numpy as np
import pytest

from skimp.kernels import Gaussian
from skimp.solvers import solve_exact
from tests.problems import regression
from tests.reference import naive

ALPHA = 1e-3


def problem(weighted):
    X, y, weight = regression(80)
    Y = np.column_stack([y, X[:, 0] ** 2])
    return X, Gaussian(0.5)(X), Y, weight + 0.5 if weighted else np.ones(80)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_equals_its_naive_twin(weighted, fit_intercept):
    _, K, Y, weight = problem(weighted)
    solution = solve_exact(K.copy(), Y, weight, alpha=ALPHA, fit_intercept=fit_intercept)
    coef, intercept = naive.kernel_ridge(
        K, Y, alpha=ALPHA, weight=weight, fit_intercept=fit_intercept
    )
    np.testing.assert_allclose(solution.coef, coef, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(solution.intercept, intercept, rtol=1e-8, atol=1e-12)
    F = K @ coef + intercept
    expected = naive.objective(Y, F, alpha=ALPHA, norm=np.trace(coef.T @ K @ coef), weight=weight)
    np.testing.assert_allclose(solution.history, [expected], rtol=1e-8)
    assert solution.converged
    assert solution.n_iter == 1
    assert "80" in solution.message


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_a_singular_kernel_matrix_with_a_tiny_penalty(fit_intercept):
    X, _, Y, weight = problem(False)
    K = X @ X.T
    Y = X @ np.ones((3, 2)) + 4 * fit_intercept
    solution = solve_exact(K.copy(), Y, weight, alpha=1e-11, fit_intercept=fit_intercept)
    np.testing.assert_allclose(K @ solution.coef + solution.intercept, Y, atol=1e-4)


@pytest.mark.parametrize("tiny", [1e-16, 1e-30])
def test_a_tiny_weight_is_nearly_an_absent_row(tiny):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 2)), rng.normal(size=(40, 1))
    weight = np.ones(40)
    weight[0] = tiny
    kernel = Gaussian(0.5)
    with_row = solve_exact(kernel(X), y, weight, alpha=1e-4, fit_intercept=True)
    alpha = 1e-4 * weight.sum() / 39
    without = solve_exact(kernel(X[1:]), y[1:], np.ones(39), alpha=alpha, fit_intercept=True)
    np.testing.assert_allclose(with_row.coef[1:], without.coef, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(with_row.intercept, without.intercept, rtol=1e-6)
