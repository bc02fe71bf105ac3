"""Models of rows that are no vectors: strings, sets, and frames with a column of strings."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score

from skimp import KernelClassifier
from skimp.budgets import Fixed
from skimp.features import Nystroem
from skimp.kernels import FunctionKernel, Gaussian
from tests.problems import difference
from tests.words import letter_indicators, shared_letters, shared_pairs, words

KERNEL = FunctionKernel(shared_letters)
NEW = ["face", "zz", "b"]
WRAPPERS = {
    "list": list,
    "tuple": tuple,
    "array of objects": lambda w: np.array(w, dtype=object),
    "array of strings": np.array,
    "column of objects": lambda w: np.array(w, dtype=object)[:, None],
    "pandas series": pd.Series,
    "polars series": pl.Series,
    "pandas frame": lambda w: pd.DataFrame({"word": w}),
    "polars frame": lambda w: pl.DataFrame({"word": w}),
}

every_mode = pytest.mark.parametrize("approximation", [None, 20])


def classifier(kernel=KERNEL, approximation=20, **params):
    params = {"alpha": 1e-3, "random_state": 0, **params}
    return KernelClassifier(kernel, approximation=approximation, **params)


@pytest.mark.parametrize("wrap", WRAPPERS)
def test_strings_in_any_container_are_their_vectors(wrap):
    approximation = None if wrap == "list" else Nystroem(budget=20, selector="uniform")
    (W, y), wrap = words(), WRAPPERS[wrap]
    expected = classifier("linear", approximation).fit(letter_indicators(W), y)
    model = classifier(approximation=approximation).fit(wrap(W), y)
    decision = model.decision_function(wrap(NEW))
    assert difference(decision, expected.decision_function(letter_indicators(NEW))) <= 1e-8
    assert model.score(wrap(W), y) == expected.score(letter_indicators(W), y) > 0.9


def test_sets_and_empty_strings_are_rows_too():
    W, y = words()
    expected = classifier().fit(W, y).decision_function(["", *NEW])
    model = classifier().fit([set(w) for w in W], y)
    assert np.array_equal(model.decision_function([set(w) for w in ["", *NEW]]), expected)


def test_a_batch_function_gets_arrays_of_objects():
    W, y = words()

    def batch(X, Y):
        assert X.ndim == Y.ndim == 1
        return letter_indicators(X) @ letter_indicators(Y).T

    model = classifier(FunctionKernel(batch, batch=True)).fit(W, y)
    expected = classifier().fit(W, y).decision_function(NEW)
    assert difference(model.decision_function(NEW), expected) <= 1e-12


def test_landmarks_may_be_strings_that_are_no_rows():
    W, y = words()
    points = ["abc", "def", "ace", "bdf"]
    model = classifier(approximation=Nystroem(selector=Fixed(points))).fit(W, y)
    fixed = Fixed(letter_indicators(points))
    expected = classifier("linear", Nystroem(selector=fixed)).fit(letter_indicators(W), y)
    assert model.approximation_.budget_.points[:, 0].tolist() == points
    decision = expected.decision_function(letter_indicators(NEW))
    assert difference(model.decision_function(NEW), decision) <= 1e-8


def test_cross_validation_and_grid_search_of_strings():
    W, y = words()
    assert cross_val_score(classifier(), W, y, cv=3, error_score="raise").mean() > 0.9
    grid = {"kernel__function": [shared_pairs, shared_letters], "alpha": [1e-3, 1e3]}
    search = GridSearchCV(classifier(), grid, cv=3, error_score="raise").fit(W, y)
    assert search.best_params_ == {"kernel__function": shared_letters, "alpha": 1e-3}


@every_mode
def test_clones_and_pickles(approximation):
    W, y = words()
    model = classifier(approximation=approximation).fit(W, y)
    copy = clone(model)
    assert copy.kernel == model.kernel
    assert np.array_equal(copy.fit(W, y).coef_, model.coef_)
    loaded = pickle.loads(pickle.dumps(model))
    assert np.array_equal(loaded.decision_function(NEW), model.decision_function(NEW))


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_kernels_of_vectors_refuse_strings(kernel):
    W, y = words()
    with pytest.raises(ValueError, match=r"X must hold numbers, found the text"):
        classifier(kernel).fit(np.array(W, dtype=object)[:, None], y)
    with pytest.raises(ValueError, match="X must hold numbers"):
        classifier(Gaussian(0.5) + KERNEL).fit(W, y)


def test_one_string_is_no_list_of_rows():
    model = classifier().fit(*words())
    with pytest.raises(ValueError, match=r"X must be .*got 'face'"):
        model.predict("face")


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda x, y: len(x), "kernel must be symmetric"),
        (lambda x, y: -shared_letters(x, y), "kernel must be positive definite"),
        (lambda x, y: np.nan, "function must return finite numbers"),
    ],
)
def test_functions_that_are_no_kernels_are_refused(function, message):
    model = classifier(FunctionKernel(function))
    with pytest.raises(ValueError, match=message):
        model.fit(*words())
    assert not hasattr(model, "kernel_")
