"""Columns of the kernel matrix that span the others."""

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
    r"""Columns of the kernel matrix whose span is close to all of them.

    A sample of c rows gives the n x c matrix :math:`A = k(X, S)`. Of its columns, m are chosen that
    make :math:`A - C C^+ A` small, in two stages: columns are drawn by their leverage scores, the
    squared norms of the rows of :math:`V_m`, the m leading right singular vectors of A; then
    pivoted QR of :math:`V_m^T`, restricted to the columns drawn, keeps m of them.

    Takes n c kernel values, O(n c^2 + c^3) time and O(c^2) memory: A is never held.

    Parameters
    ----------
    candidates : int, default=2
        Columns in the sample, c, for each point; two thirds of what is beyond one a point go into
        the second stage.

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
    """Return A^T A for the matrix A of kernel columns of the points."""
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
    """Return the columns that the two stages choose, in the order of their pivots.

    Columns are drawn without replacement and not rescaled, unlike in the reference: if rescaled,
    they are equally long, and rounding chooses the first pivot. If fewer singular values are
    resolved than columns are asked for, the rest are as drawn.
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
