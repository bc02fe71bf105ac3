"""Work and bytes of selectors, with all constants written out."""

import numpy as np
import pytest

from skimp._core._work import Size, Work
from skimp.budgets import (
    DBH,
    Agglomerative,
    Auto,
    Balanced,
    Fixed,
    KMeans,
    Leverage,
    RPCholesky,
    Uniform,
)
from skimp.kernels import Gaussian, Laplacian

GAUSSIAN = Gaussian(gamma=1.0)
N, D, M = 2**17, 10, 128
ROWS = Size(N, D, np.dtype(np.float32), threads=2)
CLASSES = Size(N, D, np.dtype(np.float32), n_outputs=4, classes=True)
POINTS = M * D * 4


def clusters(c, m, seeds=0):
    """Return five steps and a last one, at a quarter of the speed, and seeds at a 500th."""
    work = Work(gemm32=4 * 6 * 2 * c * m * D + 500 * 2 * seeds * m * D, bytes=12 * c * D * 4)
    return work, 6 * c * D * 4 + 48 * c


def check(selector, size, work, held, m=M, kernel=GAUSSIAN):
    stage = selector.cost(m, kernel, size)
    assert stage.name == "select"
    expected = Work(values=N) + work
    assert vars(stage.work) == pytest.approx(vars(expected), rel=1e-12)
    assert stage.bytes == pytest.approx(held)


@pytest.mark.parametrize("selector", [Uniform(), Auto(), DBH(), Fixed(np.ones((3, D)))], ids=repr)
def test_a_draw(selector):
    check(selector, ROWS, Work(), 16 * N + POINTS)


@pytest.mark.parametrize("selector", [Uniform(), KMeans(), RPCholesky(), Leverage()], ids=repr)
def test_all_rows(selector):
    check(selector, ROWS, Work(), N * D * 4, m=N)


@pytest.mark.parametrize("selector", [KMeans(presample=3000), Agglomerative(presample=3000)])
def test_clusters(selector):
    work, held = clusters(3000, M)
    check(selector, ROWS, work, held + 16 * N)
    work, held = clusters(3000, 64, seeds=2000)
    check(selector, ROWS, work, held + 16 * N, m=64)
    work, held = clusters(8000, 1000)
    check(selector, ROWS, work, held + 16 * N, m=1000)


def test_centres_of_four_classes():
    work, held = clusters(5000, M / 4, seeds=2000)
    check(Auto(), CLASSES, 4 * work, held + 20_000 * D * 4 + 16 * N)
    work, held = clusters(10_000, 1024)
    work = 4 * work + Work(values=N)
    check(Balanced("kmeans"), CLASSES, work, held + 4 * N + 4096 * D * 4, m=4096)


def test_leverage_scores():
    products = 2 * 2 * N * M * D + 4 * N * M**2
    work = Work(gemm32=products, values=4 * N * M / 3, factor64=10 * 7 * M**3)
    check(Leverage(), ROWS, work, 48 * M**2 + 32 * N)


def test_pivots():
    work = Work(
        gemm32=2 * 1000 * M * D + 1.6 * 1000 * M**2,
        values=2 * 1000 * M / 3,
        bytes=4 * 1000 * M * 4,
        factor64=M**3,
    )
    held = 1000 * M * 4 + 2 * 2 * 2048 * M / 5 * 4 + 40 * 1000 + M**2
    check(RPCholesky(presample=1000), ROWS, work, held)
    looped = Work(
        gemm32=1.6 * 1000 * M**2, values=1000 * M * 6 / 3, bytes=work.bytes, factor64=M**3
    )
    check(RPCholesky(presample=1000), ROWS, looped, held, kernel=Laplacian())
