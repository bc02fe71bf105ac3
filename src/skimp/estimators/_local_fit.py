"""Anchors, features and penalty of a locally linear model."""

from operator import add

import numpy as np
from scipy import sparse

from skimp._core._blocks import Scratch
from skimp._core._linalg import check_representable, dense, squared_norms
from skimp._core._types import Array, Matrix
from skimp.budgets import Selector
from skimp.choice import merge_equal
from skimp.data import Block, Context, Rows
from skimp.features import LocalProducts
from skimp.kernels import Gaussian
from skimp.solvers import solve_exact

_SAMPLE = 1000
"""Rows from which least squares choose the penalty."""
_REPEATED = 0.25
"""Share of distinct rows below which copies are left out one at a time."""
_WEAKEST = 1e-4
"""Least ridge penalty, n alpha: hinge losses of separable rows take long to solve below it."""
_ROWS_PER_ANCHOR = 10
"""A row that is an anchor has features that no other row shares, and predicts only itself."""


def choose_anchors(
    rows: Rows, size: int, selector: Selector, rng: np.random.Generator, context: Context
) -> Matrix:
    """Return the anchors, of which no two are equal; they are sparse if the rows are."""
    if rows.n_rows < _ROWS_PER_ANCHOR * size:
        X = rows.collect().X
        most = _distinct(X.astype(rows.dtype)).shape[0] // _ROWS_PER_ANCHOR
        size = min(size, max(1, most))
    # selectors that need a kernel use the Gaussian one of this bandwidth
    points = selector.select(rows, size, Gaussian("scale"), rng, context=context).points
    anchors = _distinct(points.astype(rows.dtype))
    return dense(anchors, rows.dtype) if rows.entries is None else sparse.csr_matrix(anchors)


def fit_local(anchors: Matrix, n_neighbors: int, rows: Rows, context: Context) -> LocalProducts:
    """Return the features of a locally linear model, with the root mean squared norm as unit."""
    k = min(n_neighbors, anchors.shape[0])

    def measure(block: Block, _: Scratch) -> Array:
        stored = block.X.nnz if sparse.issparse(block.X) else np.count_nonzero(block.X)
        weight = block.weights()
        return np.array([weight @ squared_norms(block.X), weight.sum(), stored, block.size])

    square, weight, stored, n = context.map_reduce(rows, measure, add, np.zeros(4))
    check_representable(np.array(square))
    scale = np.sqrt(weight / square) if square > 0 else 1.0
    entries = stored / n if anchors.shape[0] == 1 else k * (stored / n + 1) + stored / n
    return LocalProducts(anchors, k, float(scale), rows.dtype, float(entries))


def _distinct(X: Matrix) -> Matrix:
    """Return the rows of X without copies."""
    return merge_equal(Block(X, np.zeros((X.shape[0], 1)), None, 0))[0].X


def choose_alpha(local: LocalProducts, rows: Rows, seed: int, context: Context) -> float:
    r"""Return the penalty with the smallest leave-one-out error of least squares.

    It is chosen on a sample of c rows. For n rows it is multiplied by c / n: the penalty of a ridge
    regression, n alpha, is the variance of the noise in units of the prior variance, and does not
    depend on n. It is at least 1e-4 / n.
    """
    drawn = rows.sample(_SAMPLE, seed, context)
    block = Block(drawn.X, drawn.y, drawn.weight, 0)
    distinct = merge_equal(block)[0]
    if distinct.size < _REPEATED * block.size:
        # columns of a few levels: leave out single rows, because a level has no neighbours
        distinct = block
    weight, K = distinct.weights(), local.gram(distinct.X)
    solution = solve_exact(
        K, np.asarray(distinct.y), weight, alpha=None, fit_intercept=True, context=context
    )
    assert solution.alpha is not None, "it was chosen"
    return max(solution.alpha * len(drawn.keys), _WEAKEST) / rows.count_weighted(context)
