"""How good a model, a budget or a feature map is, and what a fit will cost."""

from skimp.diagnostics._bounds import (
    binning_bound,
    binning_size,
    fourier_bound,
    fourier_size,
    hoeffding_bound,
    hoeffding_size,
)
from skimp.diagnostics._budget_quality import BudgetQuality, budget_quality
from skimp.diagnostics._compare_selectors import SelectorComparison, compare_selectors
from skimp.diagnostics._kernel_error import MapComparison, compare_maps, kernel_error

__all__ = [
    "BudgetQuality",
    "MapComparison",
    "SelectorComparison",
    "binning_bound",
    "binning_size",
    "budget_quality",
    "compare_maps",
    "compare_selectors",
    "fourier_bound",
    "fourier_size",
    "hoeffding_bound",
    "hoeffding_size",
    "kernel_error",
]
