import re

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from skimp.data import open_rows
from skimp.kernels import Chi2, Gaussian, Laplacian, Linear, Matern, Restricted

NAMES = ["a", "b", "c", "d"]


def pair():
    rng = np.random.default_rng(0)
    return rng.random((12, 4)), rng.random((9, 4))


def frame(X, library):
    if library == "pandas":
        return pd.DataFrame(X, columns=NAMES)
    return pytest.importorskip("polars").DataFrame(X, schema=NAMES)


@pytest.mark.parametrize(
    "columns", [[0, 2], [2, 0], (3,), np.array([1, 3]), [0, 1, 2, 3]], ids=repr
)
def test_only_these_columns_count(columns):
    X, Y = pair()
    C = list(columns)
    inner = Gaussian(np.arange(1.0, len(C) + 1))
    kernel = inner.on(columns)
    for wrap in (np.asarray, sparse.csr_matrix):
        expected = inner(X[:, C], Y[:, C])
        np.testing.assert_allclose(kernel(wrap(X), wrap(Y)), expected, rtol=1e-12)
        G = kernel.gradient(wrap(X), wrap(Y))
        slopes = inner.gradient(X[:, C], Y[:, C])
        np.testing.assert_allclose(G[:, :, C], slopes, rtol=1e-10, atol=1e-13)
        assert not np.delete(G, C, axis=2).any()
    np.testing.assert_allclose(Linear().on(C).diag(X), (X[:, C] ** 2).sum(axis=1), rtol=1e-12)


def test_one_column_needs_no_list():
    assert Linear().on(3) == Linear().on(np.int64(3)) == Restricted(Linear(), [3])
    assert Linear().on("ab") == Restricted(Linear(), ["ab"])


def test_restrictions_of_restrictions_count_from_the_inside():
    X, Y = pair()
    # [3, 0] of the columns [2, 0, 1, 3] of the rows
    kernel = Gaussian([0.1, 5.0]).on([3, 0]).on([2, 0, 1, 3])
    expected = Gaussian([0.1, 5.0]).on([3, 2])
    np.testing.assert_allclose(kernel(X, Y), expected(X, Y), rtol=1e-12)
    np.testing.assert_allclose(kernel.gradient(X, Y), expected.gradient(X, Y), rtol=1e-12)


def test_entries_of_other_columns_may_be_anything():
    X = np.array([[0.5, -1.0], [0.2, -2.0]])
    assert Chi2(1.0).on([0])(X).shape == (2, 2)
    with pytest.raises(ValueError, match="must not be negative for the Chi2 kernel, found -2"):
        Chi2(1.0).on([1])(X)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_names_are_those_of_frames(library):
    X, Y = pair()
    kernel = Gaussian([0.1, 5.0]).on(["d", "b"]) * Linear().on("a") + Matern(0.5, 1.0).on([2])
    numbers = Gaussian([0.1, 5.0]).on([3, 1]) * Linear().on(0) + Matern(0.5, 1.0).on(2)
    A, B = frame(X, library), frame(Y, library)
    coef = np.ones(9)
    assert np.array_equal(kernel(A, B), numbers(X, Y))
    assert np.array_equal(kernel(A, Y), numbers(X, Y))
    assert np.array_equal(kernel(A), numbers(X))
    assert np.array_equal(kernel.diag(A), numbers.diag(X))
    assert np.array_equal(kernel.gradient(A, B), numbers.gradient(X, Y))
    expected = numbers.expansion_gradient(X, Y, coef)
    assert np.array_equal(kernel.expansion_gradient(A, B, coef), expected)
    assert kernel.k1.k1.columns == ["d", "b"]
    assert kernel.resolve(open_rows(A), 0) == numbers


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_names_inside_names(library):
    X, _ = pair()
    kernel = (Laplacian("dim").on("b") + Linear().on(0)).on(["d", "b", "a"])
    expected = Laplacian(0.5).on([1]) + Linear().on([3])
    A = frame(X, library)
    resolved = kernel.resolve(open_rows(A), 0)
    np.testing.assert_allclose(resolved(A), expected(X), rtol=1e-12)
    kernel.set_params(kernel__k1__kernel__gamma=0.5)
    np.testing.assert_allclose(kernel(A), expected(X), rtol=1e-12)
    kernel.set_params(kernel__k1__columns=["c"])
    with pytest.raises(ValueError, match=re.escape("columns of X, ['d', 'b', 'a'], got ['c']")):
        kernel(A)


def test_missing_names():
    X = pd.DataFrame(pair()[0], columns=NAMES)
    kernel = Linear().on(["a", "e", "f"])
    message = f"Restricted: columns must be columns of X, {NAMES}, got ['e', 'f']."
    for refused in (
        kernel,
        kernel.diag,
        kernel.gradient,
        lambda X: kernel.resolve(open_rows(X), 0),
    ):
        with pytest.raises(ValueError, match=re.escape(message)):
            refused(X)


def test_names_need_frames():
    X, rng = pair()[0], np.random.default_rng(0)
    kernel = Gaussian(1.0).on(["a", "b"])
    message = "Restricted: columns must be numbers if X has no names, got ['a', 'b']."
    for refused in (
        *(kernel, kernel.diag, kernel.gradient),
        lambda X: kernel.resolve(open_rows(X), 0),
        lambda X: kernel.sample_frequencies(4, 2, rng),
        lambda X: kernel.on([0, 1])(X),
    ):
        with pytest.raises(ValueError, match=re.escape(message)):
            refused(X)


@pytest.mark.parametrize(
    "columns",
    [
        *([], (), [-1], [0, 0], ["a", "a"], [True], True, [0.0], 1.5, ["a", 0], None, {0}),
        *({"a": 1}, [[0]], np.ones((1, 2), int), [None], slice(2)),
    ],
    ids=repr,
)
def test_what_are_no_columns(columns):
    message = "Restricted: columns must be distinct column numbers >= 0 or distinct names, got "
    kernel, X = Linear().on(columns), pair()[0]
    for refused in (kernel, kernel.diag, lambda X: kernel.resolve(open_rows(X), 0)):
        with pytest.raises(ValueError, match=re.escape(message)):
            refused(X)


@pytest.mark.parametrize("columns", [[4], [0, 9]])
def test_columns_that_are_not_there(columns):
    kernel, X = Gaussian(1.0).on(columns), pair()[0]
    message = f"columns must be numbers below 4, the number of columns of X, got {columns}."
    for refused in (
        *(kernel, kernel.diag, kernel.gradient, (kernel + Linear()).on([0, 1, 2, 3])),
        lambda X: kernel(pd.DataFrame(X, columns=NAMES)),
        lambda X: kernel.resolve(open_rows(X), 0),
        lambda X: kernel.sample_frequencies(4, 2, np.random.default_rng(0)),
    ):
        with pytest.raises(ValueError, match=re.escape(message)):
            refused(X)


@pytest.mark.parametrize("gamma", ["scale", "median", "dim"])
@pytest.mark.parametrize("kind", [Gaussian, Laplacian])
def test_heuristics_look_at_these_columns_only(gamma, kind):
    X, _ = pair()
    X *= [1.0, 1e3, 5.0, 1e-3]
    kernel = kind(gamma)
    expected = kernel.resolve(open_rows(X[:, [2, 0]].copy()), 0).gamma
    restricted = kernel.on([2, 0]).resolve(open_rows(X, block_rows=5), 0)
    assert restricted.kernel.gamma == pytest.approx(expected, rel=1e-8)
    nested = kernel.on([1, 0]).on([0, 1, 2]).on([1, 0, 2]).resolve(open_rows(X), 0)
    # columns [1, 0] of [0, 1, 2] of [1, 0, 2] are those numbered 0 and 1
    expected = kernel.resolve(open_rows(X[:, [0, 1]].copy()), 0).gamma
    assert nested.kernel.kernel.kernel.gamma == pytest.approx(expected, rel=1e-8)
    by_name = kernel.on(["c", "a"]).resolve(open_rows(pd.DataFrame(X, columns=NAMES)), 0)
    assert by_name.kernel.gamma == pytest.approx(restricted.kernel.gamma, rel=1e-9)


def test_frequencies_are_zero_on_other_columns():
    kernel = Gaussian([0.3, 2.0])
    W = kernel.on([3, 1]).sample_frequencies(4, 50, np.random.default_rng(0))
    assert np.array_equal(W[[3, 1]], kernel.sample_frequencies(2, 50, np.random.default_rng(0)))
    assert not W[[0, 2]].any()


def test_two_frames_have_the_same_columns():
    X = pd.DataFrame(pair()[0], columns=NAMES)
    with pytest.raises(ValueError, match=r"Y must have the same columns .*\['a', 'b', 'c', 'd'\]"):
        Gaussian(1.0).on("a")(X, X[["d", "b", "c", "a"]])


@pytest.mark.parametrize("columns", [range(1, 3), np.array([1, 2]), (1, 2), pd.Index([1, 2])])
def test_columns_may_be_any_sequence(columns):
    kernel = Gaussian(1.0).on(columns)
    assert kernel == Gaussian(1.0).on([1, 2])
    assert repr(kernel) == "Gaussian(gamma=1.0).on([1, 2])"


@pytest.mark.parametrize("columns", [None, 3.5, slice(0, 2)])
def test_wrong_columns_can_be_printed(columns):
    assert repr(Gaussian(1.0).on(columns)) == f"Gaussian(gamma=1.0).on({columns!r})"
