"""How good a model, a budget or a feature map is, and what a fit will cost."""

from skimp.diagnostics._budget_quality import BudgetQuality, budget_quality
from skimp.diagnostics._compare_selectors import SelectorComparison, compare_selectors

__all__ = ["BudgetQuality", "SelectorComparison", "budget_quality", "compare_selectors"]
