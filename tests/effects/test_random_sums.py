import pickle

import numpy as np
import pytest
from scipy import sparse

from skimp.effects._random_sums import SKETCHES, RandomSums, random_matrix
from skimp.kernels import Gaussian

KERNEL = Gaussian(0.3)


def dense(S):
    return S.toarray() if sparse.issparse(S) else S


@pytest.mark.parametrize("name", SKETCHES)
def test_functions_are_sums_of_kernel_columns(name, monkeypatch):
    monkeypatch.setattr("skimp.effects._random_sums._POINTS", 16)
    rng = np.random.default_rng(0)
    X, T = rng.normal(size=(50, 3)), random_matrix(name, 50, 7, rng)
    sketch = RandomSums(KERNEL, X, T)
    out = np.ones((5, 7))
    sketch.map_block(X[:5] + 0.1, out)
    assert np.abs(out - KERNEL(X[:5] + 0.1, X) @ dense(T)).max() < 1e-12
    expected = dense(T).T @ KERNEL(X) @ dense(T)
    assert np.abs(sketch.penalty - expected).max() < 1e-12 * np.abs(expected).max()
    again = pickle.loads(pickle.dumps(sketch))
    assert np.array_equal(again.penalty, sketch.penalty)


@pytest.mark.parametrize("name", SKETCHES)
def test_matrices_are_isotropic_on_average(name):
    n, size, draws = 16, 8, 2000
    rng = np.random.default_rng(0)
    products = []
    for _ in range(draws):
        T = dense(random_matrix(name, n, size, rng))
        products.append(T @ T.T)
    mean, spread = np.mean(products, axis=0), np.std(products, axis=0)
    # 16^2 means of 2,000: beyond five and a half standard errors with probability 1e-5
    assert (np.abs(mean - np.eye(n)) <= 5.5 * spread / np.sqrt(draws) + 1e-12).all()


@pytest.mark.parametrize(
    ("name", "share"), [("sign", 1.0), ("achlioptas", 1 / 3), ("very_sparse", 0.02)]
)
def test_shares_of_entries(name, share):
    n, size = 2500, 40
    T = random_matrix(name, n, size, np.random.default_rng(0))
    entries = dense(T)
    filled = np.count_nonzero(entries)
    # a binomial number, within five standard deviations
    assert abs(filled - share * n * size) <= 5 * np.sqrt(n * size * share * (1 - share))
    assert np.allclose(np.abs(entries[entries != 0]), 1 / np.sqrt(share * size))
    assert sparse.issparse(T) == (name == "very_sparse")


def test_subsampling_takes_different_rows():
    T = random_matrix("subsampling", 20, 20, np.random.default_rng(0))
    assert np.array_equal(np.sort(T.nonzero()[0]), np.arange(20))
