"""Validation of the data that users pass, and its conversion to `Rows`."""

import copy
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from numbers import Real
from os import PathLike
from typing import Any

import numpy as np
from sklearn.utils import assert_all_finite, get_tags
from sklearn.utils.validation import check_array, check_consistent_length, validate_data

from skimp._core._linalg import canonical
from skimp._core._objects import check_any_rows, is_object
from skimp._core._types import Array
from skimp._params._rules import broken, integer
from skimp.data._array import ArrayRows
from skimp.data._frame import FrameRows, is_frame
from skimp.data._refusals import LARGEST_WEIGHT, columns_named, refuse, refuse_target
from skimp.data._rows import AttachedRows, Rows
from skimp.data._sources import load_npy, open_table, opens_by_name

_BLOCK_ROWS = integer(at_least=1)
_LEAST_WEIGHT = 1e-300
"""From it, sums of weights are normal float64 numbers."""
_ACCEPTED = {"accept_sparse": "csr", "dtype": "numeric"}


def open_rows(
    source: Any,
    *,
    target: Any = None,
    weight: Any = None,
    columns: Any = None,
    filters: Any = None,
    categories: Mapping[str, Sequence[Any]] | None = None,
    block_rows: int | None = None,
) -> Rows:
    """Open data as `Rows`, which are read in blocks, any number of times.

    Arrays are checked once, and never copied or converted as a whole: an integer array, for
    example, is converted to float64 one block at a time. Files are read in each pass, a few
    megabytes at a time.

    Parameters
    ----------
    source : array, CSR matrix, frame, path, Arrow data, function or Rows
        The data, one of

        - an array or a CSR matrix, or a path to a ``.npy`` file, which is memory-mapped;
        - a pandas or polars frame;
        - a path to a ``.parquet`` file or a folder of them, to a ``.csv`` file with a header, also
          compressed (``.csv.gz``), or to a ``.svm``, ``.svmlight`` or ``.libsvm`` text file;
        - Arrow data: a `pyarrow.Table`, a DuckDB relation, or another object with the method
          ``__arrow_c_stream__``;
        - a function that returns an iterable of record batches, the same ones in each call;
        - `Rows`, which are returned unchanged unless ``block_rows`` is given.
    target : str, list of str, or array of shape (n,) or (n, k), optional
        Targets of the rows: a column, several columns, or an array.
    weight : str, or array of shape (n,), optional
        Weights of the rows: a column or an array.
    columns : list of str, or int for svmlight text, optional
        The columns that are features, in this order; by default all but target and weight. For
        svmlight text, their number.
    filters : list of tuples, optional
        Conditions that the rows meet, such as ``[("year", ">=", 2020)]``; a list of lists joins
        groups of conditions by "or". Row groups of Parquet files that cannot meet them are skipped.
    categories : dict, optional
        Levels of categorical columns, by name. Text and dictionary columns become one column of
        zeros and ones per level, named ``column=level``. If their levels are not given, they are
        found in a first pass over the data. To predict, pass ``categories=rows.categories`` of the
        training rows. A missing value, or one that is not a level, has zeros in all these columns.
    block_rows : int, optional
        Number of rows in a block; by default a power of two from 256 to 2,048, for blocks of at
        most about 16 MB.

    Returns
    -------
    rows : Rows
        The data as row blocks.

    Examples
    --------
    >>> import numpy as np
    >>> from skimp.data import open_rows
    >>> rows = open_rows(np.ones((1000, 3)), block_rows=300)
    >>> [block.size for block in rows.blocks()]
    [300, 300, 300, 100]

    Columns of a table by name:

    >>> import pandas as pd
    >>> frame = pd.DataFrame({"age": [20.0, 30.0], "city": ["Bonn", "Ulm"], "y": [0, 1]})
    >>> rows = open_rows(frame, target="y")
    >>> rows.feature_names
    ['age', 'city=Bonn', 'city=Ulm']
    """
    if block_rows is not None and not _BLOCK_ROWS.test(block_rows):
        raise broken("open_rows", "block_rows", _BLOCK_ROWS.wording, block_rows)
    if isinstance(source, Rows):
        rows = source if block_rows is None else source.reblocked(block_rows)
        return _attach(rows, target, weight)
    if isinstance(source, Iterator):
        raise ValueError(
            f"source must be readable more than once, found a {type(source).__name__}: pass a "
            "function that returns a new one."
        )
    refuse(source, "source")
    named: dict[str, Any] = {"columns": columns, "filters": filters, "categories": categories}
    attached: dict[str, Any] = {}
    for name, given in (("target", target), ("weight", weight)):
        names = _is_name(given)
        named[name], attached[name] = (given, None) if names else (None, given)
    if opens_by_name(source, named):
        rows = open_table(source, block_rows=block_rows, **named)
        return _attach(rows, **attached)
    for name, given in named.items():
        if given is not None:
            raise ValueError(f"{name} must be None for an array without names, got {given!r}.")
    source = load_npy(source)
    _refuse_source(source, "open_rows", "source")
    y = None if target is None else _check_target(target)
    with columns_named(source):
        X = source if is_frame(source) else check_array(source, input_name="X", **_ACCEPTED)
        check_consistent_length(X, y, weight)
        w = None if weight is None else _check_weight(weight, X.shape[0], "weight")
        return _rows_of(X, y, w, block_rows)


def _is_name(given: Any) -> bool:
    """Return whether a target or weight names columns."""
    several = isinstance(given, list | tuple) and len(given) > 0
    return isinstance(given, str) or (several and all(isinstance(name, str) for name in given))


def _attach(rows: Rows, target: Any, weight: Any) -> Rows:
    """Return rows with targets and weights that are given as arrays."""
    if target is None and weight is None:
        return rows
    n = rows.n_rows
    y = None if target is None else _check_target(target)
    if y is not None and len(y) != n:
        raise ValueError(
            f"target must have one entry for each of the {n:,} rows, found {len(y):,}."
        )
    return AttachedRows(rows, y, None if weight is None else _check_weight(weight, n, "weight"))


def _refuse_source(source: Any, owner: str, name: str) -> None:
    """Raise if the source is not data in memory."""
    refuse(source, name)
    wording = "an array, CSR matrix, frame in memory or Rows"
    if isinstance(source, str | PathLike):
        advice = "open a file with skimp.data.open_rows(path, target=...)"
        raise ValueError(f"{owner}: {name} must be {wording}, got {str(source)!r}: {advice}.")
    if source is None or isinstance(source, dict) or hasattr(source, "collect"):
        raise broken(owner, name, wording, type(source))


def _rows_of(
    X: Any,
    y: Array | None,
    weight: Array | None,
    block_rows: int | None,
    names: list[str] | None = None,
) -> Rows:
    if is_frame(X):
        return FrameRows(X, y, weight, block_rows=block_rows)
    if X.dtype.kind not in "biufO":
        raise ValueError(f"X must hold real numbers, found dtype {X.dtype}: convert it to float.")
    return ArrayRows(canonical(X), y, weight, block_rows=block_rows, feature_names=names)


def as_rows(
    estimator: Any,
    X: Any,
    y: Any = None,
    sample_weight: Any = None,
    *,
    reset: bool = True,
    **target_checks: Any,
) -> Rows:
    """Validate the arguments of an estimator's ``fit`` or ``predict`` and return them as rows.

    Sets ``n_features_in_`` and ``feature_names_in_`` in ``fit``, and compares with them later.

    Parameters
    ----------
    estimator : estimator
        The estimator; its tags say whether y is required, and whether rows may be objects
        (``string``).
    X, y, sample_weight
        The arguments of the user.
    reset : bool
        True in ``fit``; False if the columns must match those of ``fit``.
    **target_checks
        ``multi_output`` and ``y_numeric``, as in `sklearn.utils.validation.validate_data`; pass
        them only if y is expected.
    """
    if isinstance(X, Rows):
        rows = open_rows(X, target=y, weight=sample_weight)
        # a copy does not cache the number of rows on the user's source, which may change
        rows = rows.reblocked(rows.block_rows)
        _check_columns(estimator, rows, reset)
        return rows
    owner = type(estimator).__name__
    _refuse_source(X, owner, "X")
    if target_checks:
        refuse_target(y, numeric=target_checks.get("y_numeric", False), owner=owner)
    objects = get_tags(estimator).input_tags.string
    with nullcontext() if objects else columns_named(X):
        X, y = _validated(estimator, X, y, objects, reset, target_checks)
        weight = sample_weight
        if weight is not None:
            weight = _check_weight(weight, X.shape[0], "sample_weight")
        names = [str(name) for name in X.columns] if is_frame(X) else None
        return _rows_of(check_any_rows(X) if objects else X, y, weight, None, names)


def _validated(
    estimator: Any, X: Any, y: Any, objects: bool, reset: bool, target_checks: dict[str, Any]
) -> tuple[Any, Any]:
    """Run scikit-learn's checks on X and y; a frame is not converted."""
    if objects and not is_frame(X):
        X = check_any_rows(X)
    if is_frame(X) or (objects and is_object(X)):
        if target_checks and y is not None:
            # of a copy, because this removes the names of the columns
            y = validate_data(copy.copy(estimator), y=y, **target_checks)
        given = y if target_checks else "no_validation"
        validate_data(estimator, X, given, reset=reset, skip_check_array=True)
        check_consistent_length(X, y)
        return X, y
    if target_checks:
        X, y = validate_data(estimator, X, y, reset=reset, **_ACCEPTED, **target_checks)
        return X, y
    return validate_data(estimator, X, reset=reset, **_ACCEPTED), y


def _check_target(target: Any) -> Array:
    refuse_target(target, numeric=False, owner="open_rows")
    y: Array = check_array(
        target, dtype=None, ensure_2d=False, ensure_all_finite=False, input_name="target"
    )
    if y.ndim > 2:
        raise ValueError(f"target must have one or two dimensions, found {y.ndim}.")
    if y.dtype.kind in "fc":
        assert_all_finite(y, input_name="target")
    return y


def _check_weight(given: Any, n_rows: int, name: str) -> Array:
    refuse(given, name)
    if isinstance(given, Real):
        given = np.full(n_rows, given)
    try:
        weight: Array = check_array(given, ensure_2d=False, dtype=np.float64, input_name=name)
    except ValueError as error:
        raise ValueError(f"{name} must hold one finite number for each row: {error}") from None
    if weight.shape != (n_rows,):
        raise ValueError(f"{name} must have shape ({n_rows},), found {weight.shape}.")
    if weight.min() < 0 or weight.max() == 0:
        raise ValueError(
            f"{name} must not be negative, and must not be zero for every row, found "
            f"values from {weight.min():g} to {weight.max():g}."
        )
    if not _LEAST_WEIGHT <= weight.max() <= LARGEST_WEIGHT:
        raise ValueError(
            f"{name} must have a largest value from {_LEAST_WEIGHT:g} to {LARGEST_WEIGHT:g}, "
            f"found {weight.max():g}: divide all weights by it."
        )
    return weight


def _check_columns(estimator: Any, rows: Rows, reset: bool) -> None:
    """Set or compare the columns of `Rows`."""
    names = rows.feature_names
    if reset:
        estimator.n_features_in_ = rows.n_features
        vars(estimator).pop("feature_names_in_", None)
        if names is not None:
            estimator.feature_names_in_ = np.asarray(names, dtype=object)
        return
    expected = list(getattr(estimator, "feature_names_in_", names or []))
    if names is not None and expected and names != expected:
        missing = [name for name in expected if name not in set(names)]
        added = [name for name in names if name not in set(expected)]
        found = f"missing {missing[:5]}" if missing else ""
        found += f"{' and ' if missing and added else ''}unknown {added[:5]}" if added else ""
        raise ValueError(
            f"The feature names of X must match those passed in fit, in the same order, found "
            f"{found or 'another order'}: open the data with columns=[...], and text columns with "
            "categories=rows.categories of the training rows."
        )
    if rows.n_features != estimator.n_features_in_:
        raise ValueError(
            f"X has {rows.n_features} features, but {type(estimator).__name__} is expecting "
            f"{estimator.n_features_in_} features as input."
        )
