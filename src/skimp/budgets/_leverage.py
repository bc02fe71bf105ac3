"""Landmarks by recursively estimated ridge leverage scores."""

from math import ceil, log, log2
from typing import final

import numpy as np
from scipy import linalg

from skimp._core._blocks import Scratch
from skimp._core._linalg import check_representable, cholesky, eigenpairs
from skimp._core._objects import as_real
from skimp._core._random import draw_seed, row_keys
from skimp._core._types import Array, Matrix
from skimp._core._work import DOUBLE, Size, Work, factor, gemm
from skimp.budgets._base import MANY_ROWS, Budget, RowSelector, complete
from skimp.data import Block, Context, Rows, masked_rows
from skimp.kernels import Kernel, require


@final
class Leverage(RowSelector):
    r"""Rows drawn by their ridge leverage scores, without replacement.

    The score of row i, :math:`(K (K + \lambda I)^{-1})_{ii}`, measures how little the other rows
    explain it. It is estimated from a sample S with weights on the diagonal of D:

    .. math:: \ell_i = \frac{1}{\lambda} \bigl(k(x_i, x_i)
        - k(x_i, S) (K_{SS} + \lambda D^{-2})^{-1} k(S, x_i)\bigr).

    S is itself drawn by leverage scores, from a random half of the rows. Those scores are estimated
    from a sample of a quarter of the rows, and so on down to m rows. The penalty follows from m:
    with :math:`r = \lceil m / (4 \log m) \rceil`, :math:`\lambda` is the sum of all eigenvalues
    but the r largest ones, divided by r.

    Takes about 2 n m kernel values, O(n m^2) time and O(n + m^2) memory. Each of the about
    :math:`\log_2 (n / m)` levels reads the rows twice. Of more than 2^20 rows, it uses a random
    part of about 2^20.

    References
    ----------
    Musco and Musco (2017), Recursive sampling for the Nystroem method, algorithm 3.

    Examples
    --------
    >>> import numpy as np
    >>> from skimp.budgets import Leverage
    >>> from skimp.kernels import Gaussian
    >>> X = np.append(np.zeros(999), 9.0)[:, None] + np.linspace(0, 0.1, 1000)[:, None]
    >>> budget = Leverage().select(X, 40, Gaussian(gamma=1.0), np.random.default_rng(0))
    >>> 999 in budget.indices
    True
    """

    most_rows = MANY_ROWS

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
        n = rows.n_rows
        oversampling = max(1.0, log(size))
        rank = ceil(size / (4 * oversampling))
        order = np.argsort(row_keys(draw_seed(rng), 0, n), kind="stable")
        numbers, weight = order[:size], np.ones(size)
        # each level has about twice as many rows as the previous one; the last one has all
        n_levels = ceil(log2(n / size))
        for level in (n >> (n_levels - i) for i in range(1, n_levels)):
            mask = np.zeros(n, bool)
            mask[order[:level]] = True
            points = rows.take(numbers, context).X
            scores = _scores(masked_rows(rows, mask), points, weight, rank, kernel, context)
            chances = np.minimum(1, oversampling * scores)
            kept = rng.uniform(size=len(chances)) < chances
            if not kept.any():
                continue
            numbers, weight = np.flatnonzero(mask)[kept], 1 / np.sqrt(chances[kept])
        scores = _scores(rows, rows.take(numbers, context).X, weight, rank, kernel, context)
        chosen = complete(_draw(scores, size, rng), size, n, rng)
        return Budget(rows.take(chosen, context).X, chosen)

    def count(self, m: int, kernel: Kernel, size: Size) -> tuple[Work, float]:
        """Return work and bytes; see `Selector.count`."""
        n, dtype = min(size.n_rows, MANY_ROWS), size.dtype
        work = kernel.work(2 * n, m, size, dtype) + gemm(4 * n * m**2, dtype)
        return work + log2(max(2.0, n / m)) * factor(7 * m**3), 48 * m**2 + 32 * n


def _scores(
    rows: Rows, points: Matrix, weight: Array, rank: int, kernel: Kernel, context: Context
) -> Array:
    """Return the leverage scores of the rows, estimated from weighted points.

    Zeros if all kernel values vanish.
    """
    dtype = rows.dtype
    K = kernel(as_real(points, DOUBLE), n_jobs=context.n_jobs)
    check_representable(K)
    if K.max() < np.finfo(dtype).tiny:
        return np.zeros(rows.n_rows)
    values = eigenpairs(K * np.outer(weight, weight))[0]
    penalty = max(values[:-rank].sum() / rank, np.finfo(dtype).eps * values[-1])
    K.flat[:: len(K) + 1] += penalty / weight**2
    R = cholesky(K, jitter=np.finfo(np.float64).eps)
    assert R is not None, "a positive number was added to the diagonal"
    half = linalg.solve_triangular(R, np.eye(len(R))).astype(dtype)
    columns = kernel.bind(as_real(points, dtype), dtype)

    def of_block(block: Block, scratch: Scratch) -> Array:
        K = scratch.array("K", (block.size, len(half)), dtype)
        columns.fill(block.X, K)
        Z = np.matmul(K, half, out=scratch.array("Z", K.shape, dtype))
        left: Array = kernel.diag(block.X, n_jobs=1)
        left -= np.einsum("ij,ij->i", Z, Z, dtype=np.float64)
        left /= penalty
        return left

    scores = context.compute(rows, of_block, (), np.float64)
    check_representable(scores)
    return np.clip(scores, 0, 1)


def _draw(scores: Array, size: int, rng: np.random.Generator) -> Array:
    """Draw rows with probabilities proportional to their scores, without replacement."""
    positive = np.flatnonzero(scores)
    with np.errstate(over="ignore"):
        waiting = rng.exponential(size=len(scores))[positive] / scores[positive]
    return positive[np.argsort(waiting, kind="stable")[:size]]
