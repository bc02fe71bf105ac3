"""Budgets: the landmark points that represent the data, and the selectors that choose them."""

from skimp.budgets._agglomerative import Agglomerative
from skimp.budgets._base import Budget, RowSelector, Selector, as_selector
from skimp.budgets._by_class import Auto, Balanced
from skimp.budgets._column_subset import ColumnSubset
from skimp.budgets._dbh import DBH, random_pairs
from skimp.budgets._fixed import Fixed, check_points
from skimp.budgets._groups import are_classes
from skimp.budgets._kmeans import KMeans
from skimp.budgets._leverage import Leverage
from skimp.budgets._rpcholesky import RPCholesky, pivot_order
from skimp.budgets._uniform import Uniform
from skimp.budgets._weighted import Weighted

__all__ = [
    "DBH",
    "Agglomerative",
    "Auto",
    "Balanced",
    "Budget",
    "ColumnSubset",
    "Fixed",
    "KMeans",
    "Leverage",
    "RPCholesky",
    "RowSelector",
    "Selector",
    "Uniform",
    "Weighted",
    "are_classes",
    "as_selector",
    "check_points",
    "pivot_order",
    "random_pairs",
]
