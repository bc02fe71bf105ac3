"""The search for a penalty: the best of a grid, five folds, and that of R's package KRLS."""

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
"""What a penalty can be chosen by."""
FOLDS = 5
"""Parts that the rows are split into."""
_SECTION = 0.381966
"""What is cut off an interval, relative to its length."""
_STEP = 0.05
"""Steps between lower ends of the first interval that are compared."""
_TOL = 1e-3
"""Difference of two errors, relative to the variance of y, at which the search ends."""
_SMALL = 1e-3
"""An eigenvalue, relative to the largest, whose number the lower end should leave parameters."""


def best_alpha(alphas: Array, scores: Array) -> float:
    """Return the penalty of the least score, the largest of several.

    If its two neighbours in the grid have scores, too, it is the vertex of their parabola.
    """
    best = len(scores) - 1 - int(np.argmin(scores[::-1]))
    near = slice(best - 1, best + 2)
    if not (0 < best < len(scores) - 1 and np.isfinite(scores[near]).all()):
        return float(alphas[best])
    logs, (left, least, right) = np.log(alphas[near]), scores[near]
    bend = left - 2 * least + right
    shift = 0.0 if bend <= 0 else 0.5 * (left - right) / bend
    # neighbours of a grid in logarithms are equally far
    return float(np.exp(logs[1] + shift * (logs[1] - logs[0])))


def fold_scores(
    rows: Rows,
    lams: Array,
    seed: int,
    fit: Callable[[Rows], tuple[Any, Smoother]],
    context: Context = LOCAL,
) -> Array:
    """Return the squared error of each penalty on rows that were left out, in five folds.

    Each output counts relative to its squares. A fold has the ridge penalty of all rows: alpha is
    larger by as much as the fold is smaller.

    Parameters
    ----------
    rows : Rows
        Scaled rows, five or more, with targets of shape (n, k).
    lams : array of shape (n_lams,)
        Penalties, each an alpha times the sum of the weights.
    seed : int
        Seed of the folds.
    fit : callable
        Given rows, returns the basis and the models of them.
    context : Context
        How to run over the rows.
    """
    # equally many rows in each fold, in random order
    order = np.argsort(row_keys(seed, 0, rows.n_rows), kind="stable")
    fold = np.empty(rows.n_rows, np.int64)
    fold[order] = np.arange(rows.n_rows) % FOLDS
    sums: Any = 0.0
    for i in range(FOLDS):
        basis, smoother = fit(masked_rows(rows, fold != i))
        models = list(zip(*smoother.models(lams / smoother.weight), strict=True))

        def of_block(block: Block, _: Scratch, models: Any = models) -> Array:
            Y, w = as_targets(block, DOUBLE)
            # the last ones are the errors of predicting zero
            missed = [*(Y - block.X @ c - b for c, b in models), Y]
            return np.array([(w * np.square(errors)).sum(axis=0) for errors in missed])

        judging = masked_rows(rows, fold == i).mapped(basis)
        sums = context.map_reduce(judging, of_block, lambda a, b: a + b, sums)
    *missed, total = sums
    return np.asarray((missed / np.where(total > 0, total, 1.0)).mean(axis=1))


def golden_section(smoother: Smoother) -> tuple[float, Array, Array]:
    """Return the penalty of R's package KRLS, and those that were tried with their scores by "loo".

    The first interval of n alpha ends where one effective parameter is left. It begins where as
    many are left as eigenvalues exceed a thousandth of the largest. The search ends at a
    difference that is large for few rows: its penalty is that of R, not the best one.
    """
    n = smoother.n_rows
    tried: dict[float, float] = {}

    def score(shift: float) -> float:
        tried[shift / n] = float(smoother.scores(np.array([shift / n]), "loo")[0])
        # R sums the squared errors of a y of variance one
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
    # the dimension is at most the trace over the shift
    steps = range(1 + int(eigenvalues.sum() / (_STEP * few)))
    first = bisect_left(steps, True, key=lambda k: dimension(least + _STEP * k) <= few)
    last = bisect_left(range(n), True, key=lambda k: dimension(n - k) >= 1)
    low = least + _STEP * first
    return low, max(float(n - last), low + _STEP)
