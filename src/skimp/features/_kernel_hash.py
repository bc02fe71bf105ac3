"""Binary codes whose Hamming distance decreases with the kernel value."""

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Self, final

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from skimp._core._blocks import Scratch, fold
from skimp._core._random import as_generator
from skimp._core._types import Array, RandomState
from skimp._params._parametrized import Parametrized, all_or_nothing
from skimp._params._rules import (
    BOOLEAN,
    RANDOM_STATE,
    Rule,
    broken,
    check_params,
    check_values,
    instance,
    integer,
    one_of,
)
from skimp.data import LOCAL, Block, Context, Reporting, Rows, as_rows
from skimp.features._base import FeatureMap, declare_inputs
from skimp.features._columns import columns_alone
from skimp.features._file_transformer import FileTransformer
from skimp.features._kernel_projection import KernelProjection, PairProjection
from skimp.features._polynomial_projection import PolynomialProjection
from skimp.kernels import Kernel, Polynomial, as_kernel

_WORD = 64
_QUERIES = 64
_NEIGHBORS = "an integer from 1 to {} (the number of rows to choose from)"
_CODE_POOL, _CODE_TERMS = 2000, 30


@final
@dataclass(eq=False, repr=False)
class KernelHash(
    ClassNamePrefixFeaturesOutMixin, TransformerMixin, FileTransformer, Reporting, Parametrized
):
    r"""Binary codes of rows: the signs of random projections from feature space.

    With normal directions, two rows at an angle :math:`\theta` in feature space agree in a bit with
    probability :math:`1 - \theta / \pi`. Rows with a large kernel value therefore have codes with a
    small Hamming distance. `kneighbors` compares a row with the codes of all fitted rows.

    Encoding takes the cost of the projection, see `KernelProjection` and `PolynomialProjection`.
    Codes take n_bits / 8 bytes per row. A neighbour search takes n_bits / 64 operations per pair of
    rows.

    Parameters
    ----------
    kernel : Kernel, str or None, default=None
        The kernel. None means `Gaussian`, or :math:`\langle x, y \rangle^2` for
        ``projection="polynomial"``.
    n_bits : int, default=256
        Number of bits. The error of the estimated angle is proportional to 1 / sqrt(n_bits).
    projection : "kernel", "polynomial", "dbh" or feature map, default="kernel"
        - "kernel": `KernelProjection`, for any kernel (Kulis and Grauman's hashing). Angles are
          those of rows centred in feature space. Directions are sums of 30 rows and only
          approximately normal; ``KernelProjection(method="pca")`` has normal directions.
        - "polynomial": `PolynomialProjection` with 30 products per feature, for a
          `~skimp.kernels.Polynomial` kernel. Independent of the data.
        - "dbh": distance-based hashing, for any kernel. A bit is whether
          :math:`k(x, a) - k(x, b)` is above its median, for a random pair of rows a, b. Takes
          2 n_bits kernel values per row; the probability above does not hold.
        - a feature map with ``n_components``: the signs of its features.
    random_state : int, Generator, RandomState or None, default=None
        Seed of the projection. The ``random_state`` of a feature map takes precedence.

    Attributes
    ----------
    projection_ : FeatureMap
        The fitted projection.
    codes_ : array of shape (n, n_bytes), uint8
        Codes of the rows passed to ``fit`` and ``partial_fit``.
    n_features_in_ : int
        Number of columns.

    References
    ----------
    Kulis and Grauman (2012), Kernelized locality-sensitive hashing.

    Athitsos, Potamias, Papapetrou and Kollios (2008), Nearest neighbor retrieval using
    distance-based hashing.

    Examples
    --------
    >>> import numpy as np
    >>> from skimp.features import KernelHash
    >>> X = np.random.default_rng(0).normal(size=(1000, 5))
    >>> codes = KernelHash(n_bits=128, random_state=0).fit(X)
    >>> codes.transform(X).shape
    (1000, 16)
    >>> bits, numbers = codes.kneighbors(X[:3], n_neighbors=1)
    >>> bits.ravel().tolist(), numbers.ravel().tolist()
    ([0, 0, 0], [0, 1, 2])
    """

    kernel: Kernel | str | None = None
    _: KW_ONLY
    n_bits: int = 256
    projection: FeatureMap | str = "kernel"
    random_state: RandomState = None

    rules: ClassVar[dict[str, Rule]] = {
        "n_bits": integer(at_least=1),
        "projection": one_of("kernel", "polynomial", "dbh")
        | instance(FeatureMap, "a feature map with n_components"),
        "random_state": RANDOM_STATE,
    }

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit the projection and store the codes of the rows.

        Parameters
        ----------
        X : array, CSR matrix, frame or Rows of shape (n, d)
            Rows to search among.
        y : ignored

        Returns
        -------
        self
        """
        with all_or_nothing(self), self._reporting(1, X) as context:
            check_params(self)
            rows = as_rows(self, X)
            with context.phase("projection"):
                self._fit_projection(*self._projection(), rows, context)
            self._words = self._encode(rows)
            return self

    def fit_width(self, n_features: int, *, dtype: Any = np.float64) -> Self:
        """Draw a projection that needs no rows, and store no codes yet.

        Use it if rows arrive one by one: add them with `partial_fit`. It needs
        ``projection="polynomial"``, or a feature map that has ``fit_width`` for the kernel.

        Parameters
        ----------
        n_features : int
            Number of columns d.
        dtype : dtype, default=float64
            Dtype of the rows to come.

        Returns
        -------
        self

        Examples
        --------
        >>> import numpy as np
        >>> from skimp.features import KernelHash
        >>> X = np.random.default_rng(0).normal(size=(100, 5))
        >>> new = KernelHash(projection="polynomial", random_state=0)
        >>> codes = new.fit_width(5).partial_fit(X[:40]).partial_fit(X[40:]).codes_
        >>> bool((codes == new.fit(X).codes_).all())
        True
        """
        with all_or_nothing(self):
            check_params(self)
            projection, kernel = self._projection()
            projection.check_width_suffices(kernel, type(self).__name__)
            rows = columns_alone(self, n_features, dtype)
            self._fit_projection(projection, kernel, rows, LOCAL)
            self._words = self._encode(rows)[:0]
            return self

    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Append the codes of more rows; the projection does not change.

        Parameters
        ----------
        X : array, CSR matrix, frame or Rows of shape (n, d)
            Rows to search among, after those stored already.
        y : ignored

        Returns
        -------
        self
        """
        if not hasattr(self, "_words"):
            return self.fit(X)
        words = self._encode(as_rows(self, X, reset=False))
        self._words = np.concatenate([self._words, words])
        return self

    def transform(self, X: Any) -> Array:
        """Compute the codes of rows.

        Parameters
        ----------
        X : array, CSR matrix, frame or Rows of shape (n, d)
            Rows with the same columns as in ``fit``.

        Returns
        -------
        codes : array of shape (n, n_bytes), uint8
            Eight bits per byte, the first bit in the highest place. Bits beyond n_bits are zero.
        """
        check_is_fitted(self)
        return self._bytes(self._encode(as_rows(self, X, reset=False)))

    def kneighbors(
        self, X: Any = None, n_neighbors: int = 5, return_distance: bool = True
    ) -> Array | tuple[Array, Array]:
        """Find the fitted rows with the nearest codes.

        Parameters
        ----------
        X : array, CSR matrix, frame or Rows of shape (q, d), optional
            Query rows. By default the fitted rows, of which none is its own neighbour.
        n_neighbors : int, default=5
            Number of neighbours.
        return_distance : bool, default=True
            Whether to return the Hamming distances, too.

        Returns
        -------
        distances : array of shape (q, n_neighbors)
            Number of different bits; only if ``return_distance``.
        indices : array of shape (q, n_neighbors)
            Row numbers, nearest first; ties are in the order of ``fit``.
        """
        check_is_fitted(self)
        name, others = type(self).__name__, len(self._words) - (X is None)
        if others <= 0:
            raise ValueError(
                f"{name}: kneighbors() needs at least {'2 fitted rows' if X is None else '1'}, "
                f"found {len(self._words)}: add rows with partial_fit{' or pass X' * (X is None)}."
            )
        rules = {
            "n_neighbors": Rule(_NEIGHBORS.format(others), integer(1, others).test),
            "return_distance": BOOLEAN,
        }
        check_values(name, rules, n_neighbors=n_neighbors, return_distance=return_distance)
        if X is None:
            found = self.neighbors_of(np.arange(len(self._words)), int(n_neighbors))
        else:
            words = self._encode(as_rows(self, X, reset=False))
            found = self._nearest(words, np.full(len(words), -1), int(n_neighbors))
        return found if return_distance else found[1]

    def neighbors_of(self, numbers: Array, n_neighbors: int) -> tuple[Array, Array]:
        """Return distances and row numbers of the neighbours of some fitted rows."""
        return self._nearest(self._words[numbers], numbers, n_neighbors)

    @property
    def codes_(self) -> Array:
        """Codes of the fitted rows, eight bits per byte, read-only."""
        codes = self._bytes(self._words)
        codes.flags.writeable = False
        return codes

    @property
    def _n_features_out(self) -> int:
        return -(-self.projection_.width // 8)

    def _projection(self) -> tuple[FeatureMap, Kernel | None]:
        """Return the unfitted projection, and the kernel to fit it with."""
        name, bits, kernel = type(self).__name__, int(self.n_bits), None
        if self.kernel is not None:
            kernel = as_kernel(self.kernel, owner=name, other="None", size="n_bits")
        if isinstance(self.projection, FeatureMap):
            if self.projection.size_name != "n_components":
                wording = "a feature map with n_components"
                raise broken(name, "projection", wording, self.projection)
            return self.projection.resized(bits), kernel
        if self.projection != "polynomial":
            kind = KernelProjection if self.projection == "kernel" else PairProjection
            return kind(n_components=bits), kernel
        if kernel is None:
            kernel = Polynomial(2, 1.0, 0.0)
        if not isinstance(kernel, Polynomial):
            raise broken(
                name, "kernel", "a Polynomial kernel if projection='polynomial'", self.kernel
            )
        check_params(kernel)
        projection = PolynomialProjection(
            kernel.degree,
            n_components=bits,
            n_vectors=max(_CODE_POOL, kernel.degree * _CODE_TERMS),
            n_terms=_CODE_TERMS,
            gamma=kernel.gamma,
            coef0=kernel.coef0,
        )
        return projection, None

    def _fit_projection(
        self, projection: FeatureMap, kernel: Kernel | None, rows: Rows, context: Context
    ) -> None:
        own = projection.random_state
        rng = as_generator(self.random_state if own is None else own)
        self.projection_ = projection.fit_rows(rows, rng, kernel, context)

    def _encode(self, rows: Rows) -> Array:
        """Return the codes of rows as 64-bit words."""
        projection, bits = self.projection_, self.projection_.width
        n_words = -(-bits // _WORD)

        def encode(block: Block, scratch: Scratch) -> Array:
            Z = scratch.array("Z", (block.size, bits), projection.dtype)
            projection.map_block(block.X, Z)
            padded = np.zeros((block.size, n_words * _WORD), bool)
            np.greater(Z, 0, out=padded[:, :bits])
            return np.packbits(padded, axis=1).view(np.uint64)

        return LOCAL.compute(rows, encode, (n_words,), np.uint64)

    def _bytes(self, words: Array) -> Array:
        return words.view(np.uint8)[:, : self._n_features_out]

    def _nearest(self, words: Array, skipped: Array, n_neighbors: int) -> tuple[Array, Array]:
        from skimp._core.loops._hamming import nearest_codes

        distances, numbers = np.empty((2, len(words), n_neighbors), np.int64)

        def search(start: int, _: Scratch) -> None:
            part = slice(start, start + _QUERIES)
            nearest_codes(words[part], self._words, skipped[part], distances[part], numbers[part])

        starts = range(0, len(words), _QUERIES)
        fold(starts, search, lambda total, _: total, None, LOCAL.threads)
        return distances, numbers

    def __sklearn_tags__(self) -> Any:
        """Return the tags that describe the accepted input."""
        tags = super().__sklearn_tags__()
        declare_inputs(tags, self.kernel)
        tags.transformer_tags.preserves_dtype = []
        return tags
