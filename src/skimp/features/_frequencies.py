"""Frequencies of random Fourier features: a matrix, or a product of fast transforms."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from math import log2
from typing import Self, final

import numpy as np

from skimp._core._draws import IndependentDraws
from skimp._core._linalg import check_columns, dense, product
from skimp._core._objects import as_numbers
from skimp._core._types import Array, DType, Matrix
from skimp._core._work import Work, values
from skimp._params._rules import broken
from skimp.kernels import Kernel

_TURN = 2 * np.pi
_SMALLEST = 64
"""Shorter blocks of signs are too few: the mean of features would be off by more than 0.001."""
_STRIP_NUMBERS = 2**20
_Stretches = Callable[[IndependentDraws], Array | float]
_TRANSFORMED = 12
"""Additions of Walsh-Hadamard transforms for each function value."""


class Frequencies(ABC):
    r"""Frequencies, in turns: divided by :math:`2 \pi`."""

    @property
    @abstractmethod
    def size(self) -> int:
        """How many there are."""

    @abstractmethod
    def turns(self, X: Matrix, out: Array) -> None:
        """Write the inner products of rows and frequencies into ``out``."""

    @abstractmethod
    def matrix(self) -> Array:
        """Return the frequencies, as columns."""


def frequencies(
    kernel: Kernel,
    sampling: str,
    n_features: int,
    size: int,
    rng: np.random.Generator,
    dtype: DType,
) -> Frequencies:
    """Draw frequencies of a kernel."""
    if sampling in FAST:
        return FAST[sampling].drawn(*_normal_parts(kernel, n_features, sampling), size, rng, dtype)
    W = kernel.sample_frequencies(n_features, size, rng, sampling)
    return MatrixFrequencies((W / _TURN).astype(dtype))


@final
@dataclass(frozen=True)
class MatrixFrequencies(Frequencies):
    """Frequencies as the columns of a matrix: 2 d operations for each product."""

    W: Array

    @property
    def size(self) -> int:
        """How many there are."""
        return int(self.W.shape[1])

    def turns(self, X: Matrix, out: Array) -> None:
        """Write the inner products of rows and frequencies into ``out``."""
        product(X, self.W, out)

    def matrix(self) -> Array:
        """Return the frequencies, as columns."""
        return self.W


class HadamardFrequencies(Frequencies, ABC):
    """Frequencies in blocks of n, a power of two not below d, that n log n operations multiply.

    Attributes
    ----------
    scale : array of shape (d,)
        What columns are multiplied by first.
    lengths : array of shape (size,)
        What products are multiplied by last: they give each frequency its length.
    """

    scale: Array
    lengths: Array

    @property
    def size(self) -> int:
        """How many there are."""
        return len(self.lengths)

    def turns(self, X: Matrix, out: Array) -> None:
        """Write the inner products of rows and frequencies into ``out``."""
        check_columns(X, len(self.scale))
        # sparse rows are made dense, a few at a time where they are wide
        step = max(1, _STRIP_NUMBERS // X.shape[1])
        for start in range(0, X.shape[0], step):
            part = slice(start, start + step)
            self._multiply(dense(as_numbers(X[part], out.dtype), out.dtype), out[part])

    def matrix(self) -> Array:
        """Return the frequencies, as columns."""
        W = np.empty((len(self.scale), self.size), self.scale.dtype)
        self.turns(np.eye(len(self.scale), dtype=W.dtype), W)
        return W

    @classmethod
    @abstractmethod
    def drawn(
        cls, scale: Array, stretches: _Stretches, size: int, rng: np.random.Generator, dtype: DType
    ) -> Self:
        """Draw normal vectors with these scales of columns, each times a stretch."""

    @abstractmethod
    def _multiply(self, X: Array, out: Array) -> None: ...


@final
@dataclass(frozen=True)
class StructuredFrequencies(HadamardFrequencies):
    """Products of three Hadamard matrices and random signs, orthogonal within a block.

    Nearly uniform directions, with the lengths of normal vectors (Yu et al. 2016, section 4).
    """

    scale: Array
    signs: Array
    lengths: Array

    @classmethod
    def drawn(
        cls, scale: Array, stretches: _Stretches, size: int, rng: np.random.Generator, dtype: DType
    ) -> Self:
        """Draw normal vectors with these scales of columns, each times a stretch."""
        n, blocks = transform_blocks(len(scale), size)
        signs = rng.choice(np.array([-1, 1], dtype), (blocks, 3, n))
        # three transforms multiply lengths by n^(3/2)
        lengths = np.sqrt(rng.chisquare(n, size) / n**3.0)
        lengths = lengths * stretches(IndependentDraws(size, rng)) / _TURN
        return cls(scale.astype(dtype), signs, lengths.astype(dtype))

    def _multiply(self, X: Array, out: Array) -> None:
        from skimp._core.loops._hadamard import structured

        structured(X, self.scale, self.signs, self.lengths, out)


@final
@dataclass(frozen=True)
class FastfoodFrequencies(HadamardFrequencies):
    """Two Hadamard matrices around a permutation and normal numbers.

    Each frequency alone is exactly normal, those of a block depend on each other (Le, Sarlos and
    Smola 2013, Fastfood).
    """

    scale: Array
    signs: Array
    orders: Array
    normals: Array
    lengths: Array

    @classmethod
    def drawn(
        cls, scale: Array, stretches: _Stretches, size: int, rng: np.random.Generator, dtype: DType
    ) -> Self:
        """Draw normal vectors with these scales of columns, each times a stretch."""
        n, blocks = transform_blocks(len(scale), size)
        signs = rng.choice(np.array([-1, 1], dtype), (blocks, n))
        orders = rng.permuted(np.tile(np.arange(n, dtype=np.int32), (blocks, 1)), axis=1)
        normals = rng.standard_normal((blocks, n))
        # all frequencies of a block have the length of its normals, times the root of n
        own = np.sqrt(np.sum(normals**2, axis=1) * n).repeat(n)[:size]
        lengths = np.sqrt(rng.chisquare(n, size)) / own
        lengths = lengths * stretches(IndependentDraws(size, rng)) / _TURN
        return cls(scale.astype(dtype), signs, orders, normals.astype(dtype), lengths.astype(dtype))

    def _multiply(self, X: Array, out: Array) -> None:
        from skimp._core.loops._hadamard import fastfood

        fastfood(X, self.scale, self.signs, self.orders, self.normals, self.lengths, out)


FAST: dict[str, type[HadamardFrequencies]] = {
    "structured": StructuredFrequencies,
    "fastfood": FastfoodFrequencies,
}


def transform_blocks(n_features: int, size: int, smallest: int = _SMALLEST) -> tuple[int, int]:
    """Return the length of a block, a power of two not below d, and how many there are."""
    n = max(smallest, 1 << (n_features - 1).bit_length())
    return n, -(-size // n)


def transform_work(n: int, length: int, n_blocks: int, dtype: DType) -> Work:
    """Return the work of three Walsh-Hadamard transforms, in cache, for each block of a row."""
    return values(n * n_blocks * length * 3 * log2(length) / _TRANSFORMED, dtype)


def _normal_parts(kernel: Kernel, n_features: int, sampling: str) -> tuple[Array, _Stretches]:
    """Return the scales of columns and the stretches of a spectrum of normal vectors."""
    spectrum = kernel.spectrum(n_features)
    if spectrum.scale is None or spectrum.stretches is None:
        wording = "'iid' or 'qmc' for a kernel other than those of Euclidean distances, such as "
        raise broken("RandomFourier", "sampling", f"{wording}Gaussian", sampling)
    return spectrum.scale, spectrum.stretches
