"""Base class of polynomial feature maps, and sums of products of linear functions."""

from abc import ABC, abstractmethod
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self, final

import numpy as np

from skimp._core._linalg import check_columns, check_finite, product
from skimp._core._random import draw_seed
from skimp._core._types import Array, DType, Matrix
from skimp._core._work import DOUBLE, Size, Work, values
from skimp._params._rules import integer, number
from skimp.data import Context, Rows
from skimp.features._base import FeatureMap
from skimp.features._strips import strips
from skimp.kernels import GAMMA, Gamma, Polynomial

_FACTORS = 5.0
"""Factors gathered in the time of one float64 function value (measured: 5 to 7)."""
POLYNOMIAL = {"degree": integer(at_least=1), "gamma": GAMMA, "coef0": number(at_least=0)}
"""Parameter rules of a polynomial kernel."""


@dataclass(eq=False, repr=False)
class PolynomialMap(FeatureMap, ABC):
    r"""Base class of feature maps for :math:`k(x, y) = (\gamma \langle x, y \rangle + c)^g`.

    The kernel equals :math:`\langle x', y' \rangle^g` with
    :math:`x' = (\sqrt\gamma \, x, \sqrt c)`. Maps approximate this homogeneous kernel on rows x'
    with one more column.
    """

    degree: int = 2
    _: KW_ONLY
    gamma: Gamma = 1.0
    coef0: float = 0.0

    depends_on = None

    def draw(self, rows: Rows, rng: np.random.Generator, context: Context) -> None:
        kernel = Polynomial(self.degree, self.gamma, self.coef0)
        self.kernel_ = kernel.resolve(context.bind(rows), draw_seed(rng))
        gamma = np.broadcast_to(np.asarray(self.kernel_.gamma, np.float64), rows.n_features)
        stretch = np.append(np.sqrt(gamma), np.sqrt(self.coef0))
        self._functions = self.draw_functions(stretch, rows.dtype, rng)

    @abstractmethod
    def draw_functions(self, stretch: Array, dtype: DType, rng: np.random.Generator) -> Any:
        """Return an object with ``width`` and ``fill(X, out)``; x' is ``stretch * (x, 1)``."""

    @property
    def width(self) -> int:
        return int(self._functions.width)

    def map_block(self, X: Matrix, out: Array) -> None:
        self._functions.fill(X, out)


@final
@dataclass(frozen=True)
class Products:
    r"""Sums of products of linear functions from a shared pool.

    .. math:: z_c(x) = a_c \sum_i \prod_j (\langle x, v_{f(i, j, c)} \rangle + b_{f(i, j, c)})

    Inner products with the pool are computed once per strip of rows; each feature then gathers its
    factors.
    """

    vectors: Matrix  # (d, p): pool of vectors v
    offset: Array  # (p,): constants b
    factors: Array  # (terms, degree, k), unsigned: indices f into the pool
    scale: Array  # (k,): factors a

    @classmethod
    def of(cls, vectors: Matrix, offset: Array, factors: Array, scale: Array, dtype: DType) -> Self:
        """Return the products in this dtype; raise if a number overflows it."""
        with np.errstate(over="ignore"):
            vectors, offset, scale = (A.astype(dtype) for A in (vectors, offset, scale))
        for A in (vectors, offset, scale):
            check_finite(A)
        return cls(vectors, offset, factors.astype(np.uint32), scale)

    @property
    def width(self) -> int:
        return len(self.scale)

    def fill(self, X: Matrix, out: Array) -> None:
        from skimp._core.loops._products import products

        check_columns(X, self.vectors.shape[0])
        columns, dtype = len(self.offset), self.scale.dtype
        for rows, strip, pool in strips(X, out, self.width, columns=columns, dtype=dtype):
            product(rows, self.vectors, pool)
            products(pool, self.offset, self.factors, self.scale, strip)
            check_finite(strip)


def product_work(size: Size, n_vectors: float, n_factors: float) -> Work:
    """Return the work of inner products with ``n_vectors`` and of gathering ``n_factors``."""
    products = size.rows_times(size.n_rows, n_vectors, size.dtype)
    return products + values(size.n_rows * n_factors / _FACTORS, DOUBLE)
