"""Arrow types: what they are in NumPy, and how values become arrays."""

from collections.abc import Sequence
from importlib import import_module
from typing import Any

import numpy as np

from skimp._core._types import Array, DType

Filters = Sequence[tuple[str, str, Any]] | Sequence[Sequence[tuple[str, str, Any]]]
"""Conditions (column, operator, value) that all hold, or a list of such lists."""


def load_arrow(module: str = "pyarrow") -> Any:
    """Import pyarrow, or one of its modules, which `skimp` does not load before it is needed."""
    try:
        return import_module(module)
    except ImportError:
        raise ImportError(
            "files, Arrow data and columns by name need pyarrow: pip install 'skimp[data]'."
        ) from None


def number_type(kind: Any) -> DType | None:
    """Return the NumPy dtype of numbers and booleans of an Arrow type; None for other types."""
    types = load_arrow().types
    if types.is_decimal(kind):
        return np.dtype(np.float64)
    if types.is_boolean(kind) or types.is_integer(kind) or types.is_floating(kind):
        dtype: DType = np.dtype(kind.to_pandas_dtype())
        return dtype
    return None


def is_text(kind: Any) -> bool:
    """Return whether an Arrow type has levels: text, or a dictionary (a categorical column)."""
    types = load_arrow().types
    text = types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind)
    return bool(text or types.is_dictionary(kind))


def plain_type(kind: Any) -> Any:
    """Return the type of the values of a dictionary, and plain text for views of text."""
    arrow = load_arrow()
    if arrow.types.is_dictionary(kind):
        kind = kind.value_type
    view = arrow.types.is_string_view(kind) or arrow.types.is_large_string(kind)
    return arrow.string() if view else kind


def plain(values: Any) -> Any:
    """Return an Arrow array with its dictionary, if it has one, replaced by the values."""
    kind = plain_type(values.type)
    return values if values.type == kind else values.cast(kind)


def as_numbers(values: Any) -> Array:
    """Return an Arrow array of numbers without nulls as a NumPy array."""
    if load_arrow().types.is_decimal(values.type):
        values = values.cast(load_arrow().float64())
    return np.asarray(values.to_numpy(zero_copy_only=False))


def as_labels(values: Any) -> Array:
    """Return an Arrow array without nulls as a NumPy array of numbers or strings."""
    values = plain(values)
    if number_type(values.type) is not None:
        return as_numbers(values)
    coded = values.dictionary_encode()
    levels = np.array(coded.dictionary.to_pylist() or [""])
    return np.asarray(levels[coded.indices.to_numpy(zero_copy_only=False)])
