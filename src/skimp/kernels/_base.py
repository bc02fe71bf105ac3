"""What every kernel is: a function of a statistic of pairs, evaluated on strips of rows."""

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_array

from skimp._core._blocks import fold
from skimp._core._linalg import as_compute_dtype
from skimp._core._names import as_object
from skimp._core._pairs import Distances, Pairs, SquaredDistances
from skimp._core._parametrized import Parametrized
from skimp._core._rules import broken, check_params
from skimp._core._threads import thread_count
from skimp._core._types import Array, DType, Matrix
from skimp.kernels._gamma import RowStatistics, resolve_gamma

_STRIP = 512
"""Rows of a strip: long enough for GEMM, short enough to stay in cache for what follows it."""


class Kernel(Parametrized, ABC):
    """A kernel: parameters, and the formula that they enter.

    A concrete kernel names the statistic of pairs that it is a function of (``_pairs``, a class of
    squared distances, inner products, ...), and says what the function is (``_profile``) and what
    k(x, x) is (`diag`).

    Being a scikit-learn estimator without ``fit`` gives it ``get_params``, ``clone``, a readable
    ``repr``, and ``kernel__gamma`` in a grid search.
    """

    positive_definite: ClassVar[bool] = True
    """False for a kernel whose matrices can have negative eigenvalues."""

    needs_nonnegative: ClassVar[bool] = False
    """True where negative entries have no meaning."""

    _pairs: ClassVar[type[Pairs]]

    def __call__(self, X: Matrix, Y: Matrix | None = None) -> Array:
        """Return the matrix of k(x, y).

        Parameters
        ----------
        X : array or CSR matrix of shape (n, d)
            First arguments, one a row.
        Y : array or CSR matrix of shape (m, d), optional
            Second arguments; X itself by default.

        Returns
        -------
        K : array of shape (n, m)
            float32 if X is float32, float64 otherwise.
        """
        self.check_resolved()
        X = check_array(X, accept_sparse="csr", dtype="numeric", input_name="X")
        Y = X if Y is None else check_array(Y, accept_sparse="csr", dtype="numeric", input_name="Y")
        if X.shape[1] != Y.shape[1]:
            raise ValueError(f"Y must have {X.shape[1]} columns as X has, found {Y.shape[1]}.")
        self.check_rows(Y, "Y")
        columns = Columns(self, Y, as_compute_dtype(X.dtype))
        K = np.empty((X.shape[0], Y.shape[0]), columns.dtype)

        def fill(start: int, _: object) -> None:
            part = slice(start, start + _STRIP)
            columns.fill(X[part], K[part])

        fold(range(0, X.shape[0], _STRIP), fill, lambda total, _: total, None, thread_count(None))
        return K

    @abstractmethod
    def diag(self, X: Matrix) -> Array:
        """Return k(x, x) for each row of X."""

    @abstractmethod
    def _profile(self, S: Array) -> None:
        """Replace a strip of the statistic by the kernel's values, in place."""

    def resolve(self, rows: RowStatistics, seed: int) -> Self:
        """Return this kernel with numbers in the place of heuristics such as ``"scale"``.

        Parameters
        ----------
        rows : RowStatistics
            The training rows.
        seed : int
            Seed of the sample that ``"median"`` looks at.
        """
        check_params(self)
        resolved: Self = clone(self)
        gamma = getattr(self, "gamma", None)
        if isinstance(gamma, str):
            pairs = self._pairs if issubclass(self._pairs, Distances) else SquaredDistances
            resolved.set_params(gamma=resolve_gamma(gamma, rows, seed, pairs))
        return resolved

    def check_resolved(self) -> None:
        """Raise unless every parameter is a number that the formula allows."""
        check_params(self)
        gamma = getattr(self, "gamma", None)
        if isinstance(gamma, str):
            raise broken(
                type(self).__name__,
                "gamma",
                "a number where the kernel is used on its own (an estimator resolves it in fit)",
                gamma,
            )

    def check_rows(self, X: Matrix, name: str = "X") -> None:
        """Raise where the entries of X have no meaning for this kernel."""
        if self.needs_nonnegative and X.shape[0] and X.min() < 0:
            kind = type(self).__name__
            raise ValueError(
                f"Negative values in data: {name} must not be negative for the {kind} kernel, "
                f"found {X.min()}: shift or rescale the columns, or use another kernel."
            )


class Columns:
    """k(., b) for each row b of B: kernel columns, ready to be evaluated on many blocks."""

    def __init__(self, kernel: Kernel, B: Matrix, dtype: DType):
        self.kernel = kernel
        self.dtype = dtype
        kernel.check_rows(B)
        self._statistic = kernel._pairs(B, dtype)

    def fill(self, X: Matrix, out: Array) -> None:
        """Write k(X_i, B_j) into ``out``, strip by strip."""
        for start in range(0, X.shape[0], _STRIP):
            rows, strip = X[start : start + _STRIP], out[start : start + _STRIP]
            self.kernel.check_rows(rows)
            self._statistic.fill(rows, strip)
            self.kernel._profile(strip)


_NAMES = {
    "rbf": "Gaussian",
    "gaussian": "Gaussian",
    "laplacian": "Laplacian",
    "linear": "Linear",
    "poly": "Polynomial",
    "polynomial": "Polynomial",
    "chi2": "Chi2",
}


def as_kernel(kernel: Any, *, owner: str) -> Kernel:
    """Return a kernel for a name or an object; ``owner`` is named in the error."""
    return as_object(kernel, Kernel, _NAMES, "skimp.kernels", owner=owner, role="kernel")  # type: ignore[type-abstract]


def needs_nonnegative(kernel: Any) -> bool:
    """Tell whether a kernel, given by name or as an object, is for nonnegative entries only."""
    known = isinstance(kernel, Kernel) or (isinstance(kernel, str) and kernel in _NAMES)
    return known and as_kernel(kernel, owner="").needs_nonnegative
