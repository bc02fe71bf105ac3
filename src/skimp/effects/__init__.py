"""Kernel regularized least squares: effects of columns, with standard errors."""

from skimp.effects._approximation import Points, RowSample, Sketch
from skimp.effects._krls import KRLS
from skimp.effects._summary import EffectsSummary, Expectation

__all__ = [
    "KRLS",
    "EffectsSummary",
    "Expectation",
    "Points",
    "RowSample",
    "Sketch",
]
