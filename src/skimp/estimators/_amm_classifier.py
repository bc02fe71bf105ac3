"""Classification by several hyperplanes per class."""

from numbers import Integral
from typing import Any, ClassVar, final

import numpy as np
from sklearn.utils import get_tags

from skimp._core._random import as_generator, draw_seed
from skimp._core._types import RandomState
from skimp._params._rules import BOOLEAN, NONE, Rule, instance, integer, number, one_of
from skimp.data import Context, Rows
from skimp.estimators._hyperplanes import Hyperplanes
from skimp.estimators._labels import CLASS_WEIGHT
from skimp.estimators._online_machine import OnlineClassifier
from skimp.features import MAP_NAMES, TRANSFORMER, FeatureMap, Nystroem, as_map


@final
class AMMClassifier(OnlineClassifier):
    r"""Adaptive multi-hyperplane machine: several linear functions per class.

    The score of class i is the largest product of a row with the weights of the class,
    :math:`g_i(x) = \max(0, \max_j w_{ij}^T x)`. The weights minimize

    .. math::
        \frac{1}{\sum_n s_n} \sum_n s_n \max\bigl(0, 1 + \max_{i \ne y_n} g_i(x_n)
        - w_{y_n z_n}^T x_n\bigr) + \alpha \sum_{ij} \|w_{ij}\|^2

    where s are the weights of the rows and z_n is the weight of its class that row n is assigned
    to. Each visit to a row is a step of size :math:`1 / (2 \alpha t)`, as in Pegasos, on
    :math:`w_{y z}` and on the best weight of the other classes. There are no weights at first. A
    row for which no weight of its class has a positive product starts a new one. The intercept is
    the coefficient of a constant feature and is penalized.

    ``decision_function`` returns :math:`\max_j w_{ij}^T x`, without the zero, so that rows with
    only negative products are not tied.

    The model is between a linear and a kernel machine. Its regions are bounded by hyperplanes, and
    it needs no kernel, but can take any feature map. The objective is not convex, so that results
    depend on ``random_state``. Centre and scale the columns first.

    A pass takes O(n S W) operations for n rows with S nonzero features and W weights in total, and
    a prediction O(S W). The model takes O(D W) memory for D features.

    Parameters
    ----------
    approximation : None, int, str or FeatureMap, default=None
        None uses the rows themselves. An int is a number of landmarks
        (`~skimp.features.Nystroem`), and "nystroem", "fourier" and "binning" are maps of their
        default size. Feature maps and scikit-learn transformers are used as given. ``partial_fit``
        fits the map to the rows of the first call.
    method : {"batch", "online"}, default="batch"
        "online" moves the best weight of its class for each row. "batch" does that in the first
        pass. Later passes fix the assignment z at their start, so that a pass works on a convex
        problem. If the features exceed ``memory_limit``, assignments are fixed at the start of each
        buffer of rows. ``partial_fit`` is always online.
    alpha : float, default=5e-5
        Strength of the penalty, independent of n. The published :math:`\lambda` is
        :math:`2 \alpha`.
    max_weights : int, default=20
        Largest number of weights of a class.
    pruning : float, default=10.0
        Every 10,000 steps, the smallest weights are removed as long as the sum of their squared
        norms is at most :math:`(c / (2 \alpha t))^2`, where c is ``pruning``: about c steps from
        the zero weight, for rows of norm 1. We also keep at least 99.9 % of the sum of all squared
        norms, and the largest weight of each class: early in a fit, all weights are a few steps
        from zero. 0 keeps all weights.
    average : bool, default=True
        Whether to use the average of the weights after each step t, with factors t, instead of the
        last weights as in the publication. ``fit`` averages over its last pass, and ``partial_fit``
        continues with the average.
    class_weight : dict, "balanced" or None, default=None
        Factors for the weights of the rows of each class. "balanced" gives every class the same
        total weight.
    max_iter : int, default=20
        Number of passes over the rows in ``fit``.
    memory_limit : int or str, default=None
        Bytes for features, such as "2GB"; None is half of the machine's memory. If they need more,
        they are recomputed in each pass.
    n_jobs : int, default=None
        Number of threads for features and predictions; None for all available cores. The result
        does not depend on it.
    verbose : int, default=0
        Whether to report progress.
    random_state : int, Generator, RandomState or None, default=None
        Seed of the feature map and of the order of the rows.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The labels, sorted.
    coef_ : array of shape (n_weights, D)
        The weights of all classes, sorted by class.
    intercept_ : array of shape (n_weights,)
        Their intercepts.
    n_weights_ : array of shape (n_classes,)
        Number of weights of each class.
    approximation_ : FeatureMap or None
        The fitted map.
    n_iter_ : int
        Number of passes, and of calls of ``partial_fit``.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    References
    ----------
    Wang, Djuric, Crammer and Vucetic (2011), Trading representability for scalability: adaptive
    multi-hyperplane machine for nonlinear classification.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from skimp import AMMClassifier
    >>> X, y = make_moons(2000, noise=0.15, random_state=0)
    >>> model = AMMClassifier(random_state=0).fit(X, y)
    >>> bool(model.score(X, y) > 0.97)
    True
    >>> bool(2 <= model.n_weights_.min() <= model.n_weights_.max() < 5)
    True
    """

    rules: ClassVar[dict[str, Rule]] = {
        **OnlineClassifier.rules,
        "approximation": NONE
        | integer(at_least=1)
        | MAP_NAMES
        | instance(FeatureMap, "a feature map")
        | TRANSFORMER,
        "method": one_of("batch", "online"),
        "alpha": number(above=0),
        "max_weights": integer(at_least=1),
        "pruning": number(at_least=0),
        "average": BOOLEAN,
        "class_weight": CLASS_WEIGHT,
    }

    def __init__(
        self,
        approximation: FeatureMap | int | str | None = None,
        *,
        method: str = "batch",
        alpha: float = 5e-5,
        max_weights: int = 20,
        pruning: float = 10.0,
        average: bool = True,
        class_weight: dict[Any, float] | str | None = None,
        max_iter: int = 20,
        memory_limit: int | str | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        random_state: RandomState = None,
    ):
        self.approximation = approximation
        self.method = method
        self.alpha = alpha
        self.max_weights = max_weights
        self.pruning = pruning
        self.average = average
        self.class_weight = class_weight
        self.max_iter = max_iter
        self.memory_limit = memory_limit
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state

    @property
    def _joint(self) -> bool:
        return True

    def _begin(self, rows: Rows, rng: np.random.Generator, context: Context) -> Hyperplanes:
        seed, feature_map = draw_seed(rng), self._as_map()
        if feature_map is not None:
            kernels = [feature_map.chosen_kernel()] if feature_map.kernelled else []
            needed = feature_map.needed_rows
            self._refuse_few_rows(rows, context, feature_map, *kernels, needed=needed)
            own = feature_map.random_state
            rng = rng if own is None else as_generator(own)
            # selectors of landmarks take labels
            labelled = rows.with_targets(lambda Y, weight: (np.asarray(Y).argmax(axis=1), weight))
            feature_map.fit_rows(labelled.labelled_as(True), rng, context=context)
        rule = 2 * float(self.alpha), self.max_weights, float(self.pruning)
        return Hyperplanes(rows, feature_map, rule, self.method == "batch", self.average, seed)

    def _as_map(self) -> FeatureMap | None:
        """Return an unfitted map for ``approximation``."""
        if self.approximation is None:
            return None
        if isinstance(self.approximation, Integral):
            return Nystroem(budget=int(self.approximation))
        return as_map(self.approximation)

    def _set_learnt(self, learner: Hyperplanes) -> None:
        learner.settle()
        self.approximation_ = learner.feature_map
        self.coef_, self.intercept_ = learner.coef, learner.intercept
        self.n_weights_ = np.bincount(learner.classes, minlength=len(self.classes_))

    def __sklearn_tags__(self) -> Any:
        """Return scikit-learn's tags of supported input."""
        tags = super().__sklearn_tags__()
        if TRANSFORMER.test(self.approximation):
            tags.input_tags = get_tags(self.approximation).input_tags
        return tags
