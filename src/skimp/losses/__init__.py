"""Convex losses for regression and classification."""

from skimp.losses._base import Loss, as_loss
from skimp.losses._joint import MulticlassHinge, Softmax
from skimp.losses._log import Log
from skimp.losses._piecewise import (
    EpsilonInsensitive,
    Hinge,
    Huber,
    PiecewiseLoss,
    Quantile,
    Squared,
    SquaredEpsilonInsensitive,
    SquaredHinge,
)

squared = Squared()
hinge = Hinge()
squared_hinge = SquaredHinge()
log = Log()
epsilon_insensitive = EpsilonInsensitive()
squared_epsilon_insensitive = SquaredEpsilonInsensitive()
huber = Huber()
quantile = Quantile()
multiclass_hinge = MulticlassHinge()
softmax = Softmax()

__all__ = [
    "EpsilonInsensitive",
    "Hinge",
    "Huber",
    "Log",
    "Loss",
    "MulticlassHinge",
    "PiecewiseLoss",
    "Quantile",
    "Softmax",
    "Squared",
    "SquaredEpsilonInsensitive",
    "SquaredHinge",
    "as_loss",
    "epsilon_insensitive",
    "hinge",
    "huber",
    "log",
    "multiclass_hinge",
    "quantile",
    "softmax",
    "squared",
    "squared_epsilon_insensitive",
    "squared_hinge",
]
