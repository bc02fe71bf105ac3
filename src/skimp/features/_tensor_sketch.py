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
"""Fourier transform steps in the time of one float64 function value (measured: 7 to 13)."""
_SCATTERED = 2.0
"""Entries added to a sketch in the time of one float64 function value."""


@final
@dataclass(eq=False, repr=False, kw_only=True)
class TensorSketch(PolynomialMap):
    r"""TensorSketch features of a polynomial kernel.

    A count sketch C adds each column, with a random sign, to one of k buckets. The sketch of all
    :math:`d^g` monomials is the circular convolution of g count sketches of the row,

    .. math:: z(x) = F^{-1} \left( F C_1 x \cdot F C_2 x \cdots F C_g x \right)

    with the Fourier transform F. Inner products are unbiased. With :math:`q = \sum_i x_i^2 y_i^2`,
    :math:`a = \langle x, y \rangle^2`, :math:`b = \|x\|^2 \|y\|^2 - q` and :math:`c = a - q`,
    their variance is

    .. math::

        \operatorname{Var} = \frac{(a + b)^g + (a + c)^g - 2 a^g}{k} +
        \frac{2 - k \bmod 2}{k^2} \left[(a + b + c)^g - (a + b)^g - (a + c)^g + a^g\right]

    If ``coef0`` is positive, a column :math:`\sqrt{\text{coef0}}` is appended to the rows.

    Mapping a row takes g operations per nonzero entry plus O(g k log k), which is fastest if k is a
    product of small primes. The map takes 2 g (d + 1) numbers of memory. If gamma is a number or
    "dim", `fit_width` draws the map before any data.

    Parameters
    ----------
    degree, gamma, coef0 : default=2, 1.0 and 0.0
        As in `~skimp.kernels.Polynomial`: the degree g, the factor gamma (a number, one number per
        column, "scale", "median" or "dim") and the constant >= 0.
    n_components : int, default=1000
        Number of features k. The error of kernel values is proportional to 1 / sqrt(k).
    random_state : int, Generator, RandomState or None, default=None
        Seed of the buckets and signs.

    Attributes
    ----------
    kernel_ : Polynomial
        Kernel with numeric parameters.
    buckets_ : array of shape (degree, d + 1)
        Bucket of each column and of the constant.
    signs_ : array of shape (degree, d + 1)
        Factor of each column: a random sign times the square root of gamma (of coef0 for the last).

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
    """Convolution of count sketches; ``buckets`` and ``signs`` have one row per sketch."""

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
