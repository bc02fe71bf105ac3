"""Frequencies of random Fourier features that are drawn again whenever they are needed."""

from dataclasses import dataclass
from typing import final

import numpy as np

from skimp._core._blocks import Scratch, fold
from skimp._core._linalg import product
from skimp._core._types import Array, DType, Matrix
from skimp.kernels import Kernel

_TILE = 256
"""Number of frequencies that have a generator in common."""
_STRIP = 1024
"""Number of rows at a time: their features fit into the cache."""


@final
@dataclass(frozen=True, eq=False)
class SeededFrequencies:
    r"""An endless sequence of frequencies of a stationary kernel, none of which is stored.

    The generator of a frequency is seeded by the number of its group of 256, so any part of the
    sequence can be drawn by itself, in O(d) time per frequency.

    Attributes
    ----------
    kernel : Kernel
        A stationary kernel with numeric parameters.
    n_features : int
        Number of columns d of the rows.
    seed : int
        Seed of the sequence.
    dtype : dtype
        Data type of the frequencies and features.
    """

    kernel: Kernel
    n_features: int
    seed: int
    dtype: DType

    def draw(self, first: int, last: int) -> Array:
        r"""Return the frequencies first, ..., last - 1, divided by :math:`2 \pi`, as columns.

        Parameters
        ----------
        first, last : int
            The half-open range of numbers.

        Returns
        -------
        array of shape (d, last - first)
        """
        tiles = range(first // _TILE, -(-last // _TILE))
        W = np.hstack([self._tile(number) for number in tiles])
        start = tiles.start * _TILE
        return W[:, first - start : last - start]

    def _tile(self, number: int) -> Array:
        rng = np.random.Generator(np.random.SFC64([self.seed, number]))
        W = self.kernel.sample_frequencies(self.n_features, _TILE, rng)
        W /= 2 * np.pi
        return W.astype(self.dtype, copy=False)

    def expand(self, X: Matrix, coef: Array, threads: int) -> Array:
        """Return the sum of all cosines and sines times their coefficients at each row.

        Threads share the frequencies, and sums are added in their order.

        Parameters
        ----------
        X : array or CSR matrix of shape (n, d)
            The rows.
        coef : array of shape (2, size, k)
            Coefficients of the cosines and of the sines of the first ``size`` frequencies.
        threads : int
            Number of threads.

        Returns
        -------
        array of shape (n, k), in float64
        """
        size, k = coef.shape[1:]

        def tile(first: int, scratch: Scratch) -> Array:
            W, part = self._tile(first // _TILE), coef[:, first : first + _TILE]
            width = part.shape[1]
            W, A = W[:, :width], part.reshape(2 * width, k).astype(self.dtype)
            F = np.empty((X.shape[0], k), self.dtype)
            for start in range(0, X.shape[0], _STRIP):
                rows = slice(start, start + _STRIP)
                np.matmul(self._features(X[rows], W, scratch), A, out=F[rows])
            return F

        def add(total: Array, part: Array) -> Array:
            total += part
            return total

        return fold(range(0, size, _TILE), tile, add, np.zeros((X.shape[0], k)), threads)

    def features(self, X: Matrix, first: int, last: int, threads: int) -> Array:
        """Return the cosines, then the sines, of some frequencies at each row."""
        W = self.draw(first, last)
        Z = np.empty((X.shape[0], 2 * W.shape[1]), self.dtype)

        def strip(start: int, scratch: Scratch) -> None:
            rows = slice(start, start + _STRIP)
            Z[rows] = self._features(X[rows], W, scratch)

        fold(range(0, X.shape[0], _STRIP), strip, lambda a, _: a, None, threads)
        return Z

    def _features(self, X: Matrix, W: Array, scratch: Scratch) -> Array:
        from skimp._core.loops._features import cosine_pairs

        n, size = X.shape[0], W.shape[1]
        turns = scratch.array("turns", (n, size), self.dtype)
        Z = scratch.array("features", (n, 2 * size), self.dtype)
        product(X, W, turns)
        cosine_pairs(turns, np.zeros(size, self.dtype), self.dtype.type(1), Z)
        return Z
