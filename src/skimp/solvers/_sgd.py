"""Averaged stochastic gradient descent."""

from typing import ClassVar, final

from skimp._core._work import MapCost, Size, Stage
from skimp._params._rules import BOOLEAN, Rule, broken, check_params, integer, number, one_of
from skimp.data import LOCAL, Context
from skimp.losses import Loss
from skimp.solvers._base import Learner, Problem, Solution, Solver
from skimp.solvers._costs import steps_cost
from skimp.solvers._passes import ORDERS
from skimp.solvers._stochastic import StepRule, Steps, solve_by_steps


@final
class SGD(Solver):
    r"""Averaged stochastic gradient descent, with an intercept that is not penalized.

    Step t draws a batch A of k rows and moves against the gradient of the objective on it:

    .. math::
        v \leftarrow v - \eta_t \Bigl(2 \alpha v
        + \frac1k \sum_{i \in A} \ell'(y_i, v^T x_i + b) \, x_i\Bigr), \qquad
        b \leftarrow b - \frac{\eta_t}{k} \sum_{i \in A} \ell'(y_i, v^T x_i + b)

    where x are the features in coordinates in which the penalty is :math:`\|v\|^2`. Features of a
    kernel are centred at the mean of a sample, for which the intercept makes up. Step sizes are
    :math:`\theta / \sqrt t` or :math:`\theta / (1 + 2 \alpha \theta t)`. By default,
    :math:`\theta` is the value with the lowest objective after four passes over a sample of 2,048
    rows. A row of twice the weight is visited twice as often.

    On landmarks or Fourier features with the hinge loss, this is ASSET. `Pegasos` without
    an intercept is ASSET*.

    With ``coordinates="raw"``, steps move the coefficients c of the kernel columns z,

    .. math:: c \leftarrow c - \eta_t \Bigl(2 \alpha K_{mm} c
        + \frac1k \sum_{i \in A} \ell'(y_i, c^T z_i + b) \, z_i\Bigr),

    as in the mini-batch algorithms for budgeted SVMs and LS-SVMs, but from zero instead of random
    values. They converge slowly, because :math:`K_{mm}` is ill-conditioned.

    The step size is limited for losses with an unbounded slope, such as the squared loss, and in
    raw coordinates, where longer steps would diverge.

    A pass takes 4 n D K operations for D features and K outputs, and 6 n D K with ``average``. Raw
    coordinates take 2 D^2 K more per step. If the features do not fit into memory, they are
    recomputed in each pass, as many rows as fit at a time.

    Parameters
    ----------
    schedule : {"sqrt", "inverse"}, default="sqrt"
        "sqrt" uses steps :math:`\theta / \sqrt t`, and "inverse" uses
        :math:`\theta / (1 + 2 \alpha \theta t)`, which suits models without an intercept.
    theta : float or "auto", default="auto"
        The first step size.
    batch_size : int, default=1
        Number of rows k in a step.
    average : bool, default=True
        Whether to return the average of the coefficients after each step, with weights t, instead
        of the last ones.
    order : {"reshuffled", "fixed", "iid"}, default="reshuffled"
        Whether each pass draws a new permutation of the rows, all passes use one permutation, or
        rows are drawn independently of each other.
    delay : int, default=0
        Apply each gradient this many steps late, as if as many workers computed them in turn. The
        number of threads does not matter. The last gradients of a pass are applied at its end.
    coordinates : {"whitened", "raw"}, default="whitened"
        The coordinates of the steps. Without landmarks they are the same.
    tol : float, default=1e-2
        Stop if the objective is about this fraction above the minimum, as estimated from its change
        in the second half of the passes. The estimate is too small if columns have very different
        scales, because then all steps are short.
    max_iter : int, default=200
        Maximum number of passes over the rows.
    random_state : int, default=0
        Seed of the row order and of the sample.

    References
    ----------
    Lee and Wright (2013), Stochastic subgradient estimation training for support vector machines
    (ASSET). Langford, Smola and Zinkevich (2009), Slow learners are fast (delayed gradients).

    Bottou (2012), Stochastic gradient descent tricks (the estimate of theta). Lacoste-Julien,
    Schmidt and Bach (2012), A simpler approach to obtaining an O(1/t) convergence rate for the
    projected stochastic subgradient method (the weights of the average).

    Examples
    --------
    >>> import numpy as np
    >>> from skimp.data import open_rows
    >>> from skimp.losses import huber
    >>> from skimp.solvers import SGD, Problem
    >>> rng = np.random.default_rng(0)
    >>> Z = rng.normal(size=(1000, 3))
    >>> y = Z @ np.array([[1.0], [2.0], [3.0]]) + 5
    >>> solution = SGD(tol=1e-4).solve(Problem(open_rows(Z, target=y), huber, alpha=1e-4))
    >>> solution.coef.ravel().round(2).tolist(), solution.intercept.round(2).item()
    ([1.0, 2.0, 3.0], 5.0)
    """

    incremental: ClassVar[bool] = True
    first_order: ClassVar[bool] = True
    rules: ClassVar[dict[str, Rule]] = {
        "schedule": one_of("sqrt", "inverse"),
        "theta": number(above=0) | one_of("auto"),
        "batch_size": integer(at_least=1),
        "average": BOOLEAN,
        "order": one_of(*ORDERS),
        "delay": integer(at_least=0),
        "coordinates": one_of("whitened", "raw"),
        "tol": number(above=0),
        "max_iter": integer(at_least=1),
        "random_state": integer(at_least=0),
    }

    def __init__(
        self,
        schedule: str = "sqrt",
        theta: float | str = "auto",
        batch_size: int = 1,
        average: bool = True,
        order: str = "reshuffled",
        delay: int = 0,
        coordinates: str = "whitened",
        tol: float = 1e-2,
        max_iter: int = 200,
        random_state: int = 0,
    ):
        self.schedule = schedule
        self.theta = theta
        self.batch_size = batch_size
        self.average = average
        self.order = order
        self.delay = delay
        self.coordinates = coordinates
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    def solve(self, problem: Problem, context: Context = LOCAL) -> Solution:
        """Minimize by stochastic gradient steps; see `Solver.solve`."""
        return solve_by_steps(problem, self._rule(problem), self.tol, self.max_iter, context)

    def learner(self, problem: Problem) -> Learner:
        """Return a learner for ``partial_fit``; see `Solver.learner`."""
        return Steps(problem, self._rule(problem))

    def cost(self, mapped: MapCost, size: Size, loss: Loss, alpha: float) -> Stage:
        """Return the cost of the passes; see `Solver.cost`."""
        raw, passes = self.coordinates == "raw", min(self.max_iter, 20)
        return steps_cost(mapped, size, loss, passes, average=self.average, raw=raw)

    def _rule(self, problem: Problem) -> StepRule:
        check_params(self)
        if not problem.alpha > 0:
            raise broken(type(self).__name__, "alpha", "a number > 0", problem.alpha)
        return StepRule(
            name="sgd",
            batch_size=self.batch_size,
            average=self.average,
            order=self.order,
            seed=self.random_state,
            inverse=self.schedule == "inverse",
            theta=None if self.theta == "auto" else float(self.theta),
            free=True,
            delay=self.delay,
            raw=self.coordinates == "raw" and problem.penalty is not None,
        )
