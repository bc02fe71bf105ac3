"""Random Maclaurin features of polynomial kernels."""

from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from skimp._core._linalg import check_representable
from skimp._core._types import Array, DType, RandomState
from skimp._core._work import Size, Work
from skimp._params._rules import Rule
from skimp.features._base import SIZED
from skimp.features._polynomial import POLYNOMIAL, PolynomialMap, Products, product_work
from skimp.features._pool import draw_signs, stretched


@final
@dataclass(eq=False, repr=False, kw_only=True)
class RandomMaclaurin(PolynomialMap):
    r"""Random Maclaurin features of a polynomial kernel.

    Each feature is a random term of the kernel's Maclaurin series in the inner product:

    .. math::

        z_c(x) = \sqrt{\frac{(1 + c)^g}{k}} \prod_{j=1}^{N_c} \sqrt\gamma \,
        \langle x, \omega_{c j} \rangle

    with random signs :math:`\omega` and a binomial number :math:`N_c` of factors, g trials with
    probability :math:`1 / (1 + c)`. This probability suits rows with
    :math:`\gamma \|x\|^2` around 1. The inner products are unbiased with variance

    .. math::

        k \operatorname{Var} = \left[(1 + c)(c + \gamma^2 m)\right]^g - k(x, y)^2, \qquad
        m = \|x\|^2 \|y\|^2 + 2 \langle x, y \rangle^2 - 2 \sum_i x_i^2 y_i^2

    Mapping n rows takes up to 2 n d k g operations, and the vectors take up to d k g numbers of
    memory: `PolynomialProjection` and `TensorSketch` are faster. With ``coef0=0``, the map is a
    `PolynomialProjection` with random signs, one term and no shared vectors. If gamma is a number
    or "dim", `fit_width` draws the map before any data.

    Parameters
    ----------
    degree, gamma, coef0 : default=2, 1.0 and 0.0
        As in `~skimp.kernels.Polynomial`: the degree g, the factor gamma (a number, one number per
        column, "scale", "median" or "dim") and the constant c >= 0.
    n_components : int, default=1000
        Number of features k. The error of kernel values is proportional to 1 / sqrt(k).
    random_state : int, Generator, RandomState or None, default=None
        Seed of the signs.

    Attributes
    ----------
    kernel_ : Polynomial
        Kernel with numeric parameters.

    References
    ----------
    Kar and Karnick (2012), Random feature maps for dot product kernels.

    Examples
    --------
    >>> import numpy as np
    >>> from skimp.features import RandomMaclaurin
    >>> X = np.random.default_rng(0).normal(size=(50, 3)) / 2
    >>> Z = RandomMaclaurin(n_components=20_000, coef0=1.0, random_state=0).fit_transform(X)
    >>> bool(np.abs(Z @ Z.T - (X @ X.T + 1) ** 2).mean() < 0.05)
    True
    """

    n_components: int = 1000
    random_state: RandomState = None

    size_name = "n_components"
    rules: ClassVar[dict[str, Rule]] = POLYNOMIAL | SIZED

    def count(self, size: Size) -> tuple[float, Work]:
        vectors = self.n_components * self.degree
        return size.n_features * vectors, product_work(size, vectors, vectors)

    def draw_functions(self, stretch: Array, dtype: DType, rng: np.random.Generator) -> Products:
        k, g, c = int(self.n_components), int(self.degree), float(self.coef0)
        present = rng.random((g, k)) < 1 / (1 + c)
        size = int(np.count_nonzero(present))
        vectors = stretched(draw_signs(len(stretch) - 1, size + 1, 1, rng), stretch[:-1])
        # a missing factor is the last function, the constant one
        vectors[:, -1] = 0
        offset = np.append(np.zeros(size), 1.0)
        factors = np.full((1, g, k), size)
        factors[0, present] = np.arange(size)
        with np.errstate(over="ignore"):
            scale = np.full(k, np.sqrt(1 + c)) ** g / np.sqrt(k)
        check_representable(scale)
        return Products.of(vectors, offset, factors, scale, dtype)
