"""A positive multiple of a kernel."""

from typing import ClassVar, final

import numpy as np

from skimp._core._draws import Draws
from skimp._core._types import Array, DType, Matrix
from skimp._params._rules import Rule, instance, number
from skimp.kernels._base import Kernel
from skimp.kernels._columns import Columns
from skimp.kernels._composite import Composite, grouped


@final
class Scaled(Composite):
    r"""Positive multiple of a kernel, written ``2.0 * k``.

    .. math:: k(x, y) = a \, k_1(x, y)

    In a sum it says how much its term matters: functions of a larger multiple cost less.

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

    _rules: ClassVar[dict[str, Rule]] = {
        "kernel": instance(Kernel, "a kernel object"),
        "factor": number(above=0),
    }

    _level = 1

    def __init__(self, kernel: Kernel, factor: float = 1.0):
        self.kernel = kernel
        self.factor = factor

    def _diag(self, X: Matrix) -> Array:
        """Return the multiple of the diagonal."""
        return self.kernel._diag(X) * self.factor

    def bind(self, B: Matrix, dtype: DType) -> Columns:
        """Return the functions k(., b); see `Kernel.bind`."""
        return _ScaledColumns(self.kernel.bind(B, dtype), self.factor)

    def _frequencies(self, n_features: int, draws: Draws) -> Array:
        """Draw from the spectrum of the kernel, which a factor does not change."""
        return self.kernel._frequencies(n_features, draws)

    def _spectral_moment(self, n_features: int) -> float:
        """Return that of the kernel."""
        return self.kernel._spectral_moment(n_features)

    def _pitches(self, n_features: int, size: int, rng: np.random.Generator) -> Array:
        """Draw the pitches of the kernel, which a factor does not change."""
        return self.kernel._pitches(n_features, size, rng)

    def _pitch_rates(self, n_features: int) -> Array:
        """Return those of the kernel."""
        return self.kernel._pitch_rates(n_features)

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        """Return the multiple as it is written."""
        return f"{self.factor} * {grouped(self.kernel, 2)}"


@final
class _ScaledColumns(Columns):
    def __init__(self, columns: Columns, factor: float):
        self._columns = columns
        self._factor = factor

    def fill_strip(self, X: Matrix, out: Array) -> None:
        """Multiply."""
        self._columns.fill_strip(X, out)
        out *= out.dtype.type(self._factor)

    def add_gradient_strip(self, X: Matrix, A: Array, out: Array) -> None:
        """Multiply the weights."""
        self._columns.add_gradient_strip(X, A * out.dtype.type(self._factor), out)

    def add_gradient_sums_strip(self, X: Matrix, A: Array, out: Array) -> None:
        """Multiply the weights."""
        self._columns.add_gradient_sums_strip(X, A * out.dtype.type(self._factor), out)
