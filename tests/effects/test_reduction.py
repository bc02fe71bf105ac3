import numpy as np
import pytest

from skimp.budgets import KMeans, RPCholesky
from skimp.data import open_rows
from skimp.effects._reduction import Reduction
from skimp.effects._sketch import SKETCHES, Sketch
from skimp.features import Landmarks
from skimp.kernels import Gaussian

ROWS = open_rows(np.random.default_rng(0).normal(size=(60, 3)))


@pytest.mark.parametrize(
    ("kind", "budget", "n", "size"),
    [
        (25, None, 1000, 25),
        (25, None, 10, 10),
        ("kmeans", None, 60, 60),
        ("kmeans", None, 500, 100),
        ("kmeans", None, 5000, 500),
        ("kmeans", None, 10**6, 1000),
        ("sample", 0.25, 1000, 250),
        ("gaussian", 7, 1000, 7),
        ("gaussian", 0.001, 100, 1),
    ],
)
def test_sizes(kind, budget, n, size):
    assert Reduction(kind, budget).size(n) == size


def test_kinds():
    assert Reduction(None, None).exact
    assert Reduction("sample", None).exact
    assert Reduction("sample", None).alone
    assert not Reduction("kmeans", None).exact
    assert Reduction("sign", None).sketched
    assert isinstance(Reduction("kmeans", None).selector, KMeans)
    assert isinstance(Reduction(RPCholesky(), 5).selector, RPCholesky)


@pytest.mark.parametrize("kind", [10, "uniform", "kmeans", RPCholesky(), *SKETCHES], ids=str)
def test_bases(kind):
    basis = Reduction(kind, 10).basis(ROWS, Gaussian(0.3), np.random.default_rng(0))
    assert isinstance(basis, Sketch if kind in SKETCHES else Landmarks)
    assert basis.width == 10
    assert basis.penalty.shape == (10, 10)
    assert basis.dtype == np.float64
