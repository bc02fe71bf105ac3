"""Search for a map, its bandwidth, its size and a penalty, by trials."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby

import numpy as np

from skimp._core._work import Size
from skimp.choice._candidates import Candidate
from skimp.choice._limits import MEMORY
from skimp.choice._plan import Phase, Plan, Rates, predict_phases
from skimp.choice._task import Spec
from skimp.choice._trials import SMALL_SIZE, Trial, Trials, describe_map
from skimp.features import FeatureMap, Nystroem
from skimp.losses import squared
from skimp.solvers import Direct

PATIENCE, WORTH = 15.0, 0.2
"""The search minimizes error (seconds + 15)^0.2: a few seconds cost little, and for long fits twice
the time must lower the error by 13 %."""
FIRST_ROWS = 8192
"""Rows of the first trials."""
FIRST_SIZE, FIRST_GRIDS = 512, 64
"""Size of the first trials: landmarks or features, and grids."""
LARGEST_SIZE, LARGEST_TRIAL = 2**14, 2**15
"""Most landmarks or features, and most rows of a trial."""
TRIED = 0.5
"""Seconds of a trial, relative to a fit on the same rows."""
_FIRST_TRIALS = 10
"""Number of trials of the first size that a plan assumes."""
_ASSUMED = 0.8
"""Error ratio that a plan assumes for a doubling of the size."""
NEAR_ALPHAS = np.array([0.1, 0.316, 1.0, 3.16, 10.0])
"""Factors of the penalty of a trial among which the final fit chooses."""
_LARGEST_SMALL = 2048
"""Most landmarks for small data."""
_LEAST_SIZE = 8
"""Size of the smallest model of a family."""
_MOST = 2**16
"""Most rows of the trials that adapt the bandwidth of grids before they grow."""
_CLEARLY, _HOPELESS = 0.99, 1.5
"""Error ratios: a bandwidth or scaling is accepted below the first, a family dropped above the
second."""
_STEP, _REACH = 4.0, 256.0
"""Factor between bandwidths, and their largest ratio while no model beats a constant."""
_CONSTANT = 0.99
"""Errors above this share of the variance of y are no better than the mean of y."""
_DIMINISHING = 0.7
"""The next doubling lowers the error by this power of the ratio of the last one."""
_NEXT = 16
"""Seconds of the next two trials (twice the size and the rows), relative to the last trial."""


@dataclass(frozen=True)
class Choice:
    """The chosen map and penalty, and the reason.

    Attributes
    ----------
    approximation : FeatureMap
        The map, not fitted.
    alpha : float or None
        The penalty. None if the solver chooses it from all rows.
    trials : tuple of Trial
        The trials.
    reason : str
        Why the search stopped; empty without trials.
    bytes : int
        Largest predicted memory of a trial.
    n_rows : int or None
        Number of rows to fit, if a limit excludes some. None for all.
    columns : str
        Scaling of the columns.
    """

    approximation: FeatureMap
    alpha: float | None
    trials: tuple[Trial, ...] = ()
    reason: str = ""
    bytes: int = 0
    n_rows: int | None = None
    columns: str = ""

    @property
    def summary(self) -> str:
        """The choice in one line."""
        if not self.trials:
            return "no trials are needed"
        chosen = describe_map(self.approximation, self.approximation.kernel)
        return f"{len(self.trials)} trials chose {chosen}: {self.reason}"


def search(trials: Trials, candidates: Sequence[Candidate]) -> Choice:
    """Choose the best candidate, and grow it until a larger size is not worth its cost.

    A map that the user gave keeps its size.
    """
    small, limits, grow = trials.small, trials.limits, trials.limits.task.given is None
    n = trials.available if small else min(FIRST_ROWS, trials.available)
    size = min(n, SMALL_SIZE if small else FIRST_SIZE)
    size, n = limits.first_trial(size, n, left_out=small)
    trials.judging = min(trials.judging, max(1, n // 2))
    found: list[Trial] = []
    # one candidate per family, and more bandwidths of the promising ones
    for _, members in groupby(candidates, lambda c: (type(c.approximation), type(c.kernel))):
        family = list(members)
        if found and (limits.are_near or found[0].is_exact):
            break
        if found:
            scaling = found[0].candidate.scaling
            family = [c for c in family if c.scaling == scaling] or family[:1]
            # skip a family whose smallest model or first trial exceeds a limit
            first = family[0].sized(_first_size(family[0], size, grow))
            held = limits.trial_bytes(first, n, left_out=small)
            tight = held > limits.size.memory
            if grow and (tight or limits.exceeded_by(family[0].sized(_LEAST_SIZE))):
                continue
        # features keep the best bandwidth of landmarks; grids need narrower ones
        kernel = type(family[0].kernel)
        same = [t for t in found if type(t.candidate.kernel) is kernel]
        known = bool(same) and not family[0].approximation.codes
        if known:
            family = [replace(family[0], factor=same[0].candidate.factor)]
        # members differ in the scaling of their columns
        trial = trials.run(family[0], _first_size(family[0], size, grow), n)
        for candidate in family[1:]:
            if limits.are_near:
                break
            other = trials.run(candidate, _first_size(candidate, size, grow), n)
            trial = other if other.error < _CLEARLY * trial.error else trial
        least = min(t.error for t in [trial, *found])
        promising = not known and trial.error <= _HOPELESS * least
        found.append(_climb(trials, trial) if promising else trial)
    best = found[0]
    for trial in found[1:]:
        if trial.candidate.kernel is None:
            better = trial.ranking < best.ranking
        else:
            better = _price(trials, trial) < _CLEARLY * _price(trials, best)
        best = trial if better else best
    return _grow(trials, best) if grow else _conclude(trials, best, None, "the size was given")


def _first_size(candidate: Candidate, size: int, grow: bool) -> int | None:
    """Return the size of a candidate's first trial, None for its given size."""
    given, fixed = candidate.approximation.size, candidate.approximation.fixed
    first = size * FIRST_GRIDS // FIRST_SIZE if candidate.approximation.codes else size
    if given is None or (not grow and fixed):
        return None
    return max(1, first) if grow else min(given, max(1, first))


def _climb(trials: Trials, first: Trial) -> Trial:
    """Try narrower bandwidths, then wider ones, as long as the error falls."""
    best, reach = first, first.candidate.factor * _REACH
    for step in (_STEP, 1 / _STEP):
        factor = best.candidate.factor
        improving = bool(first.candidate.free) and best is first
        while improving and not (trials.limits.are_near or best.is_exact):
            factor *= step
            other = replace(best.candidate, factor=factor)
            trial = trials.run(other, best.approximation.size, best.n_rows)
            improving = trial.error < _CLEARLY * best.error
            best = trial if improving else best
            # a rapidly varying target looks constant until the bandwidth is narrow enough
            constant = best.error > _CONSTANT * best.variance
            improving |= step > 1 and factor < reach and constant
    return best


def _grow(trials: Trials, best: Trial) -> Choice:
    """Double the size and the rows until the next doubling is not worth its cost."""
    small, limits = trials.small, trials.limits
    if best.approximation.codes:
        best = _sharpen(trials, best)
    while True:
        candidate, size = best.candidate, best.approximation.size
        if size is None:
            return _conclude(trials, best, None, "a linear model has one size")
        most = LARGEST_SIZE
        if best.approximation.nested:
            most = min(trials.available, most)
            if small:
                most = min(trials.draw(best.n_rows).training.n_rows, _LARGEST_SMALL)
        doubled = min(2 * size, most)
        if doubled < 1.5 * size:
            why = "it is the largest size, or there are no more rows"
            return _conclude(trials, best, size, why)
        if best.is_exact:
            return _conclude(trials, best, size, "the error is at the level of rounding")
        larger = candidate.sized(doubled)
        n = trials.available if small else min(2 * best.n_rows, LARGEST_TRIAL, trials.available)
        n += trials.judging
        why = limits.exceeded_by(larger, trials=_NEXT * best.seconds)
        if not why and limits.trial_bytes(larger, n, left_out=small) > limits.size.memory:
            why = MEMORY
        if why:
            return _conclude(trials, best, size, f"doubling to {doubled} would exceed {why}")
        half = _half_error(trials, best)
        if best.error >= half:
            return _conclude(trials, best, max(1, size // 2), f"{size} was no better")
        predicted_error = best.error * (best.error / half) ** _DIMINISHING
        predicted = replace(best, approximation=larger, error=predicted_error)
        trying = TRIED * n / limits.size.n_rows
        if _price(trials, predicted, trying) >= _price(trials, best):
            why = f"doubling to {doubled} was not worth its predicted cost"
            return _conclude(trials, best, size, why)
        if small and doubled > 2 * SMALL_SIZE:
            # a trial would cost more than the fit: trust the predicted error
            best = replace(predicted, half_error=best.error)
            continue
        best = _double(trials, best, doubled, LARGEST_TRIAL)


def _sharpen(trials: Trials, best: Trial) -> Trial:
    """Double the rows without the size: narrow grids need more rows."""
    limits = trials.limits
    while best.n_rows < min(_MOST, trials.available) and not limits.are_near:
        n = min(2 * best.n_rows, trials.available) + trials.judging
        held = limits.trial_bytes(best.approximation, n, left_out=trials.small)
        if held > limits.size.memory:
            break
        best = _double(trials, best, best.approximation.size, _MOST)
    return best


def _double(trials: Trials, best: Trial, size: int | None, most: int) -> Trial:
    """Try a size on twice the rows, also with a narrower bandwidth."""
    small = trials.small
    n = trials.available if small else min(2 * best.n_rows, most, trials.available)
    near = None if small else best.alpha * best.n_rows / n * NEAR_ALPHAS[1:-1]
    trial = trials.run(best.candidate, size, n, near)
    more = n > best.n_rows or (small and (size or 0) <= 2 * SMALL_SIZE)
    if not (best.candidate.free and more):
        return trial
    narrower = replace(best.candidate, factor=2 * best.candidate.factor)
    # more penalties cost little with normal equations, and a full solve each with codes
    alphas = np.array([trial.alpha]) if best.approximation.codes else near
    other = trials.run(narrower, size, n, alphas)
    return other if other.error < _CLEARLY * trial.error else trial


def _half_error(trials: Trials, best: Trial) -> float:
    """Return the error at half the size, from an earlier trial or a new one."""
    if best.half_error is not None:
        return best.half_error
    size = (best.approximation.size or 1) // 2
    if size < 1:
        return np.inf
    same = (t for t in trials.done if t.candidate is best.candidate)
    known = [t.error for t in same if (t.approximation.size, t.n_rows) == (size, best.n_rows)]
    if known:
        return min(known)
    return trials.run(best.candidate, size, best.n_rows, np.array([best.alpha])).error


def _price(trials: Trials, trial: Trial, trying: float = 0.0) -> float:
    """Return the price of a model; ``trying`` is the cost of its trial, as a share of a fit."""
    limits, ridge = trials.limits, trial.alpha * trial.n_rows
    plan = limits.plan(trial.approximation, ridge, conditioned=trial.conditioned)
    return price(trial.error, (1 + trying) * plan.seconds, limits.size.n_rows)


def _conclude(trials: Trials, best: Trial, size: int | None, reason: str) -> Choice:
    """Return the choice of a trial's model, shrunk to the limits unless the user gave it."""
    limits, total = trials.limits, trials.limits.size.n_rows
    approximation, n_rows, why = best.candidate.sized(size), total, ""
    if limits.task.given is None:
        approximation, n_rows, why = limits.shrink(approximation)
    alpha = limits.task.spec.alpha
    if alpha is None:
        alpha = trials.penalty_for(best, best.n_rows, n_rows)
    small = trials.small
    held = (limits.trial_bytes(t.approximation, t.n_rows, left_out=small) for t in trials.done)
    return Choice(
        approximation,
        alpha,
        tuple(trials.done),
        why or reason,
        max(held),
        n_rows if n_rows < total else None,
        best.candidate.scaling,
    )


def price(error: float, seconds: float, n_rows: int) -> float:
    """Return the price of an error that takes some seconds; small data allow fewer seconds."""
    patience = PATIENCE * min(1.0, (n_rows + 1000) / FIRST_ROWS)
    return error * float((seconds + patience) ** WORTH)


def predict_search(spec: Spec, size: Size, rates: Rates) -> tuple[Phase, Nystroem]:
    """Predict the cost of a search, and the largest model that it may choose.

    The plan assumes landmarks, because random features and most grids of the same size cost less.
    It assumes that each doubling lowers the error by a fifth.
    """
    n = size.n_rows

    def fit(m: int) -> Plan:
        landmarks = Nystroem(spec.kernel, budget=m)
        parts = {"loss": spec.loss, "solver": spec.solver}
        return Plan(predict_phases(landmarks, size, rates=rates, **parts))

    def trial(m: int, n_rows: int) -> Plan:
        landmarks = Nystroem(spec.kernel, budget=m, selector="uniform")
        few = replace(size, n_rows=min(n_rows, n))
        return Plan(predict_phases(landmarks, few, loss=squared, solver=Direct(), rates=rates))

    m = min(FIRST_SIZE, n)
    last = trial(m, FIRST_ROWS)
    spent, now = _FIRST_TRIALS * last.seconds, fit(m)
    while 2 * m <= min(LARGEST_SIZE, n):
        larger, tried = fit(2 * m), min(32 * m, LARGEST_TRIAL, n)
        late = spec.time_limit is not None and spent + larger.seconds > spec.time_limit
        assumed = price(_ASSUMED, (1 + TRIED * tried / n) * larger.seconds, n)
        if larger.bytes > size.memory or late or assumed >= price(1.0, now.seconds, n):
            break
        m, now = 2 * m, larger
        last = trial(m, tried)
        spent += 2 * last.seconds
    return Phase("search", spent, last.bytes), Nystroem(spec.kernel, budget=m)
