"""The exact model, with a penalty that is given or the best for it."""

from dataclasses import replace

import numpy as np

from skimp._core._types import Array
from skimp.choice._judging import Span
from skimp.data import Block
from skimp.solvers import Solution, Status, solve_exact
from skimp.solvers._exact_smoother import ExactSmoother
from skimp.solvers._smoother import best_alpha


def solve_exact_model(
    K: Array, rows: Block, *, alpha: float | None, fit_intercept: bool, bounded: bool
) -> Solution:
    """Return the exact model; without a penalty, that which is best when each row is left out.

    The intercept of a ``bounded`` model, which it predicts far from all rows, then stays near the
    range of the targets.
    """
    assert rows.y is not None, "estimators have targets"
    if alpha is not None:
        solution = solve_exact(K, rows.y, rows.weight, alpha=alpha, fit_intercept=fit_intercept)
        return replace(solution, alpha=alpha)
    # one thread: LAPACK gives other bits for other numbers of threads
    smoother = ExactSmoother(K, rows.y, rows.weight, fit_intercept=fit_intercept, n_jobs=1)
    alphas = smoother.grid()
    # a single row leaves nothing to predict it by
    with np.errstate(divide="ignore", invalid="ignore"):
        scores = np.nan_to_num(smoother.scores(alphas, "loo"), nan=np.inf)
    if bounded:
        _, intercepts = smoother.models(alphas)
        inside = Span.of(rows.y, fit_intercept).holds(intercepts, intercepts)
        scores[~inside] = np.inf
    alpha = best_alpha(alphas, scores)
    coefs, intercepts = smoother.models(np.array([alpha]))
    return Solution(
        coef=coefs[0],
        intercept=intercepts[0],
        n_iter=1,
        status=Status.CONVERGED,
        message=f"exact: factorization of the {len(K)} x {len(K)} kernel matrix",
        alpha=alpha,
        solver="exact",
    )
