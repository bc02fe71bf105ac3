"""Landmarks by randomly pivoted Cholesky."""

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
_MIN_PROPOSALS = 64
_ROUNDING = 1e-10


@final
class RPCholesky(RowSelector):
    r"""Randomly pivoted Cholesky: rows that the previously drawn rows represent poorly.

    If S are the rows drawn so far, row i is drawn next with probability proportional to

    .. math:: r_i = k(x_i, x_i) - k(x_i, S) K_{SS}^{-1} k(S, x_i),

    the residual diagonal of the kernel matrix. The sum of all r is the trace error of the Nystroem
    approximation with the points S. The first points of a budget are a smaller budget.

    Accelerated RPCholesky draws many rows at a time and rejects those that earlier ones already
    represent. The points have the same distribution as if they were drawn one by one.

    Takes n m kernel values, O(n m^2) time and memory for n m numbers. Each round of draws reads the
    rows twice; budgets above a few hundred points take six rounds or more.

    Parameters
    ----------
    tol : float or None, default=None
        Stop as soon as the sum of r is at most this fraction of the trace. A tolerance implies
        float64.
    presample : int or None, default=None
        Number n of rows to choose from, drawn uniformly; raised to 2 m if that is larger. None
        uses as many rows as keep the n m numbers within 1 GiB.

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
    spreads = True
    rules: ClassVar[dict[str, Rule]] = {
        "tol": NONE | FRACTION,
        "presample": NONE | integer(at_least=1),
    }

    def __init__(self, *, tol: float | None = None, presample: int | None = None):
        self.tol = tol
        self.presample = presample

    @property
    def takes_all(self) -> bool:
        """Whether all rows are returned if there are few; a tolerance may need fewer points."""
        return self.tol is None

    def choose(
        self, rows: Rows, size: int, kernel: Kernel, rng: np.random.Generator, context: Context
    ) -> Budget:
        """Choose points; see `RowSelector.choose`."""
        require(
            kernel,
            "positive_definite",
            owner=type(self).__name__,
            advice="its matrix is factorized",
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
        # a round adds a fifth of the columns, with products by earlier columns and by an inverse
        work = kernel.work(n, m, size, dtype) + gemm(1.6 * n * m**2, dtype)
        work += stream(4 * n * m * dtype.itemsize) + factor(m**3)
        blocks = 2 * size.threads * size.block_rows * m / 5 * dtype.itemsize
        return work, n * m * dtype.itemsize + blocks + 40 * n + m**2

    def _candidates(self, size: int, dtype: DType) -> int:
        """Return the maximum number of rows to choose from."""
        return max(2 * size, self.presample or _FACTOR_BYTES // (size * dtype.itemsize))


def pivot_order(
    points: Matrix, kernel: Kernel, rng: np.random.Generator, context: Context = LOCAL
) -> Array:
    """Order points so that the first m represent the others well, for any m."""
    rows = ArrayRows(points)
    pivots = _pivots(rows, rows.n_rows, kernel, 0.0, rng, context)
    return complete(pivots, rows.n_rows, rows.n_rows, rng)


# BLAS threads would keep spinning and compete with the threads that process blocks
@single_threaded_blas()
def _pivots(
    rows: Rows, size: int, kernel: Kernel, tol: float, rng: np.random.Generator, context: Context
) -> Array:
    """Return up to ``size`` pivots; stop once the residual is at most ``tol`` times the trace."""
    # rounding errors grow by a few eps per pivot: too much in float32 for a small tolerance
    dtype = DOUBLE if tol else rows.dtype
    F = np.empty((rows.n_rows, size), dtype)
    residual = context.compute(
        rows, lambda block, _: kernel.diag(block.X, n_jobs=1), (), np.float64
    )
    check_representable(residual)
    trace = residual.sum()
    threshold = max(tol, size * float(np.finfo(dtype).eps)) * trace
    if residual.max() < np.finfo(dtype).tiny:
        return np.empty(0, np.int64)
    n_proposals = max(_MIN_PROPOSALS, size // 5)
    pivots, explained = np.empty(0, np.int64), np.empty(0)
    with context.phase("pivots", unit="points", total=size) as choosing:
        while len(pivots) < size and residual.sum() > threshold:
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
                residual[proposals] = 0  # only rounding errors are left
                continue
            new = proposals[accepted]
            added = _extend(rows, F, residual, new, points[accepted], L, kernel, done, context)
            check_representable(added)
            explained = np.append(explained, added)
            pivots = np.append(pivots, new)
            residual[pivots] = 0
            choosing.reach(len(pivots) / size)
    # drop pivots beyond the one that reached the tolerance
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
    """Add the columns of new pivots to the factor F and update the residual diagonal in place.

    Returns by how much each column reduces the trace.
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
    """Return the accepted proposals, in order, and the Cholesky factor of their submatrix of H.

    The probability to accept a proposal is its residual after the proposals accepted before it,
    divided by its diagonal entry of H.
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
