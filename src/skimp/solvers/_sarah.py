"""SARAH: recursive gradient estimates with restarts."""

from typing import Any, ClassVar, final

import numpy as np

from skimp._core._linalg import check_representable
from skimp._core._types import Array
from skimp._core._work import DOUBLE, MapCost, Size, Stage, Work, gathers, gemm, stream
from skimp._params._memory import parse_bytes, require_memory
from skimp._params._rules import Rule, broken, check_params, integer, number
from skimp.data import LOCAL, Context, Held, Rows, hold_rows, kept_layout
from skimp.losses import Loss
from skimp.solvers._base import Learner, Problem, Solution, Solver, Status
from skimp.solvers._compiled import compiled_loss
from skimp.solvers._coordinates import Coordinates
from skimp.solvers._costs import count_iterations, outline_of, pass_work, row_bytes
from skimp.solvers._features import n_outputs_of
from skimp.solvers._metric import POWERS, RANK, SAMPLED, Metric, largest_leverage
from skimp.solvers._monitors import monitor_state, restore_monitor
from skimp.solvers._sarah_steps import HALVINGS, Iteration, Part, Point, Stream, extrapolate

_USUAL = 5
"""Iterations at the default tolerance (measured: 3 to 10)."""
_ZERO = float(np.finfo(np.float64).eps)
"""Fraction of the first objective that is treated as zero, for minima of zero."""


@final
class SARAH(Solver):
    r"""SARAH+ with mini-batches and a preconditioner, for smooth losses.

    An iteration computes the gradient :math:`v_0` of all rows and then updates it by the change of
    the gradient :math:`g_B` of mini-batches B:

    .. math::
        w_{t+1} = w_t - \eta M^{-1} v_t, \qquad
        v_{t+1} = v_t + g_B(w_{t+1}) - g_B(w_t)

    An iteration ends if :math:`v_t^T M^{-1} v_t` has fallen to an eighth of its first value, or
    after two passes over the rows. The coordinates w are those in which the penalty is the squared
    norm. The intercept is the coefficient of a constant feature; it is not penalized.

    M is an estimated bound of the Hessian: leading eigenvectors of the second moments of the
    features, on a sample of 2,048 rows, plus a multiple of the identity. It is as small as the
    expected smoothness of mini-batches allows, so that larger mini-batches take longer steps. The
    step size :math:`\eta` is 1. If the objective rises nevertheless, the iteration is repeated with
    half of it.

    From the third iteration on, :math:`w_0` is not the last point, but the minimum of a quadratic
    function in the plane of the last three points, and :math:`v_0` the gradient of that function.
    It has the gradients of all rows at the three points. This helps if progress is slow.

    The solver stops if the duality gap is at most ``tol`` times the objective. Without an
    intercept, the gap is :math:`\|g\|^2 / (4 \alpha)` for the gradient g. With an intercept b, it
    is estimated: a Newton step along b alone would decrease the objective by
    :math:`g_b^2 / (2 h)`, with the mean curvature h of the loss, and change g.

    An iteration takes n D k operations 4 times for the gradient of all rows and 6 times for each
    pass of mini-batches, for n rows, D features and k outputs. If the features fit into memory,
    they take n D numbers. Otherwise the features of all rows are computed in every iteration, and
    mini-batches are drawn from a new random sample of the rows that fits.

    Parameters
    ----------
    batch_size : int, default=256
        Rows in a mini-batch.
    tol : float, default=1e-3
        Stop if the estimated duality gap, relative to the objective, is at most this.
    max_iter : int, default=100
        Maximum number of iterations.
    random_state : int, default=0
        Seed of the row order and of the samples.

    References
    ----------
    Nguyen, Liu, Scheinberg and Takac (2017), SARAH: a novel method for machine learning problems
    using stochastic recursive gradient, algorithm 2 (SARAH+).

    Gower, Loizou, Qian, Sailanbayev, Shulgin and Richtarik (2019), SGD: general analysis and
    improved rates (expected smoothness of mini-batches).

    Examples
    --------
    >>> import numpy as np
    >>> from skimp.data import open_rows
    >>> from skimp.losses import log
    >>> from skimp.solvers import SARAH, Newton, Problem
    >>> rng = np.random.default_rng(0)
    >>> Z = rng.normal(size=(2000, 5))
    >>> rows = open_rows(Z, target=np.where(Z[:, :1] > rng.normal(size=(2000, 1)), 1.0, -1.0))
    >>> problem = Problem(rows, log, alpha=1e-3)
    >>> found, best = (solver.solve(problem).history[-1] for solver in (SARAH(), Newton(1e-9)))
    >>> bool(best <= found <= 1.001 * best)
    True
    """

    incremental: ClassVar[bool] = True
    rules: ClassVar[dict[str, Rule]] = {
        "batch_size": integer(at_least=1),
        "tol": number(above=0),
        "max_iter": integer(at_least=1),
        "random_state": integer(at_least=0),
    }

    def __init__(
        self,
        batch_size: int = 256,
        tol: float = 1e-3,
        max_iter: int = 100,
        random_state: int = 0,
    ):
        self.batch_size = batch_size
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    def solve(self, problem: Problem, context: Context = LOCAL) -> Solution:
        """Minimize a smooth loss; see `Solver.solve`."""
        self._check(problem)
        coordinates = Coordinates.of(problem)
        held, capacity = self._within_memory(coordinates.features(problem.rows), problem, context)
        rows = held.rows
        n, k, seed = rows.n_rows, n_outputs_of(rows), self.random_state
        iteration = Iteration(problem, k, self.batch_size, type(self).__name__)
        sample = rows.sample(min(SAMPLED, capacity), seed, context)
        batch = min(self.batch_size, capacity)
        metric = Metric.of(sample, problem, batch, seed)
        metric = metric.widened(sample.X, sample.weight, largest_leverage(batch, n))
        n_sampled = len(sample.weight)
        del sample
        part: Part | None = None
        if held.in_memory:
            whole = next(rows.reblocked(n).blocks())
            part = Part.of(whole.X, whole.y, whole.weights())
        status = Status.MAX_ITER

        def state() -> dict[str, Any]:
            found = {"points": [dict(vars(p)) for p in points], "history": history, "count": count}
            found |= {"status": status.name, "monitor": monitor_state(problem.monitor)}
            return {**found, "passes": passes, "step": step, "zero": zero}

        def gap() -> float:
            return point.gap / max(point.objective, zero)

        def model() -> tuple[Array, Array]:
            return coordinates.to_coef(point.V.T), point.b.copy()

        with (
            context.resumable("sarah") as loop,
            context.phase("sarah", unit="iterations", total=self.max_iter) as phase,
        ):
            before = loop.take()
            if before is None:
                point = iteration.evaluate(rows, *iteration.start(coordinates, rows), context)
                check_representable(point.G, point.g)
                passes = 1 + (POWERS + 1) * n_sampled / n
                history = [] if problem.start is None else [point.objective]
                points = [point]
                count, step, zero = 0, 1.0, _ZERO * point.objective or 1.0
            else:
                points = [Point(**each) for each in before["points"]]
                point, history = points[-1], list(before["history"])
                count, passes = before["count"], before["passes"]
                step, zero = before["step"], before["zero"]
                status = Status[before["status"]]
                restore_monitor(problem.monitor, before["monitor"])
            while gap() > self.tol and count < self.max_iter and status is Status.MAX_ITER:
                if not held.in_memory:
                    key = int(np.random.SeedSequence([seed, count]).generate_state(1)[0])
                    # release the last sample before the next one is drawn
                    part = None
                    part = self._draw(rows, capacity, key, context)
                assert part is not None, "rows in memory are one part"
                begin = extrapolate(points)
                V, b, taken = iteration.run(part, begin, metric, step, [seed, count])
                moved = iteration.evaluate(rows, V, b, context)
                count, passes = count + 1, passes + 1 + taken / n
                if point.falls_to(moved):
                    point, points = moved, [*points[-2:], moved]
                elif begin is not point:
                    points = [point]
                else:
                    step /= 2
                history.append(point.objective)
                stop = phase.advance(f"duality gap about {gap():.1e}", model)
                if stop or (problem.monitor is not None and problem.monitor(*model())):
                    status = Status.STOPPED_EARLY
                elif step < 0.5**HALVINGS:
                    status = Status.STALLED
                loop.keep(state)
        if status is Status.MAX_ITER and gap() <= self.tol:
            status = Status.CONVERGED
        seen = f"relative duality gap about {gap():.1e} after {count} iterations"
        note = held.note
        note += "" if held.in_memory else f", mini-batches from samples of {capacity:,} rows"
        note += f", step size {step:g}" if step < 1 else ""
        note += ", stopped early" if status is Status.STOPPED_EARLY else ""
        coef, intercept = model()
        return Solution(
            coef=coef,
            intercept=intercept,
            n_iter=count,
            status=status,
            message=f"sarah: {seen} with {passes:.1f} passes over the rows{coordinates.note}{note}",
            history=np.array(history),
            solver="sarah",
        )

    def learner(self, problem: Problem) -> Learner:
        """Return a learner for ``partial_fit``; see `Solver.learner`.

        It makes one iteration on each block of rows. The step size is the share of the block in all
        rows so far, so that late blocks do not overwrite what was learnt. This only approximates
        the solution of all rows. M is estimated on the first block, and increased for later blocks
        with larger rows.
        """
        self._check(problem)
        coordinates = Coordinates.of(problem)
        return Stream(problem, coordinates, self.batch_size, self.random_state)

    def _check(self, problem: Problem) -> None:
        check_params(self)
        owner, loss = type(self).__name__, problem.loss
        if not (loss.smooth and np.isfinite(loss.max_curvature)):
            raise broken(owner, "loss", "smooth, such as 'squared_hinge', 'log' or 'softmax'", loss)
        compiled_loss(loss, 2, owner=owner)
        if not problem.alpha > 0:
            raise broken(owner, "alpha", "a number > 0", problem.alpha)

    def _draw(self, rows: Rows, size: int, seed: int, context: Context) -> Part:
        """Return a random sample of rows, for mini-batches."""
        drawn = rows.sample(size, seed, context)
        return Part.of(drawn.X, drawn.y, drawn.weight)

    def _within_memory(self, rows: Rows, problem: Problem, context: Context) -> tuple[Held, int]:
        """Return rows, with features in memory if they fit, and how many rows fit."""
        n, k, width = rows.n_rows, n_outputs_of(rows), rows.n_features
        numbers, dtype = kept_layout(rows)
        row, own = numbers * dtype.itemsize + _row_bytes(k), _own_bytes(k, width, context.threads)
        least = 3 * row * min(n, self.batch_size)
        what = f"sarah on {width} features with {k} outputs"
        require_memory(
            own + least, problem.memory_limit, what, "use a smaller budget or a smaller batch_size"
        )
        room = parse_bytes(problem.memory_limit) - own
        held = hold_rows(rows, room - n * _row_bytes(k), context)
        # a sample is copied while it is drawn
        return held, n if held.in_memory else min(n, room // (3 * row))

    def cost(self, mapped: MapCost, size: Size, loss: Loss, alpha: float) -> Stage:
        """Return the cost of the iterations; see `Solver.cost`."""
        n, k, D = size.n_rows, size.n_outputs, mapped.width
        row, outline = row_bytes(mapped), outline_of(mapped, size)
        held = _own_bytes(k, D, size.threads) + 16.0 * min(n, SAMPLED) * (mapped.groups or D)
        mapping, block = mapped.mapping, outline.block_rows * row + mapped.scratch
        if mapped.landmarks:
            mapping += gemm(2 * n * D**2, DOUBLE)
            block += outline.block_rows * D * (8 + mapped.dtype.itemsize)
            held += 24 * D**2
        held += size.threads * block
        keeping, room = n * (row + _row_bytes(k)), max(0.0, size.memory - mapped.held - held)
        iterations = count_iterations(_USUAL, self.tol, 1e-3, self.max_iter)
        step = Work(sweeps=1.5 * n * D * k)
        if mapped.groups:
            step = gathers(1.5 * n * mapped.groups * k, 1)
        # mini-batches usually take half of a pass
        work = iterations * (1.5 * pass_work(mapped, size) + 0.5 * step)
        work += gemm(4 * (POWERS + 1) * min(n, SAMPLED) * D * min(D, RANK), DOUBLE)
        once = keeping <= room or mapped.groups
        work += (1.0 if once else 1 + iterations) * mapping + stream(2 * keeping)
        return Stage("solve", work, mapped.held + held + min(keeping, room))


def _own_bytes(k: int, width: int, threads: int) -> int:
    """Return the memory in addition to rows, in bytes."""
    # coefficients, gradients and their sums in blocks; directions
    return 8 * width * ((8 + 2 * threads) * k + 3 * RANK)


def _row_bytes(k: int) -> int:
    """Return the memory of a row in addition to its features: targets, factor and orders."""
    return 8 * (k + 4)
