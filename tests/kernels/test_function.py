import pickle
import re
import threading

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone

from skimp import KernelRegressor
from skimp.kernels import FunctionKernel, Gaussian, Linear
from tests.pairs import in_turn
from tests.reference import naive

WORDS = ["kernel", "machine", "kernels", "a", ""]


def shared_letters(x, y):
    assert isinstance(x, str), type(x)
    assert isinstance(y, str), type(y)
    return len(set(x) & set(y))


def many_shared_letters(X, Y):
    assert X.dtype == Y.dtype == object
    assert X.ndim == Y.ndim == 1
    return np.array([[shared_letters(x, y) for y in Y] for x in X])


def expected(X, Y):
    return [[shared_letters(x, y) for y in Y] for x in X]


FORMS = {
    "list": list,
    "tuple": tuple,
    "strings": np.array,
    "objects": lambda words: np.array(words, dtype=object),
    "a column": lambda words: np.array(words, dtype=object)[:, None],
    "a column of strings": lambda words: np.array(words)[:, None],
    "Series": pd.Series,
    "frame": lambda words: pd.DataFrame({"word": words}),
    "polars": lambda words: pytest.importorskip("polars").Series(words),
}


@in_turn(
    form=list(FORMS.values()),
    kernel=[FunctionKernel(shared_letters), FunctionKernel(many_shared_letters, batch=True)],
)
def test_rows_may_be_strings(form, kernel):
    K = kernel(form(WORDS), form(WORDS[:2]))
    assert K.dtype == np.float64
    assert K.tolist() == expected(WORDS, WORDS[:2])
    assert kernel(form(WORDS)).tolist() == expected(WORDS, WORDS)
    assert kernel.diag(form(WORDS)).tolist() == [len(set(word)) for word in WORDS]


def test_rows_may_be_objects_of_any_kind():
    graphs = [{"a": [1, 2]}, {"b": [1]}, {}]
    K = FunctionKernel(lambda x, y: len(x) + len(y))(graphs)
    assert K.tolist() == [[2, 2, 1], [2, 2, 1], [1, 1, 0]]
    sequences = np.empty(3, dtype=object)
    sequences[:] = [[1, 2], [3], []]
    K = FunctionKernel(lambda x, y: len(x) * len(y))(sequences)
    assert K.tolist() == [[4, 2, 0], [2, 1, 0], [0, 0, 0]]


@pytest.mark.parametrize(
    "words", [[], np.array([], dtype=object), "word", np.empty((2, 0), object)]
)
def test_no_rows_are_refused(words):
    with pytest.raises(ValueError, match=r"non-empty|0 sample"):
        FunctionKernel(shared_letters)(words)


def test_rows_of_numbers_come_as_vectors():
    X = np.random.default_rng(0).random((30, 3))
    pairs = FunctionKernel(naive.one_plus_product, derivative=naive.second_argument)
    batch = FunctionKernel(lambda X, Y: 1 + X @ Y.T, batch=True)
    for given in (X, sparse.csr_matrix(X), X.tolist(), pd.DataFrame(X)):
        np.testing.assert_allclose(pairs(given, X[:4]), 1 + X @ X[:4].T, rtol=1e-12)
        G = pairs.gradient(given, X[:4])
        assert np.array_equal(G, np.broadcast_to(X[:4], (30, 4, 3)))
    np.testing.assert_allclose(batch(X, X[:4]), 1 + X @ X[:4].T, rtol=1e-12)
    np.testing.assert_allclose(batch.diag(X), 1 + (X**2).sum(axis=1), rtol=1e-12)
    assert pairs(X.astype(np.float32)).dtype == np.float32
    np.testing.assert_allclose(pairs.expansion_gradient(X, X[:2], [1.0, -2.0])[7], X[0] - 2 * X[1])


@pytest.mark.parametrize("shape", [(3,), (), (2, 3), (3, 2, 1), (1, 2)])
def test_a_batch_of_another_shape_is_refused(shape):
    kernel = FunctionKernel(lambda X, Y: np.ones(shape), batch=True)
    message = f"(3, 2) for 3 and 2 rows (batch=True), found {shape}."
    with pytest.raises(ValueError, match=re.escape(message)):
        kernel(np.ones((3, 1)), np.ones((2, 1)))


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, None])
def test_values_must_be_finite_in_every_strip(value):
    X = np.arange(1300.0)[:, None]
    pairs = FunctionKernel(lambda x, y: value if x[0] == 1200 else 1.0)
    batch = FunctionKernel(lambda X, Y: np.where(X == 1200, value, 1.0).astype(float), batch=True)
    for kernel in (pairs, batch):
        assert (kernel(X[:1200], X[:1]) == 1).all()
        with pytest.raises(ValueError, match="function must return finite numbers"):
            kernel(X, X[:1])
        with pytest.raises(ValueError, match="function must return finite numbers"):
            kernel.diag(X[1200:])


def test_errors_of_the_function_are_the_users_to_see():
    def broken(x, y):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        FunctionKernel(broken)(["a"])


def test_without_a_derivative_there_is_no_gradient():
    kernel = FunctionKernel(naive.one_plus_product)
    assert not kernel.differentiable
    message = "gradient: kernel must be differentiable in x, got FunctionKernel(one_plus_product)."
    with pytest.raises(ValueError, match=re.escape(message)):
        kernel.gradient(np.ones((2, 2)))


def test_the_derivative_is_what_the_gradient_is_made_of():
    def function(x, y):
        return float(np.exp(-((x - y) ** 2).sum()))

    def derivative(x, y):
        return -2 * (x - y) * function(x, y)

    X = np.random.default_rng(0).random((9, 3))
    kernel = 3.0 * FunctionKernel(function, derivative=derivative).on([2, 0]) * Linear()
    expected = 3.0 * Gaussian(1.0).on([2, 0]) * Linear()
    np.testing.assert_allclose(kernel.gradient(X, X[:4]), expected.gradient(X, X[:4]), atol=1e-12)


def test_mixed_columns():
    X = np.array([["a", 1.0, 2], ["b", 0.5, 0], ["a", 3, 1.5]], dtype=object)
    kernel = FunctionKernel(lambda x, y: 1.0 + (x == y)).on(0) * Gaussian(0.3).on([1, 2])
    numbers = X[:, 1:].astype(float)
    K = (1 + (X[:, :1] == X[:, 0])) * Gaussian(0.3)(numbers)
    for given in (X, pd.DataFrame(X, columns=["letter", "x", "y"]), X.tolist()):
        np.testing.assert_allclose(kernel(given, X), K, rtol=1e-12)
        np.testing.assert_allclose(kernel.diag(given), K.diagonal(), rtol=1e-12)
    table = pd.DataFrame({"letter": X[:, 0], "x": numbers[:, 0], "y": numbers[:, 1]})
    names = FunctionKernel(lambda x, y: 1.0 + (x == y)).on("letter") * Gaussian(0.3).on(["x", "y"])
    np.testing.assert_allclose(names(table), K, rtol=1e-12)
    with pytest.raises(ValueError, match=r"X must hold numbers"):
        (FunctionKernel(max).on(1) + Gaussian(0.3))(X)
    assert X[1].tolist() == ["b", 0.5, 0]


@pytest.mark.parametrize("missing", [None, np.nan, np.inf])
def test_numbers_in_mixed_columns_must_be_finite(missing):
    kernel = FunctionKernel(lambda x, y: 1.0 + (x == y)).on(0) * Gaussian(0.3).on([1])
    X = np.array([["a", 1.0], ["b", missing]], dtype=object)
    for refused in (lambda: kernel(X), lambda: kernel(X[:1], X), lambda: kernel(X, X[:1])):
        with pytest.raises(ValueError, match="X must be finite"):
            refused()
    assert kernel(X[:1]).tolist() == [[2.0]]


def test_repr_names_the_functions():
    assert repr(FunctionKernel(shared_letters)) == "FunctionKernel(shared_letters)"
    kernel = FunctionKernel(max, derivative=min, batch=True, positive_definite=False)
    assert repr(kernel) == (
        "FunctionKernel(max, derivative=min, batch=True, positive_definite=False)"
    )
    assert repr(2.0 * FunctionKernel(lambda x, y: 1)) == "2.0 * FunctionKernel(<lambda>)"


def test_copies_hold_the_same_function():
    kernel = FunctionKernel(shared_letters, positive_definite=False)
    for copy in (clone(kernel), pickle.loads(pickle.dumps(kernel))):
        assert copy == kernel
        assert copy.function is shared_letters
        assert copy.positive_definite is False


@pytest.mark.parametrize("approximation", [None, 10])
def test_models_refuse_what_is_no_inner_product(approximation):
    X, y = np.random.default_rng(0).normal(size=(20, 2)), np.arange(20.0)
    for function, message in (
        (lambda x, y: float(x[0] - y[1]), "must be symmetric"),
        (lambda x, y: -float(((x - y) ** 2).sum()), "must be positive definite"),
        (lambda x, y: float(np.abs(x - y).sum()) + 0.1, "must be positive definite"),
    ):
        model = KernelRegressor(FunctionKernel(function), approximation=approximation)
        with pytest.raises(ValueError, match=message):
            model.fit(X, y)
    model = KernelRegressor(
        FunctionKernel(lambda x, y: float(x @ y)), approximation=approximation, alpha=1e-9
    )
    linear = KernelRegressor(Linear(), approximation=approximation, alpha=1e-9, random_state=0)
    model.set_params(random_state=0)
    np.testing.assert_allclose(model.fit(X, y).predict(X), linear.fit(X, y).predict(X), atol=1e-5)


def test_small_integers_come_as_floating_numbers():
    X = np.array([[200, 200]], np.uint8)
    assert FunctionKernel(lambda x, y: float(x @ y))(X).item() == 80_000


@pytest.mark.parametrize("slopes", [1.0, [1.0], [1.0, np.nan], [[1.0, 2.0]]])
def test_the_derivative_has_an_entry_for_each_column(slopes):
    kernel = FunctionKernel(naive.one_plus_product, derivative=lambda x, y: slopes)
    with pytest.raises(ValueError, match="derivative must return 2 finite numbers"):
        kernel.gradient(np.ones((3, 2)))


@pytest.mark.parametrize("value", ["q", [1.0, 2.0], 1j])
def test_values_must_be_numbers(value):
    with pytest.raises(ValueError, match="FunctionKernel: function must return a number, found"):
        FunctionKernel(lambda x, y: value)(WORDS)


def test_sequences_of_unequal_length_need_an_object_array():
    with pytest.raises(ValueError, match="X must have rows of equal length"):
        FunctionKernel(shared_letters)([["a", "b"], ["c"]])
    X = np.empty(2, dtype=object)
    X[:] = [["a", "b"], ["c"]]
    assert FunctionKernel(lambda x, y: len(set(x) & set(y)))(X).tolist() == [[2, 0], [0, 1]]


@pytest.mark.parametrize("approximation", [None, 5])
def test_one_job_calls_the_function_from_one_thread(approximation):
    threads = set()

    def same(x, y):
        threads.add(threading.get_ident())
        return float(x == y)

    words = [f"{i}" for i in range(600)]
    model = KernelRegressor(FunctionKernel(same), approximation=approximation, n_jobs=1)
    model.fit(words, np.arange(600)).predict(words)
    assert threads == {threading.get_ident()}
