"""Kernel regularized least squares, with effects and their standard errors."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, ClassVar, Self, final

import numpy as np
from sklearn.base import RegressorMixin, clone
from sklearn.utils.validation import check_is_fitted

from skimp._core._random import as_generator
from skimp._core._types import Array, RandomState
from skimp._core._work import Size, Stage
from skimp._params._memory import MEMORY_LIMIT
from skimp._params._parametrized import Parametrized, all_or_nothing
from skimp._params._rules import BOOLEAN, N_JOBS, NONE, RANDOM_STATE, Rule, integer, number, one_of
from skimp.choice import Task
from skimp.data import Reporting, Rows, as_rows, reporting
from skimp.effects import _effects
from skimp.effects._cost import count_cost
from skimp.effects._fit import Fitted, fit_krls, open_task
from skimp.effects._levels import encode_levels
from skimp.effects._summary import EffectsSummary, Expectation
from skimp.estimators import FilePredictor
from skimp.kernels import Kernel
from skimp.solvers.ridge import CRITERIA

_SQUARABLE = number(above=1e-100, at_most=1e100)
_GRID = NONE | Rule(
    f"a sequence, each {_SQUARABLE.wording}",
    lambda value: (
        isinstance(value, list | tuple | np.ndarray)
        and np.ndim(value) == 1
        and len(value) > 0
        and all(map(_SQUARABLE.test, value))
    ),
)
"""Grids of penalties or bandwidths; their squares must be representable."""


@final
class KRLS(RegressorMixin, FilePredictor, Reporting, Parametrized):
    r"""Kernel regularized least squares, with the effects of columns and their standard errors.

    Minimizes, over functions f in the kernel's space and a constant b,

    .. math::
        \frac{1}{\sum_i w_i} \sum_i w_i \, (y_i - f(x_i) - b)^2 + \alpha \, \|f\|^2

    on columns with mean zero and variance one. The exact model takes :math:`8 n^3 / 3` operations
    for all penalties together, and the memory of one n x n matrix. An approximation by m functions
    takes :math:`3 n m^2` operations and the memory of a few m x m matrices. The n x m values of the
    functions are kept during the fit if they need less than a quarter of ``memory_limit``;
    otherwise they are recomputed on each pass.

    With a binary outcome coded 0 and 1 it is a linear probability model: effects are changes of the
    probability. Use ``errors="robust"`` in that case.

    Parameters
    ----------
    kernel : Kernel, str or None, default=None
        Any differentiable kernel; it sees scaled columns. None is the Gaussian with ``gamma`` one
        over twice the number of columns of X.
    standardize : bool, default=True
        Whether to scale columns. Categorical and text columns of a frame become indicators in any
        case.
    approximation : None, int, str, Selector, Nystroem, Points, Sketch or RowSample, default=None
        None fits the exact model. An int is a number of landmarks; the model is still fitted to all
        rows. A selector, or its name ("auto", "uniform", "kmeans", "agglomerative", "leverage",
        "rpcholesky"), chooses a tenth of the rows as landmarks, at least 100 and at most 1,000. Use
        `skimp.features.Nystroem` or `skimp.effects.Points` to set another size. The methods of
        `skimp.effects.Sketch` ("gaussian", "sign", ...) fit random sums of all kernel columns.
        "sample", or `skimp.effects.RowSample`, fits the exact model to a sample of the rows.
    alpha : float or str, default="loo"
        Strength of the penalty, independent of n: the ridge penalty is n alpha. "loo" minimizes the
        leave-one-out error, in closed form; copies of a row are left out together. "gcv" minimizes
        generalized cross-validation. "kfold" minimizes the error of five-fold cross-validation;
        each fold has its own approximation and the same n alpha.
    lams : sequence of float or None, default=None
        Penalties n alpha to choose from. None searches the whole useful range.
    sigmas : sequence of float or None, default=None
        Bandwidths to choose from; gamma is :math:`1 / 2 \sigma^2`. None keeps the bandwidth of the
        kernel.
    fit_intercept : bool, default=True
        Whether to fit the unpenalized constant b.
    convention : "skimp" or "R", default="skimp"
        "R" reproduces the numbers of R's package KRLS; `skimp.recipes.krls` lists its conventions.
        ``summary`` is then not corrected for shrinkage by default.
    memory_limit : int, str or None, default=None
        Bytes, or a string such as "2GB", that a fit may use besides the data. None is half of the
        machine's memory.
    n_jobs : int or None, default=None
        Number of threads. None uses all cores that the process may use.
    verbose : int, default=0
        1 writes a line for each phase of the fit, with its seconds and its result. 2 also writes
        one for each part of a phase, such as a trial. The lines are records of the logger "skimp".
        If logging is not set up, they go to standard error, and a terminal also shows a progress
        bar if rich is installed.
    random_state : int, Generator, RandomState or None, default=None
        Seed of the approximation and of the folds.

    Attributes
    ----------
    kernel_ : Kernel
        The kernel with its numeric parameters.
    alpha_ : float
        The penalty.
    coef_ : array of shape (m,) or (m, k)
        Coefficients of the basis functions: kernel columns, or random sums of them.
    dual_coef_ : array of shape (p,) or (p, k)
        Coefficients of the kernel columns of ``points_``.
    points_ : array of shape (p, width)
        The landmarks, scaled: all rows for the exact model.
    intercept_ : float or array of shape (k,)
        The constant b.
    dimension_ : float
        Effective number of parameters: the trace of the matrix that maps y to fitted values.
    freedom_ : float
        Degrees of freedom of the standard errors: about n minus ``dimension_``, or n minus the
        number of columns if ``convention="R"``.
    sigma_ : float or array of shape (k,)
        Standard deviation of the errors.
    alphas_, scores_ : arrays, or None
        The penalties compared, and their squared errors relative to the variance of y. None if
        alpha was given.
    terms_ : list of str
        Names of the effects: columns, and levels of categorical columns.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    References
    ----------
    .. [1] J. Hainmueller and C. Hazlett, "Kernel regularized least squares: reducing
       misspecification bias with a flexible and interpretable machine learning approach",
       Political Analysis 22 (2014).

    Examples
    --------
    >>> import numpy as np
    >>> from skimp import KRLS
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 2))
    >>> y = 2 * X[:, 0] + np.sin(X[:, 1]) + 0.5 * rng.normal(size=300)
    >>> model = KRLS().fit(X, y)
    >>> model.effects().shape
    (300, 2)
    >>> summary = model.summary().to_frame()
    >>> bool(summary.ci_low["x0"] < 2 < summary.ci_high["x0"])
    True
    """

    rules: ClassVar[dict[str, Rule]] = {
        "standardize": BOOLEAN,
        "alpha": number(above=0) | one_of(*CRITERIA),
        "lams": _GRID,
        "sigmas": _GRID,
        "fit_intercept": BOOLEAN,
        "convention": one_of("skimp", "R"),
        "memory_limit": MEMORY_LIMIT,
        "n_jobs": N_JOBS,
        "verbose": integer(at_least=0) | BOOLEAN,
        "random_state": RANDOM_STATE,
    }
    fitted_: Fitted

    def __init__(
        self,
        kernel: Kernel | str | None = None,
        *,
        standardize: bool = True,
        approximation: Any = None,
        alpha: float | str = "loo",
        lams: Sequence[float] | Array | None = None,
        sigmas: Sequence[float] | Array | None = None,
        fit_intercept: bool = True,
        convention: str = "skimp",
        memory_limit: int | str | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        random_state: RandomState = None,
    ):
        self.kernel = kernel
        self.standardize = standardize
        self.approximation = approximation
        self.alpha = alpha
        self.lams = lams
        self.sigmas = sigmas
        self.fit_intercept = fit_intercept
        self.convention = convention
        self.memory_limit = memory_limit
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array, CSR matrix, frame or Rows of shape (n, d)
            Training rows. Categorical and text columns of a frame are encoded. The rows are not
            copied, and are read again to compute effects: do not change them.
        y : array of shape (n,) or (n, k)
            Targets.
        sample_weight : array of shape (n,), optional
            Weights of the rows. For estimates, a weight of 2 equals a row given twice. For standard
            errors, weights are inverse variances of the errors.
        """
        with all_or_nothing(self), self._reporting(6, X, y, sample_weight) as context:
            rng = as_generator(self.random_state)
            self.fitted_ = fitted = fit_krls(self, X, y, sample_weight, rng, context)
            models, fit, outputs = fitted.models, fitted.fit, fitted.outputs
            self.kernel_, self.alpha_ = models.basis.kernel, models.alpha
            self.alphas_, self.scores_ = models.alphas, models.scores
            self.points_ = models.basis.points
            self.terms_ = [term.name for term in fitted.design.terms]
            self.coef_, self.dual_coef_ = outputs(fit.coef), outputs(fitted.dual)
            self.intercept_ = outputs(fitted.constant[None])[0]
            self.dimension_, self.freedom_ = fit.dimension, fit.freedom
            self.sigma_ = outputs(np.sqrt(fit.noise)[None])[0]
        return self

    def cost(self, size: Size) -> tuple[Stage, ...]:
        """Return the work and memory of each stage of a fit; see `skimp.diagnostics.plan`."""
        return tuple(count_cost(self, size))

    def open_task(self, X: Any, y: Any = None, sample_weight: Any = None) -> Task:
        """Return the equivalent task of a `skimp.KernelRegressor`, on scaled rows.

        `skimp.diagnostics.budget_curve` uses it. The parameters are those of ``fit``.
        """
        return open_task(clone(self), X, y, sample_weight)

    def _open(self, X: Any, fallback: bool = True) -> tuple[Fitted, Rows]:
        """Return the fitted record and checked rows, the training rows if X is None."""
        check_is_fitted(self)
        fitted = self.fitted_
        if X is None and fallback:
            return fitted, fitted.data.rows
        encoded = encode_levels(X, fitted.design.levels, fitted.design.names)
        return fitted, as_rows(self, encoded, reset=False)

    @contextmanager
    def _asked(self, what: str, X: Any) -> Iterator[tuple[Fitted, Rows]]:
        """Return the same as `_open`, with a context that shows how far the block has come."""
        fitted, rows = self._open(X)
        with reporting(type(self).__name__, self.verbose, name=what) as progress:
            yield replace(fitted, context=replace(fitted.context, progress=progress)), rows

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """Return the fitted function at each row, with standard errors on request.

        Parameters
        ----------
        X : array, CSR matrix, frame or Rows of shape (n, d)
            Rows with the columns of ``fit``.
        return_std : bool, default=False
            Whether to return standard errors of the fitted function as well. They do not include
            the noise of new targets, whose standard deviation is ``sigma_``.

        Returns
        -------
        array of shape (n,) or (n, k), or a tuple of two
            Values, and their standard errors.
        """
        return _effects.predict_at(*self._open(X, fallback=False), return_std)

    def effects(self, X: Any = None, return_std: bool = False) -> Any:
        """Return the effect of each term at each row.

        For a numeric column it is the derivative of the fitted function per unit of the column. For
        a column with two values it is the difference between them. For a categorical column there
        is one effect per level: the difference from the first level.

        Parameters
        ----------
        X : array, CSR matrix, frame or Rows of shape (n, d), optional
            Rows at which to compute effects. By default the training rows with positive weight.
        return_std : bool, default=False
            Whether to return classical standard errors as well. They take one linear solve per
            effect.

        Returns
        -------
        array of shape (n, n_terms) or (n, n_terms, k), or a tuple of two
            One column per entry of ``terms_``.
        """
        with self._asked("effects", X) as opened:
            return _effects.effects_at(*opened, return_std)

    def summary(
        self,
        X: Any = None,
        *,
        errors: str = "classical",
        groups: Any = None,
        level: float = 0.95,
        corrected: bool | None = None,
    ) -> EffectsSummary:
        """Return the table of average effects with standard errors.

        Parameters
        ----------
        X : array, CSR matrix, frame or Rows of shape (n, d), optional
            Rows to average over. By default the training rows with their weights.
        errors : str, default="classical"
            Assumption about the errors of y. "classical": independent with equal variances.
            "robust": independent. "clustered": independent between groups.
        groups : array of shape (n,), optional
            The group of each training row, for ``errors="clustered"``.
        level : float, default=0.95
            Nominal coverage of the intervals.
        corrected : bool or None, default=None
            Whether to correct average effects, and their standard errors, t, p and intervals, for
            the shrinkage of the penalty, which can be as large as a standard error. False averages
            the pointwise effects. None means True, or False if ``convention="R"``.
        """
        asked = {"errors": errors, "groups": groups, "level": level, "corrected": corrected}
        with self._asked("summary", X) as opened:
            return _effects.summarize_terms(*opened, **asked)

    def interaction(
        self,
        first: str | int,
        second: str | int,
        X: Any = None,
        *,
        errors: str = "classical",
        groups: Any = None,
        level: float = 0.95,
        corrected: bool | None = None,
    ) -> EffectsSummary:
        """Return the table of interactions: how the effect of one term changes with another.

        For two numeric columns it is the mixed second derivative, or the curvature if they are the
        same. For other terms it is a difference of derivatives or of differences. The table has one
        row per pair of terms; ``pointwise`` holds the interactions at each row.

        Parameters
        ----------
        first, second : str or int
            Names or numbers of ``terms_``, or the name of a categorical column for all of its
            levels.
        X, errors, groups, level, corrected
            As in `summary`.
        """
        asked = {"errors": errors, "groups": groups, "level": level, "corrected": corrected}
        with self._asked("interaction", X) as opened:
            return _effects.summarize_interaction(*opened, first, second, **asked)

    def expectation(
        self, column: str | int, *, n_points: int = 50, level: float = 0.95
    ) -> Expectation:
        """Return the expected y along one column, with the other columns at typical values.

        Numbers are at their mean, columns of two values and of categories at the most frequent one.

        Parameters
        ----------
        column : str or int
            The column, by name or number.
        n_points : int, default=50
            Number of points between the smallest and the largest value of a numeric column.
        level : float, default=0.95
            Nominal coverage of the bands at each point.
        """
        check_is_fitted(self)
        return _effects.expect_along(self.fitted_, column, n_points, level)

    def column_values(self, column: str | int, X: Any = None) -> tuple[str, Array]:
        """Return the name and the values of a column, to draw effects against.

        Parameters
        ----------
        column : str or int
            The column, by name or number.
        X : array, CSR matrix, frame or Rows of shape (n, d), optional
            The rows. By default the training rows.
        """
        return _effects.values_of(*self._open(X), column)

    def vcov(self, *, errors: str = "classical", groups: Any = None) -> Array:
        """Return the covariance of the coefficients ``coef_``, of shape (m, m) or (k, m, m).

        Parameters
        ----------
        errors, groups
            As in `summary`.
        """
        check_is_fitted(self)
        return _effects.covariance_of(self.fitted_, errors, groups)

    @property
    def loo_residuals_(self) -> Array:
        """Leave-one-out residuals of the fitted rows.

        Rows with weight zero, and rows outside a `RowSample`, have none.
        """
        check_is_fitted(self)
        return self.fitted_.outputs(self.fitted_.fit.left_out)

    def __sklearn_tags__(self) -> Any:
        """Return scikit-learn's tags: sparse X and several outputs are supported."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.multi_output = True
        return tags
