"""Landmarks by column subset selection."""

from operator import iadd
from typing import ClassVar, final

import numpy as np
from scipy import linalg

from skimp._core._blocks import Scratch
from skimp._core._linalg import check_representable, eigenpairs
from skimp._core._objects import as_real
from skimp._core._random import draw_seed
from skimp._core._types import Array, Matrix
from skimp._params._rules import Rule, integer
from skimp.budgets._base import Budget, RowSelector
from skimp.data import Block, Context, Rows
from skimp.kernels import Kernel


@final
class ColumnSubset(RowSelector):
    r"""Rows whose kernel columns span all columns well (column subset selection).

    A uniform sample S of c rows gives the n x c matrix :math:`A = k(X, S)`. The selector chooses m
    of its columns, C, that make :math:`A - C C^+ A` small. It has two stages:

    1. Draw columns with probabilities proportional to their leverage scores. These are the squared
       norms of the rows of :math:`V_m`, the m leading right singular vectors of A.
    2. Keep m of the drawn columns by pivoted QR of :math:`V_m^T` restricted to them.

    Takes n c kernel values, O(n c^2 + c^3) time and O(c^2) memory: A is never stored.

    Parameters
    ----------
    candidates : int, default=2
        Sampled columns per point: c = candidates * m. Stage 1 draws m + 2 (c - m) / 3 of them.

    References
    ----------
    Boutsidis, Mahoney and Drineas (2009), An improved approximation algorithm for the column
    subset selection problem.

    Examples
    --------
    >>> import numpy as np
    >>> from skimp.budgets import ColumnSubset
    >>> from skimp.kernels import Linear
    >>> X = np.repeat(np.eye(3), 50, axis=0)
    >>> budget = ColumnSubset(candidates=9).select(X, 3, Linear(), np.random.default_rng(0))
    >>> int(np.linalg.matrix_rank(budget.points))
    3
    """

    rules: ClassVar[dict[str, Rule]] = {"candidates": integer(at_least=1)}

    def __init__(self, *, candidates: int = 2):
        self.candidates = candidates

    def choose(
        self, rows: Rows, size: int, kernel: Kernel, rng: np.random.Generator, context: Context
    ) -> Budget:
        """Choose points; see `RowSelector.choose`."""
        sample = rows.sample(self.candidates * size, draw_seed(rng), context)
        G = _gram(rows, sample.X, kernel, context)
        chosen = _choose_columns(G, size, float(np.finfo(rows.dtype).eps), rng)
        return Budget(sample.X[chosen], sample.indices[chosen])


def _gram(rows: Rows, points: Matrix, kernel: Kernel, context: Context) -> Array:
    """Return A^T A, with A = k(X, points)."""
    columns = kernel.bind(as_real(points, rows.dtype), rows.dtype)
    c = points.shape[0]

    def of_block(block: Block, scratch: Scratch) -> Array:
        A = scratch.array("A", (block.size, c), rows.dtype)
        columns.fill(block.X, A)
        return np.matmul(A.T, A, out=scratch.array("G", (c, c), rows.dtype))

    G = context.map_reduce(rows, of_block, iadd, np.zeros((c, c)))
    check_representable(G)
    return G


def _choose_columns(G: Array, size: int, eps: float, rng: np.random.Generator) -> Array:
    """Return the columns that the two stages choose, in pivot order.

    Unlike in the reference, columns are drawn without replacement and not rescaled: rescaled
    columns have equal norms, so that rounding would choose the first pivot. If fewer than ``size``
    singular values are above rounding, the remaining columns keep the order of stage 1.
    """
    values, vectors = eigenpairs(G)
    resolved = int(np.count_nonzero(values > eps * len(G) * max(values[-1], 0.0)))
    rank = min(size, resolved)
    V = vectors[:, len(G) - rank :]
    scores = np.einsum("ij,ij->i", V, V)
    with np.errstate(divide="ignore", over="ignore"):
        waiting = rng.exponential(size=len(G)) / scores
    drawn = np.argsort(waiting, kind="stable")[: size + (2 * (len(G) - size) + 2) // 3]
    if rank == 0:
        return drawn[:size]
    pivots = linalg.qr(V[drawn].T, mode="r", pivoting=True)[1][:rank]
    return np.append(drawn[pivots], np.delete(drawn, pivots))[:size]
