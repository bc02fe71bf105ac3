"""Ridge models of all penalties: moments, paths, exact and reduced fits, left-out errors."""

from skimp.solvers.ridge._exact import ExactSmoother, exact_cost, solve_exact
from skimp.solvers.ridge._folds import FOLDS, fold_scores
from skimp.solvers.ridge._golden_section import golden_section
from skimp.solvers.ridge._left_out import LeftOut, Measure, leave_one_out, squared_errors
from skimp.solvers.ridge._moments import Covariance, covariance
from skimp.solvers.ridge._path import Path, penalty_factor, ridge_path
from skimp.solvers.ridge._reduced import ReducedSmoother
from skimp.solvers.ridge._smoother import Errors, LinearFit, Smoother
from skimp.solvers.ridge._validation import CRITERIA, best_alpha

__all__ = [
    "CRITERIA",
    "FOLDS",
    "Covariance",
    "Errors",
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
    "fold_scores",
    "golden_section",
    "leave_one_out",
    "penalty_factor",
    "ridge_path",
    "solve_exact",
    "squared_errors",
]
