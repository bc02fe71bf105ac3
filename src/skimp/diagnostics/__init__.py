"""Measure the quality of models, budgets and feature maps, and predict the cost of a fit."""

from skimp.choice import Plan
from skimp.diagnostics._bounds import (
    binning_bound,
    binning_size,
    fourier_bound,
    fourier_size,
    hoeffding_bound,
    hoeffding_size,
)
from skimp.diagnostics._budget_curve import BudgetCurve, budget_curve
from skimp.diagnostics._budget_quality import BudgetQuality, budget_quality
from skimp.diagnostics._compare_selectors import SelectorComparison, compare_selectors
from skimp.diagnostics._distortion import distance_distortion
from skimp.diagnostics._hash_recall import HashRecall, hash_recall
from skimp.diagnostics._kernel_error import MapComparison, compare_maps, kernel_error
from skimp.diagnostics._plan import plan
from skimp.diagnostics._significance import Significance, compare_significance
from skimp.effects import EffectsSummary, Expectation
from skimp.estimators import Certificate

__all__ = [
    "BudgetCurve",
    "BudgetQuality",
    "Certificate",
    "EffectsSummary",
    "Expectation",
    "HashRecall",
    "MapComparison",
    "Plan",
    "SelectorComparison",
    "Significance",
    "binning_bound",
    "binning_size",
    "budget_curve",
    "budget_quality",
    "compare_maps",
    "compare_selectors",
    "compare_significance",
    "distance_distortion",
    "fourier_bound",
    "fourier_size",
    "hash_recall",
    "hoeffding_bound",
    "hoeffding_size",
    "kernel_error",
    "plan",
]
