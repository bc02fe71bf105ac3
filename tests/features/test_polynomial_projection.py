from itertools import product

import numpy as np
import pytest
from scipy import sparse

from skimp.data import open_rows
from skimp.features import PolynomialProjection
from tests.pairs import pairwise
from tests.problems import regression, with_gaps

WIDTHS = [0.3, 0.0, 0.7]
KINDS = [("gaussian", 3.0), ("achlioptas", 1.0), ("achlioptas", 3.0), ("achlioptas", 20.0)]

every_kind = pytest.mark.parametrize(("distribution", "sparsity"), KINDS)


def dense(A):
    return A.toarray() if sparse.issparse(A) else np.asarray(A)


def naive_features(fitted, X):
    """The formula, a term at a time."""
    (t, _, k), R = fitted.factors_.shape, dense(fitted.vectors_)
    P, Z = dense(X) @ R + fitted._functions.offset, np.zeros((X.shape[0], k))
    for c in range(k):
        for i in range(t):
            Z[:, c] += np.prod(P[:, fitted.factors_[i, :, c]], axis=1)
    return Z / np.sqrt(k * t)


def outcomes_of_entries(distribution, s):
    """Return values of an entry and their probabilities, with the moments up to the ninth."""
    if distribution == "gaussian":
        values, weights = np.polynomial.hermite_e.hermegauss(5)
        return values, weights / weights.sum()
    return np.sqrt(s) * np.array([1, 0, -1]), np.array([0.5 / s, 1 - 1 / s, 0.5 / s])


def outcomes(x, y, distribution, s, degree, n_terms):
    """Return all values of k z_c(x) z_c(y) and their probabilities, for vectors not shared."""
    values, weights = outcomes_of_entries(distribution, s)
    R = np.array(list(product(values, repeat=len(x))))
    of_vector = np.prod(list(product(weights, repeat=len(x))), axis=1)

    def combined(operation, a, b):
        return operation.outer(a, b).ravel()

    term, chance = np.array([R @ x, R @ y]), of_vector
    for _ in range(degree - 1):
        term = np.array(
            [combined(np.multiply, a, R @ v) for a, v in zip(term, (x, y), strict=True)]
        )
        chance = combined(np.multiply, chance, of_vector)
    z, probability = term, chance
    for _ in range(n_terms - 1):
        z = np.array([combined(np.add, a, b) for a, b in zip(z, term, strict=True)])
        probability = combined(np.multiply, probability, chance)
    return z[0] * z[1] / n_terms, probability


def variance(x, y, s, degree, n_terms):
    """k times the variance of the documentation."""
    kappa, t = (x @ y) ** degree, n_terms
    both = (x @ x) * (y @ y)
    m = both + 2 * (x @ y) ** 2 + (s - 3) * (x**2 * y**2).sum()
    return m**degree / t + (1 - 1 / t) * (2 * kappa**2 + both**degree) - kappa**2


def extended(X, gamma, coef0):
    X = X * np.sqrt(gamma)
    return np.hstack([X, np.full((len(X), 1), np.sqrt(coef0))]) if coef0 else X


@every_kind
@pairwise(
    degree=[1, 2, 3, 4],
    pool=[(1, True), (3, True), (3, False)],
    kernel=[(0.0, 0.5), (1.5, WIDTHS), (0.0, "scale")],
)
def test_features_are_those_of_the_formula(distribution, sparsity, degree, pool, kernel):
    (n_terms, spread), (coef0, gamma) = pool, kernel
    X = regression(15)[0]
    options = {"n_vectors": 30, "n_terms": n_terms, "spread": spread, "gamma": gamma}
    options |= {"distribution": distribution, "sparsity": sparsity, "coef0": coef0}
    for k in (1, 8) if coef0 else (1, 11):
        fitted = PolynomialProjection(degree, n_components=k, **options, random_state=0).fit(X)
        for rows in (X, with_gaps(X)):
            Z, expected = fitted.transform(rows), naive_features(fitted, rows)
            np.testing.assert_allclose(Z, expected, rtol=1e-12, atol=1e-12)
        assert fitted.factors_.shape == (n_terms, degree, k)
        of_features = fitted.factors_.reshape(-1, k).T
        assert all(len(set(numbers)) == degree * n_terms for numbers in of_features.tolist())


@every_kind
@pytest.mark.parametrize("coef0", [0.0, 4.0])
def test_entries_of_vectors_are_stretched(distribution, sparsity, coef0):
    options = {"distribution": distribution, "sparsity": sparsity, "gamma": [4.0, 0.0, 9.0]}
    fitted = PolynomialProjection(n_vectors=5000, coef0=coef0, **options, random_state=0)
    fitted.fit(np.ones((1, 3)))
    assert sparse.issparse(fitted.vectors_) == (sparsity == 20)
    R = np.vstack([dense(fitted.vectors_), fitted._functions.offset])
    for row, factor in zip(R, [2.0, 0.0, 3.0, np.sqrt(coef0)], strict=True):
        entries, s = row / (factor or 1), sparsity
        if factor == 0:
            assert not row.any()
        elif distribution == "achlioptas":
            assert np.unique(entries) == pytest.approx(
                [-1, 1] if s == 1 else [-np.sqrt(s), 0, np.sqrt(s)]
            )
        # variances of squares and of fourth powers are s - 1 and s^3 - s^2, or 2 and 96
        if factor:
            of_squares, of_fourth = (2, 96) if distribution == "gaussian" else (s - 1, s**3 - s**2)
            fourth = 3 if distribution == "gaussian" else s
            assert abs((entries**2).mean() - 1) <= 5 * np.sqrt(of_squares / 5000) + 1e-12
            assert abs((entries**4).mean() - fourth) <= 5 * np.sqrt(of_fourth / 5000) + 1e-12


@every_kind
@pytest.mark.parametrize(("degree", "n_terms"), [(1, 1), (1, 3), (2, 1), (2, 2), (3, 1), (4, 1)])
def test_the_variance_of_the_documentation_is_exact(distribution, sparsity, degree, n_terms):
    x, y = np.array([0.9, -0.4]), np.array([0.5, 0.8])
    for a, b in ((x, y), (x, x)):
        w, probability = outcomes(a, b, distribution, sparsity, degree, n_terms)
        mean = probability @ w
        assert probability.sum() == pytest.approx(1, rel=1e-10)
        assert mean == pytest.approx((a @ b) ** degree, rel=1e-10)
        expected = variance(a, b, sparsity, degree, n_terms)
        assert probability @ (w - mean) ** 2 == pytest.approx(expected, rel=1e-9)


@every_kind
@pytest.mark.parametrize(
    ("degree", "n_terms", "d", "coef0"),
    [
        (1, 1, 2, 0.0),
        (1, 2, 1, 0.5),
        (2, 1, 2, 0.0),
        (2, 2, 2, 0.0),
        (2, 1, 1, 0.5),
        (3, 1, 2, 0.0),
    ],
)
def test_drawn_features_have_the_mean_and_variance_of_theory(
    distribution, sparsity, degree, n_terms, d, coef0
):
    X, k, gamma = np.array([[0.9, -0.4], [0.5, 0.8]])[:, :d], 20_000, 1.3
    projection = PolynomialProjection(
        degree,
        n_components=k,
        n_vectors=degree * n_terms * k,
        n_terms=n_terms,
        distribution=distribution,
        sparsity=sparsity,
        gamma=gamma,
        coef0=coef0,
        random_state=0,
    )
    Z = projection.fit_transform(X)
    x, y = extended(X, gamma, coef0)
    for (a, b), sample in (((x, y), k * Z[0] * Z[1]), ((x, x), k * Z[0] ** 2)):
        w, probability = outcomes(a, b, distribution, sparsity, degree, n_terms)
        mean, spread = (a @ b) ** degree, variance(a, b, sparsity, degree, n_terms)
        fourth = probability @ (w - mean) ** 4
        assert abs(sample.mean() - mean) <= 5 * np.sqrt(spread / k) + 1e-10
        found = ((sample - mean) ** 2).mean()
        assert abs(found - spread) <= 5 * np.sqrt(max(fourth - spread**2, 0) / k) + 1e-10


@pytest.mark.parametrize("spread", [True, False])
@pytest.mark.parametrize(
    ("degree", "n_terms", "p", "k"), [(2, 1, 4, 9), (2, 3, 6, 10), (3, 2, 7, 5), (1, 1, 1, 3)]
)
def test_a_shared_pool_is_unbiased(spread, degree, n_terms, p, k):
    # of signs, which have the lowest variance
    X, draws, rng = regression(3)[0] / 2, 200, np.random.default_rng(0)
    projection = PolynomialProjection(
        degree, n_components=k, n_vectors=p, n_terms=n_terms, spread=spread, coef0=0.3
    ).set_params(distribution="achlioptas", sparsity=1.0)
    rows, mean, Z = open_rows(X), np.zeros((3, 3)), np.empty((3, k))
    for _ in range(draws):
        projection.fit_rows(rows, rng).map_block(X, Z)
        mean += Z @ Z.T / draws
    A = extended(X, 1.0, 0.3)
    for i, j in np.ndindex(3, 3):
        # no more than the variance of one feature, however they are correlated
        largest = variance(A[i], A[j], 1, degree, n_terms)
        assert abs(mean[i, j] - (A[i] @ A[j]) ** degree) <= 5 * np.sqrt(largest / draws)


def test_vectors_that_are_spread_are_used_equally_often():
    X = regression(20)[0]
    fitted = PolynomialProjection(3, n_components=10, n_vectors=7, n_terms=2, random_state=0).fit(X)
    uses = np.bincount(fitted.factors_.ravel(), minlength=7)
    assert set(uses) <= {60 // 7, 60 // 7 + 1}
    own = PolynomialProjection(3, n_components=10, n_vectors=60, n_terms=2, random_state=0).fit(X)
    assert sorted(own.factors_.ravel()) == list(range(60))


def test_a_pool_that_is_spread_evenly_is_one_projection_for_degree_one():
    X = regression(20)[0]
    fitted = PolynomialProjection(1, n_components=30, n_vectors=10, random_state=0).fit(X)
    Z, P = fitted.transform(X), X @ fitted.vectors_ / np.sqrt(10)
    np.testing.assert_allclose(Z @ Z.T, P @ P.T, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("spread", [True, False])
def test_the_smallest_pool_is_used_whole_by_each_feature(spread):
    X = regression(5)[0]
    options = {"n_components": 4, "n_vectors": 6, "n_terms": 2, "spread": spread}
    fitted = PolynomialProjection(3, **options, random_state=0).fit(X)
    numbers = fitted.factors_.reshape(6, 4)
    assert np.array_equal(np.sort(numbers, axis=0), np.arange(6)[:, None].repeat(4, axis=1))
