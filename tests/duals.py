"""Losses that have a dual, and problems that its tests solve."""

import numpy as np

from skimp.data import ArrayRows, Context
from skimp.losses import (
    EpsilonInsensitive,
    Huber,
    Quantile,
    SquaredEpsilonInsensitive,
    hinge,
    log,
    multiclass_hinge,
    squared,
    squared_hinge,
)
from skimp.solvers import DualCD, Problem
from tests.problems import labelled, regression

LABELS = [hinge, squared_hinge, log]
NUMBERS = [
    squared,
    Huber(0.5),
    Quantile(0.8),
    EpsilonInsensitive(0.2),
    SquaredEpsilonInsensitive(0.2),
]
LOSSES = [*LABELS, *NUMBERS, multiclass_hinge]

tight = DualCD(tol=1e-10, max_iter=20_000, penalize_intercept=True)


class Identity:
    """A feature map that leaves the rows as they are."""

    def __init__(self, width, dtype=np.float64):
        self.width, self.dtype = width, np.dtype(dtype)

    def map_block(self, X, out):
        out[...] = X


def data(loss, n=80, d=4, *, seed=0):
    """Return rows, targets that suit the loss, of shape (n, k), and weights."""
    if not loss.labels:
        X, y, weight = regression(n, d, seed=seed)
        return X, np.column_stack([y, X[:, 0] ** 2]), weight
    X, y, weight = labelled(n, d, seed=seed)
    return X, np.where(y[:, None] == np.arange(3), 1.0, -1.0), weight


def objective(loss, X, Y, coef, intercept=0.0, *, alpha, weight=None, P=None):
    """Return the objective, of which the intercept is penalized."""
    weight = np.ones(len(X)) if weight is None else weight
    costs = loss.value(Y, X @ coef + intercept).sum(axis=1)
    P = np.eye(len(coef)) if P is None else P
    penalty = np.trace(coef.T @ P @ coef) + np.sum(np.square(intercept))
    return weight @ costs / weight.sum() + alpha * penalty


def solved(loss, X, Y, *, weight=None, alpha=0.05, solver=tight, fit_intercept=False, **options):
    rows = ArrayRows(X, Y, weight, block_rows=32)
    problem = Problem(rows, loss, alpha, fit_intercept=fit_intercept, **options)
    return solver.solve(problem, Context(n_jobs=1))


def memory(n, k, width):
    """Return bytes that leave no room for features, if these are not in memory."""
    return 17 * n * k + 32 * n + 24 * k * width


def least_memory(k, width):
    """Return the fewest bytes with which sweeps read float64 features in blocks of 16 rows."""
    return 4 * 16 * (8 * width + 41 * k + 32) + 24 * k * width
