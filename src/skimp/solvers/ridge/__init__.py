"""Ridge regression for many penalties: exact and reduced fits, leave-one-out and GCV errors."""

from skimp.solvers.ridge._exact import ExactSmoother, exact_cost, exact_work, solve_exact
from skimp.solvers.ridge._left_out import LeftOut, Measure, leave_one_out, squared_errors
from skimp.solvers.ridge._moments import Covariance, covariance
from skimp.solvers.ridge._path import Path, penalty_factor, ridge_path
from skimp.solvers.ridge._reduced import ReducedSmoother
from skimp.solvers.ridge._search import CRITERIA, FOLDS, best_alpha, fold_scores, golden_section
from skimp.solvers.ridge._smoother import LinearFit, Smoother

__all__ = [
    "CRITERIA",
    "FOLDS",
    "Covariance",
    "ExactSmoother",
    "LeftOut",
    "LinearFit",
    "Measure",
    "Path",
    "ReducedSmoother",
    "Smoother",
    "best_alpha",
    "covariance",
    "exact_cost",
    "exact_work",
    "fold_scores",
    "golden_section",
    "leave_one_out",
    "penalty_factor",
    "ridge_path",
    "solve_exact",
    "squared_errors",
]
