"""How targets become numbers: a side for each class, or a distance from the middle."""

from abc import ABC, abstractmethod
from collections import Counter
from dataclasses import dataclass
from operator import add
from typing import Any, final

import numpy as np

from skimp._core._types import Array, DType
from skimp.data import LOCAL, Block, Context, Rows, no_rows, refuse_target
from skimp.estimators._medians import medians


class Targets(ABC):
    """Encoding of y as a matrix of numbers, for `~skimp.choice.Task`; it can be pickled."""

    shift: Array | float
    """Subtracted from y, and added to predictions."""

    @property
    @abstractmethod
    def n_outputs(self) -> int:
        """Number of columns of the matrix."""

    @abstractmethod
    def __call__(self, y: Any, weight: Array | None) -> tuple[Array, Array | None]:
        """Return the matrix of a block, and its weights."""

    @abstractmethod
    def check(self, rows: Rows, context: Context) -> None:
        """Raise if the targets of other rows do not suit this encoding."""


@final
@dataclass(frozen=True, eq=False)
class Sides(Targets):
    """1 for rows of a class and -1 for others, in a column per class or in one for two classes.

    Attributes
    ----------
    classes : array of shape (n_classes,)
        The labels, sorted.
    one_column : bool
        Whether there is a single column, for the second class.
    factors : array of shape (n_classes,), or None
        Factors of the weights of each class.
    dtype : dtype
        Data type of the matrix.
    owner : str
        Name of the estimator, for messages.
    """

    classes: Array
    one_column: bool
    factors: Array | None
    dtype: DType
    owner: str
    shift = 0.0

    @property
    def n_outputs(self) -> int:
        return 1 if self.one_column else len(self.classes)

    def __call__(self, y: Any, weight: Array | None) -> tuple[Array, Array | None]:
        # a row with weight zero may have a label that no other row has
        codes = np.minimum(np.searchsorted(self.classes, y), len(self.classes) - 1)
        Y = np.full((len(codes), self.n_outputs), -1.0, self.dtype)
        if self.one_column:
            Y[codes == 1] = 1
        else:
            Y[np.arange(len(codes)), codes] = 1
        if self.factors is not None:
            weight = self.factors[codes] * (1.0 if weight is None else weight)
        return Y, weight

    def check(self, rows: Rows, context: Context) -> None:
        known = set(self.classes.tolist())
        unknown = [label for label in count_labels(rows, self.owner, context) if label not in known]
        if unknown:
            first = np.array(sorted(unknown, key=str)[:5]).tolist()
            raise ValueError(
                f"y must hold labels from the classes {self.classes.tolist()} of the first call, "
                f"found {', '.join(map(repr, first))}."
            )


@final
@dataclass(frozen=True, eq=False)
class Distances(Targets):
    """Numbers minus the middle of each column, which keeps sums small.

    Attributes
    ----------
    shift : array of shape (k,)
        The middles; zeros for a model without an intercept.
    single : bool
        Whether y is one-dimensional.
    owner : str
        Name of the estimator, for messages.
    """

    shift: Array
    single: bool
    owner: str

    @property
    def n_outputs(self) -> int:
        return len(self.shift)

    def __call__(self, y: Any, weight: Array | None) -> tuple[Array, Array | None]:
        return y.reshape(len(y), -1) - self.shift, weight

    def check(self, rows: Rows, context: Context) -> None:
        single, means = mean_target(rows, self.owner, context)
        if (single, len(means)) != (self.single, self.n_outputs):
            found, expected = (
                "one dimension" if one else f"two dimensions and {k} columns"
                for one, k in ((single, len(means)), (self.single, self.n_outputs))
            )
            raise ValueError(f"y must have {expected} as in the first call, found {found}.")


def count_labels(rows: Rows, owner: str, context: Context = LOCAL) -> Counter[Any]:
    """Return the total weight of each label that occurs with a positive weight."""

    def of_block(block: Block, _: object) -> Counter[Any]:
        if block.y is None:
            raise ValueError(f"{owner} requires y to be passed, but the rows have none.")
        if block.y.ndim != 1:
            raise ValueError(f"y must have one dimension, found {block.y.ndim}.")
        weight = block.weights()
        try:
            labels, codes = np.unique(block.y[weight > 0], return_inverse=True)
        except TypeError as error:
            raise ValueError(f"y must hold labels of one type, found a mix: {error}.") from None
        totals = np.bincount(codes, weights=weight[weight > 0], minlength=len(labels))
        return Counter(dict(zip(labels, totals, strict=True)))

    initial: Counter[Any] = Counter()
    totals = context.map_reduce(rows, of_block, add, initial)
    if not totals:
        raise no_rows()
    return totals


def mean_target(rows: Rows, owner: str, context: Context = LOCAL) -> tuple[bool, Array]:
    """Return whether y is one-dimensional, and its weighted mean."""

    def sums(block: Any, _: object) -> tuple[bool, float, Array]:
        Y, weight = _numbers(block, owner)
        return Y.ndim == 1, float(weight.sum()), weight @ Y.reshape(len(Y), -1)

    def add(total: Any, part: tuple[bool, float, Array]) -> tuple[bool, float, Array]:
        return total[0] and part[0], total[1] + part[1], total[2] + part[2]

    initial: Any = True, 0.0, 0.0
    single, weight, total = context.map_reduce(rows, sums, add, initial)
    if weight == 0:
        raise no_rows()
    return single, total / weight


def median_target(rows: Rows, owner: str, context: Context = LOCAL) -> tuple[bool, Array]:
    """Return whether y is one-dimensional, and its weighted median, robust to outliers."""
    return medians(rows, lambda block: _numbers(block, owner), context)


def _numbers(block: Any, owner: str) -> tuple[Array, Array]:
    """Return targets in float64, of any dimension, and weights of a block."""
    if block.y is None:
        raise ValueError(f"{owner} requires y to be passed, but the rows have none.")
    refuse_target(block.y, numeric=True, owner=owner)
    return np.asarray(block.y, np.float64), block.weights()
