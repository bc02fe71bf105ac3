"""Short binary codes of rows, whose bits agree as often as the kernel is large."""

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Self, final

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from skimp._core._blocks import Scratch, fold
from skimp._core._random import as_generator
from skimp._core._types import Array, RandomState
from skimp._params._parametrized import Parametrized, whole_or_nothing
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
from skimp.data import LOCAL, Block, Reporting, Rows, as_rows
from skimp.features._base import FeatureMap, declare_inputs
from skimp.features._kernel_projection import KernelProjection, PairProjection
from skimp.features._polynomial_projection import PolynomialProjection
from skimp.kernels import Kernel, Polynomial, as_kernel

_WORD = 64
_QUERIES = 64
_NEIGHBORS = "an integer from 1 to {}, the number of rows to choose from"
_CODE_POOL, _CODE_TERMS = 2000, 30


@final
@dataclass(eq=False, repr=False)
class KernelHash(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Reporting, Parametrized):
    r"""Binary codes of rows: signs of random projections from feature space.

    Two rows at an angle :math:`\theta` in feature space agree in a bit with probability
    :math:`1 - \theta / \pi` if directions are normal, so that rows of large kernel values have
    codes of small Hamming distance. The codes of the rows of ``fit`` are kept, and `kneighbors`
    finds those nearest to a row by looking at all of them, n_bits / 64 words each.

    Parameters
    ----------
    kernel : Kernel, str or None, default=None
        The kernel; Gaussian by default, and :math:`\langle x, y \rangle^2` for "polynomial".
    n_bits : int, default=256
        Bits of a code. A tenth of the error of the angle takes a hundred times as many.
    projection : "kernel", "polynomial", "dbh" or feature map, default="kernel"
        - "kernel": `KernelProjection`, for any kernel (Kulis and Grauman's hashing). Angles are
          those around the mean of the rows. Sums of 30 rows are not quite normal:
          ``KernelProjection(method="pca")`` has the probability above exactly;
        - "polynomial": `PolynomialProjection`, for a `~skimp.kernels.Polynomial` kernel, with 30
          products in each feature; does not depend on the data;
        - "dbh": distance-based hashing, :math:`k(x, a) - k(x, b)` of random pairs of rows, above
          the median or below, for any kernel: 2 n_bits kernel values a row, and no theory;
        - an object with ``n_components``: signs of its features.
    random_state : int, Generator, RandomState or None, default=None
        Seed of the projection; that of an object of its own wins.

    Attributes
    ----------
    projection_ : FeatureMap
        The fitted projection.
    codes_ : array of shape (n, n_bytes), uint8
        Codes of the rows of ``fit`` and ``partial_fit``.
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
        """Draw the projection, and keep the codes of the rows; y is ignored."""
        with whole_or_nothing(self), self._reporting(1, X) as context:
            check_params(self)
            rows = as_rows(self, X)
            projection, kernel = self._projection()
            own = projection.random_state
            rng = as_generator(self.random_state if own is None else own)
            with context.phase("projection"):
                self.projection_ = projection.fit_rows(rows, rng, kernel, context)
            self._words = self._encode(rows)
            return self

    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Keep the codes of more rows, behind those that are there; the projection stays."""
        if not hasattr(self, "_words"):
            return self.fit(X)
        words = self._encode(as_rows(self, X, reset=False))
        self._words = np.concatenate([self._words, words])
        return self

    def transform(self, X: Any) -> Array:
        """Return the codes of rows, of shape (n, n_bytes), as uint8.

        There are eight bits to a byte, the first one highest; bits beyond n_bits are zero.
        """
        check_is_fitted(self)
        return self._bytes(self._encode(as_rows(self, X, reset=False)))

    def kneighbors(
        self, X: Any = None, n_neighbors: int = 5, return_distance: bool = True
    ) -> Array | tuple[Array, Array]:
        """Find the rows whose codes are nearest.

        Parameters
        ----------
        X : array, CSR matrix, frame or Rows of shape (q, d), optional
            Rows to find neighbours of; by default those of ``fit``, each without itself.
        n_neighbors : int, default=5
            How many to find.
        return_distance : bool, default=True
            Whether to return Hamming distances as well.

        Returns
        -------
        distances : array of shape (q, n_neighbors)
            Bits that differ; only if ``return_distance``.
        indices : array of shape (q, n_neighbors)
            Numbers of the rows, nearest first; equally near ones in the order of ``fit``.
        """
        check_is_fitted(self)
        name, others = type(self).__name__, len(self._words) - (X is None)
        if others == 0:
            raise ValueError(f"{name} was fitted to one row, which has no others for neighbours.")
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
        """Return distances and numbers of the nearest among the rows of ``fit`` to some of them."""
        return self._nearest(self._words[numbers], numbers, n_neighbors)

    @property
    def codes_(self) -> Array:
        """Codes of the rows of ``fit``, eight bits a byte; not to be written to."""
        codes = self._bytes(self._words)
        codes.flags.writeable = False
        return codes

    @property
    def _n_features_out(self) -> int:
        return -(-self.projection_.width // 8)

    def _projection(self) -> tuple[FeatureMap, Kernel | None]:
        """Return the projection, not fitted, and its kernel if that is not its own."""
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
            raise broken(name, "kernel", "Polynomial for projection='polynomial'", self.kernel)
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

    def _encode(self, rows: Rows) -> Array:
        """Return the codes of rows in words of 64 bits."""
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
        """Say what scikit-learn may pass in."""
        tags = super().__sklearn_tags__()
        declare_inputs(tags, self.kernel)
        tags.transformer_tags.preserves_dtype = []
        return tags
