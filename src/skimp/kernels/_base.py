"""The base class of all kernels."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from sklearn.base import clone

from skimp._core._draws import KINDS
from skimp._core._linalg import as_compute_dtype
from skimp._core._pairs import Distances, Pairs
from skimp._core._tally import count
from skimp._core._types import Array, DType, Matrix
from skimp._core._work import Size, Work, values
from skimp._params._parametrized import Parametrized, hash_params, same_params
from skimp._params._rules import Rule, broken, check_params, is_number, one_of
from skimp.kernels._checks import require, unsupported
from skimp.kernels._columns import Columns
from skimp.kernels._evaluate import check_arguments, expansion_gradient, gradient, over_strips
from skimp.kernels._gamma import RowStatistics, resolve_gamma
from skimp.kernels._pitches import Pitches, convex_pitches
from skimp.kernels._spectrum import Spectrum

if TYPE_CHECKING:
    from skimp.kernels import Product, Restricted, Scaled, Sum

_TERMS = 2.0
"""Number of terms of a loop over columns that take as long as one evaluation of exp."""


class Kernel(Parametrized, ABC):
    """Base class of kernels, which hold parameters and compute k(x, y).

    A subclass implements `diagonal`, the values k(x, x), and `bind`, the columns k(., b). Most
    kernels derive from `PairKernel` instead, which only requires a formula and its derivative: see
    :doc:`/add_a_kernel`.

    A kernel is a scikit-learn estimator without ``fit``. It supports ``get_params`` and ``clone``,
    and a grid search reaches its parameters as ``kernel__gamma``. Two kernels are equal if they
    have the same class and parameters. Kernels can be added, multiplied, scaled by a positive
    number and restricted to columns: ``k1 + k2``, ``k1 * k2``, ``2.0 * k1``,
    ``k1.on(["a", "b"])``.
    """

    __array_ufunc__ = None  # makes NumPy scalars call __rmul__

    rules: ClassVar[Mapping[str, Rule]] = {}
    """The accepted values of each parameter."""
    statistic: ClassVar[type[Pairs] | None] = None
    """The statistic of two rows, such as a distance, on which the kernel depends; or None."""
    gamma: Any = 1.0
    """The weights of the columns in the statistic; 1 unless the kernel has this parameter."""

    positive_definite: bool = True
    """False if kernel matrices can have negative eigenvalues."""
    stationary: bool = False
    """True if k(x, y) depends only on x - y, and `spectrum` is implemented."""
    rotation_invariant: bool = False
    """True if k(Qx, Qy) = k(x, y) for every rotation Q."""
    needs_nonnegative: bool = False
    """True if rows must not have negative entries."""
    takes_objects: bool = False
    """True if rows may be arbitrary objects, such as strings."""
    mergeable: bool = False
    """True if k(x, z) is a power of k(x, y) for every z between x and y, as for the Gaussian."""
    differentiable: bool = True
    """False if the kernel has no gradient in x."""
    has_diagonal: bool = True
    """False if k(x, x) is not known for every row."""

    @abstractmethod
    def diagonal(self, X: Matrix) -> Array:
        """Return k(x, x) for each row of validated X, in float64."""

    @abstractmethod
    def bind(self, B: Matrix, dtype: DType) -> Columns:
        """Return the functions k(., b) for the rows b of B, to be evaluated in ``dtype``.

        B is validated, and `check_resolved` has been called.
        """

    def squared_distances(self, B: Matrix, dtype: DType) -> Pairs | None:
        """Return squared distances in feature space from the rows of B, or None.

        None means that they are differences of kernel values. A kernel for which these lose digits,
        far from the origin, returns a statistic that does not.
        """
        return None

    def spectrum(self, n_features: int) -> Spectrum:
        """Return the spectrum for rows of d columns; stationary kernels implement it."""
        raise unsupported(self, "one that has a spectrum", owner="sample_frequencies")

    def pitches(self, n_features: int) -> Pitches:
        """Return the distribution of grid pitches for rows of d columns.

        By default it is computed for stationary kernels of one column that are convex functions of
        the distance. For other kernels, a subclass implements it, or it raises.
        """
        return convex_pitches(self, n_features)

    def __call__(self, X: Any, Y: Any = None, *, n_jobs: int | None = None) -> Array:
        """Return the kernel matrix.

        Parameters
        ----------
        X : array, CSR matrix or frame of shape (n, d)
            Rows.
        Y : array, CSR matrix or frame of shape (m, d), optional
            Second rows; X by default.
        n_jobs : int or None, default=None
            Number of threads; None uses all available cores.

        Returns
        -------
        K : array of shape (n, m)
            The values k(X_i, Y_j), in float32 if X is float32 or float16, else in float64.
        """
        kernel, X, Y = check_arguments(self, X, Y)
        columns = kernel.bind(Y, as_compute_dtype(X.dtype))
        K = np.empty((X.shape[0], Y.shape[0]), as_compute_dtype(X.dtype))
        count(K.size)
        over_strips(X.shape[0], lambda part: columns.fill_strip(X[part], K[part]), n_jobs)
        return K

    def gradient(self, X: Any, Y: Any = None) -> Array:
        """Return the derivatives of k(x, y) with respect to x.

        Parameters
        ----------
        X : array or CSR matrix of shape (n, d)
            Rows.
        Y : array or CSR matrix of shape (m, d), optional
            Second rows; X by default.

        Returns
        -------
        G : array of shape (n, m, d)
            ``G[i, j, k]`` is the derivative of k(X_i, Y_j) with respect to entry k of X_i. At a
            symmetric kink, such as that of the Laplacian kernel at x = y, it is zero.

        Examples
        --------
        >>> import numpy as np
        >>> from skimp.kernels import Polynomial
        >>> Polynomial(degree=2, gamma=1.0).gradient(np.array([[1.0]]), np.array([[3.0]])).item()
        24.0
        """
        return gradient(self, X, Y)

    def expansion_gradient(self, X: Any, B: Any, coef: Any) -> Array:
        r"""Return the gradient of a kernel expansion, :math:`f(x) = \sum_j c_j k(x, b_j)`.

        For each function it takes about as long as two or three kernel matrices of shape (n, m).
        It does not form an array of shape (n, m, d).

        Parameters
        ----------
        X : array or CSR matrix of shape (n, d)
            Rows at which to evaluate the gradient.
        B : array or CSR matrix of shape (m, d)
            Landmarks of the expansion.
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
        return expansion_gradient(self, X, B, coef)

    def diag(self, X: Any, *, n_jobs: int | None = None) -> Array:
        """Return k(x, x) for each row of X, in float64.

        Parameters
        ----------
        X : array, CSR matrix or frame of shape (n, d)
            Rows.
        n_jobs : int or None, default=None
            Number of threads; None uses all available cores.

        Returns
        -------
        diagonal : array of shape (n,)
            The diagonal of the kernel matrix.
        """
        kernel, X, _ = check_arguments(self, X, None)
        diagonal = np.empty(X.shape[0])

        def fill(part: slice) -> None:
            diagonal[part] = kernel.diagonal(X[part])

        over_strips(X.shape[0], fill, n_jobs)
        return diagonal

    def sample_frequencies(
        self, n_features: int, size: int, rng: np.random.Generator, sampling: str = "iid"
    ) -> Array:
        r"""Draw frequencies from the spectrum of a stationary kernel.

        Frequencies w satisfy :math:`E \cos(w^T (x - y)) = k(x, y) / k(0, 0)`.

        Parameters
        ----------
        n_features, size : int
            Number of columns d, and number of frequencies.
        rng : numpy.random.Generator
            Source of randomness.
        sampling : "iid", "orthogonal" or "qmc", default="iid"
            Independent frequencies, orthogonal ones in groups of d, or a scrambled Sobol sequence;
            see `~skimp.features.RandomFourier`. The marginal distribution of each frequency is the
            same.

        Returns
        -------
        W : array of shape (d, size)
            The frequencies, as columns.

        Examples
        --------
        >>> import numpy as np
        >>> from skimp.kernels import Gaussian
        >>> W = Gaussian(gamma=0.5).sample_frequencies(1, 100_000, np.random.default_rng(0))
        >>> bool(abs(np.cos(W).mean() - np.exp(-0.5)) < 0.01)
        True
        """
        self.check_resolved()
        require(self, "stationary", owner="sample_frequencies", advice="others have no spectrum")
        if not one_of(*KINDS).test(sampling):
            raise broken("sample_frequencies", "sampling", one_of(*KINDS).wording, sampling)
        return self.spectrum(n_features).frequencies(KINDS[sampling](size, rng))

    def spectral_moment(self, n_features: int) -> float:
        """Return the mean squared norm of a frequency, which may be infinite.

        Parameters
        ----------
        n_features : int
            Number of columns d.

        Returns
        -------
        moment : float
            The second moment of the spectrum.

        Examples
        --------
        >>> from skimp.kernels import Gaussian
        >>> round(Gaussian(gamma=0.5).spectral_moment(3), 6)
        3.0
        """
        self.check_resolved()
        return self.spectrum(n_features).moment

    def sample_pitches(self, n_features: int, size: int, rng: np.random.Generator) -> Array:
        r"""Draw the pitches (bin widths) of random grids.

        Two rows share a bin of a randomly shifted grid with probability
        :math:`k(x, y) / k(0, 0)`. This requires a product over columns of decreasing convex
        functions :math:`k_j(|x_j - y_j|)`, so that :math:`p(h) = h \, k_j''(h)` is a density.

        Parameters
        ----------
        n_features, size : int
            Number of columns d, and number of grids.
        rng : numpy.random.Generator
            Source of randomness.

        Returns
        -------
        h : array of shape (d, size)
            The pitches; infinite for columns that a grid ignores.

        References
        ----------
        Rahimi and Recht (2007), Random features for large-scale kernel machines, section 4.

        Examples
        --------
        >>> import numpy as np
        >>> from skimp.kernels import Laplacian
        >>> h = Laplacian(gamma=0.5).sample_pitches(1, 100_000, np.random.default_rng(0))
        >>> bool(abs(np.maximum(0, 1 - 2.0 / h).mean() - np.exp(-1)) < 0.01)
        True
        """
        self.check_resolved()
        h = self.pitches(n_features).sample(size, rng)
        if h.shape != (n_features, size) or not (h > 0).all():
            wording = f"one whose pitches are > 0, of shape {(n_features, size)}"
            raise broken("sample_pitches", "kernel", wording, self)
        return h

    def pitch_rates(self, n_features: int) -> Array:
        r"""Return :math:`E[1/h] = -k_j'(0)` of the grid pitches h of each column.

        Parameters
        ----------
        n_features : int
            Number of columns d.

        Returns
        -------
        rates : array of shape (d,)
            The mean inverse pitch of each column, which may be infinite.

        Examples
        --------
        >>> from skimp.kernels import Laplacian
        >>> Laplacian(gamma=[0.5, 2.0]).pitch_rates(2).tolist()
        [0.5, 2.0]
        """
        self.check_resolved()
        return self.pitches(n_features).rates

    def gammas(self, n_features: int) -> Array:
        """Return gamma for each column."""
        if np.ndim(self.gamma) and len(self.gamma) != n_features:
            wording = f"a number, or one for each of the {n_features} columns of X"
            raise broken(type(self).__name__, "gamma", wording, self.gamma)
        return np.array(np.broadcast_to(self.gamma, n_features), np.float64)

    @property
    def distance_degree(self) -> int | None:
        """The power of t by which the kernel's distance grows if X is multiplied by t.

        None unless the kernel is a function of a distance, with one gamma for all columns.
        """
        statistic = self.statistic
        if statistic is None or not issubclass(statistic, Distances) or np.ndim(self.gamma):
            return None
        return statistic.degree

    def work(self, n: float, m: float, size: Size, dtype: DType) -> Work:
        """Return the work of evaluating n x m values."""
        if self.statistic is not None and self.statistic.looped:
            return values(n * m * (1 + size.n_features / _TERMS), dtype)
        # a matrix product for the distances, then the function
        return size.rows_times(n, m, dtype) + values(2 * n * m, dtype)

    def resolve(self, rows: RowStatistics, seed: int) -> Self:
        """Return a copy in which numbers replace column names and ``gamma="scale"`` and the like.

        Parameters
        ----------
        rows : RowStatistics
            The training rows.
        seed : int
            Seed of the sample that ``gamma="median"`` uses.
        """
        check_params(self)
        return clone(self).set_params(**self._resolved_params(rows, seed))  # type: ignore[no-any-return]

    def _resolved_params(self, rows: RowStatistics, seed: int) -> dict[str, Any]:
        """Return the parameters that `resolve` replaces: gamma and nested kernels."""
        params: dict[str, Any] = {n: k.resolve(rows, seed) for n, k in self._inner().items()}
        if isinstance(self.gamma, str):
            params["gamma"] = resolve_gamma(self.gamma, rows, seed, self.statistic)
        else:
            self.gammas(rows.n_features)
        return params

    def check_resolved(self) -> None:
        """Raise if a parameter is invalid, or if gamma is still a string."""
        check_params(self)
        for kernel in self._inner().values():
            kernel.check_resolved()
        if isinstance(self.gamma, str):
            wording = "a number if the kernel is used by itself (estimators replace strings in fit)"
            raise broken(type(self).__name__, "gamma", wording, self.gamma)

    def _inner(self) -> dict[str, "Kernel"]:
        """Return the parameters that are kernels, by name."""
        params = self.get_params(deep=False)
        return {name: value for name, value in params.items() if isinstance(value, Kernel)}

    def with_names(self, names: list[str]) -> Self:
        """Return a copy with column numbers instead of names."""
        named: Self = clone(self)
        return named.set_params(**{n: k.with_names(names) for n, k in self._inner().items()})

    def on(self, columns: Any) -> "Restricted":
        """Restrict this kernel to some columns.

        Parameters
        ----------
        columns : int, str, or a sequence of either
            Column numbers or names; names require rows with column names, such as a frame.

        Returns
        -------
        kernel : Restricted
            The kernel of these columns.

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
        """Return the kernel itself for ``0 + k``, so that ``sum`` works."""
        return self if type(other) is int and other == 0 else NotImplemented

    def __mul__(self, other: Any) -> "Product | Scaled":
        """Return the product with another kernel or with a number."""
        from skimp.kernels import Product, Scaled

        if isinstance(other, Kernel):
            return Product(self, other)
        return Scaled(self, float(other)) if is_number(other, Real) else NotImplemented

    def __rmul__(self, other: Any) -> "Product | Scaled":
        """Return the product with a number."""
        return self.__mul__(other)

    def __eq__(self, other: object) -> bool:
        """Return whether the other kernel has the same class and equal parameters."""
        return type(self) is type(other) and same_params(self, other)

    def __hash__(self) -> int:
        """Return a hash of the class and the parameters; arrays count by their shape."""
        return hash_params(self)
