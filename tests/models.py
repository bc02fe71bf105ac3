"""Estimators that the estimators' tests fit in turn."""

import pytest

from skimp import KernelClassifier, KernelRegressor
from skimp.features import Nystroem, RandomFourier

ALPHA = 1e-4
APPROXIMATIONS = [
    None,
    30,
    Nystroem(budget=30, rank=8),
    RandomFourier(n_components=31),
    RandomFourier(n_components=31, form="phase"),
]
ESTIMATORS = [KernelRegressor, KernelClassifier]

every_estimator = pytest.mark.parametrize("estimator", ESTIMATORS)


def regressor(approximation=30, kernel="rbf", **params):
    params = {"alpha": ALPHA, "random_state": 0, **params}
    return KernelRegressor(kernel, approximation=approximation, **params)
