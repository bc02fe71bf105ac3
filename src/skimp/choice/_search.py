"""Trials on some of the rows, which choose a map, its bandwidth, its size and a penalty."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from time import monotonic
from typing import Any

import numpy as np
from sklearn.base import clone

from skimp._core._types import Array
from skimp.budgets import Fixed
from skimp.choice._candidates import Candidate
from skimp.choice._cost import Traits
from skimp.choice._judging import (
    ALPHAS,
    Judge,
    Judgement,
    Span,
    by_factors,
    by_leaving_out,
    by_sweeps,
    merge_equal,
)
from skimp.choice._limits import Limits
from skimp.choice._trials import Choice, Trial
from skimp.choice._worth import (
    FIRST_GRIDS,
    FIRST_ROWS,
    FIRST_SIZE,
    JUDGING_ROWS,
    LARGEST_SIZE,
    LARGEST_TRIAL,
    TRIED,
    price,
)
from skimp.data import ArrayRows, Block, Rows
from skimp.features import FeatureMap, mean_diagonal
from skimp.losses import squared
from skimp.solvers import Problem

_SMALL_SIZE, _LARGEST_SMALL = 256, 2048
"""Landmarks of the first trials on small data, and the most of them."""
LARGEST_LEFT_OUT = 1024
"""Features up to which the penalty of the final map is chosen by leaving out each row."""
_LEAST_SIZE = 8
"""A family whose smallest model exceeds a limit is not tried."""
_LEAST_BLOCK = 256
_RANDOM = {"selector": "uniform"}
_MOST = 2**16
"""Rows of the last trials of grids that do not grow yet."""
NEAR_ALPHAS = np.array([0.1, 0.316, 1.0, 3.16, 10.0])
_NEAR = NEAR_ALPHAS[1:-1]
_CLEARLY, _HOPELESS = 0.99, 1.5
"""Error ratios: a bandwidth or scaling is accepted below the first, a family dropped above the
second."""
_STEP, _REACH = 4.0, 256.0
"""What bandwidths are multiplied by, once and in all while models are no better than a constant."""
_DIMINISHING = 0.7
"""The next doubling brings this power of what the last one did."""
_NEXT = 16
"""Seconds of the next two trials, of twice the size and the rows, over those of the last."""
_HARDEST = 1e-4
"""The least penalty n alpha of classes, over the mean of k(x, x), a C of 5,000: classes that least
squares separates would have the least of all, and nearly no solution."""
_EXACT = 1e-7
"""Error, relative to the variance of y, of a model that no other need improve on."""


@dataclass(frozen=True)
class _Parts:
    """Rows to fit to, rows to judge by, and what is known of their targets.

    Without rows to judge by, each row is left out once; ``counts`` says of how many equal rows
    each is made, and ``n_rows`` how many there were before equal ones were merged.
    """

    n_rows: int
    training: Rows
    judging: Rows | None
    judge: Judge
    variance: float
    counts: Array | None = None


class Search:
    """Trials of candidates, all on the same rows, by the squared loss.

    Parameters
    ----------
    rows : Rows
        All rows, with matrices of numbers for targets.
    alpha : float or None
        The penalty, None to choose it.
    fit_intercept : bool
        Whether there is an intercept.
    limits : Limits
        What the fit may take.
    seed : int
        Seed of the samples and of the maps that are tried.
    small : bool
        Whether every row is left out once, instead of holding some out.
    """

    def __init__(
        self,
        rows: Rows,
        *,
        alpha: float | None,
        fit_intercept: bool,
        limits: Limits,
        seed: int,
        small: bool,
    ):
        self._rows = rows
        self._alpha = alpha
        self._fit_intercept = fit_intercept
        self.limits = limits
        self._seed = seed
        self.small = small
        self._judging = 0 if small else min(JUDGING_ROWS, max(1, rows.n_rows // 5))
        self._available = max(1, rows.n_rows - self._judging)
        self._present = rows.n_rows
        self._trials: list[Trial] = []
        self._drawn: tuple[int, _Parts] | None = None

    def choose(self, candidates: Sequence[Candidate], *, grow: bool) -> Choice:
        """Return the best candidate, at the size from which more is not worth its cost.

        At the size that it has, unless it may grow.
        """
        n = self._available if self.small else min(FIRST_ROWS, self._available)
        size = min(n, _SMALL_SIZE if self.small else FIRST_SIZE)
        size, n = self.limits.first_trial(size, n, left_out=self.small)
        self._judging = min(self._judging, max(1, n // 2))
        best = self._best_of(candidates, size, n, grow)
        if not grow:
            return self._chosen(best, None, "its size was given")
        return self._grown(best)

    def penalty(self, fitted: Any, n_rows: int) -> float:
        """Return the best penalty of a map that is fitted already, by leaving out each row.

        For a fit to some of the rows, or to all of them: n alpha stays the same.
        """
        n = self.limits.most_rows(fitted.basis().width, self._available)
        parts = self._parts(n)
        found = self._judged(fitted, parts, None, halved=False)
        present = self._present * n_rows / self._rows.n_rows
        return found.rate * found.alpha * parts.n_rows / present

    def release(self) -> None:
        """Let go of the rows of the last trial."""
        self._drawn = None

    def _best_of(self, candidates: Sequence[Candidate], size: int, n: int, grow: bool) -> Trial:
        """Try a candidate of each family, and more bandwidths of the promising ones."""
        found: list[Trial] = []
        for _, members in groupby(candidates, key=lambda c: c.family):
            family = list(members)
            if found and (self.limits.are_near or self._is_exact(found[0])):
                break
            if found:
                scaling = found[0].candidate.scaling
                family = [c for c in family if c.scaling == scaling] or family[:1]
                if grow and self._exceeds(family[0], size, n):
                    continue
            # features keep the bandwidth that was best for landmarks; grids like narrower ones
            kernel = type(family[0].kernel)
            same = [t for t in found if type(t.candidate.kernel) is kernel]
            known = bool(same) and not family[0].is_coded
            if known:
                family = [replace(family[0], factor=same[0].candidate.factor)]
            trial = self._first_of(family, size, n, grow)
            least = min(t.error for t in [trial, *found])
            promising = not known and trial.error <= _HOPELESS * least
            found.append(self._climb(trial) if promising else trial)
        return self._winner(found)

    def _exceeds(self, candidate: Candidate, size: int, n: int) -> bool:
        """Tell whether the smallest model of a kind, or its first trial, exceeds a limit."""
        if self.limits.exceeded_by(candidate.sized(_LEAST_SIZE)):
            return True
        first = candidate.sized(_first_size(candidate, size, True))
        return bool(self.limits.trial_exceeded_by(first, n, left_out=self.small))

    def _winner(self, found: list[Trial]) -> Trial:
        """Return the first trial that no later one is clearly better than."""
        best = found[0]
        for trial in found[1:]:
            if trial.candidate.kernel is None:
                better = trial.ranking < best.ranking
            else:
                better = self._price(trial) < _CLEARLY * self._price(best)
            best = trial if better else best
        return best

    def _first_of(self, family: list[Candidate], size: int, n: int, grow: bool) -> Trial:
        """Try candidates that differ in the scaling of columns, and return the best."""
        best: Trial | None = None
        for candidate in family:
            if best is not None and self.limits.are_near:
                break
            trial = self._try(candidate, _first_size(candidate, size, grow), n)
            best = trial if best is None or trial.error < _CLEARLY * best.error else best
        assert best is not None, "families have members"
        return best

    def _climb(self, first: Trial) -> Trial:
        """Multiply the bandwidth, or else divide it, for as long as that helps."""
        best, reach = first, first.candidate.factor * _REACH
        for step in (_STEP, 1 / _STEP):
            factor = best.candidate.factor
            improving = bool(first.candidate.free) and best is first
            while improving and not (self.limits.are_near or self._is_exact(best)):
                factor *= step
                other = replace(best.candidate, factor=factor)
                trial = self._try(other, best.approximation.size, best.n_rows)
                improving = trial.error < _CLEARLY * best.error
                best = trial if improving else best
                # functions with many hills are a constant to all bandwidths but narrow ones
                improving |= step > 1 and factor < reach and self._is_constant(best)
        return best

    def _grown(self, best: Trial) -> Choice:
        """Double the size until the next doubling is not worth its cost, and rows along with it."""
        if best.candidate.is_coded:
            best = self._sharpened(best)
        while True:
            candidate, size = best.candidate, best.approximation.size
            if size is None:
                return self._chosen(best, None, "a linear model has one size")
            most = LARGEST_SIZE
            if candidate.is_landmarks:
                most = min(self._available, most)
            if candidate.is_landmarks and self.small:
                most = min(self._parts(best.n_rows).training.n_rows, _LARGEST_SMALL)
            doubled = min(2 * size, most)
            if doubled < 1.5 * size:
                return self._chosen(best, size, "there are no more rows, or it is the largest size")
            if self._is_exact(best):
                return self._chosen(best, size, "nothing but rounding is left of the error")
            larger = candidate.sized(doubled)
            n = self._available if self.small else min(2 * best.n_rows, LARGEST_TRIAL)
            n = min(n, self._available) + self._judging
            why = self.limits.exceeded_by(larger, trials=_NEXT * best.seconds)
            why = why or self.limits.trial_exceeded_by(larger, n, left_out=self.small)
            if why:
                return self._chosen(best, size, f"{doubled} would exceed {why}")
            half = self._half_error(best)
            if best.error >= half:
                return self._chosen(best, max(1, size // 2), f"{size} were no better")
            promised = best.error * (best.error / half) ** _DIMINISHING
            hoped = replace(best, approximation=larger, error=promised)
            if self._price(hoped, TRIED * n / self._rows.n_rows) >= self._price(best):
                why = f"doubling to {doubled} was not worth its predicted cost"
                return self._chosen(best, size, why)
            if self.small and doubled > 2 * _SMALL_SIZE:
                # the trial would cost more than the fit: what was promised is taken for granted
                best = replace(hoped, half_error=best.error)
                continue
            best = self._doubled(best, doubled, LARGEST_TRIAL)

    def _half_error(self, best: Trial) -> float:
        """Return the error at half the size, of a trial that there was or of a new one."""
        if best.half_error is not None:
            return best.half_error
        size = (best.approximation.size or 1) // 2
        if size < 1:
            return np.inf
        same = (t for t in self._trials if t.candidate is best.candidate)
        known = [t.error for t in same if (t.approximation.size, t.n_rows) == (size, best.n_rows)]
        if known:
            return min(known)
        return self._try(best.candidate, size, best.n_rows, np.array([best.alpha])).error

    def _sharpened(self, best: Trial) -> Trial:
        """Double the rows alone, which narrow grids need, for as long as there are more."""
        while best.n_rows < min(_MOST, self._available) and not self.limits.are_near:
            n = min(2 * best.n_rows, self._available) + self._judging
            if self.limits.trial_exceeded_by(best.approximation, n, left_out=self.small):
                break
            best = self._doubled(best, best.approximation.size, _MOST)
        return best

    def _doubled(self, best: Trial, size: int | None, most: int) -> Trial:
        """Try a size on twice the rows; larger models can tell apart what is closer together."""
        n = self._available if self.small else min(2 * best.n_rows, most, self._available)
        near = None if self.small else best.alpha * best.n_rows / n * _NEAR
        trial = self._try(best.candidate, size, n, near)
        more = n > best.n_rows or (self.small and (size or 0) <= 2 * _SMALL_SIZE)
        if not (best.candidate.free and more):
            return trial
        narrower = replace(best.candidate, factor=2 * best.candidate.factor)
        # another penalty costs little more for equations, and as much again for codes
        alphas = np.array([trial.alpha]) if best.candidate.is_coded else near
        other = self._try(narrower, size, n, alphas)
        return other if other.error < _CLEARLY * trial.error else trial

    def _is_exact(self, trial: Trial) -> bool:
        """Tell whether an error is rounding, next to the variance of the targets."""
        return trial.error <= _EXACT * self._parts(trial.n_rows).variance

    def _is_constant(self, trial: Trial) -> bool:
        """Tell whether a model does no better than the mean of the targets."""
        return trial.error > _CLEARLY * self._parts(trial.n_rows).variance

    def _price(self, trial: Trial, trying: float = 0.0) -> float:
        """Return the price of a model, and of trying it first, which takes a share of a fit."""
        seconds = self.limits.nominal_seconds(
            trial.approximation, trial.alpha * trial.n_rows, trial.traits
        )
        return price(trial.error, (1 + trying) * seconds, self._rows.n_rows)

    def _chosen(self, best: Trial, size: int | None, reason: str) -> Choice:
        given = reason == "its size was given"
        approximation = best.candidate.sized(size)
        n_rows, why = self._rows.n_rows, ""
        if not given:
            approximation, n_rows, why = self.limits.shrunk(approximation)
        # what stays about the same with more rows is the penalty n alpha
        present = self._present * n_rows / self._rows.n_rows
        chosen = best.rate * best.alpha * best.n_rows / present
        alpha = chosen if self._alpha is None else self._alpha
        held = max(
            self.limits.trial_bytes(t.approximation, t.n_rows, left_out=self.small)
            for t in self._trials
        )
        return Choice(
            approximation,
            alpha,
            tuple(self._trials),
            why or reason,
            held,
            n_rows if n_rows < self._rows.n_rows else None,
            best.candidate.scaling,
        )

    def _try(
        self, candidate: Candidate, size: int | None, n: int, alphas: Array | None = None
    ) -> Trial:
        began = monotonic()
        parts = self._parts(n)
        sized = candidate.sized(size)
        # landmarks at random: other rules look at labels, and take longer than a trial
        random = _RANDOM if candidate.is_landmarks and not _is_fixed(sized) else {}
        fitted: FeatureMap = clone(sized).set_params(**random)
        rng = np.random.default_rng(self._seed)
        fitted.fit_rows(parts.training, rng, context=parts.training.context)
        if self._alpha is not None:
            alphas = np.array([self._alpha])
        # the first trials on small data are many: of the best one alone, half is tried later
        halved = candidate.is_landmarks and not (self.small and (size or 0) <= _SMALL_SIZE)
        found = self._judged(fitted, parts, alphas, halved=halved)
        # kernel columns that depend on each other are whitened, which takes longer
        conditioned = not candidate.is_landmarks or fitted.basis().penalty is not None
        trial = Trial(
            candidate,
            sized,
            parts.n_rows,
            found.alpha,
            found.error,
            found.ranking,
            found.rate,
            found.half_error,
            monotonic() - began,
            Traits(conditioned),
        )
        self.limits.observe(trial.approximation, trial.n_rows, trial.seconds)
        self._trials.append(trial)
        return trial

    def _judged(
        self, fitted: FeatureMap, parts: _Parts, alphas: Array | None, *, halved: bool
    ) -> Judgement:
        basis = fitted.basis()
        problem = Problem(
            parts.training.mapped(basis),
            squared,
            alpha=1.0,
            penalty=basis.penalty,
            factor=basis.factor,
            fit_intercept=self._fit_intercept,
        )
        scale = mean_diagonal(fitted, parts.training, parts.training.context)
        if problem.rows.coded is not None:
            assert parts.judging is not None, "codes are judged by rows that were held out"
            return by_sweeps(problem, alphas, scale, parts.judging.mapped(basis), parts.judge)
        if parts.judging is None:
            assert parts.counts is not None, "rows that are left out are counted"
            alphas = self._grid(parts, scale) if alphas is None else alphas
            return by_leaving_out(problem, alphas, parts.counts, parts.judge, halved)
        alphas = self._grid(parts, scale) if alphas is None else alphas
        return by_factors(problem, alphas, parts.judging.mapped(basis), parts.judge, halved)

    def _grid(self, parts: _Parts, scale: float) -> Array:
        """Return the penalties to compare, each second one if rows are held out or have classes."""
        classes = parts.judge.span is None
        alphas = ALPHAS[:: 1 if parts.judging is None and not classes else 2]
        if classes:
            alphas = alphas[alphas >= min(_HARDEST / parts.n_rows, alphas[-1])]
        return np.asarray(alphas * scale)

    def _parts(self, n: int) -> _Parts:
        """Return rows to fit to, and rows to judge by."""
        if self._drawn is not None and self._drawn[0] == n:
            return self._drawn[1]
        self._drawn = None
        rows = self._rows
        drawn = rows.sample(n + self._judging, self._seed)
        assert drawn.y is not None, "estimators have targets"
        span = None if self.limits.labelled else Span.of(drawn.y, self._fit_intercept)
        judge = Judge(self.limits.loss, span)
        share = drawn.weight / drawn.weight.sum()
        variance = float(share @ np.square(drawn.y - share @ drawn.y).sum(axis=1))

        def part(block: Block) -> Rows:
            # several blocks, for several threads
            size = min(rows.block_rows, max(_LEAST_BLOCK, block.size // 4))
            few = ArrayRows(block.X, block.y, block.weight, block_rows=size)
            return few.copy_with(n_jobs=rows.n_jobs, feature_names=rows.feature_names)

        everything = Block(drawn.X, drawn.y, drawn.weight, 0)
        # rows of weight zero are not drawn
        if everything.size < min(n + self._judging, rows.n_rows):
            self._present = everything.size
        if self.small:
            distinct, counts = merge_equal(everything)
            parts = _Parts(everything.size, part(distinct), None, judge, variance, counts)
        else:
            cut = min(self._judging, everything.size - 1)
            if everything.size < n + self._judging:
                self._available = max(1, everything.size - cut)
            # a single row is judged by itself
            judging = part(everything[: max(1, cut)])
            training = part(everything[cut:])
            parts = _Parts(training.n_rows, training, judging, judge, variance)
        self._drawn = n, parts
        return parts


def _first_size(candidate: Candidate, size: int, grow: bool) -> int | None:
    """Return the size of a candidate's first trial, None for its own."""
    given = candidate.approximation.size
    first = size * FIRST_GRIDS // FIRST_SIZE if candidate.is_coded else size
    first = max(1, first)
    if given is None or (not grow and _is_fixed(candidate.approximation)):
        return None
    return first if grow else min(given, first)


def _is_fixed(approximation: FeatureMap) -> bool:
    """Tell whether the points of a map were given, of which no part may be left out."""
    return isinstance(getattr(approximation, "selector", None), Fixed)
