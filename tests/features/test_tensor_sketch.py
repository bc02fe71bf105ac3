from itertools import product

import numpy as np
import pytest
from scipy import sparse

from skimp.data import open_rows
from skimp.features import TensorSketch
from tests.pairs import pairwise
from tests.problems import regression, with_gaps

WIDTHS = [0.3, 0.0, 0.7]
X2 = np.array([[0.9, -0.4], [0.5, 0.8]])


def convolution(a, b):
    """Return the circular convolution of vectors, from its definition."""
    k = len(a)
    return np.array([sum(a[i] * b[(j - i) % k] for i in range(k)) for j in range(k)])


def naive_features(fitted, X):
    """Convolutions of the count sketches of (x, 1)."""
    X = X.toarray() if sparse.issparse(X) else X
    k, Z = fitted.width, []
    for x in X:
        sketches = np.zeros((len(fitted.buckets_), k))
        for sketch, buckets, signs in zip(sketches, fitted.buckets_, fitted.signs_, strict=True):
            for bucket, sign, entry in zip(buckets, signs, [*x, 1.0], strict=True):
                sketch[bucket] += sign * entry
        z = sketches[0]
        for sketch in sketches[1:]:
            z = convolution(z, sketch)
        Z.append(z)
    return np.array(Z)


def naive_monomials(fitted, X):
    """The count sketch of the Kronecker power: buckets add up, and signs multiply."""
    Z, k = np.zeros((len(X), fitted.width)), fitted.width
    g, d = fitted.buckets_.shape
    rows = np.hstack([X, np.ones((len(X), 1))])
    for columns in product(range(d), repeat=g):
        bucket = sum(int(fitted.buckets_[j, c]) for j, c in enumerate(columns)) % k
        sign = np.prod([fitted.signs_[j, c] for j, c in enumerate(columns)])
        Z[:, bucket] += sign * np.prod(rows[:, list(columns)], axis=1)
    return Z


def outcomes(x, y, degree, k):
    """Return <z(x), z(y)> for all buckets and signs, which are equally likely."""
    d = len(x)
    sketches = []
    for buckets in product(range(k), repeat=d):
        for signs in product([-1, 1], repeat=d):
            pair = np.zeros((2, k))
            for bucket, sign, entries in zip(buckets, signs, np.array([x, y]).T, strict=True):
                pair[:, bucket] += sign * entries
            sketches.append(pair)
    S = np.array(sketches)
    z = S
    for _ in range(degree - 1):
        shifted = np.stack([np.roll(S, j, axis=2) for j in range(k)], axis=2)
        z = np.einsum("apj,bpjl->abpl", z, shifted).reshape(-1, 2, k)
    return (z[:, 0] * z[:, 1]).sum(axis=1)


def variance(x, y, degree, k):
    """The variance of the documentation."""
    q, a, g = (x**2 * y**2).sum(), (x @ y) ** 2, degree
    b, c = (x @ x) * (y @ y) - q, a - q
    once = (a + b) ** g + (a + c) ** g - 2 * a**g
    twice = (a + b + c) ** g - (a + b) ** g - (a + c) ** g + a**g
    return once / k + (2 - k % 2) / k**2 * twice


def rounding(fitted, X):
    """What transforms may be wrong by, relative to the lengths of the sketches."""
    rows = X.toarray() if sparse.issparse(X) else X
    largest = np.hstack([np.abs(rows), np.ones((len(rows), 1))]) @ np.abs(fitted.signs_).T
    eps, log = np.finfo(float).eps, 1 + np.log2(fitted.width)
    return 10 * len(fitted.buckets_) * log * eps * largest.prod(axis=1, keepdims=True)


@pairwise(degree=[1, 2, 3, 4], coef0=[0.0, 1.5], gamma=[0.5, WIDTHS, "scale"], k=[1, 2, 3, 12, 13])
def test_features_are_convolutions_of_sketches(degree, coef0, gamma, k):
    X = regression(8)[0]
    options = {"n_components": k, "gamma": gamma, "coef0": coef0, "random_state": 0}
    fitted = TensorSketch(degree, **options).fit(X)
    for rows in (X, with_gaps(X)):
        expected = naive_features(fitted, rows)
        assert (np.abs(fitted.transform(rows) - expected) <= rounding(fitted, rows)).all()


@pytest.mark.parametrize("degree", [1, 2, 3])
@pytest.mark.parametrize("k", [1, 6, 97])
def test_features_are_the_sketch_of_all_monomials(degree, k):
    X = regression(8)[0]
    fitted = TensorSketch(degree, n_components=k, coef0=0.7, random_state=0).fit(X)
    bound = rounding(fitted, X)
    assert (np.abs(fitted.transform(X) - naive_monomials(fitted, X)) <= bound).all()


@pytest.mark.parametrize("coef0", [0.0, 4.0])
def test_buckets_and_signs_are_uniform(coef0):
    d, k, root = 2000, 5, np.sqrt(np.append(np.tile([4.0, 0.0], 1000), coef0))
    fitted = TensorSketch(3, n_components=k, gamma=root[:-1] ** 2, coef0=coef0, random_state=0)
    fitted.fit(np.ones((1, d)))
    assert fitted.buckets_.shape == fitted.signs_.shape == (3, d + 1)
    assert np.array_equal(np.abs(fitted.signs_), np.tile(root, (3, 1)))
    counts = np.array([np.bincount(buckets, minlength=k) for buckets in fitted.buckets_])
    assert counts.shape == (3, k)
    assert np.abs(counts - (d + 1) / k).max() <= 5 * np.sqrt((d + 1) / k * (1 - 1 / k))
    signs = np.sign(fitted.signs_[:, :-1:2])
    assert np.abs(signs.sum(axis=1)).max() <= 5 * np.sqrt(d / 2)
    # signs of one sketch do not depend on those of another
    assert np.abs((signs @ signs.T)[np.triu_indices(3, 1)]).max() <= 5 * np.sqrt(d / 2)


@pytest.mark.parametrize(
    ("degree", "k"),
    [(1, 1), (1, 2), (1, 3), (1, 4), (2, 1), (2, 2), (2, 3), (2, 4), (2, 5), (3, 2)],
)
def test_the_variance_of_the_documentation_is_exact(degree, k):
    x, y = X2
    for a, b in ((x, y), (x, x), (x, x[::-1])):
        found = outcomes(a, b, degree, k)
        assert found.mean() == pytest.approx((a @ b) ** degree, rel=1e-10)
        assert found.var() == pytest.approx(variance(a, b, degree, k), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("degree", [1, 2, 3, 4])
@pytest.mark.parametrize("k", [4, 5])
@pytest.mark.parametrize(("coef0", "gamma"), [(0.0, 1.0), (0.5, [0.8, 0.0, 1.2])], ids=str)
def test_drawn_features_have_the_mean_and_variance_of_theory(degree, k, coef0, gamma):
    X, draws, rng = np.array([[0.9, -0.4, 0.3], [0.5, 0.8, -0.2]]), 600, np.random.default_rng(0)
    sketch = TensorSketch(degree, n_components=k, gamma=gamma, coef0=coef0)
    rows, Z, samples = open_rows(X), np.empty((2, k)), np.empty((draws, 2))
    for i in range(draws):
        sketch.fit_rows(rows, rng).map_block(X, Z)
        samples[i] = Z[0] @ Z[1], Z[0] @ Z[0]
    x, y = np.hstack([X * np.sqrt(gamma), np.full((2, 1), np.sqrt(coef0))])
    for sample, (a, b) in zip(samples.T, ((x, y), (x, x)), strict=True):
        mean, spread = (a @ b) ** degree, variance(a, b, degree, k)
        squares = (sample - mean) ** 2
        assert abs(sample.mean() - mean) <= 5 * np.sqrt(spread / draws)
        assert abs(squares.mean() - spread) <= 5 * squares.std(ddof=1) / np.sqrt(draws)


def test_one_sketch_of_enough_buckets_keeps_inner_products():
    X = regression(10)[0]
    fitted = TensorSketch(1, n_components=10_000, random_state=0).fit(X)
    assert len(set(fitted.buckets_[0, :3])) == 3
    Z = fitted.transform(X)
    np.testing.assert_allclose(Z @ Z.T, X @ X.T, rtol=1e-12, atol=1e-12)


def test_rows_of_another_width_are_refused():
    fitted = TensorSketch(n_components=4).fit(np.ones((5, 3)))
    with pytest.raises(ValueError, match="X must have 3 columns, found 2"):
        fitted.map_block(np.ones((5, 2)), np.empty((5, 4)))
