"""Inputs and outputs of a structured model, and their mean loss."""

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, TypeAlias, final

import numpy as np
from sklearn.utils.validation import _check_sample_weight

from skimp._core._blocks import Scratch, fold
from skimp._core._types import Array, DType
from skimp._core._work import DOUBLE
from skimp._params._rules import broken, is_number
from skimp.data import is_frame, no_rows
from skimp.estimators._joint_map import JointMap

SumLoss: TypeAlias = Callable[[Any, Any, Array, Array], tuple[float, Array]]
"""Returns the weighted sum of the losses of some items, and a subgradient."""
_BATCH = 256
"""Number of objects in a batch."""


@final
@dataclass(frozen=True)
class Items:
    """Inputs, outputs and positive weights, in memory.

    Attributes
    ----------
    X, y : sequences
        Inputs and outputs: lists of objects, or a matrix and an array of codes.
    weight : array of shape (n,)
        Positive weights.
    dtype : dtype
        Data type of the coefficients.
    batch : int
        Number of items to pass to a joint map at once.
    """

    X: Any
    y: Any
    weight: Array
    dtype: DType
    batch: int

    def check_map(self, joint: JointMap, width: Any) -> None:
        """Raise if the map contradicts itself: what ``start`` returned, features, and costs."""
        owner = type(joint).__name__
        if not isinstance(width, Integral) or width < 1:
            raise broken(owner, "the result of start", "a number of features, >= 1", width)
        if joint.classes:
            # a row of a CSR matrix is a matrix, which only the batches of class maps take
            return
        x, y = self.X[0], self.y[0]
        found, cost = np.shape(joint.features(x, y)), joint.cost(y, y)
        if found != (width,):
            raise ValueError(
                f"{owner}: features must have shape ({width},), as start returned, found {found}."
            )
        if not is_number(cost, Real) or cost != 0:
            raise broken(owner, "cost(y, y)", "0", cost)


def read_items(X: Any, y: Any, sample_weight: Any) -> Items:
    """Check sequences of objects and their weights; items of weight 0 are left out."""
    inputs, outputs = as_items(X, "X"), as_items(y, "y")
    if len(inputs) != len(outputs):
        raise ValueError(
            f"X and y must have equally many items, found {len(inputs)} and {len(outputs)}."
        )
    weight = _check_sample_weight(sample_weight, inputs, dtype=np.float64, ensure_non_negative=True)
    kept = np.flatnonzero(weight)
    if not len(kept):
        raise no_rows()
    return Items(
        [inputs[i] for i in kept], [outputs[i] for i in kept], weight[kept], DOUBLE, _BATCH
    )


def as_items(given: Any, name: str) -> list[Any]:
    """Return a list of objects; raise if there are none."""
    if is_frame(given) or not np.iterable(given):
        raise ValueError(
            f"{name} must be a sequence with one object per item, found {type(given).__name__}."
        )
    items = list(given)
    if not items:
        raise ValueError(f"{name} must have at least one item, found none.")
    return items


@final
class ItemRisk:
    """The weighted mean loss of items as a function of the coefficients.

    Parameters
    ----------
    items : Items
        The items.
    loss : callable
        The method of a `JointMap` that sums losses.
    threads : int
        Number of threads.
    """

    def __init__(self, items: Items, loss: SumLoss, threads: int):
        self._loss, self._X, self._y, self._threads = loss, items.X, items.y, threads
        self._weight = items.weight / items.weight.sum()
        n, batch = len(self._weight), items.batch
        self._parts = [slice(i, i + batch) for i in range(0, n, batch)]

    def __call__(self, w: Array) -> tuple[float, Array]:
        """Return the mean loss and a subgradient."""

        def of_part(part: slice, _: Scratch) -> tuple[float, Array]:
            return self._loss(self._X[part], self._y[part], self._weight[part], w)

        def add(total: tuple[float, Array], part: tuple[float, Array]) -> tuple[float, Array]:
            total[1][:] += part[1]
            return total[0] + part[0], total[1]

        value, slope = fold(self._parts, of_part, add, (0.0, np.zeros(len(w))), self._threads)
        _check_finite(value, slope)
        return value, slope

    def slope_at(self, i: int, w: Array) -> Array:
        """Return a subgradient of the loss of item i."""
        value, slope = self._loss(self._X[i : i + 1], self._y[i : i + 1], np.ones(1), w)
        _check_finite(value, slope)
        return slope


def _check_finite(value: float, slope: Array) -> None:
    if not (np.isfinite(value) and np.isfinite(slope).all()):
        raise ValueError(
            "losses must be finite, found infinity or NaN: rescale the columns of X, or correct "
            "the features and costs of the joint map."
        )
