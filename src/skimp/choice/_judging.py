"""Choose the penalty of a trial by its error on rows that were held out or left out."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from skimp._core._blocks import Scratch, fold
from skimp._core._linalg import check_representable
from skimp._core._threads import single_threaded_blas
from skimp._core._types import Array
from skimp._core._work import DOUBLE
from skimp.data import ArrayRows, Block, Context, Rows, keep_rows
from skimp.losses import Loss, Squared
from skimp.solvers import DualCD, Problem, as_dense_features, as_features, as_targets
from skimp.solvers.ridge import (
    Measure,
    covariance,
    leave_one_out,
    ridge_path,
    squared_errors,
)

_EQUAL, _FLAT = 1.003, 1.03
"""Take the largest penalty whose error is within this factor of the minimum, since it is solved
fastest: for normal equations, and for codes, whose sweeps stop early."""
_BEYOND = 0.5
"""Distance, as a share of the range of the targets, that held-out predictions may lie outside it.
Models that exceed it are not trusted."""
_DOUBT = 2.0
"""Standard errors that are added to the error of a model that interpolates every row."""
_LEAST_RATE = 1e-9
_FACTORS = (2.0, 8.0, 32.0)
"""Factors that turn scores into log-odds."""
_WEAKEST = 1e-3
"""Least share of the variance that a hinge loss is expected to explain."""


@dataclass(frozen=True)
class Judgement:
    """The best penalty of a model, and its error.

    Attributes
    ----------
    alpha : float
        The penalty.
    error : float
        The squared error.
    ranking : float
        For numbers, the error. For classes, the negative log-likelihood with the best factor of the
        scores, which compares linear models with others.
    rate : float
        Ratio of the penalty for the loss to the penalty for squared errors.
    half_error : float or None
        The error with half of the features.
    """

    alpha: float
    error: float
    ranking: float
    rate: float = 1.0
    half_error: float | None = None


@dataclass(frozen=True)
class Judge:
    """Costs of held-out predictions, and which models to trust.

    Attributes
    ----------
    loss : Loss
        The loss of the final model. Trials use least squares.
    least, most : arrays of shape (k,), or None
        The range of each output; None for classes.
    variance : float
        Sum of the variances of the outputs, for classes.
    """

    loss: Loss
    least: Array | None = None
    most: Array | None = None
    variance: float = 0.0

    @classmethod
    def of_targets(cls, loss: Loss, Y: Array, fit_intercept: bool) -> "Judge":
        """Return a judge of numbers; without an intercept, the range includes zero."""
        least, most = Y.min(axis=0), Y.max(axis=0)
        if fit_intercept:
            return cls(loss, least, most)
        return cls(loss, np.minimum(least, 0), np.maximum(most, 0))

    def costs(self, Y: Array, F: Array) -> Array:
        """Return squared errors, and for numbers the loss if it differs.

        For classes, coded 1 and -1, return negative log-likelihoods for several factors of the
        scores instead. The best factor is fair to linear models, whose scores rank classes well
        even if they are far from 1 and -1.
        """
        squares = squared_errors(Y, F)
        if self.least is not None:
            if isinstance(self.loss, Squared):
                return squares
            values = self.loss.value(np.broadcast_to(Y[:, None, :], F.shape), F).sum(axis=2)
            return np.concatenate([squares, values[:, :, None]], axis=2)
        found = [squares[:, :, 0]]
        for factor in _FACTORS:
            if Y.shape[1] == 1:
                found.append(np.logaddexp(0.0, -factor * (Y * F[:, :, 0])))
                continue
            scores = factor * (F - F.max(axis=2, keepdims=True))
            true = np.take_along_axis(scores, Y.argmax(axis=1)[:, None, None], axis=2)[:, :, 0]
            found.append(np.log(np.exp(scores).sum(axis=2)) - true)
        return np.stack(found, axis=2)

    def trusts(self, low: Array, high: Array) -> Array:
        """Return which models stay near the range, given bounds of their predictions."""
        if self.least is None or self.most is None:
            return np.ones(len(low), bool)
        # a constant output has no range
        room = np.where(self.most > self.least, _BEYOND * (self.most - self.least), np.inf)
        inside: Array = np.all(low >= self.least - room, axis=1)
        return np.logical_and(inside, np.all(high <= self.most + room, axis=1))

    def judge(
        self, alphas: Array, costs: Array, low: Array, high: Array, flat: float = _EQUAL
    ) -> Judgement:
        """Return the largest penalty of those with the least squared error, up to a factor.

        Penalties whose predictions leave the range of the targets are not trusted, nor are smaller
        ones: on its way from far above the range to far below, an intercept may fall into it by
        chance. If no penalty is trusted, take the largest, whose model is nearly constant.
        """
        squares = costs[:, 0]
        trusted = np.isfinite(squares) & self.trusts(low, high)
        falling = np.argsort(-alphas)
        trusted[falling] = np.logical_and.accumulate(trusted[falling])
        best = int(np.argmax(alphas))
        if trusted.any():
            least = flat * squares[trusted].min()
            best = int(max(np.flatnonzero(trusted & (squares <= least)), key=alphas.__getitem__))
        error, others = float(squares[best]), costs[best, 1:]
        ranking = float(others.min()) if self.least is None and len(others) else error
        # The penalty is relative to the loss. If new rows cost L instead of their squared error E,
        # the penalty is multiplied by L / E. Log-odds are scores times a factor, which multiplies
        # their squared norm by its square. If scores explain a share r of the variance, their
        # spread is sqrt(r), and they have to be multiplied by 1 / sqrt(r) to reach the margins of a
        # hinge loss. Otherwise that loss is linear, and its intercept makes the model constant.
        rate = 1.0
        if len(others) and error > 0 and self.least is not None:
            rate = max(float(others[0]) / error, _LEAST_RATE)
        elif len(others) and error > 0 and self.loss.probabilistic:
            factor = _FACTORS[int(np.argmin(others))]
            rate = max(float(others.min()) / error / factor**2, _LEAST_RATE)
        elif self.variance > 0 and not self.loss.smooth:
            rate = max(1 - error / self.variance, _WEAKEST)
        return Judgement(float(alphas[best]), error, ranking, rate)


def judge_left_out(
    problem: Problem, alphas: Array, counts: Array, judge: Judge, halved: bool, context: Context
) -> Judgement:
    """Choose a penalty by leave-one-out errors; ``counts`` is how many rows each stands for.

    A mean of n squares has a relative standard error of about sqrt(2 / n). The smallest of many
    errors is often small by chance, and belongs to a model that follows single rows. So errors are
    raised by two standard errors times the effective dimension over n. This matters only if there
    are few rows.
    """
    if problem.penalty is None and problem.rows.n_features > problem.rows.n_rows:
        problem, _ = _turn(problem, None)
    width, n = problem.rows.n_features, float(counts.sum())
    sizes = (max(1, width // 2), width) if halved else (width,)
    kept = replace(problem, rows=keep_rows(problem.rows, context))
    measures: tuple[Measure, ...] = (squared_errors, judge.costs)[-len(sizes) :]
    judged = []
    for found in leave_one_out(kept, alphas, sizes, measures, counts, context):
        share = np.minimum(found.dimensions / n, 1.0)
        costs = found.costs * (1 + _DOUBT * np.sqrt(2 / n) * share)[:, None]
        judged.append(judge.judge(alphas, costs, found.lowest, found.highest))
    *half, whole = judged
    return replace(whole, half_error=half[0].error) if half else whole


def judge_held_out(
    problem: Problem, alphas: Array, judging: Rows, judge: Judge, halved: bool, context: Context
) -> Judgement:
    """Choose a penalty by held-out rows, for all features and for half of them."""
    if problem.penalty is None and problem.rows.n_features > problem.rows.n_rows:
        problem, judging = _turn(problem, judging)
    S = covariance(problem.rows, problem.fit_intercept, context=context)
    check_representable(S.within, S.across, np.array(S.target))
    width, n = len(S.within), len(alphas)
    path = ridge_path(
        S,
        alphas,
        (max(1, width // 2), width) if halved else (width,),
        factor=problem.factor,
        context=context,
    )
    models = [
        (coef, S.target_mean - S.mean[: len(coef)] @ coef) for coefs in path.coefs for coef in coefs
    ]
    costs, low, high = _cost_of_models(judging, models, judge, context)
    # the residuals of a penalty below rounding are not finite
    costs[~np.isfinite(path.residuals).ravel()] = np.inf
    whole = judge.judge(alphas, costs[-n:], low[-n:], high[-n:])
    if not halved:
        return whole
    return replace(whole, half_error=judge.judge(alphas, costs[:n], low[:n], high[:n]).error)


def judge_codes(
    problem: Problem, alphas: Array, judging: Rows, judge: Judge, context: Context
) -> Judgement:
    """Choose a penalty by held-out rows, for codes, which have no normal equations."""
    codes = keep_rows(problem.rows, context)
    each = context if len(alphas) == 1 else Context(n_jobs=1)

    def solve(alpha: float, _: Scratch) -> tuple[Array, Array]:
        one = replace(problem, rows=codes, alpha=float(alpha))
        solution = DualCD(tol=2e-2, max_iter=6).solve(one, each)
        return solution.coef, solution.intercept

    initial: list[Any] = []
    models = fold(alphas, solve, lambda all, one: [*all, one], initial, context.threads)
    return judge.judge(alphas, *_cost_of_models(judging, models, judge, context), _FLAT)


def _turn(problem: Problem, judging: Rows | None) -> tuple[Problem, Any]:
    """Rotate more features than rows, so that all but the first n_rows features are zero.

    The penalty does not change, and the normal equations become as small as the rows are few.
    """
    block = problem.rows.collect()
    with single_threaded_blas():
        turned, R = np.linalg.qr(as_dense_features(block.X, DOUBLE).T)
    narrow = replace(problem, rows=ArrayRows(R.T, block.y, block.weight))
    if judging is None:
        return narrow, None
    judged = judging.collect()
    Z = as_dense_features(judged.X, DOUBLE) @ turned
    return narrow, ArrayRows(Z, judged.y, judged.weight)


def _cost_of_models(
    rows: Rows, models: Sequence[tuple[Array, Array]], judge: Judge, context: Context
) -> tuple[Array, Array, Array]:
    """Return the mean costs, and the smallest and largest prediction of each model.

    The intercept counts as a prediction. A model with fewer coefficients uses the first features.
    """
    constants = np.array([intercept for _, intercept in models])

    def of_block(block: Block, _: Scratch) -> tuple[Array, Array, Array, float]:
        dtype = models[0][0].dtype
        Y, weight = as_targets(block, dtype)
        Z = as_features(block.X, dtype)
        costs, low, high = [], constants.copy(), constants.copy()
        for i, (coef, intercept) in enumerate(models):
            F = (Z if len(coef) == Z.shape[1] else Z[:, : len(coef)]) @ coef + intercept
            costs.append(weight[:, 0] @ judge.costs(Y, F[:, None, :])[:, 0, :])
            low[i], high[i] = np.minimum(low[i], F.min(axis=0)), np.maximum(high[i], F.max(axis=0))
        return np.array(costs), low, high, float(weight.sum())

    def add(a: Any, b: Any) -> Any:
        if a is None:
            return b
        return a[0] + b[0], np.minimum(a[1], b[1]), np.maximum(a[2], b[2]), a[3] + b[3]

    initial: Any = None
    costs, low, high, weight = context.map_reduce(rows, of_block, add, initial)
    return costs / weight, low, high
