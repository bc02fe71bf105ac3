"""Plots of fitted models and comparisons; the only folder that imports matplotlib."""

from skimp.report._budget_curve import BudgetCurveDisplay
from skimp.report._comparisons import KernelErrorDisplay, SelectorDisplay
from skimp.report._effects import EffectsDisplay
from skimp.report._hash_recall import HashRecallDisplay

__all__ = [
    "BudgetCurveDisplay",
    "EffectsDisplay",
    "HashRecallDisplay",
    "KernelErrorDisplay",
    "SelectorDisplay",
]
