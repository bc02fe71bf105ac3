"""Choice of a penalty: from a grid, by five-fold cross-validation, or as in R's KRLS."""

from bisect import bisect_left
from collections.abc import Callable
from typing import Any

import numpy as np

from skimp._core._blocks import Scratch
from skimp._core._random import row_keys
from skimp._core._types import Array
from skimp._core._work import DOUBLE
from skimp.data import LOCAL, Block, Context, Rows, masked_rows
from skimp.solvers._features import as_targets
from skimp.solvers.ridge._smoother import Smoother

CRITERIA = ("loo", "gcv", "kfold")
"""Criteria for the choice of a penalty."""
FOLDS = 5
"""Number of cross-validation folds."""
_SECTION = 0.381966
"""Fraction of the interval that golden section search cuts off."""
_STEP = 0.05
"""Step size in the search for the lower end of the first interval."""
_TOL = 1e-3
"""Stop if two errors differ by less than this, relative to the variance of y."""
_SMALL = 1e-3
"""Eigenvalues above this fraction of the largest determine the lower end of the interval."""


def best_alpha(alphas: Array, scores: Array) -> float:
    """Return the penalty with the smallest score; ties go to the largest penalty.

    The result is refined by a parabola through the scores of the two neighbours in the grid.
    """
    best = len(scores) - 1 - int(np.argmin(scores[::-1]))
    near = slice(best - 1, best + 2)
    if not (0 < best < len(scores) - 1 and np.isfinite(scores[near]).all()):
        return float(alphas[best])
    logs, (left, least, right) = np.log(alphas[near]), scores[near]
    bend = left - 2 * least + right
    shift = 0.0 if bend <= 0 else 0.5 * (left - right) / bend
    # the grid is equally spaced in logarithms
    return float(np.exp(logs[1] + shift * (logs[1] - logs[0])))


def fold_scores(
    rows: Rows,
    lams: Array,
    seed: int,
    fit: Callable[[Rows], tuple[Any, Smoother]],
    context: Context = LOCAL,
) -> Array:
    """Return the squared error of each penalty by five-fold cross-validation.

    Errors are relative to the sum of squares of each output, and averaged over outputs. All folds
    use the same ridge penalty, alpha times the sum of the weights.

    Parameters
    ----------
    rows : Rows
        At least five scaled rows, with targets of shape (n, k).
    lams : array of shape (n_lams,)
        Ridge penalties: alpha times the sum of the weights.
    seed : int
        Seed of the folds.
    fit : callable
        Takes rows and returns their basis and `Smoother`.
    context : Context
        Number of threads and progress reports.

    Returns
    -------
    scores : array of shape (n_lams,)
    """
    # folds of equal size, in random order
    order = np.argsort(row_keys(seed, 0, rows.n_rows), kind="stable")
    fold = np.empty(rows.n_rows, np.int64)
    fold[order] = np.arange(rows.n_rows) % FOLDS
    sums: Any = 0.0
    for i in range(FOLDS):
        basis, smoother = fit(masked_rows(rows, fold != i))
        models = list(zip(*smoother.models(lams / smoother.weight), strict=True))

        def of_block(block: Block, _: Scratch, models: Any = models) -> Array:
            Y, w = as_targets(block, DOUBLE)
            # the last entry are the errors of predicting zero
            missed = [*(Y - block.X @ c - b for c, b in models), Y]
            return np.array([(w * np.square(errors)).sum(axis=0) for errors in missed])

        judging = masked_rows(rows, fold == i).mapped(basis)
        sums = context.map_reduce(judging, of_block, lambda a, b: a + b, sums)
    *missed, total = sums
    return np.asarray((missed / np.where(total > 0, total, 1.0)).mean(axis=1))


def golden_section(smoother: Smoother) -> tuple[float, Array, Array]:
    """Return the penalty that R's package KRLS chooses, and all penalties tried with their scores.

    Golden section search minimizes the leave-one-out error over n alpha. At the upper end of the
    first interval, the effective dimension is one. At the lower end, it is the number of
    eigenvalues above a thousandth of the largest. The stopping rule is coarse for few rows: the
    result reproduces R and need not be the best penalty.
    """
    n = smoother.n_rows
    tried: dict[float, float] = {}

    def score(shift: float) -> float:
        tried[shift / n] = float(smoother.scores(np.array([shift / n]), "loo")[0])
        # R sums the squared errors of a y with variance one
        return (n - 1) * tried[shift / n]

    low, high = _first_interval(smoother.eigenvalues, n)
    left, right = low + _SECTION * (high - low), high - _SECTION * (high - low)
    at_left, at_right = score(left), score(right)
    while abs(at_left - at_right) > _TOL * n:
        if at_left < at_right:
            high, right, at_right = right, left, at_left
            left = low + _SECTION * (high - low)
            at_left = score(left)
        else:
            low, left, at_left = left, right, at_right
            right = high - _SECTION * (high - low)
            at_right = score(right)
    alphas = sorted(tried)
    best = (left if at_left < at_right else right) / n
    return best, np.array(alphas), np.array([tried[alpha] for alpha in alphas])


def _first_interval(eigenvalues: Array, n: int) -> tuple[float, float]:
    def dimension(shift: float) -> float:
        return float(np.sum(eigenvalues / (eigenvalues + shift)))

    few = 1 + int(np.argmin(np.abs(eigenvalues - _SMALL * eigenvalues[0])))
    least = float(np.finfo(np.float64).eps)
    # the effective dimension is at most the trace divided by the shift
    steps = range(1 + int(eigenvalues.sum() / (_STEP * few)))
    first = bisect_left(steps, True, key=lambda k: dimension(least + _STEP * k) <= few)
    last = bisect_left(range(n), True, key=lambda k: dimension(n - k) >= 1)
    low = least + _STEP * first
    return low, max(float(n - last), low + _STEP)
