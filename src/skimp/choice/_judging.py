"""Penalties of a model on trial, and its error on rows that it was not fitted to."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from skimp._core._blocks import Scratch, fold
from skimp._core._linalg import canonical, check_representable
from skimp._core._threads import single_threaded_blas, thread_count
from skimp._core._types import Array, Matrix
from skimp.data import ArrayRows, Block, Context, Rows, keep_rows
from skimp.losses import Loss, Squared
from skimp.solvers import DualCD, Problem, as_dense_features, as_features, as_targets
from skimp.solvers.ridge import (
    LeftOut,
    Measure,
    covariance,
    leave_one_out,
    ridge_path,
    squared_errors,
)

ALPHAS = np.logspace(-10, 2, 25)
"""Penalties, over the mean of k(x, x), that are compared; on held-out rows each second one."""
_RIDGES = np.array([0.03, 0.3, 3.0])
"""Penalties n alpha for codes."""
_EQUAL, _FLAT = 1.003, 1.03
"""Errors, over the least, of penalties of which the largest is taken, which is solved fastest: of
equations, and of codes, whose sweeps stop early."""
_BEYOND = 0.5
"""How far predictions of rows that were held out may lie outside the range of the targets, as a
share of that range: a model that goes farther is not trusted with other rows."""
_DOUBT = 2.0
"""Standard errors that are added to the error of a model that follows every row."""
_FEW_DISTINCT, _MOST_REPEATED = 128, 5
"""Few distinct rows, and the most times on average that rows are given to be left out together."""
_LEAST_RATE = 1e-9
_FACTORS = (2.0, 8.0, 32.0)
"""What scores are multiplied by to be log-odds."""
_DOUBLE = np.dtype(np.float64)


@dataclass(frozen=True)
class Span:
    """The range of each output, which predictions should not leave by much."""

    least: Array
    most: Array

    @classmethod
    def of(cls, Y: Array, fit_intercept: bool) -> "Span":
        """Return the range of each column, with the zero that is predicted without an intercept."""
        least, most = Y.min(axis=0), Y.max(axis=0)
        if fit_intercept:
            return cls(least, most)
        return cls(np.minimum(least, 0), np.maximum(most, 0))

    def holds(self, low: Array, high: Array) -> Array:
        """Return which models, of shape (n_models, k), stay within half a range of this one."""
        # an output that is constant has no range to leave
        room = np.where(self.most > self.least, _BEYOND * (self.most - self.least), np.inf)
        inside: Array = np.all(low >= self.least - room, axis=1)
        return np.logical_and(inside, np.all(high <= self.most + room, axis=1))


@dataclass(frozen=True)
class Judge:
    """What the predictions of rows that were held out cost.

    Attributes
    ----------
    loss : Loss
        The loss of the model that is to be fitted; trials are least squares.
    span : Span or None
        The range of the targets, None for classes.
    """

    loss: Loss
    span: Span | None

    def costs(self, Y: Array, F: Array) -> Array:
        """Return squared errors, and other costs that `judgement` needs."""
        if self.span is None:
            return class_errors(Y, F)
        squares = squared_errors(Y, F)
        if isinstance(self.loss, Squared):
            return squares
        values = self.loss.value(np.broadcast_to(Y[:, None, :], F.shape), F).sum(axis=2)
        return np.concatenate([squares, values[:, :, None]], axis=2)

    def judgement(
        self, alphas: Array, costs: Array, low: Array, high: Array, flat: float
    ) -> "Judgement":
        """Return the largest penalty of those with the least squared error, up to a factor.

        Penalties whose predictions leave the range of the targets are not trusted. If none is
        trusted, the largest is taken, with which a model is nearly constant.
        """
        squares = costs[:, 0]
        trusted = np.isfinite(squares)
        if self.span is not None:
            trusted &= self.span.holds(low, high)
        best = int(np.argmax(alphas))
        if trusted.any():
            least = flat * squares[trusted].min()
            best = int(max(np.flatnonzero(trusted & (squares <= least)), key=alphas.__getitem__))
        error, others = float(squares[best]), costs[best, 1:]
        ranking = float(others.min()) if self.span is None and len(others) else error
        return Judgement(float(alphas[best]), error, ranking, self._rate(error, others))

    def _rate(self, error: float, others: Array) -> float:
        """Return the penalty of the loss over that of squared errors.

        A penalty is weighed against the loss. Errors of new rows that cost L instead of their
        square E have the balance of squares with L / E times the penalty. Log-odds are scores
        times a factor, and their squared norm is larger by the square of it.
        """
        if not (len(others) and error > 0):
            return 1.0
        if self.span is not None:
            return max(float(others[0]) / error, _LEAST_RATE)
        if not self.loss.probabilistic:
            return 1.0
        factor = _FACTORS[int(np.argmin(others))]
        return max(float(others.min()) / error / factor**2, _LEAST_RATE)


def class_errors(Y: Array, F: Array) -> Array:
    """Return squared errors, then negative log-likelihoods for several factors of scores.

    Targets are 1 for the class of a row and -1 for others. The first chooses, and the best of the
    others is fair to linear models, whose scores rank classes well even if they are far from 1 and
    -1.
    """
    found = [squared_errors(Y, F)[:, :, 0]]
    for factor in _FACTORS:
        if Y.shape[1] == 1:
            found.append(np.logaddexp(0.0, -factor * (Y * F[:, :, 0])))
            continue
        scores = factor * (F - F.max(axis=2, keepdims=True))
        true = np.take_along_axis(scores, Y.argmax(axis=1)[:, None, None], axis=2)[:, :, 0]
        found.append(np.log(np.exp(scores).sum(axis=2)) - true)
    return np.stack(found, axis=2)


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
        The same for numbers; for classes, the negative log-likelihood of scores times the best
        factor, by which linear models are compared with others.
    rate : float
        The penalty of the loss over that of squared errors.
    half_error : float or None
        The error with half of the columns.
    """

    alpha: float
    error: float
    ranking: float
    rate: float = 1.0
    half_error: float | None = None


def by_leaving_out(
    problem: Problem, alphas: Array, counts: Array, judge: Judge, halved: bool
) -> Judgement:
    """Judge by all rows, each left out once; some stand for several.

    A mean of n squares has a relative standard error of about the root of 2 / n. The smallest of
    many errors is often one that is small by chance, that of a model which follows single rows. So
    errors are raised by two standard errors times the share of the rows that a model follows, its
    effective dimension over n. This matters for few rows alone.
    """
    if problem.penalty is None and problem.rows.n_features > problem.rows.n_rows:
        problem, _ = _narrowed(problem, None)
    width = problem.rows.n_features
    sizes = (max(1, width // 2), width) if halved else (width,)
    kept, n = replace(problem, rows=keep_rows(problem.rows)), float(counts.sum())
    measures: tuple[Measure, ...] = (squared_errors, judge.costs)[-len(sizes) :]

    def best(found: LeftOut) -> Judgement:
        share = np.minimum(found.dimensions / n, 1.0)
        costs = found.costs * (1 + _DOUBT * np.sqrt(2 / n) * share)[:, None]
        return judge.judgement(alphas, costs, found.lowest, found.highest, _EQUAL)

    *half, whole = map(
        best, leave_one_out(kept, alphas, sizes, counts, measures, problem.rows.context)
    )
    return replace(whole, half_error=half[0].error) if half else whole


def by_factors(
    problem: Problem, alphas: Array, judging: Rows, judge: Judge, halved: bool
) -> Judgement:
    """Judge by other rows, models of all and of half of the columns."""
    if problem.penalty is None and problem.rows.n_features > problem.rows.n_rows:
        problem, judging = _narrowed(problem, judging)
    S = covariance(problem.rows, problem.fit_intercept, context=problem.rows.context)
    check_representable(S.within, S.across, np.array(S.target))
    width = len(S.within)
    path = ridge_path(
        S,
        alphas,
        (max(1, width // 2), width) if halved else (width,),
        intercept=problem.fit_intercept,
        factor=problem.factor,
        context=problem.rows.context,
    )
    models = [
        (coef, S.target_mean - S.mean[: len(coef)] @ coef) for coefs in path.coefs for coef in coefs
    ]
    costs, low, high = _judged(judging, models, judge.costs)
    # a penalty that rounding undoes has no residuals
    costs[~np.isfinite(path.residuals).ravel()] = np.inf
    n = len(alphas)
    half = judge.judgement(alphas, costs[:n], low[:n], high[:n], _EQUAL)
    whole = judge.judgement(alphas, costs[-n:], low[-n:], high[-n:], _EQUAL)
    return replace(whole, half_error=half.error) if halved else whole


def by_sweeps(
    problem: Problem, alphas: Array | None, scale: float, judging: Rows, judge: Judge
) -> Judgement:
    """Judge by other rows, models of codes, which have no equations."""
    if alphas is None:
        alphas = _RIDGES / problem.rows.n_rows * scale
    n_jobs = problem.rows.n_jobs
    codes = keep_rows(problem.rows)
    context = Context(n_jobs if len(alphas) == 1 else 1)

    def solved(alpha: float, _: Scratch) -> tuple[Array, Array]:
        each = replace(problem, rows=codes, alpha=float(alpha))
        solution = DualCD(tol=2e-2, max_iter=6).solve(each, context)
        return solution.coef, solution.intercept

    def append(models: list[Any], model: tuple[Array, Array]) -> list[Any]:
        return [*models, model]

    initial: list[Any] = []
    models = fold(alphas, solved, append, initial, thread_count(n_jobs))
    return judge.judgement(alphas, *_judged(judging, models, judge.costs), _FLAT)


def _narrowed(problem: Problem, judging: Rows | None) -> tuple[Problem, Any]:
    """Turn features that are more than rows until all rows have zeros but in the first few.

    The penalty does not change, and equations are as many as rows.
    """
    block = problem.rows.collect()
    with single_threaded_blas():
        turned, R = np.linalg.qr(as_dense_features(block.X, _DOUBLE).T)

    def rows(Z: Array, block: Block) -> Rows:
        return ArrayRows(Z, block.y, block.weight).copy_with(n_jobs=problem.rows.n_jobs)

    narrow = replace(problem, rows=rows(R.T, block))
    if judging is None:
        return narrow, None
    judged = judging.collect()
    return narrow, rows(as_dense_features(judged.X, _DOUBLE) @ turned, judged)


def _judged(
    rows: Rows, models: Sequence[tuple[Array, Array]], measure: Measure
) -> tuple[Array, Array, Array]:
    """Return the mean costs, the least and the largest prediction of each model.

    The intercept counts as a prediction. A model with fewer coefficients than there are features
    has those of the first ones.
    """
    constants = np.array([intercept for _, intercept in models])

    def of_block(block: Block, _: Scratch) -> tuple[Array, Array, Array, float]:
        dtype = models[0][0].dtype
        Y, weight = as_targets(block, dtype)
        Z = as_features(block.X, dtype)
        costs, low, high = [], constants.copy(), constants.copy()
        for i, (coef, intercept) in enumerate(models):
            F = (Z if len(coef) == Z.shape[1] else Z[:, : len(coef)]) @ coef + intercept
            costs.append(weight[:, 0] @ measure(Y, F[:, None, :])[:, 0, :])
            low[i], high[i] = np.minimum(low[i], F.min(axis=0)), np.maximum(high[i], F.max(axis=0))
        return np.array(costs), low, high, float(weight.sum())

    def add(a: Any, b: Any) -> Any:
        if a is None:
            return b
        return a[0] + b[0], np.minimum(a[1], b[1]), np.maximum(a[2], b[2]), a[3] + b[3]

    initial: Any = None
    costs, low, high, weight = rows.map_reduce(of_block, add, initial)
    return costs / weight, low, high


def merge_equal(rows: Block) -> tuple[Block, Array]:
    """Return rows of which no two are equal, targets included, and as how many each counts.

    Equal rows become one with the sum of their weights, which gives the same models. One of them
    is left out at a time, as columns with few values have many that are equal. But rows that were
    given several times are left out together: few rows, or rows that always have the same target,
    a few of each. A weight of 2 is then the same as a row given twice, and neither is more to
    choose by.
    """
    assert rows.y is not None, "estimators have targets"
    weight = np.ones(rows.size) if rows.weight is None else np.asarray(rows.weight, np.float64)
    Y = np.ascontiguousarray(rows.y, np.float64)
    numbers: dict[Any, int] = {}
    keys = _row_keys(canonical(rows.X))
    pairs = zip(keys, (row.tobytes() for row in Y), strict=True)
    group = np.array([numbers.setdefault(pair, len(numbers)) for pair in pairs])
    _, first, counts = np.unique(group, return_index=True, return_counts=True)
    given_again = len(first) <= _FEW_DISTINCT or len(set(keys)) == len(first)
    if given_again and rows.size <= _MOST_REPEATED * len(first):
        counts = np.ones_like(counts)
    everything = len(first) == rows.size
    merged = Block(rows.X if everything else rows.X[first], Y[first], np.bincount(group, weight), 0)
    return merged, counts


def _row_keys(X: Matrix) -> list[Any]:
    """Return what rows are told apart by: their bytes, or the objects in them."""
    if sparse.issparse(X):
        ends = zip(X.indptr, X.indptr[1:], strict=False)
        return [(X.indices[i:j].tobytes(), X.data[i:j].tobytes()) for i, j in ends]
    X = np.asarray(X)
    if X.dtype != object:
        return [row.tobytes() for row in X]
    keys = [tuple(row) for row in X]
    try:
        hash(tuple(keys))
    except TypeError:
        return list(range(len(keys)))
    return keys
