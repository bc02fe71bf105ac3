"""Frequencies of random Fourier features: a matrix, or a product of Hadamard transforms."""

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
"""Sampling methods that use Hadamard transforms."""
_TURN = 2 * np.pi
_SMALLEST = 64
"""Minimum block length: shorter blocks of random signs have a bias above 0.001."""
_TRANSFORMED = 12
"""Additions of a Walsh-Hadamard transform in the time of one function value."""


@final
@dataclass(frozen=True)
class MatrixFrequencies:
    r"""Frequencies as the columns of a matrix, divided by :math:`2 \pi`."""

    W: Array

    @property
    def size(self) -> int:
        return int(self.W.shape[1])

    def turns(self, X: Matrix, out: Array) -> None:
        """Write the products of X and the frequencies, divided by 2 pi, into ``out``."""
        product(X, self.W, out)

    def matrix(self) -> Array:
        return self.W


@final
@dataclass(frozen=True)
class TransformFrequencies:
    """Frequencies as products of Hadamard transforms, in blocks of n, a power of two >= d.

    Multiplying a row by a block takes O(n log n) operations. There are two kinds:

    - structured: three Hadamard matrices with random signs between them. Frequencies of a block are
      orthogonal and have nearly uniform directions (Yu et al. 2016, section 4).
    - Fastfood: two Hadamard matrices around a permutation and normal numbers. Each frequency is
      exactly normal; those of a block are dependent (Le, Sarlos and Smola 2013).
    """

    scale: Array  # (d,): factors of the columns of X
    lengths: Array  # (size,): factors of the inner products
    signs: Array  # (blocks, 3, n), or (blocks, n) for Fastfood
    orders: Array | None = None  # (blocks, n): permutations, Fastfood only
    normals: Array | None = None  # (blocks, n): normal numbers, Fastfood only

    @property
    def size(self) -> int:
        return len(self.lengths)

    def turns(self, X: Matrix, out: Array) -> None:
        """Write the products of X and the frequencies, divided by 2 pi, into ``out``."""
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
    """Draw frequencies from the spectrum of a kernel."""
    if sampling not in FAST:
        W = kernel.sample_frequencies(n_features, size, rng, sampling)
        return MatrixFrequencies((W / _TURN).astype(dtype))
    spectrum = kernel.spectrum(n_features)
    if spectrum.scale is None or spectrum.stretches is None:
        wording = (
            f"'iid' or 'qmc' for {type(kernel).__name__} (the others need a single kernel of the "
            "Euclidean distance, such as Gaussian)"
        )
        raise broken("RandomFourier", "sampling", wording, sampling)
    n, blocks = transform_blocks(n_features, size)
    shape = (blocks, 3, n) if sampling == "structured" else (blocks, n)
    signs = rng.choice(np.array([-1, 1], dtype), shape)
    orders = normals = None
    if sampling == "structured":
        # three unnormalized transforms multiply lengths by n^(3/2)
        lengths = np.sqrt(rng.chisquare(n, size) / n**3.0)
    else:
        orders = rng.permuted(np.tile(np.arange(n, dtype=np.int32), (blocks, 1)), axis=1)
        normals = rng.standard_normal((blocks, n))
        # before scaling, all frequencies of a block have length sqrt(n) * norm(normals)
        own = np.sqrt(np.sum(normals**2, axis=1) * n).repeat(n)[:size]
        lengths = np.sqrt(rng.chisquare(n, size)) / own
        normals = normals.astype(dtype)
    lengths = lengths * spectrum.stretches(IndependentDraws(size, rng)) / _TURN
    scale = spectrum.scale.astype(dtype)
    return TransformFrequencies(scale, lengths.astype(dtype), signs, orders, normals)


def transform_blocks(n_features: int, size: int, smallest: int = _SMALLEST) -> tuple[int, int]:
    """Return the block length, a power of two >= n_features, and the number of blocks."""
    n = max(smallest, 1 << (n_features - 1).bit_length())
    return n, -(-size // n)


def transform_work(n: int, length: int, n_blocks: int, dtype: DType) -> Work:
    """Return the work of three in-cache Walsh-Hadamard transforms per block and row."""
    return values(n * n_blocks * length * 3 * log2(length) / _TRANSFORMED, dtype)
