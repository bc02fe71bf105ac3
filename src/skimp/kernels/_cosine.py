"""The cosine kernel."""

from typing import final

from skimp.kernels import Angular, Array


@final
class Cosine(Angular):
    r"""Cosine kernel, the cosine of the angle between two rows.

    .. math:: k(x, y) = \frac{\langle x, y \rangle}{\|x\| \, \|y\|}

    A row of zeros has the value 0 with every row, including itself. An n x m kernel matrix takes
    2 n m d operations.

    Examples
    --------
    >>> import numpy as np
    >>> from skimp.kernels import Cosine
    >>> K = Cosine()(np.array([[3.0, 0.0], [1.0, 1.0]]))
    >>> bool(np.isclose(K[0, 1], np.sqrt(0.5)))
    True
    """

    power = 0

    def profile(self, s: Array) -> None:
        s *= -0.5
        s += 1

    def slope(self, s: Array) -> None:
        s[...] = -0.5
