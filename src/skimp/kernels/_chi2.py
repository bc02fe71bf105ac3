"""The exponential chi-square kernel."""

from typing import ClassVar, final

import numpy as np

from skimp.kernels import GAMMA, Array, ChiSquareDistances, Gamma, PairKernel


@final
class Chi2(PairKernel):
    r"""Exponential chi-square kernel, for histograms and other nonnegative rows.

    .. math:: k(x, y) = \exp\Bigl(-\gamma \sum_j \frac{(x_j - y_j)^2}{x_j + y_j}\Bigr)

    Terms with :math:`x_j = y_j = 0` are zero. An n x m kernel matrix takes 5 n m d operations;
    sparse rows are converted to dense strips.

    Parameters
    ----------
    gamma : float, array of shape (d,), "scale", "median", "dim" or "auto", default="scale"
        Inverse width, for all columns or one per column. Estimators replace a
        string by a number in ``fit`` (see :doc:`/kernels`).

    Examples
    --------
    >>> import numpy as np
    >>> from skimp.kernels import Chi2
    >>> K = Chi2(gamma=1.0)(np.array([[0.0, 1.0], [0.0, 3.0]]))
    >>> bool(np.isclose(K[0, 1], np.exp(-1)))
    True
    """

    rules: ClassVar = {"gamma": GAMMA}
    statistic = ChiSquareDistances
    needs_nonnegative = True

    def __init__(self, gamma: Gamma = "scale"):
        self.gamma = gamma

    def profile(self, s: Array) -> None:
        from skimp._core.loops._profiles import negative_exp

        negative_exp(s)

    def slope(self, s: Array) -> None:
        self.profile(s)
        np.negative(s, out=s)
