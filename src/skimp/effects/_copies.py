"""Whether rows are copies of each other, found in constant memory."""

from typing import final

import numpy as np

from skimp._core._linalg import dense
from skimp._core._random import content_keys
from skimp._core._types import Array
from skimp._core._work import DOUBLE
from skimp.choice import given_again
from skimp.data import Block, Context, Rows


def row_contents(block: Block, _: object) -> Array:
    """Return a hash of the inputs of each row, and one of its inputs and targets."""
    X, Y = dense(block.X, DOUBLE), np.asarray(block.y, DOUBLE).reshape(block.size, -1)
    pair: Array = np.column_stack([content_keys(X), content_keys(np.hstack([X, Y]))])
    return pair


def look_for_copies(rows: Rows, most: int, context: Context) -> bool:
    """Return whether rows are probably copies, judged by at most ``most`` distinct inputs.

    These are the inputs with the smallest hashes, so that all copies of a row are among them, or
    none.
    """
    return context.map_reduce(rows, row_contents, _Contents.add, _Contents(most)).has_copies()


@final
class _Contents:
    """The rows whose inputs have the smallest hashes, counted by their contents."""

    def __init__(self, most: int):
        self._most = most
        self._pairs = np.empty((0, 2), np.uint64)
        self._counts = np.empty(0, np.int64)
        self._waiting: list[Array] = []
        self._n_waiting = 0
        self._bound = np.iinfo(np.uint64).max

    def add(self, found: Array) -> "_Contents":
        low = found[found[:, 0] < self._bound]
        self._waiting.append(low)
        self._n_waiting += len(low)
        if self._n_waiting > self._most:
            self._merge()
        return self

    def _merge(self) -> None:
        """Count equal rows, and drop those with the largest hashes of inputs."""
        new = [self._pairs, *self._waiting]
        counts = np.concatenate([self._counts, np.ones(self._n_waiting, np.int64)])
        self._pairs, places = np.unique(np.concatenate(new), axis=0, return_inverse=True)
        self._counts = np.bincount(places.ravel(), counts).astype(np.int64)
        self._waiting, self._n_waiting = [], 0
        # sorted by inputs; several targets of the last inputs stay together
        if len(self._pairs) > self._most:
            self._bound = self._pairs[self._most - 1, 0]
            kept = self._pairs[:, 0] < self._bound
            self._pairs, self._counts = self._pairs[kept], self._counts[kept]

    def has_copies(self) -> bool:
        """Return whether the rows are copies, as `given_again` judges them."""
        self._merge()
        n_rows, n_distinct = int(self._counts.sum()), len(self._counts)
        if n_rows == n_distinct:
            return False
        return given_again(n_rows, n_distinct, len(np.unique(self._pairs[:, 0])))
