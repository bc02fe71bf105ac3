import pickle
import re

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone

from skimp.data import open_rows
from skimp.kernels import Gaussian, Linear, Precomputed
from tests.pairs import in_turn

MATRIX = Gaussian(0.1)(np.arange(6.0)[:, None]) + np.diag(np.arange(6.0))

FORMS = {
    "list": list,
    "tuple": tuple,
    "list of lists": lambda numbers: [[i] for i in numbers],
    "vector": np.array,
    "column": lambda numbers: np.array(numbers)[:, None],
    "small integers": lambda numbers: np.array(numbers, np.uint8),
    "floats": lambda numbers: np.array(numbers, float),
    "objects": lambda numbers: np.array(numbers, object),
    "csr": lambda numbers: sparse.csr_matrix(np.array(numbers)[:, None]),
    "Series": pd.Series,
    "frame": lambda numbers: pd.DataFrame({"row": numbers}),
}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_rows_are_numbers_in_any_form_and_order(form):
    kernel = Precomputed(MATRIX)
    rows, columns = [5, 0, 2, 2], [1, 5, 0]
    assert np.array_equal(kernel(form(rows), form(columns)), MATRIX[np.ix_(rows, columns)])
    assert np.array_equal(kernel(form(rows)), MATRIX[np.ix_(rows, rows)])
    assert np.array_equal(kernel.diag(form(rows)), MATRIX[rows, rows])


def test_single_precision_numbers_give_single_precision_values():
    K = Precomputed(MATRIX)(np.array([3.0, 1.0], np.float32))
    assert K.dtype == np.float32
    assert np.array_equal(K, MATRIX[np.ix_([3, 1], [3, 1])].astype(np.float32))


@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.uint8, bool])
def test_matrices_of_any_numbers(dtype):
    matrix = np.eye(3, dtype=dtype)
    assert Precomputed(matrix)([2, 0]).tolist() == [[1, 0], [0, 1]]
    assert Precomputed(matrix).diag([2, 0]).dtype == np.float64


@in_turn(
    rows=[[6], [-1], [0.5], [0, 1, 100], [-0.5, 2], [1e30], [2, 2.000001], [5 + 1e-9]],
    form=[list, np.array],
)
def test_what_are_no_row_numbers(rows, form):
    kernel, given = Precomputed(MATRIX), form(rows)
    message = (
        "Precomputed: X must hold integers from 0 to 5, indices into the matrix of shape "
        f"(6, 6), found {min(rows):g} to {max(rows):g}."
    )
    for refused in (kernel, kernel.diag, lambda X: kernel([0], X), lambda X: kernel(X, [0])):
        with pytest.raises(ValueError, match=re.escape(message)):
            refused(given)


@pytest.mark.parametrize(
    "rows", [[np.nan], np.array([np.nan]), ["a"], np.array([np.inf])], ids=repr
)
def test_what_are_no_numbers_at_all(rows):
    with pytest.raises(ValueError, match=r"NaN|infinity|must hold numbers"):
        Precomputed(MATRIX)(rows)


def test_there_must_be_one_column():
    kernel = Precomputed(MATRIX)
    for refused in (kernel, kernel.diag):
        with pytest.raises(ValueError, match="X must have one column of row numbers, found 2"):
            refused(np.zeros((3, 2)))
    mixed = np.array([[1.0, 0.3], [4.0, 0.5]])
    K = (kernel.on(0) * Linear().on(1))(mixed)
    np.testing.assert_allclose(K, MATRIX[np.ix_([1, 4], [1, 4])] * np.outer([0.3, 0.5], [0.3, 0.5]))


def test_columns_that_are_not_asked_for_may_be_missing():
    kernel = Precomputed(MATRIX[:, :2])
    assert np.array_equal(kernel(np.arange(6), [1, 0]), MATRIX[:, [1, 0]])
    assert kernel.diag([1, 0]).tolist() == [MATRIX[1, 1], MATRIX[0, 0]]
    message = "integers from 0 to 1, indices into the matrix of shape (6, 2), found 0 to 2."
    with pytest.raises(ValueError, match=re.escape(message)):
        kernel([0], [0, 2])
    with pytest.raises(ValueError, match=re.escape(message)):
        kernel.diag([0, 2])
    with pytest.raises(ValueError, match="integers from 0 to 5"):
        kernel([6], [0])


def test_the_matrix_may_be_a_memory_map(tmp_path):
    np.save(tmp_path / "K.npy", MATRIX)
    kernel = Precomputed(np.load(tmp_path / "K.npy", mmap_mode="r"))
    assert np.array_equal(kernel([4, 1], [2]), MATRIX[np.ix_([4, 1], [2])])
    assert isinstance(clone(kernel).matrix, np.memmap)


def test_copies_share_the_matrix():
    kernel = Precomputed(MATRIX, positive_definite=False)
    rows = open_rows(np.arange(6.0)[:, None])
    for copy in (clone(kernel), kernel.resolve(rows, 0), kernel.with_names(["row"])):
        assert copy is not kernel
        assert copy.matrix is MATRIX
        assert copy.positive_definite is False
    nested = 2.0 * (kernel + Linear()).on([0])
    assert clone(nested).kernel.kernel.k1.matrix is MATRIX
    assert nested.resolve(rows, 0).kernel.kernel.k1.matrix is MATRIX
    assert pickle.loads(pickle.dumps(kernel)) == kernel


@pytest.mark.parametrize(
    "matrix",
    [
        *(None, 3.0, "K", [[1.0]], np.ones(3), np.ones((2, 2, 2)), np.eye(2, dtype=complex)),
        np.eye(2, dtype=object),
        np.array([["a"]]),
        sparse.csr_matrix(np.eye(2)),
        pd.DataFrame([[1.0]]),
    ],
    ids=lambda matrix: type(matrix).__name__,
)
def test_the_matrix_must_be_a_numeric_array(matrix):
    with pytest.raises(
        ValueError, match="matrix must be a numeric two-dimensional NumPy array, got"
    ):
        Precomputed(matrix)([0])


def test_flags():
    kernel = Precomputed(MATRIX)
    assert kernel.positive_definite
    assert kernel.takes_objects
    assert not kernel.differentiable
    assert not kernel.stationary
    assert not kernel.rotation_invariant
    assert not Precomputed(MATRIX, positive_definite=False).positive_definite
    with pytest.raises(ValueError, match="positive_definite must be True or False, got 'no'"):
        Precomputed(MATRIX, positive_definite="no")([0])
    with pytest.raises(ValueError, match=r"must be differentiable in x, got Precomputed\(<array"):
        kernel.gradient([0, 1])


def test_repr_is_short():
    assert repr(3.0 * Precomputed(np.eye(500))) == "3.0 * Precomputed(<array of shape (500, 500)>)"


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_values_that_are_asked_for_must_be_finite(value):
    matrix = MATRIX.copy()
    matrix[3, 4] = value
    kernel = Precomputed(matrix)
    with pytest.raises(ValueError, match="matrix must be finite"):
        kernel([0, 3], [4])
    assert np.array_equal(kernel([0, 4], [3]), MATRIX[np.ix_([0, 4], [3])])
