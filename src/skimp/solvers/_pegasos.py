"""Pegasos: stochastic subgradient steps of size 1 / (lam t)."""

from typing import ClassVar, final

import numpy as np

from skimp._core._work import MapCost, Size, Stage
from skimp._params._rules import BOOLEAN, Rule, broken, check_params, integer, number, one_of
from skimp.data import LOCAL, Context
from skimp.losses import Loss
from skimp.solvers._base import Learner, Problem, Solution, Solver
from skimp.solvers._costs import steps_cost
from skimp.solvers._passes import ORDERS
from skimp.solvers._stochastic import StepRule, Steps, solve_by_steps


@final
class Pegasos(Solver):
    r"""Primal estimated subgradient solver (Pegasos).

    Step t draws a batch A of k rows and moves the coefficients against the subgradient of the
    objective on it:

    .. math::
        v \leftarrow \Bigl(1 - \frac{1}{t}\Bigr) v
        - \frac{1}{2 \alpha t k} \sum_{i \in A} \ell'(y_i, v^T x_i) \, x_i

    where x are the features in coordinates in which the penalty is :math:`\|v\|^2`. Pegasos'
    :math:`\lambda` is :math:`2 \alpha`. The intercept is the coefficient of a constant feature and
    is penalized. A row of twice the weight is visited twice as often.

    The suboptimality falls as :math:`1 / (\alpha t)`, whatever the number of rows. It suits data
    with very many rows and penalties of about 1e-5 or more. For losses with an unbounded slope,
    such as the squared loss, the step size is at most the one that fits a single row exactly.

    A pass takes 4 n D K operations for D features and K outputs, and 6 n D K with ``average``. If
    the features do not fit into memory, they are recomputed in each pass, as many rows as fit at a
    time.

    Parameters
    ----------
    batch_size : int, default=1
        Number of rows k in a step.
    project : bool, default=False
        Whether to project the coefficients after each step onto a ball that contains the minimum.
        Its radius is :math:`1 / \sqrt{2 \alpha}` for the hinge loss and
        :math:`\sqrt{\bar\ell(y, 0) / \alpha}` for other losses. Takes D operations per step.
    average : bool, default=True
        Whether to return the average of the coefficients after each step, with weights t, instead
        of the last ones.
    order : {"reshuffled", "fixed", "iid"}, default="reshuffled"
        Whether each pass draws a new permutation of the rows, all passes use one permutation, or
        rows are drawn independently of each other.
    tol : float, default=1e-2
        Stop if the objective is about this fraction above the minimum, as estimated from its change
        in the second half of the passes. The estimate is too small if columns have very different
        scales, because then all steps are short.
    max_iter : int, default=200
        Maximum number of passes over the rows.
    random_state : int, default=0
        Seed of the row order.

    References
    ----------
    Shalev-Shwartz, Singer, Srebro and Cotter (2011), Pegasos: primal estimated sub-gradient solver
    for SVM, figures 1 and 2.

    Lacoste-Julien, Schmidt and Bach (2012), A simpler approach to obtaining an O(1/t) convergence
    rate for the projected stochastic subgradient method (the weights of the average).

    Examples
    --------
    >>> import numpy as np
    >>> from skimp.data import open_rows
    >>> from skimp.losses import hinge
    >>> from skimp.solvers import Pegasos, Problem
    >>> Z = np.array([[-2.0], [-1.0], [1.0], [3.0]])
    >>> rows = open_rows(Z, target=np.sign(Z))
    >>> solution = Pegasos(tol=1e-4, max_iter=1000).solve(Problem(rows, hinge, alpha=0.1))
    >>> bool(abs(solution.coef.item() - 1) < 0.05)
    True
    """

    incremental: ClassVar[bool] = True
    first_order: ClassVar[bool] = True
    rules: ClassVar[dict[str, Rule]] = {
        "batch_size": integer(at_least=1),
        "project": BOOLEAN,
        "average": BOOLEAN,
        "order": one_of(*ORDERS),
        "tol": number(above=0),
        "max_iter": integer(at_least=1),
        "random_state": integer(at_least=0),
    }

    def __init__(
        self,
        batch_size: int = 1,
        project: bool = False,
        average: bool = True,
        order: str = "reshuffled",
        tol: float = 1e-2,
        max_iter: int = 200,
        random_state: int = 0,
    ):
        self.batch_size = batch_size
        self.project = project
        self.average = average
        self.order = order
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    def solve(self, problem: Problem, context: Context = LOCAL) -> Solution:
        """Minimize by stochastic subgradient steps; see `Solver.solve`."""
        return solve_by_steps(problem, self._rule(problem), self.tol, self.max_iter, context)

    def learner(self, problem: Problem) -> Learner:
        """Return a learner for ``partial_fit``; see `Solver.learner`."""
        return Steps(problem, self._rule(problem))

    def cost(self, mapped: MapCost, size: Size, loss: Loss, alpha: float) -> Stage:
        """Return the cost of the passes; see `Solver.cost`."""
        return steps_cost(mapped, size, loss, min(self.max_iter, 20), average=self.average)

    def _rule(self, problem: Problem) -> StepRule:
        check_params(self)
        if not problem.alpha > 0:
            raise broken(type(self).__name__, "alpha", "a number > 0", problem.alpha)
        return StepRule(
            name="pegasos",
            batch_size=self.batch_size,
            average=self.average,
            order=self.order,
            seed=self.random_state,
            inverse=True,
            theta=np.inf,
            project=self.project,
        )
