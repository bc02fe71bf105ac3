"""The exponential chi-square kernel."""

from typing import ClassVar, final

from skimp._core._pairs import ChiSquareDistances
from skimp.kernels._exponential import Exponential


@final
class Chi2(Exponential):
    r"""Exponential chi-square kernel, for histograms and other rows without negative entries.

    .. math:: k(x, y) = \exp\Bigl(-\gamma \sum_j \frac{(x_j - y_j)^2}{x_j + y_j}\Bigr)

    Terms with :math:`x_j = y_j = 0` are zero. A block of n x m values takes 5 n m d operations;
    sparse rows are made dense a strip at a time.

    Parameters
    ----------
    gamma : float, "scale", "median" or "dim", default="scale"
        Inverse width; a name is resolved in ``fit`` (see :doc:`/guide`).

    Examples
    --------
    >>> import numpy as np
    >>> from skimp.kernels import Chi2
    >>> K = Chi2(gamma=1.0)(np.array([[0.0, 1.0], [0.0, 3.0]]))
    >>> bool(np.isclose(K[0, 1], np.exp(-1)))
    True
    """

    needs_nonnegative: ClassVar[bool] = True
    _pairs = ChiSquareDistances

    def __init__(self, gamma: float | str = "scale"):
        self.gamma = gamma
