import numpy as np
import pytest

from skimp._core.loops._products import add_squares, products
from tests.pairs import pairwise


def naive_products(P, offset, factors, scale):
    """The formula; and that of absolute values, which rounding is relative to."""
    of_products = sum(np.prod((P + offset)[:, chosen], axis=1) for chosen in factors)
    of_sizes = sum(np.prod((np.abs(P) + np.abs(offset))[:, chosen], axis=1) for chosen in factors)
    return of_products * scale, of_sizes * np.abs(scale)


def drawn(p, n_terms, degree, k, dtype, n=3):
    rng = np.random.default_rng(0)
    P, offset = rng.normal(size=(n, p)).astype(dtype), rng.normal(size=p).astype(dtype)
    factors = rng.integers(p, size=(n_terms, degree, k)).astype(np.uint32)
    return P, offset, factors, rng.normal(size=k).astype(dtype)


def as_float64(*arrays):
    return [a.astype(np.float64) if a.dtype.kind == "f" else a for a in arrays]


@pairwise(
    dtype=[np.float32, np.float64],
    n_terms=[1, 3],
    degree=[1, 2, 3, 4, 5],
    shape=[(1, 1), (1, 9), (7, 9), (1023, 2), (1024, 9), (1025, 9)],
)
def test_products_are_those_of_the_formula(dtype, n_terms, degree, shape):
    k, p = shape
    P, offset, factors, scale = drawn(p, n_terms, degree, k, dtype, n=2)
    before, Z = P.copy(), np.full((2, k), np.nan, dtype)
    products(P, offset, factors, scale, Z)
    expected, size = naive_products(*as_float64(P, offset, factors, scale))
    # a rounding for each sum with the offset, product, scale and term
    bound = (2 * degree + n_terms) * np.finfo(dtype).eps * size
    assert (np.abs(Z - expected) <= bound).all()
    assert np.array_equal(P, before)


@pytest.mark.parametrize("degree", [1, 2, 3])
def test_more_features_than_two_parts(degree):
    P, offset, factors, scale = drawn(9, 2, degree, 2500, np.float64, n=1)
    Z = np.full((1, 2500), np.nan)
    products(P, offset, factors, scale, Z)
    expected, size = naive_products(P, offset, factors, scale)
    assert (np.abs(Z - expected) <= (2 * degree + 2) * np.finfo(float).eps * size).all()


@pytest.mark.parametrize("degree", [1, 2, 4])
def test_products_are_written_between_other_columns(degree):
    P, offset, factors, scale = drawn(9, 2, degree, 7, np.float64)
    Z, wide = np.empty((3, 7)), np.full((3, 10), -1.0)
    products(P, offset, factors, scale, Z)
    products(P, offset, factors, scale, wide[:, 2:9])
    assert np.array_equal(wide[:, 2:9], Z)
    assert (wide[:, [0, 1, 9]] == -1).all()


@pytest.mark.parametrize("degree", [1, 2, 3])
def test_the_last_of_many_columns_is_reached(degree):
    P = np.zeros((1, 70_000))
    P[0, -1] = 3
    Z = np.empty((1, 2))
    factors = np.full((1, degree, 2), 69_999, np.uint32)
    factors[:, :, 1] = 0
    products(P, np.zeros(70_000), factors, np.ones(2), Z)
    assert Z.tolist() == [[3.0**degree, 0.0]]


@pytest.mark.parametrize("degree", [1, 2, 3])
def test_not_a_number_stays_in_what_it_is_a_factor_of(degree):
    P = np.array([[np.nan, 2.0]])
    factors = np.ones((1, degree, 2), np.uint32)
    factors[0, -1, 0] = 0
    Z = np.empty((1, 2))
    products(P, np.zeros(2), factors, np.ones(2), Z)
    assert np.isnan(Z[0, 0])
    assert Z[0, 1] == 2.0**degree


@pairwise(dtype=[np.float32, np.float64], shape=[(1, 1), (5, 7), (3, 1100)], factor=[0.3, -0.7])
def test_squares_are_added_to_what_is_there(dtype, shape, factor):
    rng = np.random.default_rng(0)
    P, Z = rng.normal(size=(2, *shape)).astype(dtype)
    start, factor = Z.copy(), dtype(factor)
    add_squares(P, factor, Z)
    added = np.array([[float(factor) * float(p) ** 2 for p in row] for row in P])
    bound = 3 * np.finfo(dtype).eps * (np.abs(start) + np.abs(added))
    assert Z.dtype == dtype
    assert (np.abs(Z - (start.astype(np.float64) + added)) <= bound).all()


def test_squares_are_added_between_other_columns():
    P, wide = np.full((2, 3), 2.0), np.ones((2, 6))
    add_squares(P, -1.0, wide[:, 1:4])
    assert wide.tolist() == [[1, -3, -3, -3, 1, 1]] * 2
