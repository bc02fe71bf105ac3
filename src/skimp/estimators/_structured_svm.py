"""Structured prediction."""

from typing import Any, ClassVar, Self, final

import numpy as np
from sklearn.base import clone
from sklearn.metrics import accuracy_score
from sklearn.utils.validation import check_is_fitted

from skimp._core._blocks import block_rows_for
from skimp._core._random import as_generator, draw_seed
from skimp._core._types import Array, RandomState
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
    number,
    one_of,
)
from skimp.data import Context, Reporting, as_rows
from skimp.estimators._available import available_unless
from skimp.estimators._file_predictor import FilePredictor
from skimp.estimators._items import ItemRisk, Items, as_items, read_items
from skimp.estimators._joint_map import JointMap, as_joint
from skimp.estimators._labels import (
    CLASS_WEIGHT,
    Labels,
    as_decision,
    as_logarithms,
    as_probabilities,
)
from skimp.estimators._solving import warn_unless_converged
from skimp.solvers import Solution, Status, as_features, solve_by_cuts, solve_by_items

_LIMITS = {"cutting_plane": (1e-3, 1000), "subgradient": (5e-2, 200)}
"""Tolerance and maximum number of iterations of each solver."""


def _lacks_classes(model: Any) -> str:
    """Return why a model has no scores of classes, or ''."""
    if _has_classes(model):
        return ""
    return f"needs a joint map whose outputs are classes, got {model.joint!r}."


def _lacks_probabilities(model: Any) -> str:
    """Return why a model has no probabilities, or ''."""
    # a fitted model keeps the loss of its fit
    loss = vars(model).get("_fitted_loss", model.loss)
    return _lacks_classes(model) or ("" if loss == "log" else f"needs loss='log', got {loss!r}.")


def _has_classes(model: Any) -> bool:
    """Return whether outputs are classes; a string names such a map."""
    joint = vars(model).get("joint_", model.joint)
    return bool(getattr(joint, "classes", True))


@final
class StructuredSVM(Labels, FilePredictor, Reporting, Parametrized):
    r"""Structured prediction with a joint feature map, a cost and a search for the best output.

    The model predicts the output y with the highest score :math:`z_y = w^T \phi(x, y)`. The
    coefficients w minimize

    .. math::
        \frac{1}{\sum_i w_i} \sum_i w_i \, \ell_i(w) + \alpha \, \|w\|^2

    where the loss of an item is one of

    .. math::
        \text{margin:} \quad \max_r \, \delta(y, r) + z_r - z_y \qquad
        \text{log:} \quad \log \sum_r e^{z_r - z_y}

    The margin loss is never below the cost :math:`\delta` of the predicted output. A `JointMap`
    defines :math:`\phi`, :math:`\delta` and the search, for example for sequences, trees or
    rankings. With the default map, outputs are ordinary classes.

    The solver "cutting_plane" searches the best output of all items in each iteration, and knows
    its distance from the minimum. Its number of iterations grows as alpha becomes smaller. With D
    features and m cuts (tens to hundreds) it takes m D numbers of memory. "subgradient" takes a
    step of O(D) after each item. It comes near the minimum in few passes, and then improves slowly.

    The search for the best output may be approximate. For the margin loss, any output gives a valid
    cut, so "cutting_plane" still minimizes a lower bound of the objective, that of the outputs
    found. The gap then refers to this bound, and the loss no longer bounds the cost. A search over
    too many outputs, such as fractional ones, gives an upper bound instead.

    Parameters
    ----------
    joint : JointMap or "multiclass", default="multiclass"
        Features, costs and the search. "multiclass" is `~skimp.estimators.MulticlassMap`, which
        also takes a cost for each pair of classes.
    loss : {"margin", "log"}, default="margin"
        The loss. "log" is a conditional random field, and needs `JointMap.expected`.
    solver : {"cutting_plane", "subgradient"}, default="cutting_plane"
        The solver. "subgradient" suits many items and slow searches.
    alpha : float, default=1e-3
        Strength of the penalty, independent of n. The C of an SVM is 1 / (2 n alpha).
    class_weight : dict, "balanced" or None, default=None
        Factors for the weights of the rows of each class; only if outputs are classes.
    tol : float or None, default=None
        Stop if the objective is at most this fraction above the minimum. "subgradient" estimates
        the distance from the change of the objective. None is 1e-3 for "cutting_plane" and 5e-2 for
        "subgradient".
    max_iter : int or None, default=None
        Maximum number of iterations of "cutting_plane", or of passes of "subgradient". None is
        1,000 and 200.
    n_jobs : int or None, default=None
        Number of threads for maps with ``parallel = True``; None uses all available cores.
    verbose : int, default=0
        1 reports the phases of a fit, 2 also their progress.
    random_state : int, Generator, RandomState or None, default=None
        Order of the items for "subgradient".

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The labels, sorted; only if outputs are classes.
    joint_ : JointMap
        The map, with the sizes that its ``start`` has read.
    coef_ : array of shape (width,)
        The coefficients w.
    n_iter_ : int
        Number of iterations or passes.
    solution_ : Solution
        Status, message and the objective after each iteration.
    n_features_in_, feature_names_in_
        As in scikit-learn; only if outputs are classes.

    References
    ----------
    Tsochantaridis, Joachims, Hofmann and Altun (2005), Large margin methods for structured and
    interdependent output variables (margin rescaling).

    Joachims, Finley and Yu (2009), Cutting-plane training of structural SVMs, algorithm 3.

    Finley and Joachims (2008), Training structural SVMs when exact inference is intractable.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.preprocessing import scale
    >>> from skimp import StructuredSVM
    >>> X, y = load_iris(return_X_y=True)
    >>> model = StructuredSVM().fit(scale(X), y)
    >>> bool(model.score(scale(X), y) > 0.95)
    True
    """

    rules: ClassVar[dict[str, Rule]] = {
        "loss": one_of("margin", "log"),
        "solver": one_of(*_LIMITS),
        "alpha": number(above=0),
        "class_weight": CLASS_WEIGHT,
        "tol": NONE | number(above=0),
        "max_iter": NONE | integer(at_least=1),
        "n_jobs": N_JOBS,
        "verbose": integer(at_least=0) | BOOLEAN,
        "random_state": RANDOM_STATE,
    }

    def __init__(
        self,
        joint: JointMap | str = "multiclass",
        *,
        loss: str = "margin",
        solver: str = "cutting_plane",
        alpha: float = 1e-3,
        class_weight: dict[Any, float] | str | None = None,
        tol: float | None = None,
        max_iter: int | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        random_state: RandomState = None,
    ):
        self.joint = joint
        self.loss = loss
        self.solver = solver
        self.alpha = alpha
        self.class_weight = class_weight
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit the coefficients.

        Parameters
        ----------
        X : sequence of n inputs
            Inputs of the joint map; for classes an array, CSR matrix, frame or Rows (n, d).
        y : sequence of n outputs
            Their right outputs; for classes an array of labels.
        sample_weight : array of shape (n,), optional
            Weights. A weight of 2 equals an item given twice, and a weight of 0 an absent item.

        Returns
        -------
        self
        """
        with all_or_nothing(self), self._reporting(2, X, y, sample_weight) as context:
            with context.phase("read") as reading:
                joint = self._check()
                read = self._read_rows if joint.classes else self._read_items
                items = read(X, y, sample_weight, context)
                width = joint.start(items.X, items.y)
                items.check_map(joint, width)
                reading.result = f"{len(items.weight):,} items, {width:,} features"
            with context.phase("solve") as solving:
                solution = self._solve(joint, items, width, context)
                solving.result = solution.message
            limit = "tol" if solution.status is Status.STALLED else "max_iter"
            advice = "scale the features"
            warn_unless_converged(solution, owner=type(self).__name__, advice=advice, limit=limit)
            self.joint_, self._fitted_loss = joint, self.loss
            self.coef_ = solution.coef[:, 0].astype(items.dtype)
            self.n_iter_, self.solution_ = solution.n_iter, solution
        return self

    def _check(self) -> JointMap:
        """Check the parameters, and return a copy of the joint map."""
        owner = type(self).__name__
        check_params(self)
        joint: JointMap = clone(as_joint(self.joint, owner=owner))
        check_params(joint)
        if not joint.classes and self.class_weight is not None:
            wording = "None for outputs that are not classes"
            raise broken(owner, "class_weight", wording, self.class_weight)
        return joint

    def _read_rows(self, X: Any, y: Any, sample_weight: Any, context: Context) -> Items:
        """Check rows of numbers and labels, and set the classes."""
        checks = {"multi_output": False, "y_numeric": False}
        rows = as_rows(self, X, y, sample_weight, **checks)
        sides = self._encode_labels(rows, context, joint=True)
        block = rows.with_targets(sides).collect()
        numbers, codes = as_features(block.X, rows.dtype), np.argmax(np.asarray(block.y), axis=1)
        batch = block_rows_for(rows.n_features, rows.dtype)
        return Items(numbers, codes, block.weights(), rows.dtype, batch)

    def _read_items(self, X: Any, y: Any, sample_weight: Any, context: Context) -> Items:
        """Check sequences of objects; nothing is left of an earlier fit to classes."""
        for name in ("classes_", "n_features_in_", "feature_names_in_"):
            self.__dict__.pop(name, None)
        return read_items(X, y, sample_weight)

    def _solve(self, joint: JointMap, items: Items, width: int, context: Context) -> Solution:
        loss = joint.margin_loss if self.loss == "margin" else joint.log_loss
        threads = context.threads if joint.parallel else 1
        risk = ItemRisk(items, loss, threads)
        tol, max_iter = _LIMITS[self.solver]
        limits: dict[str, Any] = {
            "tol": tol if self.tol is None else self.tol,
            "max_iter": max_iter if self.max_iter is None else self.max_iter,
            "context": context,
        }
        if self.solver == "cutting_plane":
            return solve_by_cuts(risk, width, self.alpha, **limits)
        seed = draw_seed(as_generator(self.random_state))
        return solve_by_items(
            risk, risk.slope_at, items.weight, width, self.alpha, seed=seed, **limits
        )

    def _scores(self, X: Any) -> Array:
        """Return the scores of all classes at each row."""
        check_is_fitted(self)
        rows, joint, w = as_rows(self, X, reset=False), self.joint_, self.coef_
        shape = (len(self.classes_),)
        return Context(self.n_jobs).compute(
            rows, lambda block, _: joint.scores(block.X, w), shape, rows.dtype
        )

    def predict(self, X: Any) -> Any:
        """Return the best output of each item.

        Parameters
        ----------
        X : sequence of n inputs
            Inputs like those of ``fit``.

        Returns
        -------
        list of n outputs, or array of shape (n,) for classes
        """
        check_is_fitted(self)
        if self.joint_.classes:
            labels: Array = self.classes_[self._scores(X).argmax(axis=1)]
            return labels
        return self.joint_.predict(as_items(X, "X"), self.coef_)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy for classes, and minus the mean cost for other outputs.

        Parameters
        ----------
        X : sequence of n inputs
            Inputs like those of ``fit``.
        y : sequence of n outputs
            The right outputs.
        sample_weight : array of shape (n,), optional
            Weights.

        Returns
        -------
        float
            Higher is better.
        """
        found = self.predict(X)
        if self.joint_.classes:
            return float(accuracy_score(y, found, sample_weight=sample_weight))
        costs = [self.joint_.cost(*pair) for pair in zip(y, found, strict=True)]
        return -float(np.average(costs, weights=sample_weight))

    @available_unless(_lacks_classes)
    def decision_function(self, X: Any) -> Array:
        """Return the score of each row for each class; only if outputs are classes.

        Parameters
        ----------
        X : array, CSR matrix, frame or Rows of shape (n, d)
            Rows with the columns of ``fit``.

        Returns
        -------
        array of shape (n,) or (n, n_classes)
            One column per class. For two classes one number, positive for the second class.
        """
        return as_decision(self._scores(X))

    @available_unless(_lacks_probabilities)
    def predict_proba(self, X: Any) -> Array:
        """Return the probability of each class; only for classes and the log loss.

        Parameters
        ----------
        X : array, CSR matrix, frame or Rows of shape (n, d)
            Rows with the columns of ``fit``.

        Returns
        -------
        array of shape (n, n_classes)
        """
        return as_probabilities(self._scores(X), joint=True)

    @available_unless(_lacks_probabilities)
    def predict_log_proba(self, X: Any) -> Array:
        """Return the logarithm of `predict_proba`.

        Parameters
        ----------
        X : array, CSR matrix, frame or Rows of shape (n, d)
            Rows with the columns of ``fit``.

        Returns
        -------
        array of shape (n, n_classes)
        """
        return as_logarithms(self.predict_proba(X))

    def __sklearn_tags__(self) -> Any:
        """Return scikit-learn's tags of supported input."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        if not _has_classes(self):
            tags.estimator_type = tags.classifier_tags = None
            tags.input_tags.two_d_array = False
            tags.target_tags.required = True
        return tags
