"""The cosine kernel."""

from typing import ClassVar, final

from skimp._core._types import Array
from skimp._params._rules import Rule
from skimp.kernels._angular import Angular


@final
class Cosine(Angular):
    r"""Cosine of the angle between two rows: the linear kernel of rows of length one.

    .. math:: k(x, y) = \frac{\langle x, y \rangle}{\|x\| \, \|y\|}

    A row of zeros has the value 0 with every row, itself included.

    Examples
    --------
    >>> import numpy as np
    >>> from skimp.kernels import Cosine
    >>> K = Cosine()(np.array([[3.0, 0.0], [1.0, 1.0]]))
    >>> bool(np.isclose(K[0, 1], np.sqrt(0.5)))
    True
    """

    _rules: ClassVar[dict[str, Rule]] = {}
    _power = 0

    def _profile(self, S: Array) -> None:
        S *= -0.5
        S += 1

    def _slope(self, S: Array) -> None:
        S[...] = -0.5
