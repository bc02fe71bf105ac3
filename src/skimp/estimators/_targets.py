"""The middle of targets, which fits subtract so that float32 keeps its digits."""

from typing import Any

import numpy as np

from skimp._core._types import Array
from skimp.data import LOCAL, Context, Rows, no_rows, refuse_target


def _targets(block: Any, owner: str) -> tuple[Array, Array]:
    """Return targets in float64, of any dimension, and weights of a block."""
    if block.y is None:
        raise ValueError(f"{owner} requires y to be passed, but the rows have none.")
    refuse_target(block.y, numeric=True, owner=owner)
    return np.asarray(block.y, np.float64), block.weights()


def mean_target(rows: Rows, owner: str, context: Context = LOCAL) -> tuple[bool, Array]:
    """Return whether y is one-dimensional, and its weighted mean: float32 then keeps its digits."""

    def sums(block: Any, _: object) -> tuple[bool, float, Array]:
        Y, weight = _targets(block, owner)
        return Y.ndim == 1, float(weight.sum()), weight @ Y.reshape(len(Y), -1)

    def add(a: tuple[bool, float, Array] | None, b: tuple[bool, float, Array]) -> Any:
        return b if a is None else (a[0], a[1] + b[1], a[2] + b[2])

    initial: Any = None
    summed = context.map_reduce(rows, sums, add, initial)
    if summed is None or summed[1] == 0:
        raise no_rows()
    single, weight, total = summed
    return single, total / weight


def median_target(rows: Rows, owner: str, context: Context = LOCAL) -> tuple[bool, Array]:
    """Return whether y is one-dimensional, and its weighted median, which outliers do not move."""

    def append(parts: list[Any], part: Any) -> list[Any]:
        parts.append(part)
        return parts

    initial: list[Any] = []
    parts = context.map_reduce(rows, lambda block, _: _targets(block, owner), append, initial)
    if not any(weight.any() for _, weight in parts):
        raise no_rows()
    Y = np.concatenate([part for part, _ in parts])
    weight = np.concatenate([part for _, part in parts])
    medians = []
    for column in Y.reshape(len(Y), -1).T:
        order = np.argsort(column, kind="stable")
        share = np.cumsum(weight[order])
        # the two in the middle, of which there is one unless a half ends with a row
        ends = [np.searchsorted(share, share[-1] / 2, side) for side in ("left", "right")]
        medians.append(column[order[ends]].mean())
    return Y.ndim == 1, np.array(medians)
