"""The arc-cosine kernels."""

from typing import ClassVar, final

import numpy as np

from skimp.kernels import Angular, Array, integer
from skimp.kernels._angular import inverse_sines


@final
class ArcCosine(Angular):
    r"""Arc-cosine kernel, the limit of an infinitely wide layer of steps or rectifiers.

    .. math:: k(x, y) = \frac{1}{\pi} \|x\|^n \|y\|^n J_n(\theta)

    where :math:`\theta` is the angle between x and y, n is the order, and

    .. math::
        J_0 = \pi - \theta, \quad
        J_1 = \sin \theta + (\pi - \theta) \cos \theta, \quad
        J_2 = 3 \sin \theta \cos \theta + (\pi - \theta) (1 + 2 \cos^2 \theta)

    It equals :math:`2 E[(w^T x)_+^n (w^T y)_+^n]` for standard normal w. A kernel matrix of p x q
    values takes 2 p q d operations.

    Parameters
    ----------
    order : 0, 1 or 2, default=1
        The order n: steps (0), rectifiers (1), or squared rectifiers (2).

    References
    ----------
    Cho and Saul (2009), Kernel methods for deep learning, eq. 1 to 7.

    Examples
    --------
    >>> import numpy as np
    >>> from skimp.kernels import ArcCosine
    >>> K = ArcCosine(order=0)(np.array([[1.0, 0.0], [0.0, 2.0]]))
    >>> bool(np.isclose(K[0, 1], 0.5))
    True
    """

    rules: ClassVar = {"order": integer(at_least=0, at_most=2)}

    def __init__(self, order: int = 1):
        self.order = order

    @property
    def power(self) -> int:
        return self.order

    def profile(self, s: Array) -> None:
        from skimp._core.loops._profiles import arc_cosine

        arc_cosine(s, self.order)

    def slope(self, s: Array) -> None:
        from skimp._core.loops._profiles import arc_cosine

        if self.order == 0:
            s[...] = inverse_sines(s)
            s /= -np.pi
        else:
            # d J_n / d theta = -n^2 sin(theta) J_(n-1), and d theta / d s = 1 / (2 sin(theta))
            arc_cosine(s, self.order - 1)
            s *= -0.5 * self.order**2
