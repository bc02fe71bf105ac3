"""What maps of polynomial kernels share: rows with a constant behind, and sums of products."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Self, final

import numpy as np

from skimp._core._linalg import check_columns, check_finite, check_shape, product
from skimp._core._random import draw_seed
from skimp._core._types import Array, DType, Matrix
from skimp._params._rules import Rule, integer, number
from skimp.data import Context, Rows
from skimp.features._base import FeatureMap
from skimp.features._strips import strips
from skimp.kernels import GAMMA, Gamma, Polynomial

_STRIP = 512


class PolynomialMap(FeatureMap, ABC):
    r"""Features of :math:`k(x, y) = (\gamma \langle x, y \rangle + c)^g`.

    That is :math:`\langle x', y' \rangle^g` with :math:`x' = (\sqrt\gamma \, x, \sqrt c)`: maps
    are made for the homogeneous kernel, of rows x' with one column more.
    """

    degree: int
    gamma: Gamma
    coef0: float
    _rules: ClassVar[dict[str, Rule]] = {
        "degree": integer(at_least=1),
        "gamma": GAMMA,
        "coef0": number(at_least=0),
    }

    def draw(self, rows: Rows, rng: np.random.Generator, context: Context) -> None:
        kernel = Polynomial(self.degree, self.gamma, self.coef0)
        self.kernel_ = kernel.resolve(context.bind(rows), draw_seed(rng))
        gamma = np.broadcast_to(np.asarray(self.kernel_.gamma, np.float64), rows.n_features)
        self._draw(np.append(np.sqrt(gamma), np.sqrt(self.coef0)), rows, rng)

    @abstractmethod
    def _draw(self, stretch: Array, rows: Rows, rng: np.random.Generator) -> None:
        """Draw the map; ``stretch`` turns (x, 1) into x'."""


class ProductMap(PolynomialMap, ABC):
    """Features that are sums of products of linear functions."""

    def _draw(self, stretch: Array, rows: Rows, rng: np.random.Generator) -> None:
        self._products = self._drawn(stretch, rows.dtype, rng)

    @abstractmethod
    def _drawn(self, stretch: Array, dtype: DType, rng: np.random.Generator) -> "Products": ...

    @property
    def width(self) -> int:
        """Number of features."""
        return self._products.width

    def map_block(self, X: Matrix, out: Array) -> None:
        """Write the features of the rows X into ``out``."""
        self._products.fill(X, out)


@final
@dataclass(frozen=True)
class Products:
    r"""Sums of products of linear functions, which all features take from one pool.

    .. math:: z_c(x) = a_c \sum_i \prod_j (\langle x, v_{f(i, j, c)} \rangle + b_{f(i, j, c)})

    Inner products with the pool are computed once for a strip of rows; the rest is gathering.

    Attributes
    ----------
    vectors : array or CSR matrix of shape (d, p)
        The pool of vectors v.
    offset : array of shape (p,)
        The constants b.
    factors : array of shape (terms, degree, k), unsigned
        Numbers f of the functions in each product.
    scale : array of shape (k,)
        The numbers a.
    """

    vectors: Matrix
    offset: Array
    factors: Array
    scale: Array

    @classmethod
    def of(cls, vectors: Matrix, offset: Array, factors: Array, scale: Array, dtype: DType) -> Self:
        """Return the products in a dtype, in which they are finite numbers."""
        with np.errstate(over="ignore"):
            vectors, offset, scale = (A.astype(dtype) for A in (vectors, offset, scale))
        for A in (vectors, offset, scale):
            check_finite(A)
        return cls(vectors, offset, factors.astype(np.uint32), scale)

    @property
    def width(self) -> int:
        """Number of features."""
        return len(self.scale)

    def fill(self, X: Matrix, out: Array) -> None:
        """Write the features of the rows X into ``out``, strip by strip."""
        from skimp._core.loops._products import products

        check_shape(out, (X.shape[0], self.width))
        check_columns(X, self.vectors.shape[0])
        pool = np.empty((min(_STRIP, X.shape[0]), len(self.offset)), self.scale.dtype)
        for rows, strip in strips(X, out, _STRIP):
            part = pool[: len(strip)]
            product(rows, self.vectors, part)
            products(part, self.offset, self.factors, self.scale, strip)
            check_finite(strip)
