import numpy as np
import pytest
from scipy import sparse

from skimp.data import open_rows
from skimp.features import (
    Degree2Projection,
    ExplicitPolynomial,
    PolynomialProjection,
    RandomMaclaurin,
    TensorSketch,
)
from skimp.features._polynomial import Products
from skimp.kernels import Polynomial
from tests.pairs import in_turn, pairwise
from tests.problems import regression, with_gaps

WIDTHS = [0.3, 0.0, 0.7]
RANDOM = [PolynomialProjection, RandomMaclaurin, TensorSketch]
MAPS = [ExplicitPolynomial, *RANDOM]

every_map = pytest.mark.parametrize("kind", MAPS)
every_random_map = pytest.mark.parametrize("kind", RANDOM)


def naive_products(X, pool, factors, scale):
    """The formula; rows of the pool are vectors, the last of them constants."""
    P = np.hstack([X, np.ones((len(X), 1))]) @ pool
    return scale * sum(np.prod(P[:, chosen], axis=1) for chosen in factors)


def drawn(d, p, n_terms, degree, k, density=1.0):
    rng = np.random.default_rng(0)
    pool = rng.normal(size=(d + 1, p))
    pool[rng.random(pool.shape) > density] = 0
    return pool, rng.integers(p, size=(n_terms, degree, k)), rng.normal(size=k)


@pairwise(
    n=[1, 511, 512, 513, 1100],
    of_pool=[np.asarray, sparse.csr_array],
    of_rows=[np.asarray, with_gaps],
    shape=[(1, 1), (2, 2), (3, 4)],
)
def test_products_are_those_of_the_formula(n, of_pool, of_rows, shape):
    n_terms, degree = shape
    X = of_rows(regression(n)[0])
    pool, factors, scale = drawn(3, 20, n_terms, degree, 9, density=0.5)
    Z = np.full((n, 9), np.nan)
    made = Products.of(of_pool(pool[:-1]), pool[-1], factors, scale, np.dtype(float))
    made.fill(X, Z)
    rows = X.toarray() if sparse.issparse(X) else X
    expected = naive_products(rows, pool, factors, scale)
    np.testing.assert_allclose(Z, expected, rtol=1e-12, atol=1e-12)


@pairwise(
    kind=MAPS,
    degree=[1, 3],
    coef0=[0, 0.0, 1.5],
    gamma=[2, 0.25, WIDTHS, tuple(WIDTHS), np.array(WIDTHS)],
)
def test_the_kernel_is_polynomial_with_its_numbers(kind, degree, coef0, gamma):
    X = regression(20)[0]
    kernel = kind(degree, gamma=gamma, coef0=coef0).fit(X).kernel_
    assert isinstance(kernel, Polynomial)
    assert kernel.degree == degree
    assert kernel.coef0 == coef0
    assert np.array_equal(kernel.gamma, gamma)
    expected = ((X * np.asarray(gamma)) @ X.T + coef0) ** degree
    np.testing.assert_allclose(kernel(X), expected, rtol=1e-12, atol=1e-12)


@every_map
def test_a_named_gamma_is_resolved_by_the_rows(kind):
    X = 3 * regression(50)[0]
    assert kind(gamma="scale").fit(X).kernel_.gamma == pytest.approx(1 / (3 * X.var()), rel=1e-9)
    assert kind(gamma="dim").fit(X).kernel_.gamma == 1 / 6
    assert (
        kind(gamma="median").fit(X).kernel_.gamma
        == Polynomial(2, "median").resolve(open_rows(X), 0).gamma
    )


@every_random_map
def test_the_map_does_not_depend_on_the_rows(kind):
    X = regression(20)[0]

    def features(rows, seed):
        return kind(3, n_components=9, coef0=1.0, random_state=seed).fit(rows).transform(X)

    first = features(X, 0)
    assert np.array_equal(features(5 * X[:1], 0), first)
    assert np.array_equal(features(sparse.csr_matrix(X), 0), first)
    assert not np.array_equal(features(X, 1), first)


@every_random_map
@in_turn(gamma=[0.5, WIDTHS, "scale"], coef0=[0.0, 1.5])
def test_features_are_those_of_stretched_rows(kind, gamma, coef0):
    X = regression(20)[0]
    given = kind(3, n_components=9, gamma=gamma, coef0=coef0, random_state=0).fit(X)
    rows = X * np.sqrt(given.kernel_.gamma)
    stretched = kind(3, n_components=9, coef0=coef0, random_state=0).fit(rows)
    Z = stretched.transform(rows)
    np.testing.assert_allclose(given.transform(X), Z, rtol=1e-11, atol=1e-11 * np.abs(Z).max())


@every_map
def test_a_fit_that_fails_leaves_the_map_as_it_was(kind):
    X = regression(20)[0]
    fitted = kind().fit(X)
    before, state = fitted.transform(X), dict(vars(fitted))
    with pytest.raises(ValueError, match="gamma must be a number, or one for each"):
        fitted.set_params(gamma=[1.0, 2.0]).fit(X)
    assert vars(fitted) == {**state, "gamma": [1.0, 2.0]}
    assert np.array_equal(fitted.transform(X), before)


@pytest.mark.parametrize("kind", [*MAPS, Degree2Projection])
def test_features_that_overflow_are_refused(kind):
    X = 1e160 * regression(20)[0]
    with pytest.raises(ValueError, match="rescale the columns of X"):
        kind().fit_transform(X)


@pytest.mark.parametrize("kind", MAPS)
def test_a_gamma_that_overflows_in_single_precision_is_refused(kind):
    X = regression(20)[0].astype(np.float32)
    with pytest.raises(ValueError, match="rescale the columns of X, or y, or the kernel's"):
        kind(gamma=1e80).fit(X)
