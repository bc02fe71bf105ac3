"""What every kernel is: parameters, flags, and what can be computed from them."""

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
from skimp._params._parametrized import Parametrized
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
"""Terms of a loop over columns that take as long as a function value."""


class Kernel(Parametrized, ABC):
    """A kernel: parameters, and the formula that they enter.

    A concrete kernel says what k(x, x) is (`diagonal`) and how the columns k(., b) are computed
    (`bind`). Most derive from `PairKernel`, which needs the formula alone: see the page on adding
    a kernel.

    Being a scikit-learn estimator without ``fit`` gives it ``get_params``, ``clone``, a readable
    ``repr``, and ``kernel__gamma`` in a grid search. Kernels of one class with equal parameters
    are equal. Sums, products, positive multiples and restrictions to columns are kernels:
    ``k1 + k2``, ``k1 * k2``, ``2.0 * k1``, ``k1.on(["a", "b"])``.
    """

    __array_ufunc__ = None  # numpy scalars then leave products to __rmul__

    rules: ClassVar[Mapping[str, Rule]] = {}
    """What each parameter may be."""
    statistic: ClassVar[type[Pairs] | None] = None
    """The statistic of two rows that the kernel is a function of, if there is one."""
    gamma: Any = 1.0
    """What the columns of the statistic are multiplied by; 1 unless it is a parameter."""

    positive_definite: bool = True
    """False for a kernel whose matrices can have negative eigenvalues."""
    stationary: bool = False
    """True if k(x, y) depends on x - y alone, and there is a spectrum to sample."""
    rotation_invariant: bool = False
    """True if k(Qx, Qy) = k(x, y) for every rotation Q."""
    needs_nonnegative: bool = False
    """True if negative entries have no meaning."""
    takes_objects: bool = False
    """True if rows may be objects of any kind, such as strings."""
    differentiable: bool = True
    """False if there is no gradient in x."""

    @abstractmethod
    def diagonal(self, X: Matrix) -> Array:
        """Return k(x, x) for each row of a strip of checked X, in float64."""

    @abstractmethod
    def bind(self, B: Matrix, dtype: DType) -> Columns:
        """Return the functions k(., b) of the rows of B, for rows that are computed in ``dtype``.

        B has been checked, and parameters are numbers: `check_resolved` says so.
        """

    def spectrum(self, n_features: int) -> Spectrum:
        """Return the spectrum for rows of d columns; every stationary kernel has one."""
        raise unsupported(self, "one that has a spectrum", owner="sample_frequencies")

    def pitches(self, n_features: int) -> Pitches:
        """Return the pitches of grids for rows of d columns.

        A stationary kernel of one column has them if its values are convex; other kernels say what
        they are, or have none.
        """
        return convex_pitches(self, n_features)

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
        kernel, X, Y = check_arguments(self, X, Y)
        columns = kernel.bind(Y, as_compute_dtype(X.dtype))
        K = np.empty((X.shape[0], Y.shape[0]), as_compute_dtype(X.dtype))
        count(K.size)
        over_strips(X.shape[0], lambda part: columns.fill_strip(X[part], K[part]), n_jobs)
        return K

    def gradient(self, X: Any, Y: Any = None) -> Array:
        """Return the derivatives of k(x, y) in x, for dense or CSR rows as in a call.

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
        return gradient(self, X, Y)

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
        return expansion_gradient(self, X, B, coef)

    def diag(self, X: Any, *, n_jobs: int | None = None) -> Array:
        """Return k(x, x) for each row of X, in float64.

        Parameters
        ----------
        X, n_jobs
            As in a call.
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
        r"""Draw frequencies w from the spectrum of a stationary kernel, as (d, size) entries.

        They are such that :math:`E \cos(w^T (x - y)) = k(x, y) / k(0, 0)`.

        Parameters
        ----------
        n_features, size : int
            Numbers of columns d and of frequencies.
        rng : numpy.random.Generator
            Source of randomness.
        sampling : "iid", "orthogonal" or "qmc", default="iid"
            Independent of each other, orthogonal in groups of d, or a scrambled Sobol sequence; see
            `~skimp.features.RandomFourier`. Each frequency alone has the same distribution.

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
        """Return the mean squared length of a frequency for d columns, which may be infinite.

        Examples
        --------
        >>> from skimp.kernels import Gaussian
        >>> round(Gaussian(gamma=0.5).spectral_moment(3), 6)
        3.0
        """
        self.check_resolved()
        return self.spectrum(n_features).moment

    def sample_pitches(self, n_features: int, size: int, rng: np.random.Generator) -> Array:
        r"""Draw pitches of grids: rows share a bin of such a grid with probability k(x, y).

        More exactly with :math:`k(x, y) / k(0, 0)`, for kernels that are products over columns of
        functions :math:`k_j(|x_j - y_j|)` for which :math:`p(h) = h \, k_j''(h)` is a density:
        that fall, ever more slowly. Rahimi and Recht (2007), section 4.

        Parameters
        ----------
        n_features, size : int
            Numbers of columns d and of grids.
        rng : numpy.random.Generator
            Source of randomness.

        Returns
        -------
        h : array of shape (d, size)
            Infinite for columns that a grid does not look at.

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
        r"""Return :math:`E[1/h] = -k_j'(0)` of the pitches of each of d columns, or infinity.

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
        """The power of the scale of X by which the distance in the kernel grows.

        None unless the kernel is a function of a distance, with one gamma for all columns.
        """
        statistic = self.statistic
        if statistic is None or not issubclass(statistic, Distances) or np.ndim(self.gamma):
            return None
        return statistic.degree

    def work(self, n: float, m: float, size: Size, dtype: DType) -> Work:
        """Return the work of an n x m block of values."""
        if self.statistic is not None and self.statistic.looped:
            return values(n * m * (1 + size.n_features / _TERMS), dtype)
        # distances from products, then the function
        return size.rows_times(n, m, dtype) + values(2 * n * m, dtype)

    def resolve(self, rows: RowStatistics, seed: int) -> Self:
        """Return this kernel with numbers instead of heuristics and of column names.

        Parameters
        ----------
        rows : RowStatistics
            The training rows.
        seed : int
            Seed of the sample that ``gamma="median"`` looks at.
        """
        check_params(self)
        return clone(self).set_params(**self._resolved_params(rows, seed))  # type: ignore[no-any-return]

    def _resolved_params(self, rows: RowStatistics, seed: int) -> dict[str, Any]:
        """Return the parameters that `resolve` replaces: gamma, and kernels inside this one."""
        params: dict[str, Any] = {n: k.resolve(rows, seed) for n, k in self._inner().items()}
        if isinstance(self.gamma, str):
            params["gamma"] = resolve_gamma(self.gamma, rows, seed, self.statistic)
        else:
            self.gammas(rows.n_features)
        return params

    def check_resolved(self) -> None:
        """Raise unless every parameter is one that the formula can be computed with."""
        check_params(self)
        for kernel in self._inner().values():
            kernel.check_resolved()
        if isinstance(self.gamma, str):
            wording = "a number where the kernel is used on its own (an estimator resolves it in"
            raise broken(type(self).__name__, "gamma", f"{wording} fit)", self.gamma)

    def _inner(self) -> dict[str, "Kernel"]:
        """Return the kernels among the parameters, by name."""
        params = self.get_params(deep=False)
        return {name: value for name, value in params.items() if isinstance(value, Kernel)}

    def with_names(self, names: list[str]) -> Self:
        """Return this kernel with column numbers instead of names."""
        named: Self = clone(self)
        return named.set_params(**{n: k.with_names(names) for n, k in self._inner().items()})

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

    def __rmul__(self, other: Any) -> "Product | Scaled":
        """Return the product with a number."""
        return self.__mul__(other)

    def __eq__(self, other: object) -> bool:
        """Return whether the other one is a kernel of the same class with equal parameters."""
        if type(self) is not type(other):
            return False
        ours, theirs = (kernel.get_params(deep=False).values() for kernel in (self, other))
        return all(map(_equal, ours, theirs))

    def __hash__(self) -> int:
        """Hash the class and the parameters, arrays by their shapes."""
        params = self.get_params(deep=False).values()
        return hash((type(self), *(np.shape(p) if np.ndim(p) else p for p in params)))


def _equal(a: Any, b: Any) -> bool:
    if a is b or isinstance(a, Kernel) or callable(a):
        return bool(a is b or a == b)
    return np.shape(a) == np.shape(b) and bool(np.all(np.asarray(a) == np.asarray(b)))
