"""Kernel regression by doubly stochastic gradients."""

from typing import final

from skimp._core._types import RandomState
from skimp.estimators._doubly_machine import DoublyMachine
from skimp.estimators._online_machine import OnlineRegressor
from skimp.kernels import Kernel
from skimp.losses import Loss


@final
class DoublyStochasticRegressor(OnlineRegressor, DoublyMachine):
    r"""Kernel regression by doubly stochastic gradients, in the memory of its coefficients.

    Minimizes, over functions f in the space of the kernel,

    .. math::
        \frac{1}{\sum_i w_i} \sum_i w_i \, \ell(y_i, f(x_i)) + \alpha \, \|f\|^2

    Step t draws a batch of rows and m new frequencies w of the kernel's spectrum. Their cosines and
    sines are features z(x), which get coefficients a, and earlier coefficients shrink:

    .. math::
        a = -\left(\gamma_t^{-1} I + c \, C\right)^{-1} \text{mean}_i \; \ell'(y_i, s f(x_i)) \,
        z(x_i), \qquad s = 1 - 2 \alpha \gamma_t

    where C is the mean of :math:`z z^T` over the batch and c the largest curvature of the loss. The
    frequencies are never stored: a generator that is seeded by their number draws them again.

    The number D of all frequencies grows by m with each step, and a prediction costs O(d D) time.
    A fit visits N rows, which is n times ``max_iter``, and takes about N d D operations, so that
    twice the passes take four times as long. Memory is 2 D coefficients per output, and a batch
    with its new features, whatever D is.

    Parameters
    ----------
    kernel : Kernel or str, default="rbf"
        A stationary kernel, such as `~skimp.kernels.Gaussian` or `~skimp.kernels.Laplacian`.
    loss : str or Loss, default="squared"
        "squared", "huber", "epsilon_insensitive", "squared_epsilon_insensitive" or "quantile".
        "epsilon_insensitive" and "quantile" need about five times as many passes as the others.
    alpha : float or "auto", default="auto"
        Strength of the penalty, independent of n. "auto" is 1 / (2 n), an SVM's C of 1, and 1e-4 in
        a stream (``partial_fit``).
    step : "auto" or float, default="auto"
        "auto" takes the step above, with :math:`\gamma_t \le 1 / (2 \alpha t)` so small that the
        errors of means over a batch and its frequencies do not add up. A number :math:`\theta`
        takes plain gradient steps as in the reference,
        :math:`a = -\gamma_t \, \text{mean}_i \; \ell' z`, with
        :math:`\gamma_t = \theta / (1 + 2 \alpha \theta t)`. They need a :math:`\theta` below 2 /
        (c k(x, x)), and many more steps.
    batch_size : int, default=8192
        Most rows of a step. Drawing the frequencies again takes as long as the products of about
        400 rows with them, so larger batches share that cost. A call of ``partial_fit`` is at least
        one step: pass a hundred rows or more, because steps on few rows are inaccurate.
    n_frequencies : int, default=512
        Most new frequencies of a step; never more than twice the rows of the batch. If ``fit`` has
        20 frequencies for each row, later steps visit these again.
    max_iter : int, default=10
        Number of passes over the rows.
    memory_limit : int, str or None, default=None
        Bytes for rows, such as "2GB"; None uses half of the available memory. Rows that do not fit
        are read again in each pass.
    n_jobs : int or None, default=None
        Number of threads; None uses all cores. The result is the same for any number.
    verbose : int, default=0
        Whether to report progress.
    random_state : int, Generator, RandomState or None, default=None
        Seed of the frequencies and of the order of the rows.

    Attributes
    ----------
    kernel_ : Kernel
        Kernel with numeric parameters.
    alpha_ : float
        The penalty.
    coef_ : array of shape (2 D, k)
        Coefficients of all cosines, then of all sines.
    frequencies_ : SeededFrequencies
        Draws the frequencies: ``frequencies_.draw(0, n_frequencies_)`` returns all of them, divided
        by :math:`2 \pi`, as columns.
    n_frequencies_ : int
        Number of frequencies of all steps.
    n_iter_ : int
        Number of passes.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    References
    ----------
    Dai, Xie, He, Liang, Raj, Balcan and Song (2014), Scalable kernel methods via doubly stochastic
    gradients.

    Examples
    --------
    >>> import numpy as np
    >>> from skimp import DoublyStochasticRegressor
    >>> X = np.random.default_rng(0).uniform(-3, 3, size=(2000, 1))
    >>> y = np.sin(X[:, 0])
    >>> model = DoublyStochasticRegressor(random_state=0).fit(X, y)
    >>> bool(model.score(X, y) > 0.99)
    True
    """

    def __init__(
        self,
        kernel: Kernel | str = "rbf",
        *,
        loss: Loss | str = "squared",
        alpha: float | str = "auto",
        step: float | str = "auto",
        batch_size: int = 8192,
        n_frequencies: int = 512,
        max_iter: int = 10,
        memory_limit: int | str | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        random_state: RandomState = None,
    ):
        self.kernel = kernel
        self.loss = loss
        self.alpha = alpha
        self.step = step
        self.batch_size = batch_size
        self.n_frequencies = n_frequencies
        self.max_iter = max_iter
        self.memory_limit = memory_limit
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state
