"""Which columns of a table are features, targets and weights, and how they become a block."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from skimp._core._linalg import as_compute_dtype
from skimp._core._types import Array, DType
from skimp.data._arrow import as_labels, as_numbers, is_text, load_arrow, number_type, plain

Names = str | Sequence[str]
MOST_LEVELS = 1000
"""Levels of a column that are found by reading it; more have to be given."""


@dataclass(frozen=True)
class Column:
    """A column of a table, and the features that it becomes.

    Attributes
    ----------
    name : str
        Its name.
    place : slice
        The features: one for numbers, one per level for categories, one per entry for vectors.
    levels : list or None
        The levels of a categorical column.
    """

    name: str
    place: slice
    levels: list[Any] | None = None

    def fill(self, values: Any, X: Array) -> None:
        """Write the features of an Arrow array without nulls into the columns of X."""
        out = X[:, self.place]
        if self.levels is not None:
            out[:] = 0
            arrow, compute = load_arrow(), load_arrow("pyarrow.compute")
            values = plain(values)
            known = arrow.array(self.levels, values.type)
            found = compute.index_in(values, known).fill_null(-1).to_numpy(zero_copy_only=False)
            rows = np.flatnonzero(found >= 0)
            out[rows, found[rows]] = 1
        elif load_arrow().types.is_fixed_size_list(values.type):
            out[:] = as_numbers(values.flatten()).reshape(out.shape)
        else:
            out[:, 0] = as_numbers(values)


@dataclass(frozen=True)
class Layout:
    """The columns of a table that are features, targets and weights.

    Attributes
    ----------
    columns : tuple of Column
        The columns with features.
    feature_names : list of str
        Names of the features.
    dtype : dtype
        Precision of the features.
    targets : tuple of str
        Columns of y.
    single : bool
        Whether y has one dimension.
    weight : str or None
        Column of the weights.
    """

    columns: tuple[Column, ...]
    feature_names: list[str]
    dtype: DType
    targets: tuple[str, ...]
    single: bool
    weight: str | None

    @classmethod
    def of(
        cls,
        schema: Any,
        target: Names | None,
        weight: str | None,
        columns: Names | None,
        levels: Mapping[str, Sequence[Any]],
    ) -> Self:
        """Return the layout of a table; ``levels`` has those of all categorical columns."""
        used = choose_columns(schema, target, weight, columns)
        places: list[Column] = []
        names: list[str] = []
        dtypes: list[DType] = []
        for name in used:
            kind, start = schema.field(name).type, len(names)
            if name in levels:
                names += [f"{name}={level}" for level in levels[name]]
                places.append(Column(name, slice(start, len(names)), list(levels[name])))
                continue
            if load_arrow().types.is_fixed_size_list(kind):
                names += [f"{name}[{i}]" for i in range(kind.list_size)]
                kind = kind.value_type
            else:
                names.append(name)
            places.append(Column(name, slice(start, len(names))))
            dtype = number_type(kind)
            assert dtype is not None, "the other types were refused"
            dtypes.append(dtype)
        if len(set(names)) < len(names):
            twice = next(name for name, n in Counter(names).items() if n > 1)
            raise ValueError(f"features must have different names, found {twice!r} twice.")
        # levels are zeros and ones, exact in any precision; alone they are computed in float64
        dtype = as_compute_dtype(np.result_type(*dtypes) if dtypes else np.float64)
        single = target is None or isinstance(target, str)
        return cls(tuple(places), names, dtype, tuple(listed(target)), single, weight)

    @property
    def names(self) -> list[str]:
        """The columns to read."""
        weight = [] if self.weight is None else [self.weight]
        return [column.name for column in self.columns] + [*self.targets, *weight]

    def split(self, batch: Any) -> tuple[Array, Array | None, Array | None]:
        """Return the features, targets and weights of a batch without nulls in numbers."""
        X = np.empty((batch.num_rows, len(self.feature_names)), self.dtype)
        for column in self.columns:
            column.fill(batch.column(column.name), X)
        y = [as_labels(batch.column(name)) for name in self.targets]
        weight = None
        if self.weight is not None:
            weight = as_numbers(batch.column(self.weight)).astype(np.float64)
        return X, (None if not y else y[0] if self.single else np.column_stack(y)), weight


def choose_columns(
    schema: Any, target: Names | None, weight: str | None, columns: Names | None
) -> list[str]:
    """Return the names of the columns that are features, and refuse unusable ones."""
    counts = Counter(schema.names)
    apart = {*listed(target), *listed(weight)}
    used = [n for n in schema.names if n not in apart] if columns is None else listed(columns)
    if set(listed(target)) & set(listed(weight)):
        raise ValueError(f"target and weight must be different columns, found {weight!r} for both.")
    for role, names in (("target", listed(target)), ("weight", listed(weight)), ("columns", used)):
        for name, n in Counter(names).items():
            if n > 1:
                raise ValueError(f"{role} must name each column once, found {name!r} {n} times.")
            if name not in counts:
                raise ValueError(
                    f"{role} must name columns of the data, found {name!r}: the columns are "
                    f"{shown(schema.names)}."
                )
            if counts[name] > 1:
                raise ValueError(f"column names must be unique, found {name!r} more than once.")
    for name in used:
        if name in apart:
            raise ValueError(f"columns must not have the target or the weight, found {name!r}.")
        _refuse_type(name, schema.field(name).type)
    if not used:
        raise ValueError("the data must have at least one column of features, found none.")
    if weight is not None and number_type(schema.field(weight).type) is None:
        kind = schema.field(weight).type
        raise ValueError(f"weight must hold numbers, found column {weight!r} of type {kind}.")
    for name in listed(target):
        kind = schema.field(name).type
        if number_type(kind) is None and not is_text(kind):
            raise ValueError(
                f"target must hold numbers or text, found column {name!r} of type {kind}."
            )
    return used


def categorical(schema: Any, used: Iterable[str]) -> list[str]:
    """Return the columns that are text or dictionaries."""
    return [name for name in used if is_text(schema.field(name).type)]


def _refuse_type(name: str, kind: Any) -> None:
    """Raise unless a type can be features."""
    types = load_arrow().types
    inner = kind.value_type if types.is_fixed_size_list(kind) else kind
    if number_type(inner) is None and not is_text(kind):
        raise ValueError(
            f"columns must hold numbers or text, found column {name!r} of type {kind}: convert it "
            "to numbers in the data, or leave it out with columns=[...]."
        )


def listed(names: Names | None) -> list[str]:
    """Return names as a list."""
    if names is None:
        return []
    return [names] if isinstance(names, str) else list(names)


def shown(names: Sequence[str]) -> str:
    """Return a few names as text."""
    found = ", ".join(map(repr, names[:8]))
    return found + (f" and {len(names) - 8} more" if len(names) > 8 else "")
