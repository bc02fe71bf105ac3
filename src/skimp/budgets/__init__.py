"""Budgets: which points stand for the data."""

from skimp.budgets._agglomerative import Agglomerative
from skimp.budgets._auto import Auto
from skimp.budgets._balanced import Balanced
from skimp.budgets._base import Budget, RowSelector, Selector, as_selector
from skimp.budgets._column_subset import ColumnSubset
from skimp.budgets._dbh import DBH
from skimp.budgets._fixed import Fixed
from skimp.budgets._kmeans import KMeans
from skimp.budgets._leverage import Leverage
from skimp.budgets._rpcholesky import RPCholesky
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
    "as_selector",
]
