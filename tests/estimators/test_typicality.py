"""Rows far from those of fit."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.preprocessing import StandardScaler

from skimp import KernelClassifier, KernelRegressor
from skimp.features import RandomBinning, RandomFourier
from skimp.kernels import Gaussian
from tests.problems import regression


def naive(S, X, gamma):
    """Shares of rows of S as far from the nearest other one, by the Gaussian kernel's distance."""

    def distance(a, b):
        return 2 - 2 * np.exp(-gamma * np.sum((a - b) ** 2))

    own = [min(distance(a, b) for j, b in enumerate(S) if i != j) for i, a in enumerate(S)]
    found = [min(distance(x, b) for b in S) for x in X]
    return np.array([(1 + sum(o >= f for o in own)) / (1 + len(S)) for f in found])


def test_shares_are_those_of_nearest_neighbours():
    X, y, _ = regression(60)
    new = X[:10] + np.linspace(0, 3, 10)[:, None]
    model = KernelRegressor(Gaussian(0.3), approximation=20, random_state=0).fit(X, y)
    np.testing.assert_allclose(model.typicality(new), naive(X, new, 0.3))


@pytest.mark.parametrize(
    "approximation",
    ["auto", None, RandomFourier(n_components=40), RandomBinning(n_grids=16), StandardScaler()],
    ids=repr,
)
def test_far_rows_are_found_with_any_map(approximation):
    X, y, _ = regression(300)
    X = X.astype(np.float32)
    model = KernelRegressor(approximation=approximation, random_state=0).fit(X[:200], y[:200])
    assert model.typicality(1e6 + X[:3]).max() <= 1 / 201
    # one in a hundred of like rows; the chance of more than eight of a hundred is below 1e-6
    assert np.mean(model.typicality(X[200:]) < 0.01) <= 0.08


def test_rows_of_fit_are_typical():
    X, y, _ = regression(100)
    model = KernelClassifier(random_state=0).fit(X, y > 0)
    assert (model.typicality(X) == 1).all()


def test_a_model_that_is_not_fitted_knows_no_rows():
    with pytest.raises(NotFittedError):
        KernelRegressor().typicality(np.zeros((1, 2)))
