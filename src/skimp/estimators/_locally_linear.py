"""Classification by linear models that change from place to place."""

from collections.abc import Callable
from typing import Any, ClassVar, Self, final

from sklearn.utils.validation import check_is_fitted

from skimp._core._random import as_generator, draw_seed
from skimp._core._types import Array, RandomState
from skimp._params._memory import MEMORY_LIMIT
from skimp._params._parametrized import Parametrized, all_or_nothing
from skimp._params._rules import (
    BOOLEAN,
    N_JOBS,
    NONE,
    RANDOM_STATE,
    Rule,
    broken,
    check_params,
    integer,
    is_auto,
    number,
    one_of,
)
from skimp.budgets import Selector, as_selector
from skimp.data import Context, Reporting, as_rows
from skimp.estimators._file_predictor import FilePredictor
from skimp.estimators._labels import CLASS_WEIGHT, Probabilistic
from skimp.estimators._local_fit import choose_alpha, choose_anchors, fit_local
from skimp.estimators._solving import advise, make_solver, warn_unless_converged
from skimp.features import LocalProducts
from skimp.losses import Loss, as_loss
from skimp.solvers import Problem, Solution, Solver, Status


@final
class LocallyLinearClassifier(Probabilistic, FilePredictor, Reporting, Parametrized):
    r"""Linear models at anchor points, mixed by the distances to the nearest anchors.

    .. math:: f(x) = \sum_v \gamma_v(x) \, (\langle w_v, x \rangle + b_v)

    The coordinates :math:`\gamma_v(x)` are nonnegative, sum to 1, and are nonzero only for the k
    anchors v that are nearest to x. They decrease with the distance and change continuously with x,
    see `~skimp.features.LocalProducts`. The decision boundary is therefore nearly linear close to
    an anchor, and curved overall. All m models are fitted together, by minimizing

    .. math::
        \frac{1}{\sum_i w_i} \sum_i w_i \, \ell(y_i, f(x_i)) + \alpha s^2 \|\bar w\|^2 + \alpha
        \sum_v \left( s^2 \|w_v - \bar w\|^2 + (b_v - \bar b)^2 \right)

    over the models, and over a model :math:`\bar w, \bar b` that they share. With one anchor, the
    shared model is the only one: a linear classifier. The unit s is the root mean squared norm of
    the rows, so that multiplying X by a number changes neither the predictions nor the best
    :math:`\alpha`.

    The model is linear in the products of coordinates and columns. They are sparse, and the n rows
    are never expanded to all m (d + 1) products. For rows with z nonzero entries, a pass of the
    solver takes about 4 n k z operations per class, k times those of a linear model, and predicting
    2 n m d operations for the distances. The products take 12 n (k + 1) (z + 1) bytes, 8 in
    float32, and twice that while they are joined. If that exceeds ``memory_limit``, they are
    computed in each pass.

    Distances and penalty treat all columns alike, and X is not scaled. Standardize columns of
    different units in a pipeline, with ``StandardScaler`` for dense rows and ``MaxAbsScaler`` for
    sparse ones.

    Parameters
    ----------
    n_anchors : int, default=100
        Number of anchors m, at most one for ten distinct rows.
    n_neighbors : int, default=8
        Number k of nearest anchors with a coordinate, at most m. With 1, each row belongs to one
        model, and predictions jump at the borders.
    selector : Selector or str, default="kmeans"
        How to choose the anchors, as in `~skimp.features.Nystroem`. Selectors that use a kernel
        receive the Gaussian one with ``gamma="scale"``.
    loss : str or Loss, default="squared_hinge"
        As in `KernelClassifier`: "hinge", "squared_hinge", "log" or "squared" fit one function per
        class, "softmax" and "multiclass_hinge" fit all classes together. Only "log" and "softmax"
        have ``predict_proba``.
    alpha : float or "auto", default="auto"
        Strength of the penalty, independent of n. "auto" minimizes the leave-one-out error of least
        squares on at most 1,000 rows. The C of a linear SVM is 1 / (2 n alpha s^2).
    solver : str or Solver, default="auto"
        As in `KernelClassifier`. "auto" uses "dual_cd" if there are more than 2,000 products and
        the loss has a dual, and otherwise usually "newton".
    class_weight : dict, "balanced" or None, default=None
        Factors for the weights of the rows of each class. "balanced" gives every class the same
        total weight.
    tol, max_iter : float, int or None, default=None
        Tolerance and maximum number of iterations of the solver. None uses its default.
    memory_limit : int, str or None, default=None
        Maximum memory of the solver, in bytes or such as ``"2GB"``. None allows half of the
        machine's.
    n_jobs : int or None, default=None
        Number of threads. None uses all available cores.
    verbose : int, default=0
        Whether to report progress.
    random_state : int, Generator, RandomState or None, default=None
        Seed of the selector.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The labels, sorted.
    anchors_ : array or CSR matrix of shape (m, d)
        The anchors.
    coef_ : array of shape (m, d, n_outputs)
        Coefficients :math:`w_v`. There is one output per class, or a single one for two classes
        unless the loss is "softmax" or "multiclass_hinge".
    intercept_ : array of shape (m, n_outputs)
        Constants :math:`b_v`.
    alpha_ : float
        Strength of the penalty.
    n_iter_ : int
        Number of iterations of the solver.
    solution_ : Solution
        Result of the solver, in coefficients of :math:`x / s`.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    References
    ----------
    Ladicky and Torr (2011), Locally linear support vector machines. They use plain inverse
    distances, a penalty on each :math:`w_v` and none on the constants, without a shared model.

    Evgeniou and Pontil (2004), Regularized multi-task learning (the shared model).

    Minhas, Asif and Arif (2016), CAFE-Map: context aware feature mapping for mining high
    dimensional biomedical data (the local weights of columns, `local_coef`).

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from skimp import LocallyLinearClassifier
    >>> X, y = make_moons(2000, noise=0.2, random_state=0)
    >>> model = LocallyLinearClassifier(n_anchors=20, random_state=0).fit(X, y)
    >>> bool(model.score(X, y) > 0.96)
    True
    >>> model.local_coef(X[:3]).shape
    (3, 2)
    """

    rules: ClassVar[dict[str, Rule]] = {
        "n_anchors": integer(at_least=1),
        "n_neighbors": integer(at_least=1),
        "alpha": number(above=0) | one_of("auto"),
        "class_weight": CLASS_WEIGHT,
        "tol": NONE | number(above=0),
        "max_iter": NONE | integer(at_least=1),
        "memory_limit": MEMORY_LIMIT,
        "n_jobs": N_JOBS,
        "verbose": integer(at_least=0) | BOOLEAN,
        "random_state": RANDOM_STATE,
    }

    def __init__(
        self,
        n_anchors: int = 100,
        *,
        n_neighbors: int = 8,
        selector: Selector | str = "kmeans",
        loss: Loss | str = "squared_hinge",
        alpha: float | str = "auto",
        solver: Solver | str = "auto",
        class_weight: dict[Any, float] | str | None = None,
        tol: float | None = None,
        max_iter: int | None = None,
        memory_limit: int | str | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        random_state: RandomState = None,
    ):
        self.n_anchors = n_anchors
        self.n_neighbors = n_neighbors
        self.selector = selector
        self.loss = loss
        self.alpha = alpha
        self.solver = solver
        self.class_weight = class_weight
        self.tol = tol
        self.max_iter = max_iter
        self.memory_limit = memory_limit
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Choose the anchors, and fit their linear models.

        Parameters
        ----------
        X : array, CSR matrix, frame or Rows of shape (n, d)
            Training rows. `~skimp.data.Rows` hold their own targets and weights.
        y : array of shape (n,)
            Labels.
        sample_weight : array of shape (n,), optional
            Weights of the rows. For the same anchors, a weight of 2 equals a row given twice, and a
            weight of 0 an absent row.

        Returns
        -------
        self
        """
        with all_or_nothing(self), self._reporting(4, X, y, sample_weight) as context:
            loss, solver, selector = self._parts()
            owner, rng = type(self).__name__, as_generator(self.random_state)
            with context.phase("read", unit="rows") as reading:
                rows = as_rows(self, X, y, sample_weight, multi_output=False, y_numeric=False)
                targets = self._encode_labels(rows, context, joint=loss.joint)
                loss.check_classes(len(self.classes_))
                reading.result = f"{rows.n_rows:,} rows of {rows.n_features:,} columns"
            with context.phase("anchors") as choosing:
                size, labelled = int(self.n_anchors), rows.labelled_as(True)
                anchors = choose_anchors(labelled, size, selector, rng, context)
                choosing.result = f"{anchors.shape[0]:,} anchors"
            rows = rows.with_targets(targets)
            local = fit_local(anchors, int(self.n_neighbors), rows, context)
            with context.phase("penalty") as penalizing:
                auto, seed = is_auto(self.alpha), draw_seed(rng)
                alpha = choose_alpha(local, rows, seed, context) if auto else float(self.alpha)
                penalizing.result = f"alpha {alpha:.3g}"
            problem = Problem(rows.mapped(local), loss, alpha, memory_limit=self.memory_limit)
            with context.phase("solve", rebuild=self._rebuilding(local, problem)) as solving:
                solution = solver.solve(problem, context)
                solving.result = solution.message
            for name, value in _attributes(local, problem, solution).items():
                setattr(self, name, value)
            warn_unless_converged(solution, owner=owner, advice=advise(solver, loss))
        return self

    def _parts(self) -> tuple[Loss, Solver, Selector]:
        """Check the parameters, and return them as objects."""
        check_params(self)
        owner = type(self).__name__
        loss, selector = as_loss(self.loss, owner=owner), as_selector(self.selector, owner=owner)
        check_params(loss)
        solver = make_solver(self.solver, owner=owner, tol=self.tol, max_iter=self.max_iter)
        if is_auto(self.alpha) and not solver.ridge:
            wording = f"a number for {type(solver).__name__}: 'auto' chooses a ridge penalty"
            raise broken(owner, "alpha", wording, self.alpha)
        return loss, solver, selector

    def _rebuilding(
        self, local: LocalProducts, problem: Problem
    ) -> Callable[[Array, Array], dict[str, Any]]:
        """Return a function for callbacks: the attributes of a model with other coefficients."""

        def rebuild(coef: Array, intercept: Array) -> dict[str, Any]:
            solution = Solution(coef, intercept, 0, Status.MAX_ITER, "not finished")
            return _attributes(local, problem, solution)

        return rebuild

    def _outputs(self, X: Any) -> Array:
        """Return the outputs at each row, of shape (n, k)."""
        check_is_fitted(self)
        rows, local, solution = as_rows(self, X, reset=False), self._local, self.solution_
        coef, intercept = (A.astype(local.dtype) for A in (solution.coef, solution.intercept))
        return Context(self.n_jobs).compute(
            rows.mapped(local),
            lambda block, _: block.X @ coef + intercept,
            intercept.shape,
            local.dtype,
        )

    def local_coef(self, X: Any) -> Array:
        r"""Return the weights of the columns in the linear model at each row.

        These are :math:`\sum_v \gamma_v(x) w_v`: they show which columns decide the class of rows
        like x, and in which direction. The result takes n d numbers of memory per class.

        Parameters
        ----------
        X : array, CSR matrix, frame or Rows of shape (n, d)
            Rows with the columns of ``fit``.

        Returns
        -------
        array of shape (n, d) or (n, d, n_classes)
            One weight per column for two classes, and one per column and class for more, as in
            `decision_function`.
        """
        check_is_fitted(self)
        rows, local, models = as_rows(self, X, reset=False), self._local, self.coef_
        if models.shape[2] == 2:
            models = models[:, :, 1:] - models[:, :, :1]
        coef = Context(self.n_jobs).compute(
            rows, lambda block, _: local.combine(block.X, models), models.shape[1:], models.dtype
        )
        return coef[:, :, 0] if coef.shape[2] == 1 else coef

    @property
    def _fitted_loss(self) -> Loss | None:
        return vars(self).get("_loss")

    def __sklearn_tags__(self) -> Any:
        """Return scikit-learn's tags of supported input."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _attributes(local: LocalProducts, problem: Problem, solution: Solution) -> dict[str, Any]:
    """Return the attributes of a fitted model."""
    models, constants = local.split(solution.coef)
    return {
        "_local": local,
        "_loss": problem.loss,
        "anchors_": local.anchors,
        "coef_": models.astype(local.dtype),
        "intercept_": (constants + solution.intercept).astype(local.dtype),
        "alpha_": problem.alpha,
        "n_iter_": solution.n_iter,
        "solution_": solution,
    }
