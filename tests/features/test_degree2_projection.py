from itertools import product

import numpy as np
import pytest
from scipy import sparse

from skimp.features import Degree2Projection
from skimp.kernels import Polynomial
from tests.pairs import pairwise
from tests.problems import regression, with_gaps

SPARSITIES = [1.0, 3.0, 5.0]
TERMS = [1, 2, 4]
PAIR = np.array([[0.9, -0.4, 0.3], [0.5, 0.8, -0.2]])

every_size = pytest.mark.parametrize("n_terms", TERMS)


def naive_features(fitted, X):
    """The formula: half of the squares are subtracted."""
    X = X.toarray() if sparse.issparse(X) else X
    t, _, k = fitted.vectors_.shape
    Z = np.zeros((len(X), k))
    for c in range(k):
        for i in range(t):
            sign = 1 if i + 1 <= t / 2 or t == 1 else -1
            Z[:, c] += sign * (X @ fitted.vectors_[i, :, c]) ** 2
    return Z / np.sqrt(k)


def outcomes(x, y, s, n_terms):
    """Return all values of k z_c(x) z_c(y) and their probabilities."""
    entries = np.sqrt(s) * (2 * n_terms) ** -0.25 * np.array([1, 0, -1])
    weights = np.array([0.5 / s, 1 - 1 / s, 0.5 / s])
    R = np.array(list(product(entries, repeat=len(x))))
    of_vector = np.prod(list(product(weights, repeat=len(x))), axis=1)
    a, b, probability = np.zeros(1), np.zeros(1), np.ones(1)
    for i in range(n_terms):
        sign = 1 if n_terms == 1 or i < n_terms // 2 else -1
        a = np.add.outer(a, sign * (R @ x) ** 2).ravel()
        b = np.add.outer(b, sign * (R @ y) ** 2).ravel()
        probability = np.outer(probability, of_vector).ravel()
    return a * b, probability


def mean_of_documentation(x, y, s, n_terms):
    mean = (x @ y) ** 2 + (s - 3) / 2 * (x**2 * y**2).sum()
    return mean + (x @ x) * (y @ y) / 2 if n_terms == 1 else mean


@pairwise(n_terms=[1, 2, 4, 10], sparsity=[1, 3.0, 20.0], k=[1, 8, 11])
def test_features_are_those_of_the_formula(n_terms, sparsity, k):
    X = regression(30)[0]
    options = {"n_components": k, "n_terms": n_terms, "sparsity": sparsity}
    fitted = Degree2Projection(**options, random_state=0).fit(X)
    for rows in (X, with_gaps(X)):
        expected = naive_features(fitted, rows)
        np.testing.assert_allclose(fitted.transform(rows), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("sparsity", [1.0, 3.0, 20.0])
@every_size
def test_entries_of_vectors(sparsity, n_terms):
    options = {"n_components": 3000, "n_terms": n_terms, "sparsity": sparsity}
    R = Degree2Projection(**options, random_state=0).fit(PAIR).vectors_
    assert R.shape == (n_terms, 3, 3000)
    entry = np.sqrt(sparsity) * (2 * n_terms) ** -0.25
    expected = [-entry, entry] if sparsity == 1 else [-entry, 0, entry]
    assert np.unique(R) == pytest.approx(expected, rel=1e-14)
    p = 0.5 / sparsity
    for hits in (R > 0, R < 0):
        assert np.abs(hits.mean(axis=2) - p).max() <= 5 * np.sqrt(p * (1 - p) / 3000)


@pytest.mark.parametrize("sparsity", SPARSITIES)
@every_size
def test_the_mean_of_the_documentation_is_exact(sparsity, n_terms):
    x, y = PAIR
    for a, b in ((x, y), (x, x), (np.eye(3)[0], np.eye(3)[0])):
        w, probability = outcomes(a, b, sparsity, n_terms)
        assert probability.sum() == pytest.approx(1, rel=1e-10)
        expected = mean_of_documentation(a, b, sparsity, n_terms)
        assert probability @ w == pytest.approx(expected, rel=1e-10, abs=1e-12)
    unbiased = mean_of_documentation(x, y, sparsity, n_terms) == pytest.approx((x @ y) ** 2)
    assert unbiased == (sparsity == 3 and n_terms > 1)


@pytest.mark.parametrize("sparsity", SPARSITIES)
@every_size
def test_drawn_features_have_the_mean_and_variance_of_all_outcomes(sparsity, n_terms):
    k = 20_000
    options = {"n_components": k, "n_terms": n_terms, "sparsity": sparsity, "random_state": 0}
    Z = Degree2Projection(**options).fit_transform(PAIR)
    for i, j in ((0, 0), (0, 1), (1, 1)):
        sample, (w, probability) = k * Z[i] * Z[j], outcomes(PAIR[i], PAIR[j], sparsity, n_terms)
        mean = mean_of_documentation(PAIR[i], PAIR[j], sparsity, n_terms)
        variance, fourth = probability @ (w - mean) ** 2, probability @ (w - mean) ** 4
        assert abs(sample.mean() - mean) <= 5 * np.sqrt(variance / k)
        found = ((sample - mean) ** 2).mean()
        assert abs(found - variance) <= 5 * np.sqrt((fourth - variance**2) / k)


def test_the_kernel_is_the_square_of_the_inner_product():
    X = regression(20)[0]
    kernel = Degree2Projection(n_components=5).fit(X).kernel_
    assert isinstance(kernel, Polynomial)
    assert (kernel.degree, kernel.gamma, kernel.coef0) == (2, 1.0, 0.0)
    np.testing.assert_allclose(kernel(X), (X @ X.T) ** 2, rtol=1e-12)


def test_the_map_does_not_depend_on_the_rows():
    X = regression(20)[0]

    def vectors(rows, seed):
        return Degree2Projection(n_components=9, random_state=seed).fit(rows).vectors_

    assert np.array_equal(vectors(X, 0), vectors(sparse.csr_matrix(5 * X[:1]), 0))
    assert not np.array_equal(vectors(X, 0), vectors(X, 1))
