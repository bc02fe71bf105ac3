"""Kernels that are restricted to some columns."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self, final

import numpy as np
from sklearn.base import clone

from skimp._core._draws import Draws
from skimp._core._types import Array, DType, Matrix
from skimp._params._rules import Rule, broken, integer
from skimp.kernels._base import Kernel
from skimp.kernels._columns import Columns
from skimp.kernels._composite import KERNEL, Composite, grouped
from skimp.kernels._gamma import RowStatistics
from skimp.kernels._pitches import Pitches
from skimp.kernels._spectrum import Spectrum

_COLUMN_NUMBER = integer(at_least=0)


def _are_columns(value: Any) -> bool:
    """Return whether a value is a sequence of distinct column numbers or of distinct names."""
    if not isinstance(value, list | tuple | np.ndarray) or len(value) == 0:
        return False
    kinds = all(map(_COLUMN_NUMBER.test, value)) or all(isinstance(name, str) for name in value)
    return kinds and len(set(value)) == len(value)


@final
class Restricted(Composite):
    r"""Kernel of some columns, written ``k.on(["a", "b"])`` or ``k.on([0, 3])``.

    .. math:: k(x, y) = k_1(x_C, y_C)

    Sums and products of restricted kernels give each kind of column its own kernel.

    Parameters
    ----------
    kernel : Kernel
        The kernel :math:`k_1`; a string ``gamma`` is replaced by a number for these columns only.
    columns : sequence of int or of str
        The columns C: numbers that start at 0, or names of the rows in ``fit``.

    Examples
    --------
    >>> import numpy as np
    >>> from skimp.kernels import Linear
    >>> Linear().on([0, 2])(np.array([[1.0, 5.0, 2.0]])).item()
    5.0
    """

    rules: ClassVar = {
        "kernel": KERNEL,
        "columns": Rule("distinct column numbers >= 0 or distinct names", _are_columns),
    }
    rotation_invariant = False

    def __init__(self, kernel: Kernel, columns: Sequence[int] | Sequence[str] | Array):
        self.kernel = kernel
        self.columns = columns

    def diagonal(self, X: Matrix) -> Array:
        return self.kernel.diagonal(X[:, self._indices(X.shape[1])])

    def bind(self, B: Matrix, dtype: DType) -> Columns:
        indices = self._indices(B.shape[1])
        return _RestrictedColumns(self.kernel.bind(B[:, indices], dtype), indices)

    def spectrum(self, n_features: int) -> Spectrum:
        """Draw frequencies that are zero in the other columns."""
        indices = self._indices(n_features)
        inner = self.kernel.spectrum(len(indices))

        def frequencies(draws: Draws) -> Array:
            W = np.zeros((n_features, draws.size))
            W[indices] = inner.frequencies(draws)
            return W

        return Spectrum(frequencies, inner.moment)

    def pitches(self, n_features: int) -> Pitches:
        """Draw pitches that are infinite in the other columns."""
        indices, rates = self._indices(n_features), np.zeros(n_features)
        inner = self.kernel.pitches(len(indices))
        rates[indices] = inner.rates

        def sample(size: int, rng: np.random.Generator) -> Array:
            h = np.full((n_features, size), np.inf)
            h[indices] = inner.sample(size, rng)
            return h

        return Pitches(sample, rates)

    def with_names(self, names: list[str]) -> Self:
        """Return a copy with column numbers instead of names."""
        numbers = self._numbers(names)
        seen = [names[i] for i in numbers if i < len(names)]
        numbered: Self = clone(self)
        return numbered.set_params(columns=numbers, kernel=self.kernel.with_names(seen))

    def _resolved_params(self, rows: RowStatistics, seed: int) -> dict[str, Any]:
        indices = self._indices(rows.n_features, rows.feature_names)
        seen = _ColumnStatistics(rows, indices)
        return {"columns": indices.tolist(), "kernel": self.kernel.resolve(seen, seed)}

    def _numbers(self, names: list[str] | None) -> Any:
        """Return the column numbers, by looking up names."""
        if not isinstance(self.columns[0], str):
            return self.columns
        missing = [name for name in self.columns if name not in (names or [])]
        if missing:
            wording = "numbers if X has no names" if names is None else f"columns of X, {names}"
            raise broken(type(self).__name__, "columns", wording, missing)
        return [(names or []).index(str(name)) for name in self.columns]

    def _indices(self, n_features: int, names: list[str] | None = None) -> Array:
        """Return the column numbers as an array; raise if one is not a column of X."""
        indices = np.asarray(self._numbers(names))
        if indices.max() >= n_features:
            wording = f"numbers below {n_features}, the number of columns of X"
            raise broken(type(self).__name__, "columns", wording, self.columns)
        return indices

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        columns = self.columns.tolist() if isinstance(self.columns, np.ndarray) else self.columns
        return f"{grouped(self.kernel, 2)}.on({columns!r})"


@final
class _RestrictedColumns(Columns):
    def __init__(self, columns: Columns, indices: Array):
        self._columns = columns
        self._indices = indices

    def fill_strip(self, X: Matrix, out: Array) -> None:
        self._columns.fill_strip(X[:, self._indices], out)

    def add_gradient_strip(self, X: Matrix, A: Array, out: Array, by_column: bool = False) -> None:
        G = np.zeros((A.shape[1 if by_column else 0], len(self._indices)), out.dtype)
        self._columns.add_gradient_strip(X[:, self._indices], A, G, by_column)
        out[:, self._indices] += G


@final
@dataclass(frozen=True)
class _ColumnStatistics:
    """`RowStatistics` of some columns."""

    rows: RowStatistics
    indices: Array

    @property
    def n_features(self) -> int:
        return len(self.indices)

    @property
    def dtype(self) -> DType:
        return self.rows.dtype

    @property
    def feature_names(self) -> list[str] | None:
        names = self.rows.feature_names
        return None if names is None else [names[i] for i in self.indices]

    def variance(self, columns: Array | None = None) -> float:
        return self.rows.variance(self.indices if columns is None else self.indices[columns])

    def sample(self, size: int, seed: int) -> Any:
        sample = self.rows.sample(size, seed)
        return replace(sample, X=sample.X[:, self.indices])
