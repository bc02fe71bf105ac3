from itertools import product

import numpy as np
import pytest
from scipy import sparse

from skimp.features import RandomMaclaurin
from tests.pairs import pairwise
from tests.problems import regression, with_gaps

WIDTHS = [0.3, 0.0, 0.7]
SHORT = np.array([[0.6, -0.5, 0.4], [0.3, 0.2, 0.7]])


def fitted_signs(fitted):
    """Return the vectors of each feature, of roots of gamma times signs, as lists."""
    drawn = fitted._functions
    ones = drawn.vectors.shape[1] - 1
    assert drawn.offset[ones] == 1
    assert not drawn.vectors[:, ones].any()
    assert not drawn.offset[:ones].any()
    chosen = drawn.factors[0].T
    return [[drawn.vectors[:, f] for f in numbers if f != ones] for numbers in chosen]


def naive_features(fitted, X):
    """The formula: for each feature, a product of as many factors as it has."""
    X = X.toarray() if sparse.issparse(X) else X
    of_features, c, g = fitted_signs(fitted), fitted.coef0, fitted.degree
    Z = np.empty((len(X), len(of_features)))
    for i, x in enumerate(X):
        for j, vectors in enumerate(of_features):
            Z[i, j] = np.sqrt((1 + c) ** g / len(of_features)) * np.prod([x @ w for w in vectors])
    return Z


def outcomes(x, y, degree, coef0):
    """Return all values of k z_c(x) z_c(y) and their probabilities; roots of gamma are in x, y."""
    W, p = np.array(list(product([-1, 1], repeat=len(x)))), 1 / (1 + coef0)
    of_factor = (1 + coef0) * np.append((W @ x) * (W @ y), 1)
    chances = np.append(np.full(len(W), p / len(W)), 1 - p)
    w, probability = np.ones(1), np.ones(1)
    for _ in range(degree):
        w = np.outer(w, of_factor).ravel()
        probability = np.outer(probability, chances).ravel()
    return w, probability


def variance(x, y, degree, gamma, coef0):
    """k times the variance of the documentation."""
    m = (x @ x) * (y @ y) + 2 * (x @ y) ** 2 - 2 * (x**2 * y**2).sum()
    return ((1 + coef0) * (coef0 + gamma**2 * m)) ** degree - (gamma * x @ y + coef0) ** (
        2 * degree
    )


@pairwise(degree=[1, 2, 3, 4], coef0=[0.0, 0.4, 20.0], gamma=[0.5, WIDTHS, "scale"], k=[1, 8, 11])
def test_features_are_those_of_the_formula(degree, coef0, gamma, k):
    X = regression(20)[0]
    options = {"n_components": k, "gamma": gamma, "coef0": coef0, "random_state": 0}
    fitted = RandomMaclaurin(degree, **options).fit(X)
    for rows in (X, with_gaps(X)):
        expected = naive_features(fitted, rows)
        np.testing.assert_allclose(fitted.transform(rows), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("gamma", [4.0, [4.0, 0.0, 9.0]], ids=str)
def test_vectors_are_signs_times_roots_of_gamma_and_none_is_shared(gamma):
    fitted = RandomMaclaurin(3, n_components=2000, gamma=gamma, coef0=1.0, random_state=0)
    of_features = fitted_signs(fitted.fit(SHORT))
    vectors = np.array([w for vectors in of_features for w in vectors])
    n, root = len(vectors), np.sqrt(gamma)
    assert n == fitted._functions.vectors.shape[1] - 1
    assert np.array_equal(np.abs(vectors), np.broadcast_to(root, (n, 3)))
    # sums of n signs, and of products of two of them
    signs = np.sign(vectors)
    assert np.abs(signs.sum(axis=0)).max() <= 5 * np.sqrt(n)
    assert abs(signs[:, 0] @ signs[:, 2]) <= 5 * np.sqrt(n)


@pytest.mark.parametrize("coef0", [0.0, 0.4, 3.0])
@pytest.mark.parametrize("degree", [1, 2, 4])
def test_the_number_of_factors_is_binomial(coef0, degree):
    k, p = 5000, 1 / (1 + coef0)
    fitted = RandomMaclaurin(degree, n_components=k, coef0=coef0, random_state=0).fit(SHORT)
    sizes = np.array([len(vectors) for vectors in fitted_signs(fitted)])
    for n in range(degree + 1):
        chances = [product for product in np.ndindex(*(2,) * degree) if sum(product) == n]
        share = len(chances) * p**n * (1 - p) ** (degree - n)
        bound = 5 * np.sqrt(share * (1 - share) / k)
        assert abs((sizes == n).mean() - share) <= bound + 1e-12


@pairwise(degree=[1, 2, 3, 4], coef0=[0.0, 0.4, 2.0], gamma=[1.0, 1.7])
def test_the_variance_of_the_documentation_is_exact(degree, coef0, gamma):
    x, y = SHORT
    for a, b in ((x, y), (x, x)):
        w, probability = outcomes(np.sqrt(gamma) * a, np.sqrt(gamma) * b, degree, coef0)
        mean = probability @ w
        assert probability.sum() == pytest.approx(1, rel=1e-12)
        assert mean == pytest.approx((gamma * a @ b + coef0) ** degree, rel=1e-10)
        expected = variance(a, b, degree, gamma, coef0)
        assert probability @ (w - mean) ** 2 == pytest.approx(expected, rel=1e-9)


@pairwise(degree=[1, 2, 3, 4], coef0=[0.0, 0.4, 2.0], gamma=[1.0, 1.7, WIDTHS])
def test_drawn_features_have_the_mean_and_variance_of_theory(degree, coef0, gamma):
    k = 20_000
    options = {"n_components": k, "gamma": gamma, "coef0": coef0, "random_state": 0}
    fitted = RandomMaclaurin(degree, **options).fit(SHORT)
    Z, A = fitted.transform(SHORT), SHORT * np.sqrt(gamma)
    for i, j in ((0, 0), (0, 1), (1, 1)):
        sample, (w, probability) = k * Z[i] * Z[j], outcomes(A[i], A[j], degree, coef0)
        mean, spread = (A[i] @ A[j] + coef0) ** degree, variance(A[i], A[j], degree, 1.0, coef0)
        assert mean == pytest.approx(fitted.kernel_(SHORT)[i, j])
        assert abs(sample.mean() - mean) <= 5 * np.sqrt(spread / k) + 1e-12
        of_squares = max(0, probability @ (w - mean) ** 4 - spread**2)
        assert abs(((sample - mean) ** 2).mean() - spread) <= 5 * np.sqrt(of_squares / k) + 1e-12


def test_a_constant_much_larger_than_the_rows_leaves_no_factor():
    Z = RandomMaclaurin(2, n_components=3, coef0=1e9, random_state=0).fit_transform(SHORT)
    np.testing.assert_allclose(Z, np.full((2, 3), (1 + 1e9) / np.sqrt(3)), rtol=1e-12)
