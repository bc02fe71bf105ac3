"""Randomly pivoted Cholesky."""

from operator import iadd
from typing import ClassVar, final

import numpy as np
from scipy import linalg

from skimp._core._blocks import Scratch
from skimp._core._linalg import check_representable
from skimp._core._objects import as_real
from skimp._core._random import draw_seed
from skimp._core._threads import single_threaded_blas
from skimp._core._types import Array, DType, Matrix
from skimp._core._work import DOUBLE, Size, Work, factor, gemm, stream
from skimp._params._rules import FRACTION, NONE, Rule, integer
from skimp.budgets._base import Budget, RowSelector, complete
from skimp.data import LOCAL, ArrayRows, Block, Context, Rows
from skimp.kernels import Kernel, require

_FACTOR_BYTES = 2**30
_LEAST_PROPOSALS = 64
_ROUNDING = 1e-10


@final
class RPCholesky(RowSelector):
    r"""Randomly pivoted Cholesky: rows drawn by how badly those before them represent them.

    With S the rows drawn so far, the next one is i with a probability proportional to

    .. math:: r_i = k(x_i, x_i) - k(x_i, S) K_{SS}^{-1} k(S, x_i),

    what is left of the diagonal of the kernel matrix. The sum of all r is the trace of what a
    Nystroem approximation with the points S misses. Rows are proposed many at a time and rejected
    by what earlier proposals explain of them, which gives the law of drawing them one by one
    (accelerated RPCholesky). The first points of a budget are a budget.

    Takes n m kernel values, O(n m^2) time, n m numbers of memory, and two passes over the rows for
    each round, of which there are six or more.

    Parameters
    ----------
    tol : float or None, default=None
        Stop as soon as the sum of r is at most this share of the trace, and compute in float64.
    presample : int or None, default=None
        Rows, drawn uniformly, to choose from; None for as many as keep the n m numbers within
        one gigabyte, and at least two a point.

    References
    ----------
    Chen, Epperly, Tropp and Webber (2025), Randomly pivoted Cholesky: practical approximation of a
    kernel matrix with few entry evaluations.
    Epperly, Tropp and Webber (2024), Embrace rejection: kernel matrix approximation by
    accelerated randomly pivoted Cholesky.

    Examples
    --------
    >>> import numpy as np
    >>> from skimp.budgets import RPCholesky
    >>> from skimp.kernels import Gaussian
    >>> X = np.random.default_rng(0).normal(size=(1000, 2))
    >>> selector = RPCholesky(tol=1e-3)
    >>> budget = selector.select(X, 500, Gaussian(gamma=0.1), np.random.default_rng(0))
    >>> len(budget.points) < 100
    True
    """

    nested = True
    spreads = True  # rows that earlier points represent are not drawn
    rules: ClassVar[dict[str, Rule]] = {
        "tol": NONE | FRACTION,
        "presample": NONE | integer(at_least=1),
    }

    def __init__(self, *, tol: float | None = None, presample: int | None = None):
        self.tol = tol
        self.presample = presample

    @property
    def takes_all(self) -> bool:
        """False with a tolerance, which fewer points than rows may reach."""
        return self.tol is None

    def choose(
        self, rows: Rows, size: int, kernel: Kernel, rng: np.random.Generator, context: Context
    ) -> Budget:
        """Choose points; see `RowSelector.choose`."""
        require(
            kernel, "positive_definite", owner=type(self).__name__, advice="its matrix needs a root"
        )
        size = min(size, rows.n_rows)
        numbers, limit = np.arange(rows.n_rows), self._candidates(size, rows.dtype)
        if limit < rows.n_rows:
            sample = rows.sample(limit, draw_seed(rng), context)
            numbers, rows = sample.indices, ArrayRows(sample.X)
        pivots = _pivots(rows, size, kernel, self.tol or 0.0, rng, context)
        wanted = size if self.tol is None else max(1, len(pivots))
        pivots = complete(pivots, wanted, rows.n_rows, rng)
        return Budget(rows.take(pivots, context).X, numbers[pivots])

    def count(self, m: int, kernel: Kernel, size: Size) -> tuple[Work, float]:
        """Return work and bytes; see `Selector.count`."""
        dtype = size.dtype
        n = min(size.n_rows, self._candidates(m, dtype))
        # a round orthogonalizes a fifth of the columns: products of factors, inverses, kernel
        work = kernel.work(n, m, size, dtype) + gemm(1.6 * n * m**2, dtype)
        work += stream(4 * n * m * dtype.itemsize) + factor(m**3)
        blocks = 2 * size.threads * size.block_rows * m / 5 * dtype.itemsize
        return work, n * m * dtype.itemsize + blocks + 40 * n + m**2

    def _candidates(self, size: int, dtype: DType) -> int:
        """Return the most rows to choose from."""
        return max(2 * size, self.presample or _FACTOR_BYTES // (size * dtype.itemsize))


def pivot_order(
    points: Matrix, kernel: Kernel, rng: np.random.Generator, context: Context = LOCAL
) -> Array:
    """Return an order of points in which the first m represent the others well, for any m."""
    rows = ArrayRows(points)
    pivots = _pivots(rows, rows.n_rows, kernel, 0.0, rng, context)
    return complete(pivots, rows.n_rows, rows.n_rows, rng)


# threads of BLAS would go on spinning beside those that handle blocks
@single_threaded_blas()
def _pivots(
    rows: Rows, size: int, kernel: Kernel, tol: float, rng: np.random.Generator, context: Context
) -> Array:
    """Return at most ``size`` pivots, fewer if the residual is down to a share of the trace."""
    # errors of float32 add up to a few eps for each pivot, more than small tolerances
    dtype = DOUBLE if tol else rows.dtype
    F = np.empty((rows.n_rows, size), dtype)
    residual = context.compute(
        rows, lambda block, _: kernel.diag(block.X, n_jobs=1), (), np.float64
    )
    check_representable(residual)
    trace = residual.sum()
    enough = max(tol, size * float(np.finfo(dtype).eps)) * trace
    if residual.max() < np.finfo(dtype).tiny:
        return np.empty(0, np.int64)
    n_proposals = max(_LEAST_PROPOSALS, size // 5)
    pivots, explained = np.empty(0, np.int64), np.empty(0)
    while len(pivots) < size and residual.sum() > enough:
        done = len(pivots)
        cumulative = np.cumsum(residual)
        draws = rng.uniform(0, cumulative[-1], min(n_proposals, 2 * (size - done) + 8))
        proposals = np.searchsorted(cumulative, draws, side="right")
        proposals = np.minimum(proposals, rows.n_rows - 1)
        points = as_real(rows.take(proposals, context).X, DOUBLE)
        before = F[proposals, :done].astype(np.float64)
        H = kernel(points, n_jobs=context.n_jobs) - before @ before.T
        accepted, L = _accept(H, size - done, rng)
        if len(accepted) == 0:
            residual[proposals] = 0  # what is left of them is rounding
            continue
        new = proposals[accepted]
        added = _extend(rows, F, residual, new, points[accepted], L, kernel, done, context)
        check_representable(added)
        explained = np.append(explained, added)
        pivots = np.append(pivots, new)
        residual[pivots] = 0
    # a round may go on beyond the pivot that was enough
    last = np.searchsorted(np.cumsum(explained), (1 - tol) * trace) if tol else size
    return pivots[: last + 1]


def _extend(
    rows: Rows,
    F: Array,
    residual: Array,
    new: Array,
    points: Matrix,
    L: Array,
    kernel: Kernel,
    done: int,
    context: Context,
) -> Array:
    """Write the columns of new pivots into the factor F, and take them from the residual.

    Returns what each of them takes from the trace.
    """
    dtype = F.dtype
    columns = kernel.bind(as_real(points, dtype), dtype)
    before = np.ascontiguousarray(F[new, :done].T)
    inverse = linalg.solve_triangular(L, np.eye(len(L)), lower=True).T.astype(dtype)

    def extend(block: Block, scratch: Scratch) -> Array:
        part = slice(block.start, block.start + block.size)
        K, P = (scratch.array(name, (block.size, len(new)), dtype) for name in "KP")
        columns.fill(block.X, K)
        if done:
            K -= np.matmul(F[part, :done], before, out=P)
        added = np.matmul(K, inverse, out=F[part, done : done + len(new)])
        left = residual[part] - np.einsum("ij,ij->i", added, added)
        residual[part] = np.maximum(left, 0)
        taken: Array = np.einsum("ij,ij->j", added, added)
        return taken

    return context.map_reduce(rows, extend, iadd, np.zeros(len(new)))


def _accept(H: Array, limit: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Return which proposals are kept, in order, and the Cholesky factor of their part of H.

    A proposal is kept with a probability: the share of its diagonal that those before it leave.
    """
    left = H.diagonal().copy()
    chances = rng.uniform(size=len(H)) * left
    floor = _ROUNDING * np.abs(left).max()
    L = np.zeros((len(H), min(limit, len(H))))
    accepted: list[int] = []
    for j in range(len(H)):
        k = len(accepted)
        if k == L.shape[1]:
            break
        if left[j] > max(chances[j], floor):
            L[:, k] = (H[:, j] - L[:, :k] @ L[j, :k]) / np.sqrt(left[j])
            left -= L[:, k] ** 2
            accepted.append(j)
    kept = np.array(accepted, np.int64)
    return kept, np.tril(L[kept, : len(kept)])
