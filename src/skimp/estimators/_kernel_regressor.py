"""Kernel regression on a budget."""

from os import PathLike
from typing import Any, ClassVar, Self, final

import numpy as np
from sklearn.base import RegressorMixin

from skimp._core._types import Array, RandomState
from skimp.choice import Spec
from skimp.data import Checkpoint, Context, Rows
from skimp.estimators._available import available_unless
from skimp.estimators._kernel_machine import KernelMachine, lacks_partial_fit
from skimp.estimators._targets import Distances, mean_target, median_target
from skimp.features import FeatureMap
from skimp.kernels import Kernel
from skimp.losses import Loss, Squared
from skimp.solvers import Solver


@final
class KernelRegressor(RegressorMixin, KernelMachine):
    r"""Kernel regression on a budget.

    Minimizes, over functions f in the space of the approximated kernel and a constant b,

    .. math::
        \frac{1}{\sum_i w_i} \sum_i w_i \, \ell(y_i, f(x_i) + b) + \alpha \, \|f\|^2

    A fit takes O(n m (d + m)) time and O(m^2) memory for n rows and m landmarks. Iterative solvers
    also keep the n x m features if they fit in ``memory_limit``.

    Parameters
    ----------
    kernel : Kernel or str, default="auto"
        The kernel. "auto" tries the Gaussian, the Laplacian and a linear model. If
        ``approximation`` is given, it uses the Laplacian for random binning and the Gaussian for
        other maps. It also chooses the bandwidth, and scales the columns if that lowers the error;
        ``kernel_.gamma`` is then an array. A kernel with ``gamma="auto"`` leaves only bandwidth and
        scaling to the search.
    approximation : "auto", int, str, FeatureMap or None, default="auto"
        An int is a number of landmarks (`~skimp.features.Nystroem`). A feature map is used as
        given. "nystroem", "fourier" and "binning" are maps of their default size. None fits the
        exact model, which suits a few thousand rows. "auto" tries landmarks and, with more than
        8,192 rows, Fourier features and random binning. It doubles the size of the best map until
        the next doubling is not worth its cost or would exceed a limit.
    loss : str or Loss, default="squared"
        "squared", "huber", "epsilon_insensitive" (support vector regression),
        "squared_epsilon_insensitive" or "quantile". Pass an object to set its parameters, such as
        ``losses.Quantile(0.9)``.
    alpha : float or "auto", default="auto"
        Strength of the penalty, independent of n: the ridge penalty is n alpha. "auto" compares
        penalties by the squared error on rows that are left out one at a time, or held out if there
        are more than 8,192 rows. It avoids penalties whose predictions lie far outside the range of
        y.
    solver : str or Solver, default="auto"
        "direct", "pcg", "newton", "dual_cd", "sarah", "sgd" or "pegasos", which penalizes the
        intercept. "auto" chooses one of the first four by the loss and gives its reason in
        ``solution_.message``. The exact model with the squared loss has its own solver. "l1_cd"
        replaces the penalty by an L1 norm or an elastic net, so that few features are used; it
        needs a numeric ``alpha``.
    fit_intercept : bool, default=True
        Whether to fit the unpenalized constant b.
    tol : float or None, default=None
        Relative tolerance of the objective. None is the default of the solver.
    max_iter : int or None, default=None
        Maximum number of iterations. None is the default of the solver.
    warm_start : bool, default=False
        Whether to start from the landmarks and coefficients of the last fit, if kernel,
        approximation and random_state have not changed.
    early_stopping : bool, default=False
        Whether to stop an iterative solver if the loss on held-out rows has not fallen for three
        iterations. The best iterate is kept.
    validation_fraction : float, default=0.1
        Share of the rows that early stopping holds out.
    memory_limit : int, str or None, default=None
        Bytes, or a string such as "2GB", that a fit may use besides the data. None is half of the
        machine's memory. "auto" chooses a smaller model, or fits fewer rows, to stay below it. A
        given size that does not fit raises MemoryError.
    time_limit : float or None, default=None
        Seconds that a fit may take. "auto" chooses a model that finishes in time, judging by the
        speed of its trials, and iterative solvers stop at the limit. Choices then depend on the
        machine and its load. A given size warns if it will probably not finish in time.
    checkpoint : str, path, Checkpoint or None, default=None
        A folder in which ``fit`` stores its state every 30 seconds. The same fit then resumes after
        an interruption, and ends with the same model. Other data or parameters are refused until
        the fit is complete. See :doc:`/beyond_memory`.
    n_jobs : int or None, default=None
        Number of threads. None uses all cores that the process may use.
    verbose : int, default=0
        1 writes a line for each phase of the fit, with its seconds and its result. 2 also writes
        one for each part of a phase, such as a trial. The lines are records of the logger "skimp".
        If logging is not set up, they go to standard error, and a terminal also shows a progress
        bar if rich is installed.
    random_state : int, Generator, RandomState or None, default=None
        Seed of the search and of the approximation.

    Attributes
    ----------
    kernel_ : Kernel
        The kernel with its numeric parameters. A linear model, which "auto" may choose, has none.
    approximation_ : FeatureMap or Landmarks
        The fitted approximation.
    alpha_ : float
        The penalty, given or chosen.
    certificate_ : Certificate
        Verdict, quality, choices and cost of the fit, computed on first access.
    coef_ : array of shape (width, k)
        Coefficients of the features, in the basis ``approximation_.basis()``.
    n_active_ : int
        Number of features with a nonzero coefficient. Smaller than the width only with an L1
        penalty (``solver="l1_cd"``), or if a feature is zero.
    intercept_ : array of shape (k,)
        The constant b of each output.
    n_iter_ : int
        Number of iterations of the solver.
    solution_ : Solution
        Result of the solver: status, message and history.
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
    _targets: Distances

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
        checkpoint: str | PathLike[str] | Checkpoint | None = None,
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
        self.checkpoint = checkpoint
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state

    @available_unless(lacks_partial_fit)
    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from more rows.

        The first call fixes everything but the coefficients: kernel, bandwidth, landmarks or random
        features, and penalty, given or chosen from its rows. Later calls only add rows. With the
        solver "direct", the model equals that of all rows at once, to rounding. See
        :doc:`/streams`.

        Parameters
        ----------
        X : array, CSR matrix, frame or Rows of shape (n, d)
            New rows.
        y : array of shape (n,) or (n, k)
            Their targets. `~skimp.data.Rows` hold their own.
        sample_weight : array of shape (n,), optional
            Weights of the rows, relative to those of all calls.

        Returns
        -------
        self
        """
        return self._learn(X, y, sample_weight, self._encode)

    def _encode(self, spec: Spec, rows: Rows, context: Context) -> Distances:
        centre = mean_target if isinstance(spec.loss, Squared) else median_target
        single, middle = centre(rows, spec.owner, context)
        shift = middle if spec.fit_intercept else np.zeros_like(middle)
        return Distances(shift, single, spec.owner)

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
        return F[:, 0] if self._targets.single else F
