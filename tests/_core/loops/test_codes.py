import numpy as np
import pytest

from skimp._core.loops import _codes as loops
from skimp.data import Codes
from tests.pairs import in_turn

THIRD = np.float64(0.3)


def coded(first, *, dtype=np.uint8, value=THIRD, n=25, seed=0):
    sizes = np.array([3, 1, 7, 4])
    codes = np.random.default_rng(seed).integers(0, sizes, (n, 4)).astype(dtype)
    return Codes(codes, np.cumsum(sizes) - sizes, value, int(sizes.sum()), first)


def by_hand(given):
    """Return the one-hot matrix."""
    Z = np.zeros(given.shape)
    for i, row in enumerate(given.codes.tolist()):
        for offset, code in zip(given.offsets, row, strict=True):
            if code >= given.first:
                Z[i, offset + code] = given.value
    return Z


every_first = pytest.mark.parametrize("first", [0, 1])
every_form = pytest.mark.parametrize(
    ("dtype", "value"),
    [
        (np.uint8, THIRD),
        (np.uint16, np.float32(0.25)),
        (np.uint32, np.float64(2)),
        (np.uint8, np.float32(0.7)),
    ],
)


@every_first
@every_form
@in_turn(k=[1, 5], result=[np.float32, np.float64])
def test_gathering_is_a_product(first, dtype, value, k, result):
    given = coded(first, dtype=dtype, value=value)
    C = np.random.default_rng(1).normal(size=(15, k)).astype(result)
    out = np.full((25, k), np.nan, result)
    loops.gather(*given.layout, C, out)
    # sums of four numbers below 4, each of them rounded a few times
    bound = 4 * 4 * 4 * value * np.finfo(result).eps
    assert np.abs(C).max() < 4
    assert np.abs(out - by_hand(given) @ C.astype(np.float64)).max() <= bound


@every_first
@every_form
@pytest.mark.parametrize("k", [1, 5])
def test_scattering_adds_a_product(first, dtype, value, k):
    given = coded(first, dtype=dtype, value=value)
    rng = np.random.default_rng(1)
    U, before = rng.normal(size=(25, k)), rng.normal(size=(15, k))
    out = before.copy()
    loops.scatter(*given.layout, U, out)
    np.testing.assert_allclose(out, before + by_hand(given).T @ U, rtol=1e-12, atol=1e-12)


@every_first
@every_form
def test_grams_add_weighted_products(first, dtype, value):
    given = coded(first, dtype=dtype, value=value)
    rng = np.random.default_rng(1)
    weight, before = rng.random(25), rng.normal(size=(15, 15))
    out = before.copy()
    loops.gram(*given.layout, weight, out)
    Z = by_hand(given)
    # at most 25 squares, each of them rounded in the dtype of the value
    bound = 25 * value**2 * np.finfo(value.dtype).eps
    np.testing.assert_allclose(out, before + (Z.T * weight) @ Z, rtol=1e-12, atol=bound)


def test_codes_of_no_feature_are_never_looked_up():
    given = Codes(np.zeros((3, 2), np.uint8), np.array([0, 3]), np.float64(1), 6, first=1)
    C, out, gram = np.full((6, 2), np.nan), np.empty((3, 2)), np.full((6, 6), 7.0)
    loops.gather(*given.layout, C, out)
    assert not out.any()
    loops.scatter(*given.layout, np.ones((3, 2)), C)
    assert np.isnan(C).all()
    loops.gram(*given.layout, np.ones(3), gram)
    assert (gram == 7).all()


def test_no_rows():
    given = coded(1)[:0]
    out = np.ones((15, 2))
    loops.scatter(*given.layout, np.empty((0, 2)), out)
    assert (out == 1).all()
    assert (given @ np.ones((15, 2))).shape == (0, 2)
