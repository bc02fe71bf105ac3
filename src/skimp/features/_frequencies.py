"""Frequencies of random Fourier features: a matrix, or a product of fast transforms."""

from dataclasses import dataclass
from math import log2
from typing import final

import numpy as np

from skimp._core._draws import IndependentDraws
from skimp._core._linalg import product
from skimp._core._types import Array, DType, Matrix
from skimp._core._work import Work, values
from skimp._params._rules import broken
from skimp.features._strips import dense_strips
from skimp.kernels import Kernel

FAST = ("structured", "fastfood")
"""Samplings that are products of transforms."""
_TURN = 2 * np.pi
_SMALLEST = 64
"""Shorter blocks of signs are too few: the mean of features would be off by more than 0.001."""
_TRANSFORMED = 12
"""Additions of Walsh-Hadamard transforms for each function value."""


@final
@dataclass(frozen=True)
class MatrixFrequencies:
    r"""Frequencies as the columns of a matrix, in turns: divided by :math:`2 \pi`."""

    W: Array

    @property
    def size(self) -> int:
        return int(self.W.shape[1])

    def turns(self, X: Matrix, out: Array) -> None:
        """Write the inner products of rows and frequencies into ``out``."""
        product(X, self.W, out)

    def matrix(self) -> Array:
        return self.W


@final
@dataclass(frozen=True)
class TransformFrequencies:
    """Frequencies in blocks of n, a power of two not below d, that n log n operations multiply.

    Either three Hadamard matrices and random signs, orthogonal within a block: nearly uniform
    directions (Yu et al. 2016, section 4). Or two around a permutation and normal numbers: each
    frequency alone is exactly normal, those of a block depend on each other (Le, Sarlos and Smola
    2013, Fastfood).
    """

    scale: Array  # (d,): what columns are multiplied by first
    lengths: Array  # (size,): what products are multiplied by last
    signs: Array  # (blocks, 3, n), or (blocks, n) for Fastfood
    orders: Array | None = None  # (blocks, n): the permutations of Fastfood
    normals: Array | None = None  # (blocks, n): its normal numbers

    @property
    def size(self) -> int:
        return len(self.lengths)

    def turns(self, X: Matrix, out: Array) -> None:
        """Write the inner products of rows and frequencies into ``out``."""
        from skimp._core.loops._hadamard import fastfood, structured

        for rows, part in dense_strips(X, out, (len(self.scale), self.size), out.dtype):
            if self.orders is None:
                structured(rows, self.scale, self.signs, self.lengths, part)
            else:
                parts = self.signs, self.orders, self.normals, self.lengths
                fastfood(rows, self.scale, *parts, part)

    def matrix(self) -> Array:
        W = np.empty((len(self.scale), self.size), self.scale.dtype)
        self.turns(np.eye(len(self.scale), dtype=W.dtype), W)
        return W


def draw_frequencies(
    kernel: Kernel,
    sampling: str,
    n_features: int,
    size: int,
    rng: np.random.Generator,
    dtype: DType,
) -> MatrixFrequencies | TransformFrequencies:
    """Draw frequencies of a kernel."""
    if sampling not in FAST:
        W = kernel.sample_frequencies(n_features, size, rng, sampling)
        return MatrixFrequencies((W / _TURN).astype(dtype))
    spectrum = kernel.spectrum(n_features)
    if spectrum.scale is None or spectrum.stretches is None:
        wording = "'iid' or 'qmc' for a kernel other than those of Euclidean distances, such as "
        raise broken("RandomFourier", "sampling", f"{wording}Gaussian", sampling)
    n, blocks = transform_blocks(n_features, size)
    shape = (blocks, 3, n) if sampling == "structured" else (blocks, n)
    signs = rng.choice(np.array([-1, 1], dtype), shape)
    orders = normals = None
    if sampling == "structured":
        # three transforms multiply lengths by n^(3/2)
        lengths = np.sqrt(rng.chisquare(n, size) / n**3.0)
    else:
        orders = rng.permuted(np.tile(np.arange(n, dtype=np.int32), (blocks, 1)), axis=1)
        normals = rng.standard_normal((blocks, n))
        # all frequencies of a block have the length of its normals, times the root of n
        own = np.sqrt(np.sum(normals**2, axis=1) * n).repeat(n)[:size]
        lengths = np.sqrt(rng.chisquare(n, size)) / own
        normals = normals.astype(dtype)
    lengths = lengths * spectrum.stretches(IndependentDraws(size, rng)) / _TURN
    scale = spectrum.scale.astype(dtype)
    return TransformFrequencies(scale, lengths.astype(dtype), signs, orders, normals)


def transform_blocks(n_features: int, size: int, smallest: int = _SMALLEST) -> tuple[int, int]:
    """Return the length of a block, a power of two not below d, and how many there are."""
    n = max(smallest, 1 << (n_features - 1).bit_length())
    return n, -(-size // n)


def transform_work(n: int, length: int, n_blocks: int, dtype: DType) -> Work:
    """Return the work of three Walsh-Hadamard transforms, in cache, for each block of a row."""
    return values(n * n_blocks * length * 3 * log2(length) / _TRANSFORMED, dtype)
