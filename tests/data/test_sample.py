import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from skimp.data import LOCAL, Context, open_rows
from skimp.data._array import ArrayRows
from skimp.data._sample import take_rows
from tests.problems import regression
from tests.reference import naive
from tests.sources import ChunkedRows
from tests.strategies import matrices


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 60), st.integers(1, 80), st.integers(1, 30), st.integers(0, 2**63 - 1))
def test_a_sample_is_the_rows_of_the_smallest_keys(n, size, block_rows, seed):
    rng = np.random.default_rng(n)
    X, weight = rng.normal(size=(n, 2)), rng.integers(0, 3, n)
    weight[0] = 1
    rows = open_rows(X, weight=weight, block_rows=block_rows)
    sample = rows.sample(size, seed)
    expected = naive.sampled_rows(n, size, seed, weight)
    assert np.array_equal(sample.indices, expected)
    assert np.array_equal(sample.X, X[expected])
    assert sample.keys.tolist() == [naive.row_key(seed, int(i)) for i in expected]


@pytest.mark.parametrize("n_jobs", [1, 2, 4])
@pytest.mark.parametrize("as_csr", [False, True])
def test_the_same_rows_from_any_source(n_jobs, as_csr):
    X = regression(500)[0]
    expected = open_rows(X).sample(20, 3)
    chunked = ChunkedRows(sparse.csr_matrix(X) if as_csr else X)
    sample = chunked.sample(20, 3, Context(n_jobs))
    assert np.array_equal(sample.indices, expected.indices)
    assert np.array_equal(sample.X.toarray() if as_csr else sample.X, X[expected.indices])


def test_a_smaller_sample_is_the_beginning_of_a_larger_one():
    rows = open_rows(regression(500)[0], block_rows=64)
    assert np.array_equal(rows.sample(9, 1).indices, rows.sample(40, 1).indices[:9])
    assert not np.array_equal(rows.sample(9, 1).indices, rows.sample(9, 2).indices)


def test_every_row_is_drawn_equally_often():
    rows, draws = open_rows(np.zeros((20, 1)), block_rows=7), 1500
    counts = sum(np.bincount(rows.sample(5, seed).indices, minlength=20) for seed in range(draws))
    # Hoeffding and a union over 20 rows: larger with a probability of at most 1e-6
    assert np.abs(counts / draws - 5 / 20).max() <= np.sqrt(np.log(2 * 20 / 1e-6) / (2 * draws))


@pytest.mark.parametrize("shape", [(500,), (500, 2)])
def test_targets_are_those_of_the_sampled_rows(shape):
    X, y = regression(500)[0], np.arange(np.prod(shape)).reshape(shape)
    sample = ChunkedRows(X, y).sample(20, 3)
    assert np.array_equal(sample.y, y[sample.indices])
    assert open_rows(X).sample(20, 3).y is None


def test_no_row_of_positive_weight():
    with pytest.raises(ValueError, match="at least one row of positive weight"):
        ChunkedRows(np.ones((5, 2)), weight=np.zeros(5)).sample(3, 0)


@settings(max_examples=60, deadline=None)
@given(matrices(), st.integers(1, 10), st.booleans())
def test_variance_is_its_naive_twin(X, block_rows, weighted):
    weight = np.arange(X.shape[0]) % 3 + 1.0 if weighted else None
    variance = open_rows(X, weight=weight, block_rows=block_rows).variance()
    expected = naive.variance(X, weight)
    eps = np.finfo(X.dtype if X.dtype.kind == "f" else np.float64).eps
    scale = np.abs(naive.as_float64(X)).max() ** 2
    assert abs(variance - expected) <= 10 * eps * (expected + eps * scale)


def test_variance_keeps_its_digits_far_from_zero():
    X = np.random.default_rng(0).normal(size=(300, 3)) + 1e8
    variance = open_rows(X, block_rows=50).variance()
    assert variance == pytest.approx(naive.variance(X - 1e8), rel=1e-6)


def test_variance_of_half_precision_does_not_overflow():
    X = 200 * np.random.default_rng(0).normal(size=(100, 5)).astype(np.float16)
    assert open_rows(X).variance() == pytest.approx(naive.variance(X), rel=1e-2)


def test_variance_of_large_single_precision_does_not_overflow():
    X = np.random.default_rng(0).normal(size=(100, 5)).astype(np.float32)
    large = open_rows(X * np.float32(1e20)).variance()
    assert large == pytest.approx(1e40 * naive.variance(X), rel=1e-4)


def test_variance_of_repeated_sparse_entries_is_that_of_their_sums():
    repeated = sparse.csr_matrix(([1.0, 2.0, 3.0], [0, 0, 1], [0, 2, 3]), shape=(2, 2))
    assert open_rows(repeated).variance() == pytest.approx(naive.variance(repeated))


def test_a_weight_of_two_counts_as_two_rows():
    X, _, weight = regression(60)
    repeated = np.repeat(X, weight.astype(int), axis=0)
    weighted = ChunkedRows(X, weight=weight).variance()
    assert weighted == pytest.approx(naive.variance(repeated), rel=1e-12)


@settings(max_examples=40, deadline=None)
@given(matrices(max_columns=5), st.integers(1, 10), st.data())
def test_variance_of_columns_is_that_of_a_matrix_of_these(X, block_rows, data):
    columns = data.draw(st.lists(st.integers(0, X.shape[1] - 1), min_size=1, unique=True))
    weight = np.arange(X.shape[0]) % 3 + 1.0
    rows = open_rows(X, weight=weight, block_rows=block_rows)
    variance, expected = rows.variance(np.array(columns)), naive.variance(X[:, columns], weight)
    eps = np.finfo(X.dtype if X.dtype.kind == "f" else np.float64).eps
    scale = np.abs(naive.as_float64(X)).max() ** 2
    assert abs(variance - expected) <= 10 * eps * (expected + eps * scale)


def objects(n):
    """Rows of numbers, and the same in an object array between columns of strings."""
    X = regression(n)[0]
    mixed = np.full((n, 5), "word", dtype=object)
    mixed[:, 1:4] = X
    return X, mixed


@pytest.mark.parametrize("columns", [[1, 2, 3], [3, 1], [2]])
def test_variance_of_columns_of_objects_that_are_numbers(columns):
    X, mixed = objects(60)
    rows = ArrayRows(mixed, weight=regression(60)[2], block_rows=16)
    expected = naive.variance(X[:, np.array(columns) - 1], regression(60)[2])
    assert rows.variance(np.array(columns)) == pytest.approx(expected, rel=1e-12)


def test_variance_of_objects_that_are_all_numbers():
    X, mixed = objects(60)
    assert ArrayRows(mixed[:, 1:4], block_rows=16).variance() == pytest.approx(
        naive.variance(X), rel=1e-12
    )


@pytest.mark.parametrize("columns", [None, np.array([0, 1])])
def test_variance_of_objects_that_are_no_numbers(columns):
    with pytest.raises(ValueError, match="X must hold numbers"):
        ArrayRows(objects(60)[1], block_rows=16).variance(columns)


def test_a_sample_of_objects():
    X, mixed = objects(60)
    sample = ArrayRows(mixed, block_rows=16).sample(9, 3)
    assert sample.X.dtype == object
    assert np.array_equal(sample.X, mixed[open_rows(X).sample(9, 3).indices])


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 40), st.integers(1, 10), st.data())
def test_taken_rows_are_those_of_the_numbers(n, block_rows, data):
    numbers = data.draw(st.lists(st.integers(0, n - 1), min_size=1, max_size=60))
    X = np.arange(3 * n).reshape(n, 3)
    taken = take_rows(
        ChunkedRows(X, X[:, 0], X[:, 1], block_rows=block_rows), np.array(numbers), LOCAL
    )
    assert np.array_equal(taken.X, X[numbers])
    assert np.array_equal(taken.y, X[numbers, 0])
    assert np.array_equal(taken.weight, X[numbers, 1])


@pytest.mark.parametrize("numbers", [[40], [3, 40], [-1]])
def test_taking_a_row_that_is_not_there(numbers):
    with pytest.raises(IndexError):
        take_rows(ChunkedRows(np.ones((40, 2))), np.array(numbers), LOCAL)


def test_taking_objects():
    mixed = objects(60)[1]
    taken = take_rows(ArrayRows(mixed, block_rows=16), np.array([50, 1, 1]), LOCAL)
    assert taken.X.dtype == object
    assert np.array_equal(taken.X, mixed[[50, 1, 1]])


@pytest.mark.parametrize("weighted", [False, True])
def test_weights_of_the_sampled_rows(weighted):
    X, _, weight = regression(100)
    sample = ChunkedRows(X, weight=weight if weighted else None).sample(20, 3)
    assert np.array_equal(sample.weight, weight[sample.indices] if weighted else np.ones(20))
