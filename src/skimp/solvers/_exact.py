"""Exact kernel ridge regression, for data small enough for a full kernel matrix."""

import numpy as np

from skimp._core._linalg import check_representable, solve_positive
from skimp._core._types import Array
from skimp.solvers._base import Solution, Status


def solve_exact(
    K: Array, Y: Array, weight: Array | None, *, alpha: float, fit_intercept: bool
) -> Solution:
    r"""Minimise the squared loss over all functions of the kernel's space.

    .. math:: \Bigl(K + \alpha \sum_i w_i \; \mathrm{diag}(1 / w)\Bigr) \, c = y - b

    whose solution is :math:`f = \sum_i c_i k(\cdot, x_i) + b`, with b such that
    :math:`\sum_i c_i = 0` where an intercept is fitted. O(n^3) time, O(n^2) memory.

    Parameters
    ----------
    K : array of shape (n, n)
        The kernel matrix in float64; overwritten.
    Y : array of shape (n, k)
        Targets.
    weight : array of shape (n,), or None
        Positive weights.
    alpha : float
        Strength of the penalty, as in `Problem`.
    fit_intercept : bool
        Whether there is an unpenalized b.
    """
    check_representable(K, Y)
    w = np.ones(len(K)) if weight is None else weight
    # scaled by the roots of the weights: a weight near zero is then an equation near 0 = 0
    root = np.sqrt(w / w.mean())[:, None]
    K *= root
    K *= root.T
    K.flat[:: len(K) + 1] += alpha * len(K)
    right = np.column_stack([Y, np.ones(len(K))]) if fit_intercept else Y
    solved, how = solve_positive(K, root * right)
    solved *= root
    coef, intercept = solved, np.zeros(Y.shape[1])
    if fit_intercept:
        coef, ones = solved[:, :-1], solved[:, -1]
        intercept = coef.sum(axis=0) / ones.sum()
        coef = coef - np.outer(ones, intercept)
    # at the optimum y - b - K c = alpha (sum w / w) c: the objective needs no further product
    objective = alpha * np.sum(coef * (Y - intercept))
    return Solution(
        coef=coef,
        intercept=intercept,
        n_iter=1,
        status=Status.CONVERGED,
        message=f"exact: {how} of the {len(K)} x {len(K)} kernel matrix",
        history=np.array([objective]),
        solver="exact",
    )
