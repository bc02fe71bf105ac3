"""Kernels that are user-defined functions."""

from collections.abc import Callable, Iterator
from typing import Any, ClassVar, Self, final

import numpy as np
from scipy import sparse

from skimp._core._objects import as_real, is_object
from skimp._core._types import Array, DType, Matrix
from skimp._params._rules import BOOLEAN, NONE, Rule
from skimp.kernels._base import Kernel
from skimp.kernels._columns import Columns

_CALLABLE = Rule("a callable", callable)


@final
class FunctionKernel(Kernel):
    """User-defined kernel of rows of any kind, such as vectors, strings or graphs.

    Pass objects as a list, or as an object array with one object per row; the function then
    receives two objects. If rows are numeric or have several columns, it receives two rows.

    Each value is one call of the function: a model with m landmarks makes n m calls to fit n rows.
    Several threads may call the function at the same time.

    Parameters
    ----------
    function : callable
        ``function(x, y)`` returns a number, and must be symmetric. To use several processes, it
        must be picklable: define it at the top level of a module.
    derivative : callable or None, default=None
        ``derivative(x, y)`` returns the gradient with respect to x, an array with one entry per
        entry of x; None if the kernel is not differentiable.
    batch : bool, default=False
        If True, ``function(X, Y)`` takes all rows at once and returns the kernel matrix. Objects
        are then passed as one-dimensional object arrays and sparse rows as CSR matrices.
    positive_definite : bool, default=True
        Whether the kernel is positive definite.

    Examples
    --------
    >>> from skimp.kernels import FunctionKernel
    >>> def shared_letters(x, y):
    ...     return len(set(x) & set(y))
    >>> FunctionKernel(shared_letters)(["kernel", "machine"]).tolist()
    [[5.0, 2.0], [2.0, 7.0]]
    """

    rules: ClassVar = {
        "function": _CALLABLE,
        "derivative": NONE | _CALLABLE,
        "batch": BOOLEAN,
        "positive_definite": BOOLEAN,
    }
    takes_objects = True

    def __init__(
        self,
        function: Callable[[Any, Any], Any],
        *,
        derivative: Callable[[Any, Any], Any] | None = None,
        batch: bool = False,
        positive_definite: bool = True,
    ):
        self.function = function
        self.derivative = derivative
        self.batch = batch
        self.positive_definite = positive_definite

    def __sklearn_clone__(self) -> Self:
        """Return a kernel that shares the functions instead of copying them."""
        return type(self)(**self.get_params(deep=False))

    @property
    def differentiable(self) -> bool:  # type: ignore[override]
        """True if ``derivative`` is not None."""
        return self.derivative is not None

    def diagonal(self, X: Matrix) -> Array:
        diagonal = np.empty((X.shape[0], 1))
        for i in range(X.shape[0]):
            self.bind(X[i : i + 1], diagonal.dtype).fill_strip(X[i : i + 1], diagonal[i : i + 1])
        return diagonal[:, 0]

    def bind(self, B: Matrix, dtype: DType) -> Columns:
        return _FunctionColumns(self, B, dtype)

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        """Return the constructor call with the names of the functions."""
        defaults = {"derivative": None, "batch": False, "positive_definite": True}
        options = [
            f", {name}={function_name(getattr(self, name))}"
            for name, default in defaults.items()
            if getattr(self, name) is not default
        ]
        return f"FunctionKernel({function_name(self.function)}{''.join(options)})"


@final
class _FunctionColumns(Columns):
    def __init__(self, kernel: FunctionKernel, B: Matrix, dtype: DType):
        self._kernel = kernel
        self._dtype = dtype
        self._B = self._samples(B)

    def _samples(self, X: Matrix) -> Any:
        """Return rows in the form that the function receives."""
        X = as_real(X, self._dtype)
        if sparse.issparse(X) and not self._kernel.batch:
            return X.toarray()
        return X[:, 0] if is_object(X) and X.shape[1] == 1 else X

    def fill_strip(self, X: Matrix, out: Array) -> None:
        rows, function = self._samples(X), self._kernel.function
        if self._kernel.batch:
            values = np.asarray(function(rows, self._B))
            if values.shape != out.shape:
                raise ValueError(
                    f"FunctionKernel: function must return an array of shape {out.shape} for "
                    f"{out.shape[0]} and {out.shape[1]} rows (batch=True), found {values.shape}."
                )
            out[...] = values
        else:
            for i, x in enumerate(rows):
                row = [function(x, b) for b in self._B]
                try:
                    out[i] = row
                except (TypeError, ValueError) as error:
                    raise ValueError(
                        f"FunctionKernel: function must return a number, found {row[0]!r}."
                    ) from error
        if not np.isfinite(out).all():
            raise ValueError(
                "FunctionKernel: function must return finite numbers, found infinity or NaN."
            )

    def add_gradient_strip(self, X: Matrix, A: Array, out: Array, by_column: bool = False) -> None:
        for i, j, slopes in self._slopes(X, out.shape[1]):
            out[j if by_column else i] += A[i, j] * slopes

    def _slopes(self, X: Matrix, n_features: int) -> Iterator[tuple[int, int, Array]]:
        """Yield the indices and the derivative of each pair."""
        assert self._kernel.derivative is not None, "a kernel without it is not differentiable"
        rows, points = (_dense(samples) for samples in (self._samples(X), self._B))
        for i, x in enumerate(rows):
            for j, b in enumerate(points):
                slopes = np.asarray(self._kernel.derivative(x, b))
                if slopes.shape != (n_features,) or not np.isfinite(slopes).all():
                    raise ValueError(
                        f"FunctionKernel: derivative must return {n_features} finite numbers, one "
                        f"per column of X, found {slopes!r}."
                    )
                yield i, j, slopes


def _dense(samples: Any) -> Any:
    return samples.toarray() if sparse.issparse(samples) else samples


def function_name(value: Any) -> str:
    """Return the name of a function, or its repr if it has none."""
    return str(getattr(value, "__name__", repr(value)))
