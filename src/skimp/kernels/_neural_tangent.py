"""The neural tangent kernel of a two-layer network."""

from typing import final

import numpy as np

from skimp.kernels import Angular, Array
from skimp.kernels._angular import inverse_sines


@final
class NeuralTangent(Angular):
    r"""Neural tangent kernel of an infinitely wide two-layer network with rectifiers.

    .. math::
        k(x, y) = \langle x, y \rangle \, \kappa_0(\theta) + \|x\| \|y\| \, \kappa_1(\theta), \quad
        \kappa_0 = \frac{\pi - \theta}{\pi}, \quad
        \kappa_1 = \frac{\sin \theta + (\pi - \theta) \cos \theta}{\pi}

    where :math:`\theta` is the angle between x and y. The first term is the contribution of
    training the first layer. The second term, `ArcCosine` of order 1, is that of the last layer.
    An n x m kernel matrix takes 2 n m d operations.

    References
    ----------
    Jacot, Gabriel and Hongler (2018), Neural tangent kernel. Bietti and Mairal (2019), On the
    inductive bias of neural tangent kernels, eq. 5 to 7.

    Examples
    --------
    >>> import numpy as np
    >>> from skimp.kernels import NeuralTangent
    >>> bool(np.isclose(NeuralTangent()(np.array([[3.0, 4.0]])).item(), 2 * 25))
    True
    """

    power = 1

    def profile(self, s: Array) -> None:
        from skimp._core.loops._profiles import neural_tangent

        neural_tangent(s)

    def slope(self, s: Array) -> None:
        from skimp._core.loops._profiles import arc_cosine

        # if x and y are parallel, the one-sided derivatives of kappa_0 cancel
        slope_of_first = (1 - s / 2) * inverse_sines(s) / np.pi
        arc_cosine(s, 0)
        s += slope_of_first
        np.negative(s, out=s)
