"""Bilinear pooling of local descriptors."""

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Self, final

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from skimp._core._blocks import Scratch, fold
from skimp._core._linalg import as_compute_dtype, check_representable
from skimp._core._random import as_generator
from skimp._core._threads import thread_count
from skimp._core._types import Array, DType, RandomState
from skimp._core._warn import warn_user
from skimp._params._parametrized import Parametrized, all_or_nothing
from skimp._params._rules import (
    BOOLEAN,
    NONE,
    RANDOM_STATE,
    Rule,
    broken,
    check_params,
    integer,
    is_auto,
    number,
    one_of,
)
from skimp.features._columns import columns_alone
from skimp.features._file_transformer import FileTransformer
from skimp.features._polynomial import Products
from skimp.features._pooled import (
    Pooled,
    SecondMoments,
    SummedFunctions,
    chosen_sparsity,
    draw_maclaurin,
    draw_products,
    draw_sketches,
    share_of_zeros,
    whole_moments,
)
from skimp.features._second_moments import product_weights, sketch_weights

_STRIP = 512
"""Locations of small sets that are processed at once; fewer make less use of a matrix product."""
_MANY_ZEROS = 0.1
"""A larger expected share of features that are always zero is worth a warning."""
_AUTO = Rule("'auto'", is_auto)


@final
@dataclass(eq=False, repr=False)
class BilinearPooling(
    ClassNamePrefixFeaturesOutMixin, TransformerMixin, FileTransformer, Parametrized
):
    r"""Bilinear pooling: features of a set of local descriptors, such as those of an image.

    The inner product of two sets approximates the sum of the polynomial kernel over all pairs of
    their descriptors,

    .. math:: \langle y(X), y(X') \rangle \approx \sum_l \sum_{l'} \langle x_l, x'_{l'} \rangle^g

    Kernelized random projections (CBP-KRP) estimate it without bias by

    .. math::

        y_c(X) = \frac{1}{\sqrt{k t}} \sum_l \sum_{i=1}^t \prod_{j=1}^g \langle x_l, r_{c i j}
        \rangle

    with sparse vectors r from a pool, as in `PolynomialProjection`. "full" is exact, with all
    :math:`d^g` sums of products.

    For g = 2 and sparse vectors, a set of L descriptors takes one matrix product of L d^2
    operations and k t (d / s)^2 more. "tensor_sketch" takes L d^2 + d^2 operations, "maclaurin"
    2 L d k. KRP stores p d / s + 2 k t numbers, TensorSketch 4 d and Maclaurin 2 d k.
    `skimp.nn.CompactBilinearPooling` is the same as a PyTorch layer.

    Parameters
    ----------
    n_components : int, default=1000
        Number of features k; "full" ignores it. The error of kernel values is proportional to
        1 / sqrt(k).
    method : "krp", "tensor_sketch", "maclaurin" or "full", default="krp"
        - "krp": products of shared sparse vectors.
        - "tensor_sketch": convolution of count sketches, as in `TensorSketch`.
        - "maclaurin": products of random signs, as in `RandomMaclaurin`.
        - "full": all products of channels.
    degree : int, default=2
        Degree g >= 2 of the kernel.
    first_channels : int or None, default=None
        Number of channels of the first of two inputs: the other channels are the second input.
        Features then approximate the sum of :math:`\langle x_l, x'_{l'} \rangle \langle u_l,
        u'_{l'} \rangle` for two descriptors x and u of each location, with g = 2.
    n_vectors : int, default=5000
        Size p of the pool of "krp", above g t; at most g t k vectors are used. Two inputs have a
        pool each, of which a feature uses t vectors.
    n_terms : int, default=2
        Number of products t per feature of "krp".
    sparsity : float or "auto", default="auto"
        A fraction 1 / s of the entries of "krp" vectors is nonzero. "auto" is 100, or d / 5 if
        there are fewer than 500 channels, and at least 1: vectors then have 5 nonzero entries on
        average.
    pooling : "sum" or "mean", default="sum"
        Whether to sum or average over the locations.
    signed_sqrt : bool, default=False
        Apply :math:`y / \sqrt{|y| + 10^{-6}}`, a signed square root with a finite slope at 0.
    normalize : bool, default=False
        Divide the features of a set by their Euclidean norm, after the square root.
    random_state : int, Generator, RandomState or None, default=None
        Seed of the vectors, buckets and signs.

    Attributes
    ----------
    vectors_ : array or CSR matrix of shape (d, p), or None
        Pool of vectors of "krp" and "maclaurin". Those of a second input are the last columns, and
        zero in the channels of the first.
    factors_ : array of shape (n_terms, degree, k), or None
        Indices of the vectors that each feature multiplies.
    buckets_, signs_ : array of shape (degree, d), or None
        Bucket and sign of each channel in each sketch of "tensor_sketch".
    weights_ : CSR matrix of shape (k, d^2) or None
        Weights of the second moments, if pooling by them is faster.
    n_features_in_ : int
        Number of channels d.

    References
    ----------
    López-Sánchez (2019), Low computational cost machine learning: random projections and polynomial
    kernels (thesis), chapter 5.

    Gao, Beijbom, Zhang and Darrell (2016), Compact bilinear pooling.

    Examples
    --------
    >>> import numpy as np
    >>> from skimp.features import BilinearPooling
    >>> X = np.random.default_rng(0).normal(size=(4, 49, 32))  # 4 images, 7 x 7 locations
    >>> Y = BilinearPooling(20_000, random_state=0).fit_transform(X)
    >>> exact = BilinearPooling(method="full").fit_transform(X)
    >>> Y.shape, exact.shape
    ((4, 20000), (4, 1024))
    >>> bool(np.allclose(Y @ Y.T, exact @ exact.T, rtol=0.1))
    True
    """

    n_components: int = 1000
    _: KW_ONLY
    method: str = "krp"
    degree: int = 2
    first_channels: int | None = None
    n_vectors: int = 5000
    n_terms: int = 2
    sparsity: float | str = "auto"
    pooling: str = "sum"
    signed_sqrt: bool = False
    normalize: bool = False
    random_state: RandomState = None

    root_eps: ClassVar[float] = 1e-6
    """Constant of the signed square root."""
    rules: ClassVar[dict[str, Rule]] = {
        "n_components": integer(at_least=1),
        "method": one_of("krp", "tensor_sketch", "maclaurin", "full"),
        "degree": integer(at_least=2),
        "first_channels": NONE | integer(at_least=1),
        "n_vectors": integer(at_least=1),
        "n_terms": integer(at_least=1),
        "sparsity": number(at_least=1) | _AUTO,
        "pooling": one_of("sum", "mean"),
        "signed_sqrt": BOOLEAN,
        "normalize": BOOLEAN,
        "random_state": RANDOM_STATE,
    }

    def fit(self, X: Any, y: Any = None) -> Self:
        """Draw the features; only the number of channels and the dtype of X matter.

        Parameters
        ----------
        X : array of shape (n, locations, d), or rows of shape (n, d)
            Descriptors of n sets; a row is a set of one descriptor.
        y : ignored

        Returns
        -------
        self
        """
        with all_or_nothing(self):
            check_params(self)
            return self._draw(as_compute_dtype(self._read(X, reset=True).dtype))

    def fit_width(self, n_features: int, *, dtype: Any = np.float64) -> Self:
        """Draw the features before any data.

        Parameters
        ----------
        n_features : int
            Number of channels d.
        dtype : dtype, default=float64
            Dtype of the descriptors to come.

        Returns
        -------
        self

        Examples
        --------
        >>> from skimp.features import BilinearPooling
        >>> BilinearPooling(100, random_state=0).fit_width(16).vectors_.shape
        (16, 400)
        """
        with all_or_nothing(self):
            check_params(self)
            return self._draw(columns_alone(self, n_features, dtype).dtype)

    def _draw(self, dtype: DType) -> Self:
        channels, degree, width = self._channels(), int(self.degree), int(self.n_components)
        rng = as_generator(self.random_state)
        self.vectors_ = self.factors_ = self.buckets_ = self.signs_ = self.weights_ = None
        self.dtype_ = dtype
        if self.method == "full":
            self._pooled: Pooled = whole_moments(channels, degree, dtype)
        elif self.method == "tensor_sketch":
            sketches = draw_sketches(channels, degree, width, dtype=dtype, rng=rng)
            self.buckets_ = sketches.buckets[:, :-1].copy()
            self.signs_ = sketches.signs[:, :-1].copy()
            self.weights_ = sketch_weights(self.buckets_, self.signs_, width, channels)
            self._pooled = SummedFunctions(sketches)
        else:
            products = self._draw_products(channels, dtype, rng)
            self.vectors_, self.factors_ = products.vectors, products.factors
            self.weights_ = product_weights(self.vectors_, self.factors_, channels)
            self._pooled = SummedFunctions(products)
        if self.weights_ is not None:
            self._pooled = SecondMoments(channels, self.weights_)
        return self

    def _draw_products(
        self, channels: tuple[int, ...], dtype: DType, rng: np.random.Generator
    ) -> Products:
        degree, width, t = int(self.degree), int(self.n_components), int(self.n_terms)
        if self.method == "maclaurin":
            return draw_maclaurin(channels, degree, width, dtype=dtype, rng=rng)
        used = degree * t // len(channels)
        if self.n_vectors < used + (width > 1):
            wording = f"more than {used}, the number of vectors that a feature uses"
            raise broken(type(self).__name__, "n_vectors", wording, self.n_vectors)
        sparsity = chosen_sparsity(self.sparsity, min(channels))
        zeros = share_of_zeros(sparsity, min(channels), degree, t)
        if zeros > _MANY_ZEROS:
            warn_user(
                f"{type(self).__name__}: about {zeros:.0%} of the features are 0 for all data, "
                f"because {min(channels)} channels are few for sparsity={self.sparsity}. Decrease "
                "sparsity, or use 'auto'.",
                UserWarning,
            )
        return draw_products(
            channels,
            degree,
            width,
            n_vectors=int(self.n_vectors),
            n_terms=t,
            sparsity=sparsity,
            dtype=dtype,
            rng=rng,
        )

    def _channels(self) -> tuple[int, ...]:
        """Return the number of channels of each input."""
        d, first = self.n_features_in_, self.first_channels
        if first is None:
            return (d,)
        if self.degree != 2:
            raise broken(type(self).__name__, "degree", "2 for two inputs", self.degree)
        if first >= d:
            wording = f"less than {d}, the number of channels of both inputs"
            raise broken(type(self).__name__, "first_channels", wording, first)
        return int(first), int(d - first)

    def transform(self, X: Any) -> Array:
        """Return the features of each set.

        Parameters
        ----------
        X : array of shape (n, locations, d), or rows of shape (n, d)
            Descriptors of n sets; the number of locations may differ between calls.

        Returns
        -------
        Y : array of shape (n, k)
            Features, in the dtype of the data in ``fit``.
        """
        check_is_fitted(self)
        X = self._read(X, reset=False)
        n, n_locations, _ = X.shape
        Y = np.empty((n, self._pooled.width), self.dtype_)
        step = max(1, _STRIP // n_locations)

        def pool(start: int, _: Scratch) -> None:
            part = slice(start, start + step)
            self._pooled.pool(np.asarray(X[part], self.dtype_), Y[part])

        fold(range(0, n, step), pool, lambda total, _: total, None, thread_count(None))
        check_representable(Y)
        if self.pooling == "mean":
            Y /= n_locations
        if self.signed_sqrt:
            Y /= np.sqrt(np.abs(Y) + self.root_eps)
        if self.normalize:
            # squares of very large and small features are out of range
            largest = np.abs(Y).max(axis=1, keepdims=True)
            Y /= np.where(largest > 0, largest, 1)
            lengths = np.sqrt(np.einsum("ij,ij->i", Y, Y, dtype=np.float64))
            Y /= np.where(lengths > 0, lengths, 1)[:, None].astype(Y.dtype)
        return Y

    def _read(self, X: Any, *, reset: bool) -> Array:
        """Return validated descriptors of shape (n, locations, d)."""
        if isinstance(X, list) and len({np.shape(part) for part in X}) > 1:
            raise ValueError(
                f"{type(self).__name__}: all sets of X must have the same number of descriptors. "
                "Transform sets of different sizes one at a time."
            )
        if np.asarray(X).ndim < 3:
            rows: Array = validate_data(self, X, dtype="numeric", reset=reset)
            return rows[:, None]
        sets: Array = check_array(X, dtype="numeric", allow_nd=True, input_name="X")
        name = type(self).__name__
        if sets.ndim > 3:
            raise ValueError(
                f"{name}: X must have shape (n, locations, channels), found {sets.shape}. "
                "Reshape feature maps (n, channels, height, width) to (n, channels, -1), and swap "
                "the last two axes."
            )
        if not sets.shape[1]:
            raise ValueError(
                f"{name}: X must have at least one location, found an array of shape {sets.shape}."
            )
        if reset:
            columns_alone(self, sets.shape[2], sets.dtype)
        elif sets.shape[2] != self.n_features_in_:
            raise ValueError(
                f"X has {sets.shape[2]} features, but {name} is expecting {self.n_features_in_} "
                "features as input"
            )
        return sets

    @property
    def width(self) -> int:
        """Number of features."""
        return self._pooled.width

    @property
    def _n_features_out(self) -> int:
        return self.width
