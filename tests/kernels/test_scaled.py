import numpy as np
import pytest

from skimp.kernels import Gaussian, Linear, Scaled


def pair(dtype=np.float64):
    rng = np.random.default_rng(0)
    return rng.random((12, 3)).astype(dtype), rng.random((9, 3)).astype(dtype)


def test_multiples_of_multiples():
    X, Y = pair()
    np.testing.assert_allclose((2 * (3 * Linear()))(X, Y), 6 * Linear()(X, Y), rtol=1e-14)


@pytest.mark.parametrize("factor", [3, 3.0, np.float64(3), np.float32(3), np.int8(3), np.uint64(3)])
def test_numbers_of_any_kind_multiply_from_both_sides(factor):
    for kernel in (factor * Gaussian(1.0), Gaussian(1.0) * factor):
        assert kernel == Scaled(Gaussian(1.0), 3.0)
        assert type(kernel.factor) is float


def test_frequencies_do_not_depend_on_the_factor():
    one, other = (
        k.sample_frequencies(3, 50, np.random.default_rng(0))
        for k in (Gaussian(0.3), 7.0 * Gaussian(0.3))
    )
    assert np.array_equal(one, other)
