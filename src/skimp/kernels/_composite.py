"""Sums, products and positive multiples of kernels."""

from abc import ABC
from typing import Any, ClassVar, final

import numpy as np

from skimp._core._draws import Draws
from skimp._core._types import Array, DType, Matrix
from skimp._params._rules import instance, number
from skimp.kernels._base import Kernel
from skimp.kernels._checks import unsupported
from skimp.kernels._columns import Columns
from skimp.kernels._pitches import Pitches
from skimp.kernels._spectrum import Spectrum

KERNEL = instance(Kernel, "a kernel object")


def _all_parts(flag: str) -> Any:
    return property(lambda self: all(getattr(part, flag) for part in self._inner().values()))


def _any_part(flag: str) -> Any:
    return property(lambda self: any(getattr(part, flag) for part in self._inner().values()))


class Composite(Kernel, ABC):
    """Base class of kernels that combine other kernels, from which their flags follow."""

    positive_definite = _all_parts("positive_definite")
    stationary = _all_parts("stationary")
    rotation_invariant = _all_parts("rotation_invariant")
    differentiable = _all_parts("differentiable")
    needs_nonnegative = _any_part("needs_nonnegative")
    takes_objects = _any_part("takes_objects")


def grouped(kernel: Kernel, level: int) -> str:
    """Return the repr of a kernel, in parentheses if its precedence is below ``level``.

    Sums have precedence 0, products and multiples 1, all others 2.
    """
    own = 0 if isinstance(kernel, Sum) else 1 if isinstance(kernel, Product | Scaled) else 2
    return f"({kernel!r})" if own < level else repr(kernel)


@final
class Sum(Composite):
    r"""Sum of two kernels, written ``k1 + k2``.

    .. math:: k(x, y) = k_1(x, y) + k_2(x, y)

    A model with this kernel is a sum of one function for each kernel: additive effects. It takes
    as long as both kernels together.

    Parameters
    ----------
    k1, k2 : Kernel
        The terms.

    Examples
    --------
    >>> import numpy as np
    >>> from skimp.kernels import Gaussian, Linear
    >>> (Gaussian(gamma=1.0) + Linear())(np.array([[2.0]])).item()
    5.0
    """

    rules: ClassVar = {"k1": KERNEL, "k2": KERNEL}

    def __init__(self, k1: Kernel, k2: Kernel):
        self.k1 = k1
        self.k2 = k2

    def diagonal(self, X: Matrix) -> Array:
        return self.k1.diagonal(X) + self.k2.diagonal(X)

    def bind(self, B: Matrix, dtype: DType) -> Columns:
        return _SumColumns(self.k1.bind(B, dtype), self.k2.bind(B, dtype))

    def spectrum(self, n_features: int) -> Spectrum:
        """Draw each frequency from one of the two spectra, in proportion to k(0, 0)."""
        first, second = self.k1.spectrum(n_features), self.k2.spectrum(n_features)
        share = self._share(n_features)

        def frequencies(draws: Draws) -> Array:
            chosen = draws.uniforms() < share
            return np.where(chosen, first.frequencies(draws), second.frequencies(draws))

        return Spectrum(frequencies, float(_mean(share, first.moment, second.moment)))

    def pitches(self, n_features: int) -> Pitches:
        """Draw each grid for one of the two terms, in proportion to k(0, 0)."""
        first, second = self.k1.pitches(n_features), self.k2.pitches(n_features)
        share = self._share(n_features)

        def sample(size: int, rng: np.random.Generator) -> Array:
            chosen = rng.random(size) < share
            return np.where(chosen, first.sample(size, rng), second.sample(size, rng))

        return Pitches(sample, _mean(share, first.rates, second.rates))

    def _share(self, n_features: int) -> float:
        """Return the first term's share of k(0, 0)."""
        origin = np.zeros((1, n_features))
        return float((self.k1.diagonal(origin) / self.diagonal(origin)).item())

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        return f"{self.k1!r} + {grouped(self.k2, 1)}"


def _mean(share: float, first: Any, second: Any) -> Any:
    """Return the weighted mean; a term of weight zero may be infinite."""
    return sum(weight * term for weight, term in ((share, first), (1 - share, second)) if weight)


@final
class _SumColumns(Columns):
    def __init__(self, *terms: Columns):
        self._terms = terms

    def fill_strip(self, X: Matrix, out: Array) -> None:
        first, second = self._terms
        first.fill_strip(X, out)
        other = np.empty_like(out)
        second.fill_strip(X, other)
        out += other

    def add_gradient_strip(self, X: Matrix, A: Array, out: Array, by_column: bool = False) -> None:
        for term in self._terms:
            term.add_gradient_strip(X, A, out, by_column)


@final
class Product(Composite):
    r"""Product of two kernels, written ``k1 * k2``.

    .. math:: k(x, y) = k_1(x, y) \, k_2(x, y)

    Two rows are similar only if both kernels say so: interactions. It takes as long as both
    kernels together.

    Parameters
    ----------
    k1, k2 : Kernel
        The factors.

    Examples
    --------
    >>> import numpy as np
    >>> from skimp.kernels import Linear, Polynomial
    >>> (Linear() * Polynomial(degree=1, gamma=1.0))(np.array([[2.0]])).item()
    20.0
    """

    rules: ClassVar = {"k1": KERNEL, "k2": KERNEL}

    def __init__(self, k1: Kernel, k2: Kernel):
        self.k1 = k1
        self.k2 = k2

    def diagonal(self, X: Matrix) -> Array:
        return self.k1.diagonal(X) * self.k2.diagonal(X)

    def bind(self, B: Matrix, dtype: DType) -> Columns:
        return _ProductColumns(self.k1.bind(B, dtype), self.k2.bind(B, dtype))

    def spectrum(self, n_features: int) -> Spectrum:
        """Draw from the convolution of the spectra: the sum of one frequency from each."""
        first, second = self.k1.spectrum(n_features), self.k2.spectrum(n_features)
        return Spectrum(
            lambda draws: first.frequencies(draws) + second.frequencies(draws),
            first.moment + second.moment,
        )

    def pitches(self, n_features: int) -> Pitches:
        """Draw the pitches of both factors, which must not share a column."""
        first, second = self.k1.pitches(n_features), self.k2.pitches(n_features)
        if np.any((first.rates > 0) & (second.rates > 0)):
            wording = "a product of kernels that do not share columns"
            raise unsupported(self, wording, owner="RandomBinning")
        return Pitches(
            lambda size, rng: np.minimum(first.sample(size, rng), second.sample(size, rng)),
            first.rates + second.rates,
        )

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        return f"{grouped(self.k1, 1)} * {grouped(self.k2, 2)}"


@final
class _ProductColumns(Columns):
    def __init__(self, *factors: Columns):
        self._factors = factors

    def fill_strip(self, X: Matrix, out: Array) -> None:
        first, second = self._factors
        first.fill_strip(X, out)
        other = np.empty_like(out)
        second.fill_strip(X, other)
        out *= other

    def add_gradient_strip(self, X: Matrix, A: Array, out: Array, by_column: bool = False) -> None:
        """Differentiate each factor, multiplied by the other one."""
        K = np.empty(A.shape, out.dtype)
        for factor, other in (self._factors, self._factors[::-1]):
            other.fill_strip(X, K)
            K *= A
            factor.add_gradient_strip(X, K, out, by_column)


@final
class Scaled(Composite):
    r"""Positive multiple of a kernel, written ``2.0 * k``.

    .. math:: k(x, y) = a \, k_1(x, y)

    In a sum, a larger factor gives its term more weight: the ridge penalty on its functions is
    divided by the factor.

    Parameters
    ----------
    kernel : Kernel
        The kernel.
    factor : float, default=1.0
        The factor a > 0.

    Examples
    --------
    >>> import numpy as np
    >>> from skimp.kernels import Linear
    >>> (0.5 * Linear())(np.array([[2.0]])).item()
    2.0
    """

    rules: ClassVar = {"kernel": KERNEL, "factor": number(above=0)}

    def __init__(self, kernel: Kernel, factor: float = 1.0):
        self.kernel = kernel
        self.factor = factor

    def diagonal(self, X: Matrix) -> Array:
        return self.kernel.diagonal(X) * self.factor

    def bind(self, B: Matrix, dtype: DType) -> Columns:
        return _ScaledColumns(self.kernel.bind(B, dtype), self.factor)

    def spectrum(self, n_features: int) -> Spectrum:
        return self.kernel.spectrum(n_features)

    def pitches(self, n_features: int) -> Pitches:
        return self.kernel.pitches(n_features)

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        return f"{self.factor} * {grouped(self.kernel, 2)}"


@final
class _ScaledColumns(Columns):
    def __init__(self, columns: Columns, factor: float):
        self._columns = columns
        self._factor = factor

    def fill_strip(self, X: Matrix, out: Array) -> None:
        self._columns.fill_strip(X, out)
        out *= out.dtype.type(self._factor)

    def add_gradient_strip(self, X: Matrix, A: Array, out: Array, by_column: bool = False) -> None:
        self._columns.add_gradient_strip(X, A * out.dtype.type(self._factor), out, by_column)
