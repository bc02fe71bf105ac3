import tracemalloc

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from scipy import sparse

from skimp.features import RandomFourier
from skimp.kernels import Gaussian
from tests.models import APPROXIMATIONS, regressor
from tests.problems import difference, regression
from tests.strategies import matrices

WRAPPERS = [
    sparse.csr_matrix,
    pd.DataFrame,
    pl.DataFrame,
    np.asfortranarray,
    lambda X: np.broadcast_to(X, X.shape),
    np.ndarray.tolist,
]


@pytest.mark.parametrize(
    ("approximation", "wrap"), [*((30, wrap) for wrap in WRAPPERS), (None, sparse.csr_matrix)]
)
def test_any_source_gives_the_same_predictions(approximation, wrap):
    X, y, weight = regression(200)
    expected = regressor(approximation).fit(X, y, weight).predict(X)
    model = regressor(approximation).fit(wrap(X), y, weight)
    assert difference(model.predict(wrap(X)), expected) <= 1e-8


@pytest.mark.parametrize(
    ("approximation", "dtype"), [(None, np.int8), (30, np.uint8), (APPROXIMATIONS[3], bool)]
)
def test_whole_numbers_give_what_float64_gives(approximation, dtype):
    X = np.random.default_rng(0).integers(0, 100, (80, 3)).astype(dtype)
    y = X.sum(axis=1) % 7
    expected = regressor(approximation).fit(X.astype(np.float64), y).predict(X.astype(np.float64))
    model = regressor(approximation).fit(X, y)
    assert model.coef_.dtype == np.float64
    assert difference(model.predict(X), expected) <= 1e-8


@pytest.mark.parametrize("approximation", [None, 30, APPROXIMATIONS[3]])
def test_float32_stays_float32_and_close_to_float64(approximation):
    X, y, _ = regression(200, dtype=np.float32)
    model = regressor(approximation).fit(X, y)
    predicted = model.predict(X)
    assert predicted.dtype == model.coef_.dtype == model.intercept_.dtype == np.float32
    assert model.predict(X.astype(np.float64)).dtype == np.float32
    double = regressor(approximation).fit(X.astype(np.float64), y).predict(X.astype(np.float64))
    assert double.dtype == np.float64
    assert difference(predicted, double) <= 1e-3


@pytest.mark.parametrize("approximation", [None, 60, RandomFourier(n_components=200)])
def test_float32_with_a_tiny_penalty_matches_float64(approximation):
    alpha = 1e-12
    X, y, _ = regression(400, dtype=np.float32)
    model = regressor(approximation, Gaussian(0.2), alpha=alpha).fit(X, y)
    double = regressor(approximation, Gaussian(0.2), alpha=alpha).fit(X.astype(np.float64), y)
    assert difference(model.predict(X), double.predict(X.astype(np.float64))) <= 0.02
    if isinstance(approximation, RandomFourier):
        assert "float64" in model.solution_.message


@pytest.mark.filterwarnings("ignore:.*% of the variance:UserWarning")
@pytest.mark.filterwarnings("ignore:.*the means of the columns:UserWarning")
@settings(max_examples=30, deadline=None)
@given(matrices(max_rows=30))
def test_any_rows_have_finite_predictions(X):
    y = np.arange(X.shape[0]) % 3
    for approximation in (None, 10, RandomFourier(n_components=9)):
        predicted = regressor(approximation).fit(X, y).predict(X)
        assert np.isfinite(predicted).all()
        assert np.abs(predicted - y.mean()).max() <= 10


@pytest.mark.parametrize("approximation", [100, RandomFourier(n_components=100)])
def test_no_matrix_of_all_rows_and_features(approximation):
    n, m = 200_000, 100
    X = np.random.default_rng(0).normal(size=(n, 10)).astype(np.float32)
    y = X[:, 0]
    model = regressor(approximation, n_jobs=2).fit(X[:500], y[:500])
    tracemalloc.start()
    try:
        model.fit(X, y).predict(X)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    # two threads with a few blocks of 8,192 rows in float64 each, and vectors of n numbers
    assert peak <= 2 * 2 * 8192 * m * 8 + 3 * n * 8 < n * m * 4 / 2
