"""What every kernel is: parameters, flags, and what can be computed from them."""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from numbers import Real
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_array

from skimp._core._blocks import fold
from skimp._core._linalg import as_compute_dtype, canonical
from skimp._core._objects import check_any_rows
from skimp._core._tally import count
from skimp._core._threads import thread_count
from skimp._core._types import Array, DType, Matrix
from skimp._params._rules import broken, check_params, is_number
from skimp.kernels._columns import STRIP, Columns
from skimp.kernels._drawn import Drawn
from skimp.kernels._gamma import RowStatistics

if TYPE_CHECKING:
    from skimp.kernels import Product, Restricted, Scaled, Sum


class Kernel(Drawn, ABC):
    """A kernel: parameters, and the formula that they enter.

    A concrete kernel says what k(x, x) is (``_diag``) and how the columns k(., b) are computed
    (`bind`). Most do so by deriving from a base class that needs the formula alone: see the
    page on adding a kernel.

    Being a scikit-learn estimator without ``fit`` gives it ``get_params``, ``clone``, a readable
    ``repr``, and ``kernel__gamma`` in a grid search. Kernels of one class with equal parameters
    are equal. Sums, products, positive multiples and restrictions to columns are kernels:
    ``k1 + k2``, ``k1 * k2``, ``2.0 * k1``, ``k1.on(["a", "b"])``.
    """

    __array_ufunc__ = None  # numpy scalars then leave products to __rmul__

    @property
    def positive_definite(self) -> bool:
        """False for a kernel whose matrices can have negative eigenvalues."""
        return True

    @property
    def stationary(self) -> bool:
        """True if k(x, y) depends on x - y alone; there is a spectrum to sample then."""
        return False

    @property
    def rotation_invariant(self) -> bool:
        """True if k(Qx, Qy) = k(x, y) for every rotation Q."""
        return False

    @property
    def needs_nonnegative(self) -> bool:
        """True where negative entries have no meaning."""
        return False

    @property
    def takes_objects(self) -> bool:
        """True where rows may be objects of any kind, such as strings."""
        return False

    @property
    def differentiable(self) -> bool:
        """False where there is no gradient in x."""
        return True

    def __call__(self, X: Any, Y: Any = None, *, n_jobs: int | None = None) -> Array:
        """Return the matrix of k(x, y).

        Parameters
        ----------
        X : array, CSR matrix or frame of shape (n, d)
            First arguments, one a row.
        Y : array, CSR matrix or frame of shape (m, d), optional
            Second arguments; X itself by default.
        n_jobs : int or None, default=None
            Threads; None for all cores that the process may use.

        Returns
        -------
        K : array of shape (n, m)
            float32 if X is float32 or float16, float64 otherwise.
        """
        kernel, X, Y = self._checked(X, Y)
        columns = kernel.bind(Y, as_compute_dtype(X.dtype))
        K = np.empty((X.shape[0], Y.shape[0]), as_compute_dtype(X.dtype))
        count(K.size)
        _over_strips(X.shape[0], lambda part: columns.fill_strip(X[part], K[part]), n_jobs)
        return K

    def gradient(self, X: Any, Y: Any = None) -> Array:
        """Return the derivatives of k(x, y) in x.

        Parameters
        ----------
        X, Y
            As in a call; dense or CSR.

        Returns
        -------
        G : array of shape (n, m, d)
            ``G[i, j, k]`` is the derivative of k(X_i, Y_j) in the k-th entry of X_i. It is zero
            where the two one-sided derivatives differ in sign alone, as at the tip of the
            Laplacian kernel.

        Examples
        --------
        >>> import numpy as np
        >>> from skimp.kernels import Polynomial
        >>> Polynomial(degree=2, gamma=1.0).gradient(np.array([[1.0]]), np.array([[3.0]])).item()
        24.0
        """
        kernel, X, Y = self._checked(X, Y, differentiable=True)
        dtype = as_compute_dtype(X.dtype)
        G = np.zeros((X.shape[0], Y.shape[0], X.shape[1]), dtype)
        ones = np.ones((X.shape[0], 1), dtype)
        for j in range(Y.shape[0]):
            kernel.bind(Y[j : j + 1], dtype).add_gradient(X, ones, G[:, j])
        return G

    def expansion_gradient(self, X: Any, B: Any, coef: Any) -> Array:
        r"""Return the derivatives of an expansion, :math:`f(x) = \sum_j c_j k(x, b_j)`.

        For n rows and each function it costs two or three n x m kernel blocks, without any
        n x m x d array.

        Parameters
        ----------
        X : array or CSR matrix of shape (n, d)
            Where to evaluate the derivatives.
        B : array or CSR matrix of shape (m, d)
            The points of the expansion.
        coef : array of shape (m,) or (m, k)
            Coefficients of one function, or of k functions.

        Returns
        -------
        G : array of shape (n, d) or (n, d, k)
            ``G[i]`` is the gradient of f at X_i.

        Examples
        --------
        >>> import numpy as np
        >>> from skimp.kernels import Linear
        >>> B, coef = np.array([[1.0, 0.0], [0.0, 2.0]]), [10.0, 1.0]
        >>> Linear().expansion_gradient(np.zeros((1, 2)), B, coef).tolist()
        [[10.0, 2.0]]
        """
        kernel, X, B = self._checked(X, B, differentiable=True)
        dtype = as_compute_dtype(X.dtype)
        coef = check_array(coef, dtype=dtype, ensure_2d=False, input_name="coef")
        if coef.shape[0] != B.shape[0] or coef.ndim > 2:
            raise ValueError(
                f"coef must have a row for each of the {B.shape[0]} rows of B, "
                f"found shape {coef.shape}."
            )
        columns = kernel.bind(B, dtype)
        G = np.zeros((X.shape[0], coef.reshape(len(coef), -1).shape[1], X.shape[1]), dtype)

        def fill(part: slice) -> None:
            for output, c in enumerate(coef.reshape(len(coef), -1).T):
                A = np.broadcast_to(c, (G[part].shape[0], len(c)))
                columns.add_gradient_strip(X[part], A, G[part, output])

        _over_strips(X.shape[0], fill, None)
        return G[:, 0] if coef.ndim == 1 else np.ascontiguousarray(G.transpose(0, 2, 1))

    def diag(self, X: Any, *, n_jobs: int | None = None) -> Array:
        """Return k(x, x) for each row of X, in float64.

        Parameters
        ----------
        X : array, CSR matrix or frame of shape (n, d)
            The rows.
        n_jobs : int or None, default=None
            Threads; None for all cores that the process may use.
        """
        kernel, X, _ = self._checked(X, None)
        diagonal = np.empty(X.shape[0])

        def fill(part: slice) -> None:
            kernel.check_rows(X[part])
            diagonal[part] = kernel._diag(X[part])

        _over_strips(X.shape[0], fill, n_jobs)
        return diagonal

    @abstractmethod
    def _diag(self, X: Matrix) -> Array:
        """Return k(x, x) for each row of a strip of checked X, in float64."""

    @abstractmethod
    def bind(self, B: Matrix, dtype: DType) -> Columns:
        """Return the functions k(., b) of the rows of B, for rows that are computed in ``dtype``.

        B has been checked, and parameters are numbers: `check_resolved` says so.
        """

    def resolve(self, rows: RowStatistics, seed: int) -> Self:
        """Return this kernel with numbers in the place of heuristics and of column names.

        Parameters
        ----------
        rows : RowStatistics
            The training rows.
        seed : int
            Seed of the sample that ``gamma="median"`` looks at.
        """
        check_params(self)
        resolved: Self = clone(self)
        resolved.set_params(**self._resolved_params(rows, seed))
        return resolved

    def _resolved_params(self, rows: RowStatistics, seed: int) -> dict[str, Any]:
        """Return the parameters that `resolve` replaces; kernels inside kernels by default."""
        return {name: kernel.resolve(rows, seed) for name, kernel in self._inner().items()}

    def check_resolved(self) -> None:
        """Raise unless every parameter is one that the formula can be computed with."""
        check_params(self)
        for kernel in self._inner().values():
            kernel.check_resolved()

    def check_rows(self, X: Matrix) -> None:
        """Raise where the columns or entries of checked X have no meaning for this kernel."""
        for kernel in self._inner().values():
            kernel.check_rows(X)

    def on(self, columns: Any) -> "Restricted":
        """Return this kernel of some of the columns, by number or by name.

        Parameters
        ----------
        columns : int, str, or several of them
            The columns; names need rows that have them, such as those of a frame.

        Examples
        --------
        >>> from skimp.kernels import Gaussian, Linear
        >>> Gaussian(gamma=0.5).on(["age", "income"]) + Linear().on(2)
        Gaussian(gamma=0.5).on(['age', 'income']) + Linear().on([2])
        """
        from skimp.kernels import Restricted

        if isinstance(columns, str | int | np.integer):
            columns = [columns]
        elif isinstance(columns, Iterable):
            columns = np.asarray(columns, dtype=object).tolist()
        return Restricted(self, columns)

    def __add__(self, other: Any) -> "Sum":
        """Return the sum of two kernels."""
        from skimp.kernels import Sum

        return Sum(self, other) if isinstance(other, Kernel) else NotImplemented

    def __radd__(self, other: Any) -> Self:
        """Return the kernel itself for ``0 + k``, with which ``sum`` begins."""
        return self if type(other) is int and other == 0 else NotImplemented

    def __mul__(self, other: Any) -> "Product | Scaled":
        """Return the product with another kernel, or with a number."""
        from skimp.kernels import Product, Scaled

        if isinstance(other, Kernel):
            return Product(self, other)
        return Scaled(self, float(other)) if is_number(other, Real) else NotImplemented

    def __rmul__(self, other: Any) -> "Scaled":
        """Return the product with a number."""
        from skimp.kernels import Scaled

        return Scaled(self, float(other)) if is_number(other, Real) else NotImplemented

    def __eq__(self, other: object) -> bool:
        """Tell whether the other one is a kernel of the same class with equal parameters."""
        if type(self) is not type(other):
            return False
        ours, theirs = self.get_params(deep=False), other.get_params(deep=False)
        return all(_equal(ours[name], theirs[name]) for name in ours)

    def __hash__(self) -> int:
        """Hash the class and the parameters."""
        return hash((type(self), *map(_hashable, self.get_params(deep=False).values())))

    def _inner(self) -> dict[str, "Kernel"]:
        """Return the kernels among the parameters, by name."""
        params = self.get_params(deep=False)
        return {name: value for name, value in params.items() if isinstance(value, Kernel)}

    def with_names(self, names: list[str]) -> Self:
        """Return this kernel with column numbers in the place of names."""
        named: Self = clone(self)
        return named.set_params(**{n: k.with_names(names) for n, k in self._inner().items()})

    def _checked(self, X: Any, Y: Any, *, differentiable: bool = False) -> tuple[Self, Any, Any]:
        """Return the kernel without names, and both arguments as arrays."""
        self.check_resolved()
        names, others = getattr(X, "columns", None), getattr(Y, "columns", None)
        if names is not None and others is not None and list(names) != list(others):
            raise ValueError(f"Y must have the columns of X, {list(names)}, found {list(others)}.")
        kernel = self if names is None else self.with_names([str(name) for name in names])
        if differentiable and not kernel.differentiable:
            raise broken("gradient", "kernel", "differentiable in x", self)

        def check(X: Any, name: str) -> Any:
            if kernel.takes_objects:
                X = check_any_rows(X, name)
            else:
                X = check_array(X, accept_sparse="csr", dtype="numeric", input_name=name)
            return canonical(X)

        X = check(X, "X")
        Y = X if Y is None else check(Y, "Y")
        if X.shape[1] != Y.shape[1]:
            raise ValueError(f"Y must have {X.shape[1]} columns as X has, found {Y.shape[1]}.")
        return kernel, X, Y


def _over_strips(n_rows: int, fill: Any, n_jobs: int | None) -> None:
    """Call ``fill`` on the slices of the rows, concurrently."""
    starts = range(0, n_rows, STRIP)
    fold(
        starts,
        lambda start, _: fill(slice(start, start + STRIP)),
        lambda total, _: total,
        None,
        thread_count(n_jobs) if len(starts) > 1 else 1,
    )


def _equal(a: Any, b: Any) -> bool:
    if a is b or isinstance(a, Kernel) or callable(a):
        return bool(a is b or a == b)
    return np.shape(a) == np.shape(b) and bool(np.all(np.asarray(a) == np.asarray(b)))


def _hashable(value: Any) -> Any:
    """Return what a parameter is hashed by: its entries if they are few, else its shape."""
    if isinstance(value, Kernel) or np.ndim(value) == 0:
        return value
    return tuple(np.ravel(value).tolist()) if np.size(value) <= 1000 else np.shape(value)
