import numpy as np
import pytest
from hypothesis import given, settings
from scipy import sparse
from sklearn.kernel_approximation import Nystroem as SklearnNystroem

from skimp.budgets import Budget, Fixed, Selector
from skimp.features import Nystroem
from skimp.kernels import Chi2, Gaussian, Laplacian, Linear, Polynomial
from tests.pairs import in_turn
from tests.problems import regression
from tests.reference import naive
from tests.strategies import FLOATS, matrices

KERNEL = Gaussian(0.5)


class Weighted(Selector):
    """The first rows, with rising weights."""

    def select_from(self, rows, size, kernel, rng, context):
        points = rows.collect().X[:size]
        return Budget(points, np.arange(size), np.linspace(0.5, 2, size))


def products(nystroem, X):
    Z = nystroem.fit(X).transform(X).astype(np.float64)
    return Z @ Z.T


@in_turn(
    rank=[None, 1, 5, 100], kernel=[KERNEL, Laplacian(0.5), Linear(), Polynomial(2, 0.3), Chi2(1)]
)
def test_equals_its_naive_twin(rank, kernel):
    X = np.abs(regression(80)[0])
    nystroem = Nystroem(kernel, budget=20, rank=rank, random_state=0)
    K = products(nystroem, X)
    B = nystroem.budget_.points
    expected = naive.nystroem(kernel(X, B), kernel(B), kernel(B, X), rank=rank)
    np.testing.assert_allclose(K, expected, atol=1e-6 * np.abs(expected).max())


@pytest.mark.parametrize("rank", [None, 5])
def test_weights_of_the_budget_matter_to_a_truncated_rank(rank):
    X = regression(80)[0]
    K = products(Nystroem(KERNEL, budget=20, selector=Weighted(), rank=rank), X)
    B, weights = X[:20], np.linspace(0.5, 2, 20)
    expected = naive.nystroem(KERNEL(X, B), KERNEL(B), KERNEL(B, X), rank=rank, weights=weights)
    np.testing.assert_allclose(K, expected, atol=1e-6)
    unweighted = naive.nystroem(KERNEL(X, B), KERNEL(B), KERNEL(B, X), rank=rank)
    assert (np.abs(K - unweighted).max() > 1e-3) == (rank is not None)


def test_products_equal_those_of_scikit_learn():
    X = regression(80)[0]
    nystroem = Nystroem(Laplacian(0.5), budget=20, random_state=0)
    K = products(nystroem, X)
    theirs = SklearnNystroem(kernel="laplacian", gamma=0.5, n_components=20)
    Z = theirs.fit(nystroem.budget_.points).transform(X)
    np.testing.assert_allclose(K, Z @ Z.T, atol=1e-8)


def test_a_full_budget_is_exact():
    X = regression(80)[0]
    for budget in (80, 1000):
        K = products(Nystroem(Laplacian(0.5), budget=budget), X)
        np.testing.assert_allclose(K, Laplacian(0.5)(X), atol=1e-10)


def test_products_with_a_point_of_the_budget_are_exact_and_the_rest_is_positive():
    X = regression(80)[0]
    nystroem = Nystroem(Laplacian(0.5), budget=20, random_state=0)
    missing = Laplacian(0.5)(X) - products(nystroem, X)
    assert np.abs(missing[nystroem.budget_.indices]).max() <= 1e-10
    assert np.linalg.eigvalsh(missing)[0] >= -1e-10


@pytest.mark.parametrize("dtype", FLOATS)
def test_duplicate_points_are_harmless(dtype):
    X = regression(80, dtype=dtype)[0]
    B = X[:10]
    repeated = Nystroem(KERNEL, selector=Fixed(np.vstack([B, B, B[::-1]])))
    expected = naive.nystroem(
        naive.gaussian(X, B, 0.5), naive.gaussian(B, B, 0.5), naive.gaussian(B, X, 0.5)
    )
    np.testing.assert_allclose(products(repeated, X), expected, atol=2000 * np.finfo(dtype).eps)
    assert repeated.width <= 10


@settings(max_examples=40, deadline=None)
@given(matrices(scales=(1e-6, 1.0, 1e6)))
def test_any_rows_have_finite_features_that_reproduce_the_kernel(X):
    nystroem = Nystroem("rbf", budget=100)
    K = products(nystroem, X)
    expected = naive.gaussian(X, X, nystroem.kernel_.gamma)
    eps = np.finfo(nystroem.dtype_).eps
    np.testing.assert_allclose(K, expected, atol=100 * np.sqrt(eps))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("wrap", [np.asarray, sparse.csr_matrix])
def test_a_kernel_that_is_zero_has_features_that_are_zero(dtype, wrap):
    X = wrap(np.zeros((6, 2), dtype))
    assert not Nystroem("linear", budget=4).fit_transform(X).any()


def test_width_is_the_rank():
    X = regression(80)[0]
    assert Nystroem(Laplacian(0.5), budget=20).fit(X).width == 20
    assert Nystroem(Linear(), budget=20).fit(X).width == 3
    assert Nystroem(KERNEL, budget=20, rank=7).fit(X).width == 7


def test_directions_below_the_precision_of_the_rows_are_left_out():
    X = regression(300, dtype=np.float32)[0]
    fitted = Nystroem(Gaussian(0.01), budget=100, random_state=0).fit(X)
    B = fitted.budget_.points
    values = np.linalg.eigvalsh(naive.gaussian(B, B, 0.01))
    resolved = np.count_nonzero(values >= np.finfo(np.float32).eps * values[-1])
    assert abs(fitted.width - resolved) <= 0.1 * resolved
