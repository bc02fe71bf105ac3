"""Sums over the locations of random functions of descriptors: bilinear pooling."""

from dataclasses import dataclass
from typing import Any, Protocol, final

import numpy as np
from scipy import linalg, sparse

from skimp._core._linalg import upper_gram
from skimp._core._types import Array, DType, Matrix
from skimp._params._rules import is_auto
from skimp.features._polynomial import Products
from skimp.features._pool import draw_signs, draw_subsets
from skimp.features._second_moments import product_scale
from skimp.features._tensor_sketch import Sketches

_STRIP = 512
"""Locations of a set whose functions are in memory at once."""
_FILLED, _SPARSEST = 5, 100.0
"""Mean number of nonzero entries of a vector, and the largest sparsity, chosen automatically."""


class Pooled(Protocol):
    """Functions of sets of descriptors."""

    @property
    def width(self) -> int:
        """Number of functions."""

    def pool(self, X: Array, out: Array) -> None:
        """Write the functions of the sets X of shape (n, locations, d) into ``out``."""


@final
@dataclass(frozen=True)
class SummedFunctions:
    """Functions of single descriptors, summed over the locations."""

    functions: Products | Sketches

    @property
    def width(self) -> int:
        return self.functions.width

    def pool(self, X: Array, out: Array) -> None:
        out[:] = 0
        for start in range(0, X.shape[1], _STRIP):
            part = X[:, start : start + _STRIP]
            each = np.empty((len(X) * part.shape[1], self.width), out.dtype)
            self.functions.fill(part.reshape(-1, X.shape[2]), each)
            out += each.reshape(*part.shape[:2], -1).sum(axis=1)


@final
@dataclass(frozen=True)
class SecondMoments:
    """The second moments X^T X', or weighted sums of them."""

    channels: tuple[int, ...]
    weights: Any = None  # CSR matrix (k, d d'); None for the moments themselves

    @property
    def width(self) -> int:
        every = self.channels[0] * self.channels[-1]
        return every if self.weights is None else int(self.weights.shape[0])

    def pool(self, X: Array, out: Array) -> None:
        first, last = X[..., : self.channels[0]], X[..., -self.channels[-1] :]
        moments = np.empty((first.shape[2], last.shape[2]), out.dtype)
        for x, u, row in zip(first, last, out, strict=True):
            # those of one set at a time stay in the cache
            if self.weights is None or len(self.channels) > 1:
                np.matmul(x.T, u, out=moments)
            else:
                upper_gram(x, moments)  # weights of a single input read nothing else
            row[:] = moments.ravel() if self.weights is None else self.weights @ moments.ravel()


def chosen_sparsity(given: float | str, n_channels: int) -> float:
    """Return a given sparsity, or that of vectors with 5 nonzero entries, but at most 100."""
    return max(1, min(_SPARSEST, n_channels / _FILLED)) if is_auto(given) else float(given)


def share_of_zeros(sparsity: float, n_channels: int, degree: int, n_terms: int) -> float:
    """Return the probability that each product of a feature has a vector without entries."""
    empty: float = (1 - 1 / sparsity) ** n_channels
    return (1 - (1 - empty) ** degree) ** n_terms


def whole_moments(channels: tuple[int, ...], degree: int, dtype: DType) -> Pooled:
    r"""Return all :math:`d^g` sums of products, or all products of a channel of each input."""
    if degree == 2:
        return SecondMoments(channels)
    (d,) = channels
    factors = np.indices((d,) * degree).reshape(1, degree, -1)
    vectors = sparse.eye_array(d, format="csr")
    scale = np.ones(factors.shape[2])
    return SummedFunctions(Products.of(vectors, np.zeros(d), factors, scale, dtype))


def draw_products(
    channels: tuple[int, ...],
    degree: int,
    width: int,
    *,
    n_vectors: int,
    n_terms: int,
    sparsity: float,
    dtype: DType,
    rng: np.random.Generator,
) -> Products:
    """Draw kernelized random projections; each input has its own pool of vectors."""
    each = degree // len(channels) * n_terms
    size = min(n_vectors, each * width)
    pools = [draw_signs(d, size, sparsity, rng) for d in channels]
    dealt = [draw_subsets(size, width, each, rng, spread=True) for _ in channels]
    if len(channels) == 1:
        factors = dealt[0].reshape(width, n_terms, degree).transpose(1, 2, 0)
    else:
        factors = np.stack([dealt[0].T, dealt[1].T + size], axis=1)
    return _products(pools, factors, dtype)


def draw_maclaurin(
    channels: tuple[int, ...], degree: int, width: int, *, dtype: DType, rng: np.random.Generator
) -> Products:
    """Draw products of inner products with random signs; no vector is used twice."""
    size = degree // len(channels) * width
    pools = [draw_signs(d, size, 1, rng) for d in channels]
    return _products(pools, np.arange(degree * width).reshape(1, degree, width), dtype)


def _products(pools: list[Matrix], factors: Array, dtype: DType) -> Products:
    """Return products of inner products with vectors that are zero in the other input."""
    joined = pools[0]
    if len(pools) > 1:
        kept_sparse = sparse.issparse(joined)
        joined = sparse.block_diag(pools, "csr") if kept_sparse else linalg.block_diag(*pools)
    n_terms, _, width = factors.shape
    scale = np.full(width, product_scale(width, n_terms))
    return Products.of(joined, np.zeros(joined.shape[1]), factors, scale, dtype)


def draw_sketches(
    channels: tuple[int, ...], degree: int, width: int, *, dtype: DType, rng: np.random.Generator
) -> Sketches:
    """Draw a count sketch for each factor; two inputs have one each."""
    total = sum(channels)
    buckets = rng.integers(width, size=(degree, total + 1), dtype=np.uint32)
    signs = rng.choice(np.array([-1, 1], dtype), (degree, total + 1))
    signs[:, total] = 0  # the constant column of a polynomial kernel
    if len(channels) > 1:
        signs[0, channels[0] :] = signs[1, : channels[0]] = 0
    return Sketches(buckets, signs, width)
