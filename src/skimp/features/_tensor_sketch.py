"""TensorSketch features of polynomial kernels."""

from dataclasses import dataclass
from math import log2
from typing import ClassVar, final

import numpy as np
from scipy import fft, sparse

from skimp._core._linalg import check_columns, check_finite
from skimp._core._objects import as_numbers, as_real
from skimp._core._types import Array, DType, Matrix, RandomState
from skimp._core._work import DOUBLE, Size, Work, values
from skimp._params._rules import Rule
from skimp.features._base import SIZED
from skimp.features._polynomial import POLYNOMIAL, PolynomialMap
from skimp.features._strips import strips

_STRIP_NUMBERS = 2**17
_BUTTERFLIES = 8.0
"""Steps of Fourier transforms for each function value in float64 (seen: 7 to 13)."""
_SCATTERED = 2.0
"""Entries that are added to a sketch for each such value."""


@final
@dataclass(eq=False, repr=False, kw_only=True)
class TensorSketch(PolynomialMap):
    r"""TensorSketch features of a polynomial kernel.

    A count sketch adds each column to one of k buckets, with a random sign. The sketch of all
    :math:`d^g` monomials is the circular convolution of g sketches of the columns,

    .. math:: z(x) = F^{-1} \left( F C_1 x \cdot F C_2 x \cdots F C_g x \right)

    with F the Fourier transform. Unbiased; with :math:`q = \sum_i x_i^2 y_i^2` and
    :math:`a = \langle x, y \rangle^2`, :math:`b = \|x\|^2 \|y\|^2 - q`, :math:`c = a - q`, the
    variance of inner products is

    .. math::

        \operatorname{Var} = \frac{(a + b)^g + (a + c)^g - 2 a^g}{k} +
        \frac{2 - k \bmod 2}{k^2} \left[(a + b + c)^g - (a + b)^g - (a + c)^g + a^g\right]

    If ``coef0`` is c, rows have a column :math:`\sqrt c` more. Mapping a row takes g operations
    for each entry that is not zero, and O(g k log k), fastest if k is a product of small primes.

    Parameters
    ----------
    degree, gamma, coef0 : default=2, 1.0 and 0.0
        As in `~skimp.kernels.Polynomial`: g, the factor (a number, one for each column, "scale",
        "median" or "dim") and the constant c >= 0.
    n_components : int, default=1000
        Number of features k; the error of kernel values falls with its root.
    random_state : int, Generator, RandomState or None, default=None
        Seed of the buckets and signs.

    Attributes
    ----------
    kernel_ : Polynomial
        The kernel with numbers for parameters.
    buckets_ : array of shape (degree, d + 1)
        The bucket of each column, and of the constant.
    signs_ : array of shape (degree, d + 1)
        What columns are multiplied by: a random sign times the root of gamma.

    References
    ----------
    Pham and Pagh (2013), Fast and scalable polynomial kernels via explicit feature maps.

    Examples
    --------
    >>> import numpy as np
    >>> from skimp.features import TensorSketch
    >>> X = np.random.default_rng(0).normal(size=(50, 3)) / 2
    >>> Z = TensorSketch(n_components=20_000, coef0=1.0, random_state=0).fit_transform(X)
    >>> bool(np.abs(Z @ Z.T - (X @ X.T + 1) ** 2).mean() < 0.05)
    True
    """

    n_components: int = 1000
    random_state: RandomState = None

    size_name = "n_components"
    rules: ClassVar[dict[str, Rule]] = POLYNOMIAL | SIZED

    def count(self, size: Size) -> tuple[float, Work]:
        n, d, g, k = size.n_rows, size.n_features, self.degree, self.n_components
        entries = n * g * (d * size.density + 1)
        steps = n * (g + 1) * k * log2(max(2, k)) if g > 1 else 0
        return 2 * g * d, values(entries / _SCATTERED + steps / _BUTTERFLIES, DOUBLE)

    def draw_functions(self, stretch: Array, dtype: DType, rng: np.random.Generator) -> "Sketches":
        g, k = int(self.degree), int(self.n_components)
        self.buckets_ = rng.integers(k, size=(g, len(stretch)), dtype=np.uint32)
        signs = rng.choice([-1.0, 1.0], (g, len(stretch)))
        with np.errstate(over="ignore"):
            self.signs_ = (signs * stretch).astype(dtype)
        check_finite(self.signs_)
        return Sketches(self.buckets_, self.signs_, k)


@final
@dataclass(frozen=True)
class Sketches:
    """Convolutions of count sketches, of buckets and signs with a row for each sketch."""

    buckets: Array
    signs: Array
    width: int

    def fill(self, X: Matrix, out: Array) -> None:
        check_columns(X, self.buckets.shape[1] - 1)
        dtype = self.signs.dtype
        for rows, strip, _ in strips(X, out, self.width, max(1, _STRIP_NUMBERS // self.width)):
            part = as_real(as_numbers(rows, dtype), dtype)
            self._sketch(part, 0, strip)
            if len(self.buckets) > 1:
                spectrum = fft.rfft(strip)
                for j in range(1, len(self.buckets)):
                    self._sketch(part, j, strip)
                    spectrum *= fft.rfft(strip)
                strip[...] = fft.irfft(spectrum, self.width)
            check_finite(strip)

    def _sketch(self, X: Matrix, j: int, out: Array) -> None:
        from skimp._core.loops._sketch import sketch_dense, sketch_sparse

        if sparse.issparse(X):
            sketch_sparse(X.indptr, X.indices, X.data, self.buckets[j], self.signs[j], out)
        else:
            sketch_dense(np.ascontiguousarray(X), self.buckets[j], self.signs[j], out)
