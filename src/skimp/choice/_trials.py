"""Trials of candidate models with the squared loss, all on the same rows."""

from dataclasses import asdict, dataclass
from time import monotonic
from typing import Any

import numpy as np
from scipy import sparse

from skimp._core._linalg import canonical
from skimp._core._types import Array
from skimp.choice._candidates import Candidate
from skimp.choice._judging import (
    Judge,
    Judgement,
    judge_codes,
    judge_held_out,
    judge_left_out,
)
from skimp.choice._limits import Limits
from skimp.data import ArrayRows, Block, Rows
from skimp.features import FeatureMap, mean_diagonal, pose_problem
from skimp.kernels import Kernel
from skimp.losses import squared

SMALL = 8192
"""Most rows for which trials use leave-one-out errors, and try landmarks with two kernels."""
_DRAWN = 2**16
"""Number of training rows that are drawn in the first pass, if they fit in memory."""
ALPHAS = np.logspace(-10, 2, 25)
"""Penalties relative to the mean of k(x, x); trials on held-out rows use every second one."""
SMALL_SIZE = 256
"""Landmarks of the first trials on small data."""
_RIDGES = np.array([0.03, 0.3, 3.0])
"""Ridge penalties n alpha of trials with codes."""
_HARDEST = 1e-4
"""Smallest ridge penalty n alpha for classes, relative to the mean of k(x, x); C is 5,000.
Separable classes would choose the smallest of all, where the problem is nearly singular."""
_JUDGING_ROWS = 4096
"""Number of held-out rows, at most a fifth of all."""
_LEAST_BLOCK = 256
_EXACT = 1e-7
"""Errors below this share of the variance of y are rounding."""

_FEW_DISTINCT, _MOST_REPEATED = 128, 5
"""A few distinct rows, and the largest mean number of copies that are left out together."""


@dataclass(frozen=True)
class Trial:
    """A model that was tried, and its error.

    Attributes
    ----------
    candidate : Candidate
        The candidate.
    approximation : FeatureMap
        Its map, not fitted.
    n_rows : int
        Number of rows it was fitted to.
    alpha, error, ranking, rate, half_error
        As in `Judgement`.
    seconds : float
        Duration of the trial.
    conditioned : bool
        Whether the features are kernel columns. Dependent columns are whitened, which is slower.
    variance : float
        Variance of the targets.
    """

    candidate: Candidate
    approximation: FeatureMap
    n_rows: int
    alpha: float
    error: float
    ranking: float
    rate: float
    half_error: float | None
    seconds: float
    conditioned: bool
    variance: float

    @property
    def is_exact(self) -> bool:
        """Whether the error is at the level of rounding."""
        return self.error <= _EXACT * self.variance

    def to_dict(self) -> dict[str, Any]:
        """Return a dict for the certificate."""
        return {
            "map": type(self.approximation).__name__,
            "kernel": repr(self.approximation.kernel),
            "columns": self.candidate.scaling or "as given",
            "size": self.approximation.size,
            "rows": self.n_rows,
            "alpha": self.alpha,
            "error": self.error,
            "seconds": self.seconds,
        }


@dataclass(frozen=True)
class _Drawn:
    """Training rows, held-out rows, and statistics of their targets.

    Without held-out rows, each row is left out once. ``counts`` is the number of equal rows that
    each row stands for, ``n_rows`` the number of rows before equal ones were merged.
    """

    n_rows: int
    training: Rows
    judging: Rows | None
    counts: Array
    judge: Judge
    variance: float


class Trials:
    """Trials of a task on some of its rows.

    Attributes
    ----------
    limits : Limits
        The task and its limits.
    seed : int
        Seed of the samples and of the maps.
    small : bool
        Whether every row is left out once; otherwise some rows are held out.
    available : int
        Largest number of training rows of a trial.
    judging : int
        Number of held-out rows.
    done : list of Trial
        The trials so far.
    context : Context
        How trials run.
    drawn : tuple or None
        The requested number of rows of the last trial, and the rows. Set it to None to free them.
    """

    def __init__(self, limits: Limits, seed: int):
        task = limits.task
        n, given = task.rows.n_rows, task.given
        self.limits = limits
        self.seed = seed
        self.small = n <= SMALL and not (given is not None and given.codes)
        self.judging = 0 if self.small else min(_JUDGING_ROWS, max(1, n // 5))
        self.available = max(1, n - self.judging)
        self.done: list[Trial] = []
        self.context = task.context
        self._present = n
        self.drawn: tuple[int, _Drawn] | None = None

    @property
    def ahead(self) -> tuple[int, int]:
        """The size and the seed of a sample that the trials will probably need."""
        most = _DRAWN if self.limits.task.given is None else SMALL
        return self.limits.affordable_rows(most + self.judging), self.seed

    def run(
        self, candidate: Candidate, size: int | None, n: int, alphas: Array | None = None
    ) -> Trial:
        """Fit a candidate of some size to n rows, and measure the error of each penalty."""
        with self.context.phase("trial") as phase:
            sized = candidate.sized(size)
            phase.note = describe_map(sized, sized.kernel)
            # small data have many first trials; half the size is tried later, for the best only
            halved = sized.nested and not (self.small and (size or 0) <= SMALL_SIZE)
            trial = self._run(candidate, sized, n, alphas, halved=halved)
            phase.result = f"squared error {trial.error:.4g}: {phase.note}, {trial.n_rows:,} rows"
        return trial

    def _run(
        self,
        candidate: Candidate,
        sized: FeatureMap,
        n: int,
        alphas: Array | None,
        *,
        halved: bool,
    ) -> Trial:
        began = monotonic()

        def judge() -> dict[str, Any]:
            drawn, spec = self.draw(n), self.limits.task.spec
            rng = np.random.default_rng(self.seed)
            fitted = sized.quick().fit_rows(drawn.training, rng, None, self.context)
            given = alphas if spec.alpha is None else np.array([spec.alpha])
            found = self._judge(fitted, drawn, given, halved=halved)
            conditioned = not sized.nested or fitted.basis().penalty is not None
            return {
                **asdict(found),
                "n_rows": drawn.n_rows,
                "seconds": monotonic() - began,
                "conditioned": conditioned,
                "variance": drawn.variance,
                "rows": (self.available, self._present),
            }

        found = self.context.once("trial", judge)
        # drawing may have found that there are fewer rows
        self.available, self._present = found.pop("rows")
        trial = Trial(candidate, sized, **found)
        self.limits.observe(sized, trial.n_rows, trial.seconds)
        self.done.append(trial)
        return trial

    def find_penalty(self, fitted: FeatureMap, n_rows: int) -> float:
        """Return the best penalty of a fitted map, for a fit to n_rows rows."""

        def judge() -> dict[str, Any]:
            drawn = self.draw(self.limits.most_left_out(fitted.basis().width, self.available))
            found = self._judge(fitted, drawn, None, halved=False)
            return {"penalty": self.penalty_for(found, drawn.n_rows, n_rows)}

        penalty: float = self.context.once("penalty", judge)["penalty"]
        return penalty

    def penalty_for(self, found: Trial | Judgement, tried: int, n_rows: int) -> float:
        """Return the penalty for a fit to more rows; n alpha stays about the same."""
        present = self._present * n_rows / self.limits.size.n_rows
        return found.rate * found.alpha * tried / present

    def draw(self, n: int) -> _Drawn:
        """Return n training rows, and held-out rows."""
        if self.drawn is not None and self.drawn[0] == n:
            return self.drawn[1]
        self.drawn = None
        task, wanted = self.limits.task, n + self.judging
        ahead, seed = self.ahead
        task.samples.prepare((max(wanted, ahead), seed))
        sample = task.samples.numbers(wanted, self.seed)
        everything = Block(sample.X, sample.y, sample.weight, 0)
        Y, share = np.asarray(sample.y), sample.weight / sample.weight.sum()
        variance = float(share @ np.square(Y - share @ Y).sum(axis=1))
        judge = Judge(task.spec.loss, variance=variance)
        if not task.spec.classes:
            judge = Judge.of_targets(task.spec.loss, Y, task.spec.fit_intercept)
        # rows of weight zero are not drawn
        if everything.size < min(wanted, task.rows.n_rows):
            self._present = everything.size
        if self.small:
            distinct, counts = merge_equal(everything)
            parts, n_rows = [distinct], everything.size
        else:
            cut = min(self.judging, everything.size - 1)
            if everything.size < wanted:
                self.available = max(1, everything.size - cut)
            # a single row is both training and held-out row
            parts, counts = [everything[cut:], everything[: max(1, cut)]], np.empty(0)
            n_rows = parts[0].size
        rows = []
        for part in parts:
            # several blocks for several threads
            size = min(task.rows.block_rows, max(_LEAST_BLOCK, part.size // 4))
            names = task.rows.feature_names
            rows.append(
                ArrayRows(part.X, part.y, part.weight, block_rows=size, feature_names=names)
            )
        judging = None if self.small else rows[1]
        drawn = _Drawn(n_rows, rows[0], judging, counts, judge, variance)
        self.drawn = n, drawn
        return drawn

    def _judge(
        self, fitted: FeatureMap, drawn: _Drawn, alphas: Array | None, *, halved: bool
    ) -> Judgement:
        context, judge = self.context, drawn.judge
        spec = self.limits.task.spec
        basis = fitted.basis()
        intercept = spec.fit_intercept
        problem = pose_problem(basis, drawn.training, squared, 1.0, fit_intercept=intercept)
        if alphas is None:
            grid = ALPHAS[:: 1 if drawn.judging is None and not spec.classes else 2]
            if spec.classes:
                grid = grid[grid >= min(_HARDEST / drawn.n_rows, grid[-1])]
            grid = _RIDGES / drawn.n_rows if fitted.codes else grid
            alphas = np.asarray(grid * mean_diagonal(fitted, drawn.training, context))
        if drawn.judging is None:
            return judge_left_out(problem, alphas, drawn.counts, judge, halved, context)
        judging = drawn.judging.mapped(basis)
        if fitted.codes:
            return judge_codes(problem, alphas, judging, judge, context)
        return judge_held_out(problem, alphas, judging, judge, halved, context)


def describe_map(feature_map: FeatureMap, kernel: Kernel | None) -> str:
    """Return a map's size and kernel in a few words."""
    size = "" if feature_map.size is None else f"{feature_map.size:,} {feature_map.unit}, "
    return f"{size}{'linear' if kernel is None else describe_kernel(kernel)}"


def describe_kernel(kernel: Kernel) -> str:
    """Return a kernel in a few words."""
    name, gamma = type(kernel).__name__, getattr(kernel, "gamma", None)
    if isinstance(gamma, np.ndarray):
        return f"{name} with a bandwidth for each column"
    return f"{name}(gamma={gamma:.3g})" if isinstance(gamma, float) else repr(kernel)


def given_again(n_rows: int, n_distinct: int, n_inputs: int) -> bool:
    """Return whether equal rows are probably copies, to be left out together.

    They are if rows are few, or if equal inputs always have the same target and few copies.
    ``n_distinct`` counts distinct pairs of input and target, ``n_inputs`` distinct inputs.
    """
    few = n_distinct <= _FEW_DISTINCT or n_inputs == n_distinct
    return few and n_rows <= _MOST_REPEATED * n_distinct


def merge_equal(rows: Block) -> tuple[Block, Array]:
    """Merge rows with equal inputs and targets, and return how many rows each counts for.

    A merged row has the sum of the weights, which gives the same models. Equal rows are left out
    one at a time, because columns with few values produce many of them. But copies of a row, as
    `given_again` finds them, are left out together, so that a weight of 2 equals a row given twice.
    """
    X, Y = canonical(rows.X), np.ascontiguousarray(rows.y, np.float64)
    keys: list[Any]
    if sparse.issparse(X):
        ends = zip(X.indptr, X.indptr[1:], strict=False)
        keys = [(X.indices[i:j].tobytes(), X.data[i:j].tobytes()) for i, j in ends]
    elif np.asarray(X).dtype == object:
        keys = [tuple(row) for row in np.asarray(X)]
        try:
            hash(tuple(keys))
        except TypeError:
            keys = list(range(len(keys)))
    else:
        keys = [row.tobytes() for row in np.asarray(X)]
    numbers: dict[Any, int] = {}
    pairs = zip(keys, (row.tobytes() for row in Y), strict=True)
    group = np.array([numbers.setdefault(pair, len(numbers)) for pair in pairs])
    _, first, counts = np.unique(group, return_index=True, return_counts=True)
    if given_again(rows.size, len(first), len(set(keys))):
        counts = np.ones_like(counts)
    distinct = rows.X if len(first) == rows.size else rows.X[first]
    return Block(distinct, Y[first], np.bincount(group, rows.weights()), 0), counts
