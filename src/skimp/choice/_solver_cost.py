"""What solving costs, once there is a feature map.

Constants with a comment "seen" are what fits to mnist, covtype, ijcnn1, a9a and
appliances_energy took.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from math import log, sqrt
from typing import Any

import numpy as np

from skimp._params._memory import parse_bytes
from skimp.choice._counts import DOUBLE, Cost, Made, Phase, planned_rows
from skimp.data import Context, Rows, kept_bytes
from skimp.losses import Loss, Squared, SquaredHinge
from skimp.solvers import Auto, Direct, DualCD, Problem, Solver
from skimp.solvers._auto import _choose
from skimp.solvers._descent import _SMALL, _SUMMED, _is_wide, _sample_size
from skimp.solvers._preconditioner import _CHUNK

_SKINNY = 0.25
"""Share of the speed of matrix products that those with few columns reach (seen: 0.2 to 0.4)."""
_STREAMED = 0.6
"""Share of the speed of memory that products with one column reach (seen: 0.5 to 0.8)."""


def exact_phases(cost: Cost) -> Iterator[Phase]:
    n, d = cost.shape.n_rows, cost.shape.n_features
    points = 16 * n * d
    yield Phase("factor", cost.kernel(None, n, n, DOUBLE), int(9 * n**2 + points))
    # K and its factor; finite ones are told from others in an array of a byte each
    seconds = cost.factor(n**3 / 3) + cost.stream(60 * n**2)
    yield Phase("solve", seconds, int(17 * n**2 + points + 32 * n * cost.shape.n_outputs))


def solved(made: Made, cost: Cost, loss: Loss, solver: Solver, alpha: float) -> Phase:
    rows = planned_rows(cost, made.width, made.dtype, made.groups, made.n_bins)
    problem = Problem(
        rows,
        loss,
        alpha,
        # solvers ask whether there is one
        penalty=np.empty((0, 0)) if made.landmarks else None,
        memory_limit=cost.memory_limit,
    )
    chosen = _choose(problem, Context(cost.n_jobs))[0] if isinstance(solver, Auto) else solver
    if isinstance(chosen, Direct):
        seconds, held = _by_equations(made, cost, rows)
    elif isinstance(chosen, DualCD):
        seconds, held = _by_dual(made, cost, problem, _Effort.of(solver, chosen))
    else:
        seconds, held = _by_descent(made, cost, problem, _Effort.of(solver, chosen))
    return Phase("solve", seconds, int(made.held + held))


@dataclass(frozen=True)
class _Effort:
    """The most iterations, and how many times as many a tolerance needs as the default one."""

    most: float
    factor: float

    @classmethod
    def of(cls, given: Any, chosen: Any) -> "_Effort":
        """Read the options of the solver that was given, else of the one that it chose."""
        most = getattr(given, "max_iter", None)
        tol = getattr(given, "tol", None)
        usual = type(chosen)().tol
        # errors fall by a factor in each iteration
        factor = 1.0 if tol is None else log(min(tol, 0.5)) / log(usual)
        return cls(chosen.max_iter if most is None else most, factor)

    def limited(self, n_iter: float) -> float:
        """Return iterations that are usually n_iter."""
        return min(self.most, self.factor * n_iter)


def _by_equations(made: Made, cost: Cost, rows: Rows) -> tuple[float, float]:
    n, D, t = cost.shape.n_rows, made.width, cost.threads
    plain = not made.landmarks and not made.groups
    dtype = made.dtype if plain else DOUBLE
    block = rows.block_rows * D * (made.dtype.itemsize + dtype.itemsize)
    seconds = made.mapping + cost.factor(D**3) + cost.stream(100 * D**2)
    if made.groups:
        pairs = n * made.groups**2
        return seconds + cost.gathers(pairs / 8, t), (1 + 2 * t) * 8 * D**2
    # SYRK computes half of the products
    seconds += cost.gemm(n * D**2, dtype)
    # the blocks are added up one at a time, in float64
    seconds += n / rows.block_rows * cost.stream((16 + dtype.itemsize) * D**2) * 0.5
    blocks = t * (block + made.scratch)
    summing = 8 * D**2 + t * dtype.itemsize * D**2 + blocks
    # covariances, equations, their factor, and one more while they are made; the allocator keeps
    # some of the blocks
    return seconds, max(summing, 32 * D**2 + blocks / 4)


def _by_descent(made: Made, cost: Cost, problem: Problem, effort: _Effort) -> tuple[float, float]:
    rows, loss = problem.rows, problem.loss
    n, k, D, t = cost.shape.n_rows, cost.shape.n_outputs, made.width, cost.threads
    size, summed = made.dtype.itemsize, 8 if made.landmarks else made.dtype.itemsize
    sampled = min(n, _sample_size(problem, n))
    # targets, predictions, curvature, those of another point, and losses
    held: float = (3 * size + 6 * summed) * n * k + 8 * n
    steps, inner, curved = _newton_steps(loss, k, made.landmarks)
    steps = effort.limited(steps)
    products = steps * inner
    if _is_wide(rows):
        held += (64 * k + 16) * D
        matrix = 0.0
    else:
        matrix, more = _preconditioned(made, cost, loss, sampled, steps, curved)
        held += more + sampled * D * size
    keeping = kept_bytes(rows)
    kept = keeping + _least_bytes(problem, k, sampled) <= parse_bytes(cost.memory_limit)
    blocks = t * (rows.block_rows * _row_bytes(made) + made.scratch)
    held += keeping if kept else blocks
    passes = steps + 1
    if n > max(_SMALL, 2 * sampled):
        # the same steps on the sample first, which is in memory, and rougher
        passes += sampled / n * steps
        products *= 1 + 0.5 * sampled / n
        matrix *= 1.5
    seconds = passes * _pass(made, cost, k, exact=True) + products * _pass(made, cost, k, curved)
    if not _is_wide(rows):
        # triangular solves with one column after the other
        seconds += products * cost.factor(8 * D**2 * k)
    mapped = 1.0 if kept else 1 + passes + products
    return mapped * made.mapping + cost.stream(2 * keeping) + seconds + matrix, held


def _newton_steps(loss: Loss, k: int, landmarks: bool) -> tuple[float, float, float]:
    """Return steps of a descent, products of each, and the share of predictions that are curved.

    Seen: 3 steps and 4 to 17 products for the squared loss in random features; for others in
    landmarks 4 to 11 steps with 7 to 13 products each, 4 to 7 with 2 to 6 in features. Of the
    squared hinge loss 6 % of ten outputs and 11 to 63 % of one were curved.
    """
    if isinstance(loss, Squared):
        return 3, (7 if landmarks else 2), 1.0
    steps = 5 if k == 1 else 8
    curved = 0.4 / k if isinstance(loss, SquaredHinge) else 1.0
    many = 9 if k == 1 else 12
    return steps, many if landmarks else 3, curved


def _preconditioned(
    made: Made, cost: Cost, loss: Loss, sampled: int, steps: float, curved: float
) -> tuple[float, float]:
    """Return the seconds and the bytes of the preconditioner."""
    D, k, t, dtype = made.width, cost.shape.n_outputs, cost.threads, made.dtype
    size = dtype.itemsize
    # rows that are chosen, and times roots of their weights; a sum and the one before
    chunk = 2 * _CHUNK * D * size + 2 * size * D**2
    if not made.landmarks:
        seconds = steps * (cost.gemm(sampled * curved * D**2, dtype) + cost.factor(D**3 / 3, dtype))
        return seconds, t * chunk + (8 + size) * D**2
    seconds = cost.factor(D**3 * 2 / 3) + 2 * cost.factor(D**3 / 3, dtype)
    held = (16 + 2 * size) * D**2
    if isinstance(loss, Squared) or k == 1:
        return seconds, held
    # some sums over rows, in other coordinates, for all outputs; and once in a fit, each of several
    # gets a factor of its own
    chosen = cost.shape.n_rows * curved
    summed = min(cost.shape.n_rows, _SUMMED * D)
    seconds += 3 * (cost.gemm(3 * summed * D**2, dtype) + cost.factor(D**3 / 3, dtype))
    seconds += k / min(k, t) * cost.gemm(t * chosen * D**2, dtype) + k * cost.factor(2 * D**3)
    return seconds, held + k * size * D**2 + min(k, t) * (chunk + 8 * D**2)


def _least_bytes(problem: Problem, k: int, sampled: int) -> float:
    """Return what a descent takes in any case, as it computes it itself."""
    rows, D = problem.rows, problem.rows.n_features
    own = 40 * rows.n_rows * k
    if _is_wide(rows):
        return own + (64 * k + 16) * D
    return own + (16 + 2 * rows.dtype.itemsize) * D**2 + sampled * D * rows.dtype.itemsize


def _row_bytes(made: Made) -> float:
    """Return the size of a row's features."""
    if made.groups:
        return float(made.groups * np.min_scalar_type(int(made.n_bins)).itemsize)
    return made.width * made.dtype.itemsize


def _pass(made: Made, cost: Cost, k: int, share: float = 1.0, exact: bool = False) -> float:
    """Return the seconds of a product with all features and one with their transpose.

    Those of ``exact`` ones are in float64 for landmarks.
    """
    n = cost.shape.n_rows
    if made.groups:
        return cost.gathers(n * made.groups * k, cost.threads)
    converted = exact and made.landmarks and made.dtype != DOUBLE
    dtype = DOUBLE if converted else made.dtype
    read = cost.stream(n * _row_bytes(made) * (3 if converted else 1)) / _STREAMED
    # memory is what one column waits for
    operations = 0 if k == 1 else 4 * n * made.width * k * share
    return max(read, cost.gemm(operations, dtype) / _SKINNY) + cost.calls(n)


def _by_dual(made: Made, cost: Cost, problem: Problem, effort: _Effort) -> tuple[float, float]:
    rows, loss = problem.rows, problem.loss
    n, k, D, t = cost.shape.n_rows, cost.shape.n_outputs, made.width, cost.threads
    needed = 17 * n * k + 32 * n + 24 * k * D
    keeping, limit = kept_bytes(rows), parse_bytes(cost.memory_limit)
    kept = keeping <= limit - needed
    sweeps = effort.limited(_dual_sweeps(loss, n, problem.alpha))
    mapping = made.mapping
    blocks = rows.block_rows * _row_bytes(made) + made.scratch
    held: float = needed
    if made.landmarks:
        # a root of the penalty, and rows times it, in float64
        mapping += cost.gemm(2 * n * D**2, DOUBLE)
        blocks += rows.block_rows * D * (8 + made.dtype.itemsize + 8 * (made.dtype != DOUBLE))
        held += 24 * D**2
    held += t * blocks
    # rows that do not fit are sampled, as many as the limit leaves room for
    held += keeping if kept else max(0.0, min(keeping, limit - made.held - held))
    threads = 1 if loss.joint else min(t, k if not made.groups else max(1, k // 2))
    if made.groups:
        sweep = cost.gathers(n * made.groups * k, threads)
    else:
        sweep = n * D * k / (cost.rates.sweeps * threads)
    # checks of the gap, nearly as many as sweeps
    seconds = sweeps * (sweep + 0.5 * _pass(made, cost, k))
    mapped = 1.0 if kept else 1 + 2 * sweeps
    return mapped * mapping + cost.stream(2 * keeping) + seconds, held


def _dual_sweeps(loss: Loss, n: int, alpha: float) -> float:
    """Return sweeps over all rows; many more leave most of them out.

    Seen at the default tolerance: 10 for a C of 1, 47 for a C of 25; 147 for the epsilon
    insensitive loss and a C of 2.5.
    """
    C = 1 / (2 * alpha * n)
    quick = loss.labels or isinstance(loss, Squared)
    return (10 if quick else 100) * sqrt(min(max(C, 0.1), 100.0))
