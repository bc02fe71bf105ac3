"""What fitting a feature map costs, and computing its features.

Constants with a comment "seen" are what fits to mnist, covtype, ijcnn1, a9a and
appliances_energy took.
"""

from dataclasses import replace
from math import log2
from typing import Any

from skimp.budgets import (
    Agglomerative,
    Auto,
    Balanced,
    KMeans,
    Leverage,
    RPCholesky,
    Selector,
    as_selector,
)
from skimp.budgets._auto import _LEAST_SAMPLE, _ROWS_A_POINT, _WIDEST
from skimp.budgets._clusters import _FEW, _SEEDING_ROWS, _STEPS
from skimp.budgets._rpcholesky import _FACTOR_BYTES
from skimp.choice._counts import DOUBLE, Cost, Made, Phase, planned_rows
from skimp.choice._projection_cost import drawn_numbers, projected, transformed
from skimp.features import FeatureMap, KernelProjection, Nystroem, RandomBinning, RandomFourier
from skimp.features._binning import _LARGEST_SAMPLE
from skimp.features._frequencies import FAST, transform_blocks
from skimp.features._grids import PRINTS

_CLUSTERING = 0.25
"""Share of it that k-means reaches (seen: 0.2 to 0.3)."""
_SEEDING = 0.002
"""Share of it that seeds of k-means++ reach, one distance a row at a time (seen: 0.0015)."""
_SORTED = 0.2
"""Hashes that are sorted for each function value (seen: 0.1 to 0.3)."""


def made_map(feature_map: FeatureMap, cost: Cost) -> Made:
    if isinstance(feature_map, Nystroem):
        return _nystroem(feature_map, cost)
    if isinstance(feature_map, RandomBinning):
        return _binning(feature_map, cost)
    if isinstance(feature_map, KernelProjection):
        selector = as_selector(feature_map.selector, owner=type(feature_map).__name__)
        points = min(int(feature_map.budget), cost.shape.n_rows)
        return projected(feature_map, cost, selected(selector, feature_map.kernel, points, cost))
    return _drawn(feature_map, cost)


def _nystroem(feature_map: Nystroem, cost: Cost) -> Made:
    shape = cost.shape
    n, d, dtype = shape.n_rows, shape.n_features, shape.dtype
    m = feature_map.planned_width(planned_rows(cost, 1, dtype))
    selector = as_selector(feature_map.selector, owner=type(feature_map).__name__)
    points = m * d * dtype.itemsize
    seconds, held = selected(selector, feature_map.kernel, m, cost)
    select = Phase("select", seconds, int(held + points))
    conditioned = cost.traits.conditioned and feature_map.rank is None
    # K_mm, its factor or eigenvectors with work space; the points in float64, scaled and transposed
    squares = 17 if conditioned else 40
    seconds = cost.kernel(feature_map.kernel, m, m, DOUBLE) + cost.stream(16 * m**2)
    # the divide and conquer algorithm takes some 9 m^3 operations, half of them in products
    seconds += cost.factor(m**3 / 3 if conditioned else 7 * m**3)
    factor = Phase("factor", seconds, int(squares * m**2 + points + 24 * m * d))
    mapping = cost.kernel(feature_map.kernel, n, m, dtype) + cost.calls(n)
    width = m if feature_map.rank is None else min(m, feature_map.rank)
    if not conditioned:
        mapping += cost.gemm(2 * n * m * width, DOUBLE)
    scratch = 512 * d * 8 + (0 if conditioned else 1024 * m * 12)
    if shape.density < 1:
        # a strip of the product of sparse rows, and the one before
        scratch += 1024 * m * dtype.itemsize
    return Made(
        phases=(select, factor),
        width=width,
        dtype=dtype if conditioned else DOUBLE,
        mapping=mapping,
        # a matrix of points that others determine was there before
        held=(24 if conditioned else 16 + dtype.itemsize) * m**2 + 4 * points,
        scratch=scratch,
        landmarks=conditioned,
    )


def selected(selector: Selector, kernel: Any, m: int, cost: Cost) -> tuple[float, float]:
    """Return the seconds and the bytes of choosing m points."""
    shape = cost.shape
    n, d, dtype = shape.n_rows, shape.n_features, shape.dtype
    size = dtype.itemsize
    drawing = cost.values(n, DOUBLE)
    if m >= n:
        return drawing, m * d * size
    if isinstance(selector, RPCholesky):
        given = selector.presample or _FACTOR_BYTES // (m * size)
        n = min(n, max(2 * m, given))
        # a round orthogonalizes a fifth of the columns: products of factors, inverses, kernel
        seconds = cost.kernel(kernel, n, m, dtype) + cost.gemm(1.6 * n * m**2, dtype)
        seconds += cost.stream(4 * n * m * size) + cost.factor(m**3)
        blocks = 2 * cost.threads * cost.block_rows * m / 5 * size
        return drawing + seconds, n * m * size + blocks + 40 * n + m**2
    if isinstance(selector, Leverage):
        seconds = cost.kernel(kernel, 2 * n, m, dtype) + cost.gemm(4 * n * m**2, dtype)
        seconds += log2(max(2.0, n / m)) * cost.factor(7 * m**3)
        return drawing + seconds, 48 * m**2 + 32 * n
    n_groups = max(2, shape.n_outputs)
    if isinstance(selector, Auto):
        if not cost.labelled or d > _WIDEST or n_groups > m:
            return drawing, 16 * n + m * d * size
        c = min(n, max(_LEAST_SAMPLE, _ROWS_A_POINT * m))
        seconds, held = _clustered(c / n_groups, m / n_groups, cost)
        return drawing + n_groups * seconds, held + c * d * size + 16 * n
    if isinstance(selector, Balanced):
        part = replace(cost, shape=replace(shape, n_rows=max(1, n // n_groups)))
        rule = as_selector(selector.selector, owner="Balanced")
        seconds, held = selected(rule, kernel, max(1, m // n_groups), part)
        return n_groups * seconds + drawing, held + m * d * size
    if isinstance(selector, KMeans | Agglomerative):
        c = min(n, max(int(getattr(selector, "presample", 0) or 10_000), 8 * m))
        seconds, held = _clustered(c, m, cost)
        return drawing + seconds, held + 16 * n
    return drawing, 16 * n + m * d * size


def _clustered(c: float, m: float, cost: Cost) -> tuple[float, float]:
    """Return the seconds and the bytes of m clusters of c rows."""
    d, dtype = cost.shape.n_features, cost.shape.dtype
    seconds = cost.gemm(2 * c * m * d * (_STEPS + 1), dtype) / _CLUSTERING
    seconds += cost.stream(12 * c * d * dtype.itemsize)
    if m <= _FEW:
        seconds += cost.gemm(2 * min(c, _SEEDING_ROWS) * m * d, dtype) / _SEEDING
    # the rows, scaled, centred and copied; what is new of each of them meanwhile
    return seconds, 6 * c * d * dtype.itemsize + 48 * c


def _binning(feature_map: RandomBinning, cost: Cost) -> Made:
    n, d, P = cost.shape.n_rows, cost.shape.n_features, int(feature_map.n_grids)
    seen = min(n, _LARGEST_SAMPLE)
    guess = cost.traits.n_bins
    n_bins = min(int(feature_map.max_bins), seen, 4 * seen**0.5 if guess is None else guess)
    width = int(P * (n_bins + 1))
    # a product, a floor and a hash take a third of a function value
    binning = cost.values(n * P * (d * cost.shape.density / 3 + 1), DOUBLE)
    at_once = min(PRINTS, seen * P)
    # hashes and those that are sorted, known ones with an index of them, grids
    held = 8 * width + 24 * d * P
    seconds = (binning + cost.values(n * P / _SORTED, DOUBLE)) * seen / n
    found = Phase("draw", seconds, int(held + 4 * at_once + 24 * cost.threads * seen))
    return Made(
        phases=(found,),
        width=width,
        dtype=cost.shape.dtype,
        mapping=binning + cost.gathers(n * P / 2, cost.threads),
        held=held,
        scratch=cost.block_rows * P * 4,
        groups=P,
        n_bins=n_bins,
    )


def _drawn(feature_map: FeatureMap, cost: Cost) -> Made:
    """Return what maps cost that look at the number of columns alone."""
    n, d, dtype = cost.shape.n_rows, cost.shape.n_features, cost.shape.dtype
    D = feature_map.planned_width(planned_rows(cost, d, dtype))
    known = drawn_numbers(feature_map, cost)
    if known is not None:
        numbers, mapping = known
    else:
        mapping, numbers = cost.values(n * D, dtype), d * D
        paired = isinstance(feature_map, RandomFourier) and feature_map.form == "pair"
        numbers //= 1 + paired
        if isinstance(feature_map, RandomFourier) and feature_map.sampling in FAST:
            length, n_blocks = transform_blocks(d, D // (1 + paired))
            numbers = 4 * length * n_blocks
            mapping += transformed(n, length, n_blocks, cost)
        else:
            mapping += cost.rows_times(n, numbers / d, dtype)
    held = numbers * (8 + dtype.itemsize)
    draw = Phase("draw", cost.values(4 * numbers, DOUBLE), int(2 * held))
    scratch = 512 * D * dtype.itemsize
    return Made((draw,), D, dtype, mapping + cost.calls(n), held, scratch)
