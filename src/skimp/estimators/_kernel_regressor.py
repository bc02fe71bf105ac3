"""Kernel regression on a budget."""

from typing import Any, ClassVar, final

import numpy as np
from sklearn.base import RegressorMixin

from skimp._core._types import Array, RandomState
from skimp.choice import Spec, Task
from skimp.data import LOCAL, Context, Rows, no_rows, refuse_target
from skimp.estimators._kernel_machine import KernelMachine
from skimp.features import FeatureMap
from skimp.kernels import Kernel
from skimp.losses import Loss, Squared
from skimp.solvers import Solver


@final
class KernelRegressor(RegressorMixin, KernelMachine):
    r"""Kernel regression on a budget.

    Minimises over functions f of the approximated kernel's space, and a constant b,

    .. math::
        \frac{1}{\sum_i w_i} \sum_i w_i \, \ell(y_i, f(x_i) + b) + \alpha \, \|f\|^2

    In time O(n m (d + m)) and memory O(m^2) for n rows and a budget of m; solvers that iterate keep
    n x m numbers, too, where these fit ``memory_limit``.

    Parameters
    ----------
    kernel : Kernel or str, default="auto"
        What it means for two rows to be alike. "auto" tries the Gaussian, the Laplacian and a
        linear model; if ``approximation`` is given, the Laplacian for grids and the Gaussian
        otherwise. It also chooses the bandwidth, and scales the columns if that is better:
        ``kernel_.gamma`` is an array then. ``gamma="auto"`` of a kernel chooses these two alone.
    approximation : "auto", int, str, FeatureMap or None, default="auto"
        An int is a budget of that many points (`~skimp.features.Nystroem`); a feature map is used
        as it is, and "nystroem", "fourier" and "binning" are maps of their default size; None fits
        the exact model, for a few thousand rows. "auto" tries landmarks and, on more than 8,192
        rows, Fourier features and grids. It doubles the size of the best until the next doubling is
        not worth its cost or would exceed a limit.
    loss : str or Loss, default="squared"
        What a mistake costs: "squared", "huber", "epsilon_insensitive" (support vector
        regression), "squared_epsilon_insensitive" or "quantile"; an object such as
        ``losses.Quantile(0.9)`` sets its parameters.
    alpha : float or "auto", default="auto"
        Strength of the penalty; it does not grow with n. "auto" compares penalties by the squared
        error of rows that are left out one by one, or held out if there are more than 8,192. It
        avoids penalties whose predictions lie far outside the range of y. A ridge penalty is
        n alpha.
    solver : str or Solver, default="auto"
        How the objective is minimised: "direct", "pcg", "newton" or "dual_cd", whose intercept is
        penalized; "auto" chooses by the loss and says why in ``solution_.message``. The exact
        model of the squared loss has a solver of its own.
    fit_intercept : bool, default=True
        Whether there is an unpenalized constant b.
    tol : float or None, default=None
        Relative tolerance of the objective; None for the solver's own.
    max_iter : int or None, default=None
        Most iterations of the solver; None for its own limit.
    warm_start : bool, default=False
        Start from the last fit's landmarks and coefficients, where kernel, approximation and
        random_state are what they were.
    early_stopping : bool, default=False
        Stop a solver that iterates where the loss on held-out rows has not fallen for three
        iterations, and return to where it was least.
    validation_fraction : float, default=0.1
        Share of the rows that early stopping holds out.
    memory_limit : int, str or None, default=None
        Bytes, or "2GB", that a fit may take besides the data; None for half of the machine's.
        "auto" chooses a smaller model, or fits fewer rows, to stay within it. A size that was given
        raises MemoryError if it does not fit.
    time_limit : float or None, default=None
        Seconds that a fit may take. "auto" chooses a model that ends in time, at the speed of its
        trials, and solvers that iterate stop at the limit. Choices then depend on the machine and
        its load. A size that was given warns if it will probably not end in time.
    n_jobs : int or None, default=None
        Threads; None for all cores that the process may use.
    verbose : int, default=0
        1 writes a line for each phase of the fit, with its seconds and its result, 2 also one for
        each trial and step. Lines are records of the logger "skimp"; if logging is not set up,
        they go to standard error, on a terminal with a progress bar (needs rich).
    random_state : int, Generator, RandomState or None, default=None
        Seed of the approximation.

    Attributes
    ----------
    kernel_ : Kernel
        The kernel with numbers for parameters. A linear model, which "auto" may choose, has none.
    approximation_ : FeatureMap or Landmarks
        The fitted approximation.
    coef_ : array of shape (width, k)
        Coefficients of the functions of ``approximation_.basis()``.
    intercept_ : array of shape (k,)
        The constants b.
    n_iter_ : int
        Iterations of the solver.
    solution_ : Solution
        What the solver says about how it went.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Examples
    --------
    >>> import numpy as np
    >>> from skimp import KernelRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-3, 3, (2000, 1))
    >>> y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=2000)
    >>> model = KernelRegressor(approximation=50, random_state=0).fit(X, y)
    >>> bool(model.score(X, y) > 0.97)
    True
    """

    classes: ClassVar[bool] = False

    def __init__(
        self,
        kernel: Kernel | str = "auto",
        *,
        approximation: FeatureMap | int | str | None = "auto",
        loss: Loss | str = "squared",
        alpha: float | str = "auto",
        solver: Solver | str = "auto",
        fit_intercept: bool = True,
        tol: float | None = None,
        max_iter: int | None = None,
        warm_start: bool = False,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        memory_limit: int | str | None = None,
        time_limit: float | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        random_state: RandomState = None,
    ):
        self.kernel = kernel
        self.approximation = approximation
        self.loss = loss
        self.alpha = alpha
        self.solver = solver
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter
        self.warm_start = warm_start
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.memory_limit = memory_limit
        self.time_limit = time_limit
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state

    def _make_task(self, spec: Spec, rows: Rows, context: Context) -> Task:
        centre = mean_target if isinstance(spec.loss, Squared) else _median_target
        self._single_output, middle = centre(rows, spec.owner, context)
        if not self.fit_intercept:
            middle = np.zeros_like(middle)

        def centred(y: Array | None, weight: Array | None) -> tuple[Array, Array | None]:
            assert y is not None
            return y.reshape(len(y), -1) - middle, weight

        return Task(spec, rows, centred, len(middle), context, middle)

    def predict(self, X: Any) -> Array:
        """Return the fitted function at each row.

        Parameters
        ----------
        X : array, CSR matrix, frame or Rows of shape (n, d)
            Rows with the columns of ``fit``.

        Returns
        -------
        array of shape (n,) or (n, k)
            In the dtype of the training rows.
        """
        F = self._outputs(X)
        return F[:, 0] if self._single_output else F


def mean_target(rows: Rows, owner: str, context: Context = LOCAL) -> tuple[bool, Array]:
    """Return whether y is one-dimensional, and its weighted mean: float32 then keeps its digits."""

    def sums(block: Any, _: object) -> tuple[bool, float, Array]:
        Y, weight = _targets(block, owner)
        return Y.ndim == 1, float(weight.sum()), weight @ Y.reshape(len(Y), -1)

    initial: list[Any] = []
    parts = context.map_reduce(rows, sums, _append, initial)
    weight = sum(part[1] for part in parts)
    if weight == 0:
        raise no_rows()
    return parts[0][0], sum(part[2] for part in parts) / weight


def _median_target(rows: Rows, owner: str, context: Context = LOCAL) -> tuple[bool, Array]:
    """Return whether y is one-dimensional, and its weighted median, which outliers do not move."""
    initial: list[Any] = []
    parts = context.map_reduce(rows, lambda block, _: _targets(block, owner), _append, initial)
    if not any(weight.any() for _, weight in parts):
        raise no_rows()
    Y = np.concatenate([part for part, _ in parts])
    weight = np.concatenate([part for _, part in parts])
    medians = []
    for column in Y.reshape(len(Y), -1).T:
        order = np.argsort(column, kind="stable")
        share = np.cumsum(weight[order])
        # the two in the middle, of which there is one unless a half ends with a row
        ends = [np.searchsorted(share, share[-1] / 2, side) for side in ("left", "right")]
        medians.append(column[order[ends]].mean())
    return Y.ndim == 1, np.array(medians)


def _targets(block: Any, owner: str) -> tuple[Array, Array]:
    """Return targets in float64, of any dimension, and weights of a block."""
    if block.y is None:
        raise ValueError(f"{owner} requires y to be passed, but the rows have none.")
    refuse_target(block.y, numeric=True, owner=owner)
    return np.asarray(block.y, np.float64), block.weights()


def _append(parts: list[Any], part: Any) -> list[Any]:
    parts.append(part)
    return parts
