"""Losses: what a mistake costs."""

from skimp.losses._base import Loss, as_loss
from skimp.losses._epsilon_insensitive import EpsilonInsensitive
from skimp.losses._hinge import Hinge
from skimp.losses._huber import Huber
from skimp.losses._log import Log
from skimp.losses._multiclass_hinge import MulticlassHinge
from skimp.losses._piecewise import PiecewiseLoss
from skimp.losses._quantile import Quantile
from skimp.losses._softmax import Softmax
from skimp.losses._squared import Squared
from skimp.losses._squared_epsilon_insensitive import SquaredEpsilonInsensitive
from skimp.losses._squared_hinge import SquaredHinge

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
