"""Budgets: which points stand for the data."""

from skimp.budgets._base import Budget, Selector, as_selector
from skimp.budgets._fixed import Fixed
from skimp.budgets._uniform import Uniform

__all__ = ["Budget", "Fixed", "Selector", "Uniform", "as_selector"]
