import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

from skimp._core._objects import as_numbers, as_real, check_any_rows, is_object


class Graph:
    """An object that NumPy would take for a sequence."""

    def __init__(self, size):
        self.size = size

    def __len__(self):
        return self.size

    def __getitem__(self, i):
        if i >= self.size:
            raise IndexError(i)
        return i


def objects(values):
    column = np.empty(len(values), dtype=object)
    column[:] = values
    return column


WORDS = ["one", "two", "three"]


@pytest.mark.parametrize(
    "X",
    [
        WORDS,
        tuple(WORDS),
        np.array(WORDS),
        np.array(WORDS, dtype=object),
        np.array(WORDS)[:, None],
        pd.Series(WORDS),
        pd.Series(WORDS, dtype=object),
        pd.Series(WORDS, dtype="category"),
        pd.DataFrame({"word": WORDS}),
        pl.Series(WORDS),
        pl.DataFrame({"word": WORDS}),
    ],
)
def test_strings_become_a_column_of_objects(X):
    rows = check_any_rows(X)
    assert is_object(rows)
    assert rows.tolist() == [["one"], ["two"], ["three"]]


@pytest.mark.parametrize("container", [list, tuple, objects])
@pytest.mark.parametrize("sizes", [(2, 3, 5), (2, 2, 2), (0, 0, 0)])
def test_objects_that_are_like_sequences_are_not_taken_apart(container, sizes):
    graphs = [Graph(size) for size in sizes]
    rows = check_any_rows(container(graphs))
    assert rows.shape == (3, 1)
    assert all(row is graph for row, graph in zip(rows[:, 0], graphs, strict=True))


def test_vectors_of_any_length_in_an_object_array_stay_objects():
    paths = [np.zeros((2, 2)), np.zeros((3, 2)), np.zeros((5, 2))]
    rows = check_any_rows(objects(paths))
    assert rows.shape == (3, 1)
    assert all(row is path for row, path in zip(rows[:, 0], paths, strict=True))


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_a_frame_of_mixed_columns_is_a_matrix_of_objects(frame):
    rows = check_any_rows(frame({"word": WORDS, "number": [1.5, 2.5, 3.5]}))
    assert is_object(rows)
    assert rows.tolist() == [["one", 1.5], ["two", 2.5], ["three", 3.5]]


@pytest.mark.parametrize(
    "X",
    [
        np.array([[1.0, 2.0], [3.0, 4.0]]),
        [[1.0, 2.0], [3.0, 4.0]],
        [np.array([1.0, 2.0]), np.array([3.0, 4.0])],
        pd.DataFrame({"a": [1.0, 3.0], "b": [2.0, 4.0]}),
        pl.DataFrame({"a": [1.0, 3.0], "b": [2.0, 4.0]}),
    ],
)
def test_rows_of_numbers_stay_numbers(X):
    rows = check_any_rows(X)
    assert rows.dtype == np.float64
    assert rows.tolist() == [[1, 2], [3, 4]]


@pytest.mark.parametrize("dtype", [np.float32, np.int8, np.float64])
def test_numbers_keep_their_dtype_and_are_not_copied(dtype):
    X = np.ones((3, 2), dtype)
    assert check_any_rows(X) is X
    column = check_any_rows(X[:, 0])
    assert column.shape == (3, 1)
    assert np.shares_memory(column, X)


@pytest.mark.parametrize("series", [pd.Series, pl.Series])
def test_a_series_of_numbers_is_a_column(series):
    rows = check_any_rows(series([1.0, 2.0]))
    assert rows.dtype == np.float64
    assert rows.tolist() == [[1], [2]]


@pytest.mark.parametrize("kind", [sparse.csr_matrix, sparse.csc_matrix, sparse.coo_matrix])
def test_sparse_rows_are_csr(kind):
    rows = check_any_rows(kind(np.eye(3)))
    assert rows.format == "csr"
    assert np.array_equal(rows.toarray(), np.eye(3))


@pytest.mark.parametrize(
    ("X", "message"),
    [
        ([], "0 sample"),
        (np.empty((0, 3)), "0 sample"),
        (np.empty((3, 0)), "0 feature"),
        (np.empty(0, dtype=object), "Z must be a non-empty array"),
        (np.empty((3, 0), dtype=object), "found (3, 0)"),
        (np.full((2, 2, 2), "a"), "found (2, 2, 2)"),
        ("a string", "found ()"),
        (np.ones((2, 2, 2)), "dim 3"),
        (np.array([[1.0], [np.nan]]), "Z contains NaN"),
        (np.array([1.0, np.inf]), "Z contains infinity"),
        (sparse.csr_matrix(np.diag([1.0, np.nan])), "Z contains NaN"),
        (pl.Series([1.0, None]), "Z contains NaN"),
        (np.ones((2, 2), complex), "Complex"),
    ],
)
def test_rows_that_are_refused(X, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        check_any_rows(X, "Z")


def test_numbers_in_a_dtype_without_a_copy_where_they_have_it():
    X = np.ones((2, 2))
    assert as_real(X, np.dtype(np.float64)) is X
    assert as_real(X, np.dtype(np.float32)).dtype == np.float32
    assert as_real(sparse.csr_matrix(X), np.dtype(np.float32)).dtype == np.float32
    graphs = check_any_rows([Graph(1), Graph(2)])
    assert as_real(graphs, np.dtype(np.float32)) is graphs


def test_objects_as_numbers():
    X = np.array([[1, 2.5], [True, np.float32(3)]], dtype=object)
    numbers = as_numbers(X, np.dtype(np.float32))
    assert numbers.dtype == np.float32
    assert numbers.tolist() == [[1, 2.5], [1, 3]]
    for same in (numbers, sparse.csr_matrix(numbers)):
        assert as_numbers(same, np.dtype(np.float64)) is same


@pytest.mark.parametrize("value", ["one", Graph(3), {}])
def test_objects_that_are_no_numbers(value):
    X = objects([1.0, value])[:, None]
    with pytest.raises(ValueError, match=r"X must hold numbers .*\.on\(\.\.\.\)"):
        as_numbers(X, np.dtype(np.float64))


@pytest.mark.parametrize("value", [None, np.nan, np.inf])
def test_missing_numbers_among_objects_are_refused(value):
    X = np.array([["a", 1.0], ["b", value]], dtype=object)
    with pytest.raises(ValueError, match="X must be finite"):
        as_numbers(X[:, 1:], np.dtype(np.float64))


def test_a_list_of_numbers_is_a_column_of_numbers():
    X = check_any_rows([3, 1, 2])
    assert X.shape == (3, 1)
    assert X.dtype.kind == "i"
