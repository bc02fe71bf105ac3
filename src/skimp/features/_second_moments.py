r"""Bilinear pooling as a linear function of the second moments of the descriptors.

Features of degree 2 are :math:`y_c = \sum_l \sum_{i j} A_{c, i j} x_{l i} x'_{l j}`, which equals
:math:`A \operatorname{vec}(X^T X')`. One matrix product sums over the locations, and A is sparse
for sparse vectors and for count sketches.
"""

from math import sqrt

import numpy as np
from scipy import sparse

from skimp._core._types import Array, Matrix

_LOCATIONS = 49
"""Locations for which the faster form is chosen: those of a small feature map, 7 x 7."""
_ADDED = 50
"""Additions in a matrix product in the time of gathering one number."""


def product_scale(width: int, n_terms: int) -> float:
    r"""Return :math:`1 / \sqrt{k t}`, the factor of features that are sums of t products."""
    return 1 / sqrt(width * n_terms)


def product_weights(
    vectors: Matrix, factors: Array, channels: tuple[int, ...]
) -> sparse.csr_array | None:
    r"""Return the weights A of second moments for sums of products of inner products.

    Parameters
    ----------
    vectors : matrix of shape (sum of channels, p)
        Pool of vectors v. With two inputs, each vector is zero in the channels of one of them.
    factors : array of shape (n_terms, degree, k)
        Indices of the vectors whose inner products are multiplied.
    channels : tuple of int
        The channels of each input.

    Returns
    -------
    weights : CSR matrix of shape (k, d d') or None
        The rows :math:`\sum_i v_{f(i, 1, c)} \otimes v_{f(i, 2, c)} / \sqrt{k t}`. None if
        the degree is not 2, or if products at each location are faster.
    """
    n_terms, degree, width = factors.shape
    if degree != 2:
        return None
    lengths = _lengths(vectors)
    first, last = factors.transpose(1, 2, 0).reshape(2, -1)
    sizes = lengths[first].astype(np.int64) * lengths[last]
    total = int(sizes.sum())
    if not _pays(total, 2 * n_terms * width, channels):
        return None
    pool = sparse.csc_array(vectors)
    starts = pool.indptr[:-1]
    owner = np.repeat(np.arange(len(sizes)), sizes)
    within = np.arange(total) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    in_first, in_last = np.divmod(within, lengths[last][owner])
    one, two = starts[first][owner] + in_first, starts[last][owner] + in_last
    places = _place(pool.indices[one], pool.indices[two], channels)
    data = pool.data[one] * (pool.data[two] * pool.dtype.type(product_scale(width, n_terms)))
    return _weights(data, owner // n_terms, places, width, channels)


def sketch_weights(
    buckets: Array, signs: Array, width: int, channels: tuple[int, ...]
) -> sparse.csr_array | None:
    """Return the weights of second moments for a convolution of count sketches.

    Parameters
    ----------
    buckets, signs : array of shape (degree, at least the sum of channels)
        Bucket and sign of each channel in each sketch.
    width : int
        Number of buckets k.
    channels : tuple of int
        The channels of each input.

    Returns
    -------
    weights : CSR matrix of shape (k, d d') or None
        A sign for each pair of channels, in the row of the sum of their buckets. None if
        the degree is not 2, or if transforms at each location are faster.
    """
    steps = 3 * width * np.log2(max(2, width)) / 8
    if len(buckets) != 2 or not _pays(channels[0] * channels[-1], steps, channels):
        return None
    first, last = slice(channels[0]), slice(sum(channels) - channels[-1], sum(channels))
    rows = (buckets[0, first, None].astype(np.int64) + buckets[1, last]) % width
    data = signs[0, first, None] * signs[1, last]
    numbers = np.arange(buckets.shape[1])
    places = _place(numbers[first, None], numbers[last], channels)
    return _weights(data.ravel(), rows.ravel(), places.ravel(), width, channels)


def _lengths(vectors: Matrix) -> Array:
    """Return the number of nonzero entries of each column."""
    kept_sparse = sparse.issparse(vectors)
    lengths: Array = vectors.count_nonzero(0) if kept_sparse else np.count_nonzero(vectors, 0)
    return lengths


def _pays(entries: int, per_location: float, channels: tuple[int, ...]) -> bool:
    """Return whether weights with this number of entries are faster than a visit per location."""
    moments = _LOCATIONS * channels[0] * channels[-1] / _ADDED
    return entries + moments <= _LOCATIONS * per_location


def _place(first: Array, last: Array, channels: tuple[int, ...]) -> Array:
    """Return the places of pairs of channels among the second moments.

    Those of a single input are symmetric: its pairs are ordered, so that half of them is read.
    """
    first, last = first.astype(np.int64), last.astype(np.int64) - (sum(channels) - channels[-1])
    if len(channels) == 1:
        first, last = np.minimum(first, last), np.maximum(first, last)
    places: Array = first * channels[-1] + last
    return places


def _weights(
    data: Array, rows: Array, places: Array, width: int, channels: tuple[int, ...]
) -> sparse.csr_array:
    shape = width, channels[0] * channels[-1]
    weights = sparse.coo_array((data, (rows, places)), shape=shape).tocsr()
    weights.eliminate_zeros()
    if max(*shape, weights.nnz) <= np.iinfo(np.int32).max:
        # half of the memory traffic
        weights.indices = weights.indices.astype(np.int32)
        weights.indptr = weights.indptr.astype(np.int32)
    return weights
