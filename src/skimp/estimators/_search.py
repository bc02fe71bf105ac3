"""Trials on samples of the rows, which choose a map, its bandwidth, its size and a penalty."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from time import monotonic
from typing import Any

import numpy as np
from sklearn.base import clone

from skimp._core._types import Array
from skimp.budgets import Fixed
from skimp.data import ArrayRows, Rows
from skimp.diagnostics._cost import Traits
from skimp.diagnostics._worth import (
    FIRST_GRIDS,
    FIRST_ROWS,
    FIRST_SIZE,
    JUDGING_ROWS,
    LARGEST_SIZE,
    LARGEST_TRIAL,
    TRIED,
    price,
)
from skimp.estimators._candidates import FEW, Candidate
from skimp.estimators._judging import by_factors, by_sweeps, distinct_size, narrowed
from skimp.estimators._limits import MEMORY, Limits
from skimp.features import FeatureMap, Nystroem, RandomBinning
from skimp.features._scale import mean_diagonal
from skimp.losses import squared
from skimp.solvers import Problem

_FEW_SIZE = 256
"""Landmarks of trials where rows are few."""
_RANDOM = {"selector": "uniform"}
_MOST = 2**16
"""Rows of the last trials of grids that do not grow yet."""
NEAR_ALPHAS = np.array([0.1, 0.316, 1.0, 3.16, 10.0])
_NEAR = NEAR_ALPHAS[1:-1]
_CLEARLY, _HOPELESS = 0.99, 1.5
"""Errors, over the best, of a bandwidth that is better and of a family that is tried no more."""
_STEP = 4.0
_DIMINISHING = 0.7
"""The next doubling brings this power of what the last one did."""
_NEXT = 16
"""Seconds of the next two trials, of twice the size and the rows, over those of the last."""


@dataclass(frozen=True)
class Trial:
    """A model that was tried: what it was, the penalty and the error that were best for it.

    And the error with half of its landmarks, which costs nothing, None for other maps.
    """

    candidate: Candidate
    approximation: FeatureMap
    n_rows: int
    alpha: float
    error: float
    half_error: float | None
    seconds: float
    traits: Traits

    def to_dict(self) -> dict[str, Any]:
        """Return names and numbers, for a certificate."""
        return {
            "map": type(self.approximation).__name__,
            "kernel": repr(getattr(self.approximation, "kernel", None)),
            "size": self.approximation.size,
            "rows": self.n_rows,
            "alpha": self.alpha,
            "error": self.error,
            "seconds": self.seconds,
        }


@dataclass(frozen=True)
class Choice:
    """The map and the penalty that trials chose, and why they stopped there."""

    approximation: FeatureMap
    alpha: float | None
    trials: tuple[Trial, ...]
    reason: str
    bytes: int = 0
    """What the largest trial was to hold."""


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
    """

    def __init__(
        self, rows: Rows, *, alpha: float | None, fit_intercept: bool, limits: Limits, seed: int
    ):
        self._rows = rows
        self._alpha = alpha
        self._fit_intercept = fit_intercept
        self._limits = limits
        self._seed = seed
        self._few = False
        self._size = 0.0
        self._judging = min(JUDGING_ROWS, max(1, rows.n_rows // 5))
        self._available = max(1, rows.n_rows - self._judging)
        self._trials: list[Trial] = []
        self._drawn: tuple[int, tuple[Rows, Rows]] | None = None

    def choose(self, candidates: Sequence[Candidate], *, grow: bool) -> Choice:
        """Return the best candidate, at the size from which more is not worth its cost.

        At the size that it has, unless it may grow.
        """
        n = min(FIRST_ROWS, self._available)
        coded = any(isinstance(c.approximation, RandomBinning) for c in candidates)
        self._few = self._rows.n_rows <= FEW and not coded
        self._size = distinct_size(self._rows) if self._few else 0.0

        def first_size(candidate: Candidate) -> int | None:
            grids = isinstance(candidate.approximation, RandomBinning)
            first = _FEW_SIZE if self._few else FIRST_GRIDS if grids else min(n, FIRST_SIZE)
            given = candidate.approximation.size
            if not grow:
                if given is None or _is_fixed(candidate.approximation):
                    return None
                return min(given, first)
            while first > 1 and self._limits.exceeded_by(candidate.sized(first), n, 0) == MEMORY:
                first //= 2
            return first

        best = self._best_of(candidates, first_size, n)
        if not grow:
            return self._chosen(best, None, "its size was given")
        if self._few:
            if self._limits.exceeded_by(best.candidate.sized(FEW), n, 0) == MEMORY:
                return self._chosen(best, best.approximation.size, "more would exceed memory_limit")
            return self._chosen(best, FEW, "rows are so few that each is a landmark")
        return self._grown(best)

    def _best_of(self, candidates: Sequence[Candidate], first_size: Any, n: int) -> Trial:
        """Try all candidates, and more bandwidths of the promising ones."""
        found: list[Trial] = []
        for candidate in candidates:
            if found and self._limits.are_near:
                break
            # features keep the bandwidth that was best for landmarks; grids like narrower ones
            grids = isinstance(candidate.approximation, RandomBinning)
            same = [t for t in found if t.candidate.kernel == candidate.kernel and not grids]
            known = [t.candidate.factor for t in same]
            candidate = replace(candidate, factor=known[0]) if known else candidate
            trial = self._try(candidate, first_size(candidate), n)
            least = min(t.error for t in [trial, *found])
            promising = not known and trial.error <= _HOPELESS * least
            found.append(self._climb(trial) if promising else trial)
        return min(found, key=self._price)

    def _climb(self, first: Trial) -> Trial:
        """Multiply the bandwidth, or else divide it, for as long as that helps."""
        best = first
        for step in (_STEP, 1 / _STEP):
            improving = bool(first.candidate.free) and best is first
            while improving and not self._limits.are_near:
                other = replace(best.candidate, factor=best.candidate.factor * step)
                trial = self._try(other, best.approximation.size, best.n_rows)
                improving = trial.error < _CLEARLY * best.error
                best = trial if improving else best
        return best

    def _grown(self, best: Trial) -> Choice:
        """Double the size until the next doubling is not worth its cost, and rows along with it."""
        if isinstance(best.approximation, RandomBinning):
            best = self._sharpened(best)
        while True:
            candidate, size = best.candidate, best.approximation.size
            assert size is not None, "maps that grow have a size"
            landmarks = isinstance(best.approximation, Nystroem)
            doubled = min(2 * size, self._available if landmarks else LARGEST_SIZE, LARGEST_SIZE)
            if doubled < 1.5 * size:
                return self._chosen(best, size, "there are no more rows, or it is the largest size")
            larger = candidate.sized(doubled)
            n = min(2 * best.n_rows, LARGEST_TRIAL, self._available) + self._judging
            why = self._limits.exceeded_by(larger, n, _NEXT * best.seconds)
            if why:
                return self._chosen(best, size, f"{doubled} would exceed {why}")
            half = self._half_error(best)
            if best.error >= half:
                return self._chosen(best, size // 2, f"{size} were no better")
            promised = best.error * (best.error / half) ** _DIMINISHING
            hoped = replace(best, approximation=larger, error=promised)
            if self._price(hoped, TRIED * n / self._rows.n_rows) >= self._price(best):
                return self._chosen(best, size, f"{doubled} promise too little for their cost")
            best = self._doubled(best, doubled, LARGEST_TRIAL)

    def _half_error(self, best: Trial) -> float:
        """Return the error at half the size, of a trial that there was or of a new one."""
        if best.half_error is not None:
            return best.half_error
        size = (best.approximation.size or 1) // 2
        same = (t for t in self._trials if t.candidate == best.candidate)
        known = [t.error for t in same if (t.approximation.size, t.n_rows) == (size, best.n_rows)]
        if known:
            return min(known)
        return self._try(best.candidate, size, best.n_rows, np.array([best.alpha])).error

    def _sharpened(self, best: Trial) -> Trial:
        """Double the rows alone, which narrow grids need, for as long as there are more."""
        while best.n_rows < min(_MOST, self._available) and not self._limits.are_near:
            best = self._doubled(best, best.approximation.size, _MOST)
        return best

    def _doubled(self, best: Trial, size: int | None, most: int) -> Trial:
        """Try a size on twice the rows; more rows can tell apart what is closer to each other."""
        n = min(2 * best.n_rows, most, self._available)
        near = best.alpha * best.n_rows / n * _NEAR
        trial = self._try(best.candidate, size, n, near)
        if not best.candidate.free or n <= best.n_rows:
            return trial
        narrower = replace(best.candidate, factor=2 * best.candidate.factor)
        # another penalty costs little more for equations, and as much again for codes
        coded = isinstance(best.approximation, RandomBinning)
        other = self._try(narrower, size, n, np.array([trial.alpha]) if coded else near)
        return other if other.error < _CLEARLY * trial.error else trial

    def _price(self, trial: Trial, trying: float = 0.0) -> float:
        """Return the price of a model, and of trying it first, which takes a share of a fit."""
        seconds = self._limits.nominal_seconds(
            trial.approximation, trial.alpha * trial.n_rows, trial.traits
        )
        return price(trial.error, (1 + trying) * seconds)

    def _chosen(self, best: Trial, size: int | None, reason: str) -> Choice:
        # what stays about the same with more rows is the penalty n alpha
        alpha = best.alpha * best.n_rows / self._rows.n_rows if self._alpha is None else self._alpha
        held = max(self._limits.trial_bytes(t.approximation, t.n_rows) for t in self._trials)
        return Choice(best.candidate.sized(size), alpha, tuple(self._trials), reason, held)

    def _try(
        self, candidate: Candidate, size: int | None, n: int, alphas: Array | None = None
    ) -> Trial:
        began = monotonic()
        training, judging = self._parts(n)
        sized = candidate.sized(size)
        # landmarks at random: other rules look at labels, and take longer than a trial
        random = {} if _is_fixed(sized) or not isinstance(sized, Nystroem) else _RANDOM
        fitted: FeatureMap = clone(sized).set_params(**random)
        fitted.fit_rows(training, np.random.default_rng(self._seed))
        basis = fitted.basis()
        problem = Problem(
            training.mapped(basis),
            squared,
            alpha=1.0,
            penalty=basis.penalty,
            factor=basis.factor,
            fit_intercept=self._fit_intercept,
        )
        if self._alpha is not None:
            alphas = np.array([self._alpha])
        judge = by_factors if problem.rows.coded is None else by_sweeps
        scale = mean_diagonal(fitted, training)
        mapped: Rows | None = None if judging is None else judging.mapped(basis)
        if basis.width > training.n_rows and problem.penalty is None and judge is by_factors:
            problem, mapped = narrowed(problem, mapped)
        alpha, error, half = judge(problem, alphas, scale, mapped, self._size)
        half = half if isinstance(sized, Nystroem) else None
        # kernel columns that depend on each other are whitened, which takes longer
        conditioned = not isinstance(sized, Nystroem) or basis.penalty is not None
        trial = Trial(
            candidate,
            sized,
            training.n_rows,
            alpha,
            error,
            half,
            monotonic() - began,
            Traits(conditioned),
        )
        self._trials.append(trial)
        return trial

    def _parts(self, n: int) -> tuple[Rows, Rows | None]:
        """Return rows to fit to, and rows to judge by: none where all are few."""
        rows = self._rows
        if self._few:
            return rows, None
        if self._drawn is not None and self._drawn[0] == n:
            return self._drawn[1]
        self._drawn = None
        drawn = rows.sample(n + self._judging, self._seed)
        cut = min(self._judging, len(drawn.indices) - 1)
        # rows of weight zero are not drawn
        if len(drawn.indices) < n + self._judging:
            self._available = max(1, len(drawn.indices) - cut)

        def part(chosen: slice) -> Rows:
            assert drawn.y is not None, "estimators have targets"
            few = ArrayRows(drawn.X[chosen], drawn.y[chosen], drawn.weight[chosen])
            return few.copy_with(n_jobs=rows.n_jobs, feature_names=rows.feature_names)

        # a single row is judged by itself
        parts = part(slice(cut, None)), part(slice(0, max(1, cut)))
        self._drawn = n, parts
        return parts


def _is_fixed(approximation: FeatureMap) -> bool:
    """Tell whether the points of a map were given, of which no part may be left out."""
    return isinstance(getattr(approximation, "selector", None), Fixed)
