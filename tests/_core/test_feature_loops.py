import numpy as np
import pytest

from skimp._core._feature_loops import cosine_pairs, cosines
from tests.reference import naive


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_components", [1, 2, 5, 8])
def test_cosine_pairs_are_cosines_then_sines(dtype, n_components):
    rng = np.random.default_rng(0)
    size = (n_components + 1) // 2
    T, offset = rng.normal(size=(7, size)).astype(dtype), np.zeros(size, dtype)
    offset[size - n_components % 2 :] = 0.3
    Z = np.full((7, n_components), np.nan, dtype)
    cosine_pairs(T, offset, dtype(np.sqrt(1 / size)), Z)
    if n_components % 2:
        Z[:, size - 1] *= np.sqrt(2)
    turns = 2 * np.pi
    expected = naive.fourier_pairs(T, turns * np.eye(size), turns * offset, n_components)
    np.testing.assert_allclose(Z, expected, atol=20 * np.finfo(dtype).eps)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_cosines_replace_turns(dtype):
    rng = np.random.default_rng(0)
    T, offset = rng.normal(size=(7, 5)).astype(dtype), rng.random(5).astype(dtype)
    Z = T.copy()
    cosines(Z, offset, dtype(np.sqrt(2 / 5)))
    expected = naive.fourier_phases(T, 2 * np.pi * np.eye(5), 2 * np.pi * offset)
    np.testing.assert_allclose(Z, expected, atol=20 * np.finfo(dtype).eps)
