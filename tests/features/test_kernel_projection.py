import numpy as np
import pytest
from scipy import linalg, special, stats

from skimp.budgets import Fixed
from skimp.data import open_rows
from skimp.diagnostics import kernel_error
from skimp.features import KernelProjection
from skimp.kernels import Gaussian, Laplacian, Linear, Polynomial, Precomputed, Tanh
from tests.pairs import pairwise
from tests.problems import regression

METHODS = ["gaussian", "orthonormal", "pca"]
FULL = Laplacian(0.5)
"""A kernel whose matrix is well conditioned: p rows span p - 1 dimensions around their mean."""
KERNELS = [FULL, Gaussian(0.3), Polynomial(2, 0.5, 1.0), Linear()]


def centring(p):
    return np.eye(p) - 1 / p


def centred(kernel, X, B):
    """Return inner products of rows and points around the points' mean, in feature space."""
    K, means = kernel(X, B), kernel(B).mean(axis=0)
    return K - K.mean(axis=1, keepdims=True) - means + means.mean()


def coordinates(kernel, X, B):
    """Return coordinates of rows in the space of the points, and their number."""
    values, V = np.linalg.eigh(centring(len(B)) @ kernel(B) @ centring(len(B)))
    kept = values > 1e-9 * values[-1]
    return centred(kernel, X, B) @ V[:, kept] / np.sqrt(values[kept])


def sq_distances(Z):
    return ((Z[:, None] - Z[None]) ** 2).sum(axis=2)


def fit(X, kernel=FULL, **params):
    return KernelProjection(kernel, **{"random_state": 0, **params}).fit(X)


@pairwise(method=METHODS, kernel=KERNELS, dtype=[np.float32, np.float64])
def test_features_are_sums_of_centred_kernel_values(method, kernel, dtype):
    X = regression(1500, dtype=dtype)[0]
    fitted = fit(X, kernel, method=method, n_components=20, budget=25)
    B = fitted.landmarks_.points
    assert fitted.directions_.shape == (25, 20)
    X, B, W = (a.astype(np.float64) for a in (X, B, fitted.directions_))
    Z = fitted.transform(X)
    # values of these kernels are right to some units of their largest terms
    sums = np.abs(W).sum(axis=0) * np.abs(kernel(X, B)).max()
    assert (np.abs(Z - centred(kernel, X, B) @ W) <= 20 * np.finfo(dtype).eps * sums).all()


@pytest.mark.parametrize(("n_terms", "t"), [(1, 1), (4, 4), (12, 12), (30, 12), (10**9, 12)])
def test_gaussian_directions_are_whitened_sums_of_rows(n_terms, t):
    X, p, k = regression(100)[0], 25, 40
    fitted = fit(X, n_components=k, budget=p, n_terms=n_terms)
    H = centring(p)
    root = linalg.sqrtm(H @ FULL(fitted.landmarks_.points) @ H + 1 / p).real
    sums = root @ fitted.directions_ * np.sqrt(k * t / (p - 1)) + t / p
    np.testing.assert_allclose(sums, np.round(sums), atol=1e-10)
    assert set(np.round(sums).ravel()) == {0, 1}
    assert (np.round(sums).sum(axis=0) == t).all()
    # each hand has rows of its own
    assert len(np.unique(np.round(sums), axis=1).T) > 1


def mixed(fitted, k):
    """Return the random matrix M, up to signs of principal components."""
    B = fitted.landmarks_.points
    values, V = np.linalg.eigh(centring(len(B)) @ FULL(B) @ centring(len(B)))
    return np.sqrt(k * values[1:, None]) * (V[:, 1:].T @ fitted.directions_)


@pytest.mark.parametrize("k", [1, 10, 24, 60])
def test_orthonormal_directions_are_orthogonal_in_groups(k):
    M = mixed(fit(regression(100)[0], method="orthonormal", n_components=k, budget=25), k)
    assert M.shape == (24, k)
    for start in range(0, k, 24):
        group = M[:, start : start + 24]
        np.testing.assert_allclose(group.T @ group, 24 * np.eye(group.shape[1]), atol=1e-10)


def test_directions_in_principal_components_are_normal():
    M = mixed(fit(regression(100)[0], method="pca", n_components=200, budget=25), 200)
    u, n = np.sort(special.ndtr(M.ravel())), M.size
    distance = max((np.arange(1, n + 1) / n - u).max(), (u - np.arange(n) / n).max())
    # Dvoretzky, Kiefer, Wolfowitz: larger with a probability of at most 1e-6
    assert distance <= np.sqrt(np.log(2 / 1e-6) / (2 * n))


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize(
    ("method", "n_terms", "factor"),
    [("gaussian", 1, 0.95), ("gaussian", 6, 0.7), ("gaussian", 30, 0.5), ("pca", 30, 1)],
)
def test_the_mean_of_products_is_the_centred_nystroem_kernel(kernel, method, n_terms, factor):
    X, k = regression(8)[0], 4000
    B = regression(20, seed=1)[0]
    options = {"method": method, "n_terms": n_terms, "selector": Fixed(B)}
    Z = fit(X, kernel, n_components=k, **options).transform(X)
    U = coordinates(kernel, X, B)
    # components are independent of each other
    terms = k * np.einsum("ic,jc->ijc", Z, Z)
    standard_error = terms.std(axis=2, ddof=1) / np.sqrt(k)
    assert (np.abs(terms.mean(axis=2) - factor * U @ U.T) <= 5 * standard_error + 1e-12).all()


def products(X, kernel, draws, **params):
    rows, rng, Z = open_rows(X), np.random.default_rng(0), np.empty((2, params["n_components"]))
    found = np.empty(draws)
    for i in range(draws):
        KernelProjection(kernel, **params).fit_rows(rows, rng).map_block(X, Z)
        found[i] = Z[0] @ Z[1]
    return found


@pytest.mark.parametrize("k", [1, 9, 20])
@pytest.mark.parametrize("method", ["orthonormal", "pca"])
def test_the_mean_and_the_variance_of_products_are_those_of_theory(method, k):
    X, B, draws = regression(2)[0], regression(11, seed=1)[0], 200
    u, v = coordinates(FULL, X, B)
    inner, lengths, r = u @ v, (u @ u) * (v @ v), 10
    variance = (inner**2 + lengths) / k
    if method == "orthonormal":
        # sums over k of r coordinates of a uniform rotation, without replacement
        part = r * (lengths + 2 * inner**2) / (r + 2) - inner**2
        variance = max(0, r - k) / (k * (r - 1)) * part
    errors = products(X, FULL, draws, method=method, n_components=k, selector=Fixed(B)) - inner
    assert abs(errors.mean()) <= 5 * np.sqrt(variance / draws) + 1e-12
    squares = errors**2
    bound = 5 * squares.std(ddof=1) / np.sqrt(draws)
    assert abs(squares.mean() - variance) <= bound + 1e-12


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_orthonormal_directions_are_exact_where_they_fill_the_space(kernel):
    X, B = regression(30)[0], regression(20, seed=1)[0]
    U = coordinates(kernel, X, B)
    for times in (1, 3):
        k = times * U.shape[1]
        Z = fit(X, kernel, method="orthonormal", n_components=k, selector=Fixed(B)).transform(X)
        np.testing.assert_allclose(Z @ Z.T, U @ U.T, atol=1e-6 * np.abs(U @ U.T).max())


def test_distances_between_all_landmarks_are_the_kernels():
    X = regression(40)[0]
    K = FULL(X)
    exact = np.diag(K) + np.diag(K)[:, None] - 2 * K
    Z = fit(X, method="orthonormal", n_components=39).transform(X)
    np.testing.assert_allclose(sq_distances(Z), exact, atol=1e-12)
    k, pairs = 2000, 40 * 39 / 2
    # each of them is chi-square: outside with a probability of at most 1e-6
    low, high = stats.chi2(k).ppf([0.5e-6 / pairs, 1 - 0.5e-6 / pairs]) / k
    ratios = sq_distances(fit(X, method="pca", n_components=k).transform(X)) / np.where(
        np.eye(40, dtype=bool), 1, exact
    )
    off = ratios[~np.eye(40, dtype=bool)]
    assert low <= off.min()
    assert off.max() <= high


def test_a_constant_of_the_kernel_changes_nothing():
    X = regression(60)[0]
    params = {"n_components": 9, "budget": 20}
    expected = fit(X, Linear(), **params).transform(X)
    for kernel in (Polynomial(1, 1.0, 0.0), Polynomial(1, 1.0, 7.0)):
        np.testing.assert_allclose(fit(X, kernel, **params).transform(X), expected, atol=1e-12)
    shifted = fit(X + 3, Linear(), **params).transform(X + 3)
    np.testing.assert_allclose(shifted, expected, atol=1e-12)
    exact = {**params, "method": "orthonormal"}
    Z = fit(X, Polynomial(1, 1.0, 7.0), **exact).transform(X)
    np.testing.assert_allclose(sq_distances(Z), sq_distances(X), atol=1e-11)


@pairwise(
    method=METHODS,
    kernel=KERNELS,
    case=[
        (np.ones((20, 2)), 5),
        (np.ones((1, 2)), 5),
        (regression(20)[0], 1),
        (np.zeros((3, 2)), 2),
    ],
    dtype=[np.float32, np.float64],
)
def test_rows_that_span_nothing_have_features_that_are_zero(method, kernel, case, dtype):
    X, budget = case
    fitted = fit(X.astype(dtype), kernel, method=method, n_components=6, budget=budget)
    assert np.array_equal(fitted.transform(X.astype(dtype)), np.zeros((len(X), 6)))
    other = fitted.transform(np.full((3, X.shape[1]), 9, dtype))
    assert not other.any()


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kernel", [Gaussian(0.01), Gaussian(1e-4), Polynomial(3, 1e-3)], ids=repr)
def test_nearly_singular_kernels_in_single_precision(method, kernel):
    X = regression(200, dtype=np.float32)[0]
    fitted = fit(X, kernel, method=method, n_components=300, budget=80)
    Z = fitted.transform(X)
    assert Z.dtype == np.float32
    X, B, W = (a.astype(np.float64) for a in (X, fitted.landmarks_.points, fitted.directions_))
    # kernel values and directions are rounded, and their products and sums
    bound = 4 * np.finfo(np.float32).eps * np.abs(W).sum(axis=0) * np.abs(kernel(X, B)).max()
    assert (np.abs(Z - centred(kernel, X, B) @ W) <= bound).all()


@pytest.mark.parametrize("method", METHODS)
def test_repeated_points_are_harmless(method):
    X, B = regression(50)[0], regression(10, seed=1)[0]
    Z = fit(X, method=method, n_components=18, selector=Fixed(np.vstack([B, B]))).transform(X)
    assert np.isfinite(Z).all()
    if method == "orthonormal":
        U = coordinates(FULL, X, B)
        np.testing.assert_allclose(Z @ Z.T, U @ U.T, atol=1e-10)


def test_points_of_a_matrix_of_values():
    X = regression(40)[0]
    params = {"n_components": 15, "budget": 10}
    by_rows = fit(X, **params).transform(X)
    numbers = np.arange(40)[:, None]
    by_numbers = fit(numbers, Precomputed(FULL(X)), **params).transform(numbers)
    np.testing.assert_allclose(by_numbers, by_rows, atol=1e-12)


def test_a_fit_that_fails_leaves_the_map_as_it_was():
    X = regression(20)[0]
    fitted = fit(X, n_components=4)
    before = fitted.transform(X)
    with pytest.raises(ValueError, match="positive definite"):
        fitted.set_params(kernel=Tanh(), n_components=5).fit(2 * X)
    assert np.array_equal(fitted.transform(X), before)


@pytest.mark.parametrize(
    ("kernel", "shift"), [(Polynomial(2, 1.0, 0.0), 1000), (Gaussian(1e-6), 0), (Gaussian(0.1), 0)]
)
def test_single_precision_keeps_distances_that_are_small_beside_the_kernel(kernel, shift):
    X = (np.random.default_rng(0).normal(size=(200, 5)) + shift).astype(np.float32)
    projection = KernelProjection(
        kernel, method="orthonormal", n_components=150, budget=100, random_state=0
    )
    exact = projection.fit(X.astype(np.float64)).transform(X)
    Z = projection.fit(X).transform(X)
    assert Z.dtype == np.float32
    # squares of coordinates of unit size are off by twice the tolerance of the map
    apart = np.abs(Z @ Z.T - exact @ exact.T).max()
    assert apart <= 4e-3 * np.abs(exact @ exact.T).max()


def test_kernel_errors_are_those_around_means():
    X = np.random.default_rng(0).normal(size=(100, 3))
    projection = KernelProjection(
        Gaussian(0.1), method="orthonormal", n_components=990, budget=100, random_state=0
    )
    assert kernel_error(projection.fit(X), X)["frobenius"] < 1e-8


def test_features_that_overflow_are_refused():
    X = regression(40)[0].astype(np.float32)
    fitted = KernelProjection(Polynomial(2), n_components=10, random_state=0).fit(X)
    with pytest.raises(ValueError, match="rescale the columns of X"):
        fitted.transform(np.float32(1e30) * X)
