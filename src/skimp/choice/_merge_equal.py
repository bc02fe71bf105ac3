"""Rows that are equal, as one."""

from typing import Any

import numpy as np
from scipy import sparse

from skimp._core._linalg import canonical
from skimp._core._types import Array, Matrix
from skimp.data import Block

_FEW_DISTINCT, _MOST_REPEATED = 128, 5
"""Few distinct rows, and the most times on average that rows are given to be left out together."""


def merge_equal(rows: Block) -> tuple[Block, Array]:
    """Return rows of which no two are equal, targets included, and as how many each counts.

    Equal rows become one with the sum of their weights, which gives the same models. One of them
    is left out at a time, as columns with few values have many that are equal. But rows that were
    given several times are left out together: few rows, or rows that always have the same target,
    a few of each. A weight of 2 is then the same as a row given twice, and neither is more to
    choose by.
    """
    Y = np.ascontiguousarray(rows.y, np.float64)
    numbers: dict[Any, int] = {}
    keys = _row_keys(canonical(rows.X))
    pairs = zip(keys, (row.tobytes() for row in Y), strict=True)
    group = np.array([numbers.setdefault(pair, len(numbers)) for pair in pairs])
    _, first, counts = np.unique(group, return_index=True, return_counts=True)
    given_again = len(first) <= _FEW_DISTINCT or len(set(keys)) == len(first)
    if given_again and rows.size <= _MOST_REPEATED * len(first):
        counts = np.ones_like(counts)
    X = rows.X if len(first) == rows.size else rows.X[first]
    return Block(X, Y[first], np.bincount(group, rows.weights()), 0), counts


def _row_keys(X: Matrix) -> list[Any]:
    """Return what rows are compared by: their bytes, or the objects in them."""
    if sparse.issparse(X):
        ends = zip(X.indptr, X.indptr[1:], strict=False)
        return [(X.indices[i:j].tobytes(), X.data[i:j].tobytes()) for i, j in ends]
    X = np.asarray(X)
    if X.dtype != object:
        return [row.tobytes() for row in X]
    keys = [tuple(row) for row in X]
    try:
        hash(tuple(keys))
    except TypeError:
        return list(range(len(keys)))
    return keys
