"""Checks of solvers."""

import pickle
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone

from skimp._core._types import Array, DType, Matrix
from skimp._core._work import DOUBLE, MapCost, Size, Work
from skimp.data import ArrayRows, Codes, Context, NoRows, Rows, open_rows
from skimp.losses import Loss, hinge, softmax, squared
from skimp.solvers import Problem, Solution, Solver, Status
from skimp.testing._assertions import close, params_of, read_only, require
from skimp.testing._optimum import Naive

_N = 40
"""Number of rows of the test problems."""
_ONE = Context(n_jobs=1)


def check_solver(solver: Solver, loss: Loss = squared, *, tol: float = 1e-8) -> None:
    """Check that a solver finds the minimum, for any form of the rows.

    For a smooth loss, the gradient at the solution must be zero. For other losses, the duality gap
    must be zero. Blocks, sparse rows, float32, codes, threads, starting points and memory limits
    must not change the solution. The learner of an incremental solver must not change while it
    learns, and must be picklable.

    Parameters
    ----------
    solver : Solver
        The solver, with a stopping tolerance small enough for ``tol``.
    loss : Loss
        A loss that the solver supports.
    tol : float
        The largest allowed entry of the gradient, or relative duality gap if the loss is not
        smooth.

    Raises
    ------
    AssertionError
        If a check fails; the message names it.

    Examples
    --------
    >>> from skimp.solvers import direct
    >>> from skimp.testing import check_solver
    >>> check_solver(direct)
    """
    params, rng = params_of(solver), np.random.default_rng(0)
    # two equal columns, and one of zeros
    Z = rng.normal(0.3, 1.0, (_N, 4))[:, [0, 1, 2, 3, 3, 3]] * [1, 1, 1, 1, 1, 0]
    Y = _targets(Z + rng.normal(size=(_N, 6)), loss)
    trial = _Trial(solver, tol, loss, read_only(Z), Y)
    weight, R = np.arange(_N) % 3.0, np.random.default_rng(1).normal(size=(6, 30))
    P = R @ R.T / 30
    for w, penalty, b in product((None, weight), (None, P), (True, False)):
        replace(trial, weight=w, penalty=penalty, fit_intercept=b).check()
    full = replace(trial, weight=weight, penalty=P)
    for check in (_check_forms, _check_start, _check_monitor, _check_learner):
        check(full)
    for check in (_check_coded, _check_degenerate, _check_memory):
        check(trial)
    _check_refusals(solver)
    _check_cost(solver, loss)
    require(params_of(solver) == params == params_of(clone(solver)), "parameters do not change")


@dataclass(frozen=True)
class _Trial:
    """A test problem, as arrays."""

    solver: Solver
    tol: float
    loss: Loss
    Z: Array
    Y: Array
    weight: Array | None = None
    alpha: float = 0.1
    penalty: Array | None = None
    fit_intercept: bool = True

    def solve(self, rows: Rows | None = None, context: Context = _ONE, **options: Any) -> Solution:
        """Solve the problem, optionally with its rows in another form."""
        if rows is None:
            rows = open_rows(self.Z, target=self.Y, weight=self.weight)
        problem = Problem(rows, self.loss, self.alpha, self.penalty, self.fit_intercept)
        return self.solver.solve(replace(problem, **options), context)

    def naive(self, found: Solution) -> Naive:
        """Return the objective that the solution should minimize."""
        return Naive(
            self.Z,
            self.Y,
            np.ones(len(self.Z)) if self.weight is None else self.weight,
            self.loss,
            self.alpha,
            np.eye(self.Z.shape[1]) if self.penalty is None else self.penalty,
            self.fit_intercept,
            flat=not found.intercept_penalized,
        )

    def check(self) -> None:
        """Raise if the solver does not find the minimum or does not report convergence."""
        found = self.solve()
        reported = isinstance(found.message, str) and found.message and found.n_iter >= 1
        converged = found.status is Status.CONVERGED
        require(converged and reported, "the solver converged, with a message and n_iter >= 1")
        self.check_same(found, "rows in memory")
        value = self.naive(found).value(found.coef, found.intercept)
        bound = self.tol * max(1.0, value)
        close(found.history[-1:], value, "the history ends at the objective", bound)

    def check_same(self, other: Solution, what: str, tol: float = 0.0) -> None:
        """Raise if another solution is not a minimum."""
        require(other.coef.dtype == other.intercept.dtype == float, "a solution is float64")
        try:
            self.naive(other).check(other.coef, other.intercept, max(tol, self.tol))
        except AssertionError as error:
            raise AssertionError(f"check failed: same solution with {what} ({error})") from error


def _targets(F: Array, loss: Loss) -> Array:
    """Return one of three classes for a joint loss, and two binary targets otherwise."""
    own = F[:, :3] == F[:, :3].max(axis=1, keepdims=True)
    return read_only(np.where(own if loss.joint else F[:, :2] > F[:, :2].mean(), 1.0, -1.0))


def _check_forms(trial: _Trial) -> None:
    """Check that the form of the rows and the number of threads do not matter."""
    Z, Y, w = trial.Z, trial.Y, trial.weight

    def rows(Z: Matrix, block_rows: int = 7) -> Rows:
        return open_rows(Z, target=Y, weight=w, block_rows=block_rows)

    trial.check_same(trial.solve(rows(Z)), "blocks of 7 rows")
    trial.check_same(trial.solve(rows(sparse.csr_matrix(Z))), "sparse rows")
    single = rows(Z.astype(np.float32), _N)
    trial.check_same(trial.solve(single), "float32 rows", tol=1e-4)
    count = np.asarray(w).astype(int)
    repeated = open_rows(np.repeat(Z, count, axis=0), target=np.repeat(Y, count, axis=0))
    trial.check_same(trial.solve(repeated), "repeated rows")
    if not trial.loss.joint:
        one = replace(trial, Y=Y[:, [1]])
        one.check_same(one.solve(), "one output")
    first, second = (trial.solve(rows(Z), Context(n_jobs)) for n_jobs in (1, 2))
    same = np.array_equal(first.coef, second.coef) and first.n_iter == second.n_iter
    require(same, "solutions are bit-equal for any number of threads")


def _check_start(trial: _Trial) -> None:
    """Check that a solver that starts at the solution stays there."""
    cold = trial.solve()
    warm = trial.solve(start=(cold.coef, cold.intercept))
    trial.check_same(warm, "a start at the solution")
    # coefficients do not determine the subgradients at kinks
    saved = warm.n_iter <= cold.n_iter or not trial.loss.smooth
    require(saved, "a start at the solution does not take more iterations")
    far = np.full(cold.coef.shape, 10.0), np.full(cold.intercept.shape, -10.0)
    trial.check_same(trial.solve(start=far), "a start far away")


def _check_monitor(trial: _Trial) -> None:
    """Check that a monitor sees the coefficients of each iteration and can stop the solver."""
    free = trial.solve()
    given: list[tuple[Array, Array]] = []

    def look(coef: Array, intercept: Array) -> bool:
        given.append((coef.copy(), intercept.copy()))
        return False

    watched = trial.solve(monitor=look)
    same = np.array_equal(free.coef, watched.coef)
    require(same, "a monitor that returns False does not change the solution")
    if not given:
        return
    seen = [trial.naive(free).value(*at) for at in given]
    bound = trial.tol * max(1.0, *seen)
    close(watched.history[-len(seen) :], seen, "a monitor sees the current coefficients", bound)
    given.clear()
    stopped = trial.solve(monitor=lambda coef, intercept: not look(coef, intercept))
    require(len(given) == 1 and stopped.n_iter <= free.n_iter, "a monitor stops the solver")
    close(stopped.coef, given[0][0], "a stopped solver returns the coefficients the monitor saw")


def _check_learner(trial: _Trial) -> None:
    """Check the learner of an incremental solver on two blocks of rows."""
    if not trial.solver.incremental:
        return
    halves = [
        open_rows(trial.Z[part], target=trial.Y[part], weight=trial.weight[part], block_rows=7)
        for part in (slice(None, _N // 2), slice(_N // 2, None))
        if trial.weight is not None
    ]
    problem = Problem(NoRows(halves[0]), trial.loss, trial.alpha, trial.penalty)
    first = trial.solver.learner(problem).learn(halves[0], _ONE)
    before = first.solution()
    copied = pickle.loads(pickle.dumps(first))
    found = first.learn(halves[1], _ONE).solution()
    shapes = found.coef.shape, found.intercept.shape
    require(shapes == ((6, trial.Y.shape[1]), trial.Y.shape[1:]), "a learner has all outputs")
    finite = np.isfinite(found.coef).all() and np.isfinite(found.intercept).all()
    require(finite, "coefficients of a learner are finite")
    require(_equal(first.solution(), before), "learning from more rows returns another learner")
    again = copied.learn(halves[1], Context(2)).solution()
    require(_equal(again, found), "a pickled learner goes on alike, for any number of threads")


def _equal(a: Solution, b: Solution) -> bool:
    return np.array_equal(a.coef, b.coef) and np.array_equal(a.intercept, b.intercept)


def _check_coded(trial: _Trial) -> None:
    """Check rows that are `Codes`."""
    codes = np.random.default_rng(0).integers(0, 3, (_N, 2)).astype(np.uint8)
    coded = Codes(codes, np.array([0, 3]), np.float64(0.5), 6)
    trial = replace(trial, Z=coded.tocsr().toarray())
    for block_rows in (_N, 7):
        rows = ArrayRows(coded, trial.Y, block_rows=block_rows)
        trial.check_same(trial.solve(rows), "codes")


def _check_degenerate(trial: _Trial) -> None:
    """Check degenerate problems."""
    Z, Y = trial.Z, trial.Y
    for what, other in (
        ("fewer rows than features", replace(trial, Z=Z[:3], Y=Y[:3])),
        ("one row", replace(trial, Z=Z[:1], Y=Y[:1])),
        ("equal rows", replace(trial, Z=Z[[0] * 20], Y=Y[:20])),
        ("equal targets", replace(trial, Y=Y[[0] * len(Y)])),
        ("features that are zero", replace(trial, Z=0 * Z)),
        ("a huge penalty", replace(trial, alpha=1e8)),
    ):
        other.check_same(other.solve(), what, tol=max(1.0, other.alpha) * trial.tol)
    # duplicate features, of which only the sum of the coefficients is determined
    P = np.tile(np.eye(6), (2, 2))
    pairs = replace(trial, Z=np.hstack([Z, Z]), penalty=P).solve()
    summed = replace(pairs, coef=pairs.coef[:6] + pairs.coef[6:])
    trial.check_same(summed, "a singular penalty", tol=1e-5)


@dataclass(frozen=True)
class _Copy:
    """The identity as a feature map, so that the solver has to compute features."""

    width: int
    dtype: DType

    def map_block(self, X: Matrix, out: Array) -> None:
        out[...] = X


def _check_memory(trial: _Trial) -> None:
    """Lower the memory limit until the solver raises `MemoryError`."""
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(100, 6))
    trial = replace(trial, Z=Z, Y=_targets(Z + rng.normal(size=Z.shape), trial.loss), alpha=1.0)
    rows = open_rows(Z, target=trial.Y, block_rows=64).mapped(_Copy(6, Z.dtype))
    for limit in 16e3 * 0.8 ** np.arange(44):
        try:
            found = trial.solve(rows, memory_limit=int(limit))
        except MemoryError:
            return
        trial.check_same(found, f"a memory limit of {limit:.0f} bytes")


def _check_refusals(solver: Solver) -> None:
    """Check that an unsupported loss raises a `ValueError` that names it."""
    Z = np.random.default_rng(0).normal(size=(20, 3))
    for loss in (squared, hinge, softmax, _Unknown()):
        problem = Problem(open_rows(Z, target=_targets(Z, loss)), loss, alpha=1.0)
        try:
            solver.solve(problem)
        except ValueError as error:
            require(repr(loss) in str(error), f"the error for an unsupported loss names {loss!r}")


def _check_cost(solver: Solver, loss: Loss) -> None:
    """Check that the work of a solver grows with the number of rows."""
    stages = []
    for n in (10_000, 1_000_000):
        mapped = MapCost((), 100, DOUBLE, Work(values=100.0 * n), held=1e4, scratch=0.0)
        stages.append(solver.cost(mapped, Size(n, 10), loss, 1e-3))
    few, many = stages
    require(few.name == many.name == "solve", 'the name of the stage in cost is "solve"')
    grows = many.work.values > few.work.values > 0 and few.bytes > 0
    require(grows, "cost grows with the number of rows, and counts bytes")


class _Unknown(Loss):
    """The Euclidean distance between predictions and targets, a loss that no solver knows."""

    joint = True
    smooth = False

    def value(self, y: Array, f: Array) -> Array:
        return np.asarray(np.linalg.norm(f - y, axis=1, keepdims=True))

    def gradient(self, y: Array, f: Array) -> Array:
        return np.asarray((f - y) / np.maximum(self.value(y, f), 1e-300))

    def curvature(self, y: Array, f: Array) -> Array:
        return np.zeros_like(f)

    def conjugate(self, y: Array, u: Array) -> Array:
        inside = np.linalg.norm(u, axis=1, keepdims=True) <= 1
        return np.where(inside, np.sum(u * y, axis=1, keepdims=True), np.inf)
