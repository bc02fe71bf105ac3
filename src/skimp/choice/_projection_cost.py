"""What random projections from kernel feature spaces cost.

Constants with a comment "seen" are what maps of 16,384 rows with 100 columns took.
"""

from math import log2
from typing import Any

from skimp.choice._counts import DOUBLE, Cost, Made, Phase, planned_rows
from skimp.features import (
    Degree2Projection,
    ExplicitPolynomial,
    FeatureMap,
    KernelProjection,
    OrthogonalProjection,
    PolynomialProjection,
    RandomMaclaurin,
    TensorSketch,
)
from skimp.features._frequencies import transform_blocks
from skimp.features._orthogonal_projection import _SMALLEST

_FACTORS = 5.0
"""Factors of products that are gathered for each function value in float64 (seen: 5 to 7)."""
_BUTTERFLIES = 8.0
"""Steps of Fourier transforms for each such value (seen: 7 to 13)."""
_SCATTERED = 2.0
"""Entries that are added to a sketch for each such value."""
_TRANSFORMED = 12
"""Additions of Walsh-Hadamard transforms for each function value."""


def drawn_numbers(feature_map: FeatureMap, cost: Cost) -> tuple[float, float] | None:
    """Return the numbers that a map draws, and the seconds of mapping all rows, None if unknown."""
    n, d, dtype = cost.shape.n_rows, cost.shape.n_features, cost.shape.dtype
    k = feature_map.planned_width(planned_rows(cost, d, dtype))
    g = getattr(feature_map, "degree", 2)
    if isinstance(feature_map, PolynomialProjection):
        p, factors = feature_map.n_vectors, g * feature_map.n_terms * k
        return d * p + factors, cost.rows_times(n, p, dtype) + _gathered(n * factors, cost)
    if isinstance(feature_map, Degree2Projection | RandomMaclaurin):
        vectors = k * (g if isinstance(feature_map, RandomMaclaurin) else feature_map.n_terms)
        return d * vectors, cost.rows_times(n, vectors, dtype) + _gathered(n * vectors, cost)
    if isinstance(feature_map, ExplicitPolynomial):
        return g * k, _gathered(n * g * k, cost)
    if isinstance(feature_map, TensorSketch):
        entries = n * g * (d * cost.shape.density + 1)
        steps = n * (g + 1) * k * log2(max(2, k)) if g > 1 else 0
        return 2 * g * d, cost.values(entries / _SCATTERED + steps / _BUTTERFLIES, DOUBLE)
    if isinstance(feature_map, OrthogonalProjection):
        length, n_blocks = transform_blocks(d, k, _SMALLEST)
        return 3 * n_blocks * length, transformed(n, length, n_blocks, cost)
    return None


def transformed(n: int, length: int, n_blocks: int, cost: Cost) -> float:
    """Return the seconds of three Walsh-Hadamard transforms, in cache, for each block of a row."""
    additions = n * n_blocks * length * 3 * log2(length)
    return cost.values(additions / _TRANSFORMED, cost.shape.dtype)


def _gathered(count: float, cost: Cost) -> float:
    return cost.values(count / _FACTORS, DOUBLE)


def projected(feature_map: KernelProjection, cost: Cost, selected: tuple[float, float]) -> Made:
    """Return what `KernelProjection` costs, given the seconds and bytes of its selection."""
    shape = cost.shape
    n, d, dtype, k = shape.n_rows, shape.n_features, shape.dtype, int(feature_map.n_components)
    p = min(int(feature_map.budget), n)
    kernel: Any = feature_map.kernel
    points = p * d * dtype.itemsize
    select = Phase("select", selected[0], int(selected[1] + points))
    seconds = cost.kernel(kernel, p, p, DOUBLE) + cost.factor(7 * p**3)
    seconds += cost.gemm(2 * p * p * k, DOUBLE)
    factor = Phase("factor", seconds, int(40 * p**2 + 24 * p * k + points + 24 * p * d))
    mixed = dtype if cost.traits.conditioned else DOUBLE
    mapping = cost.kernel(kernel, n, p, dtype) + cost.calls(n) + cost.gemm(2 * n * p * k, mixed)
    held = 16 * p**2 + 8 * p * k + 4 * points
    return Made((select, factor), k, dtype, mapping, held, scratch=1024 * 12 * (p + k))
