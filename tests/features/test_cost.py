"""Work and bytes of maps, with all constants written out."""

from dataclasses import replace
from math import log2

import numpy as np
import pytest
from sklearn.kernel_approximation import RBFSampler

from skimp._core._work import Size, Work
from skimp.features import (
    Degree2Projection,
    ExplicitPolynomial,
    KernelProjection,
    Nystroem,
    OrthogonalProjection,
    PolynomialProjection,
    RandomBinning,
    RandomFourier,
    RandomLayer,
    RandomMaclaurin,
    TensorSketch,
    Transformer,
)
from skimp.kernels import Gaussian, Laplacian

N, D, K = 2**17, 10, 100
ROWS = Size(N, D, np.dtype(np.float32), threads=2)
CALLS = 500 + 15 * N / 512
GAUSSIAN = Gaussian(gamma=1.0)
ADDITIONS = 3 * 128 * log2(64)


def same(work, expected):
    assert vars(work) == pytest.approx(vars(expected), rel=1e-12)


@pytest.mark.parametrize(
    ("feature_map", "numbers", "mapping"),
    [
        (RandomFourier(n_components=K), D * K / 2, Work(gemm32=N * D * K, values=N * K / 3)),
        (
            RandomFourier(n_components=K, form="phase"),
            D * K,
            Work(gemm32=2 * N * D * K, values=N * K / 3),
        ),
        (
            RandomFourier(n_components=K, form="phase", sampling="structured"),
            4 * 128,
            Work(values=N * (K + ADDITIONS / 12) / 3),
        ),
        (RandomLayer(K), D * K, Work(gemm32=2 * N * D * K, values=N * K / 3)),
        (
            Transformer(RBFSampler(n_components=K)),
            D * K,
            Work(gemm32=2 * N * D * K, values=N * K / 3),
        ),
        (
            PolynomialProjection(3, n_components=K, n_vectors=50, n_terms=2),
            D * 50 + 6 * K,
            Work(gemm32=2 * N * D * 50, values=N * 6 * K / 5),
        ),
        (
            RandomMaclaurin(3, n_components=K),
            3 * D * K,
            Work(gemm32=6 * N * D * K, values=3 * N * K / 5),
        ),
        (
            Degree2Projection(n_components=K, n_terms=4),
            4 * D * K,
            Work(gemm32=8 * N * D * K, values=4 * N * K / 5),
        ),
        (ExplicitPolynomial(), 2 * 55, Work(values=N * 2 * 55 / 5)),
        (
            TensorSketch(3, n_components=K),
            6 * D,
            Work(values=N * 3 * (D + 1) / 2 + N * 4 * K * log2(K) / 8),
        ),
        (
            OrthogonalProjection(K),
            3 * 7 * 16,
            Work(values=N * 7 * 16 * 3 * log2(16) / 12 / 3),
        ),
    ],
    ids=repr,
)
def test_maps_of_columns_alone(feature_map, numbers, mapping):
    cost = feature_map.cost(ROWS)
    (draw,) = cost.stages
    assert draw.name == "draw"
    same(draw.work, Work(values=4 * numbers))
    same(cost.mapping, mapping + Work(calls=CALLS))
    assert cost.width == feature_map.planned_width(ROWS)
    assert (cost.held, draw.bytes) == (12 * numbers, 24 * numbers)
    assert cost.scratch == 512 * cost.width * 4
    assert (cost.landmarks, cost.groups, cost.dtype) == (False, 0, ROWS.dtype)


@pytest.mark.parametrize("rank", [None, 7])
@pytest.mark.parametrize("conditioned", [True, False])
def test_landmarks(conditioned, rank):
    feature_map = Nystroem(GAUSSIAN, budget=K, selector="uniform", rank=rank)
    cost = feature_map.cost(replace(ROWS, conditioned=conditioned))
    select, factor = cost.stages
    assert (select.name, factor.name) == ("select", "factor")
    points, whole = K * D * 4, conditioned and rank is None
    same(select.work, Work(values=N))
    assert select.bytes == 16 * N + 2 * points
    operations = K**3 / 3 if whole else 7 * K**3
    products = Work(gemm64=2 * K * K * D, factor64=operations, values=2 * K * K, bytes=16 * K * K)
    same(factor.work, products)
    assert factor.bytes == (17 if whole else 40) * K**2 + points + 24 * K * D
    width = K if rank is None else rank
    whitened = Work() if whole else Work(gemm64=2 * N * K * width)
    mapping = Work(gemm32=2 * N * K * D, values=2 * N * K / 3, calls=CALLS)
    same(cost.mapping, mapping + whitened)
    assert (cost.width, cost.landmarks, cost.dtype.itemsize) == (width, whole, 4 if whole else 8)
    assert cost.held == (24 if whole else 20) * K**2 + 4 * points
    assert cost.scratch == 512 * D * 8 + (0 if whole else 1024 * K * 12)


def test_kernels_of_loops_and_the_estimator_s():
    fast, slow = (Nystroem(budget=K, selector="uniform").cost(ROWS, k) for k in (None, Laplacian()))
    assert fast.mapping.gemm32 > slow.mapping.gemm32 == 0
    same(slow.mapping, Work(values=N * K * (1 + D / 2) / 3, calls=CALLS))


@pytest.mark.parametrize("conditioned", [True, False])
def test_kernel_projection(conditioned):
    feature_map = KernelProjection(GAUSSIAN, n_components=50, budget=K)
    cost = feature_map.cost(replace(ROWS, conditioned=conditioned))
    select, factor = cost.stages
    points = K * D * 4
    same(select.work, Work(values=N))
    assert select.bytes == 16 * N + 2 * points
    products = 2 * K * K * D + 2 * K * K * 50
    same(factor.work, Work(gemm64=products, factor64=7 * K**3, values=2 * K * K))
    assert factor.bytes == 40 * K**2 + 24 * K * 50 + points + 24 * K * D
    mixed = 2 * N * K * 50
    mapping = Work(gemm32=2 * N * K * D, values=2 * N * K / 3, calls=CALLS)
    same(cost.mapping, mapping + (Work(gemm32=mixed) if conditioned else Work(gemm64=mixed)))
    assert (cost.width, cost.held) == (50, 16 * K**2 + 8 * K * 50 + 4 * points)
    assert cost.scratch == 1024 * 12 * (K + 50)


def test_grids():
    cost = RandomBinning(n_grids=64).cost(replace(ROWS, n_bins=300.0))
    (draw,) = cost.stages
    width, binning = 64 * 301, N * 64 * (D / 3 + 1)
    same(draw.work, Work(values=binning + N * 64 * 5))
    assert draw.bytes == 8 * width + 24 * D * 64 + 4 * N * 64 + 24 * 2 * N
    same(cost.mapping, Work(values=binning, gathers=N * 64 / 4))
    assert (cost.width, cost.groups, cost.n_bins) == (width, 64, 300.0)
    assert cost.held == 8 * width + 24 * D * 64
    assert cost.scratch == ROWS.block_rows * 64 * 4
    guessed = RandomBinning(n_grids=64).cost(ROWS)
    assert guessed.n_bins == pytest.approx(4 * N**0.5)
