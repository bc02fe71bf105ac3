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
LABEL_LOSSES = ["hinge", "squared_hinge", "log", "softmax", "multiclass_hinge"]
"""Losses for classes only."""
every_estimator = pytest.mark.parametrize("estimator", ESTIMATORS)


def classifier(approximation=30, kernel="rbf", **params):
    """Return a classifier whose solution does not depend on how the problem is given."""
    params = {"alpha": ALPHA, "tol": 1e-12, "random_state": 0, **params}
    return KernelClassifier(kernel, approximation=approximation, **params)


def regressor(approximation=30, kernel="rbf", **params):
    params = {"alpha": ALPHA, "random_state": 0, **params}
    return KernelRegressor(kernel, approximation=approximation, **params)


def outputs(model, X):
    """Return decisions of a classifier, or predictions of a regressor, as columns."""
    found = getattr(model, "decision_function", model.predict)(X)
    return found.reshape(len(found), -1)
