"""Solvers: minimise a regularized loss over mapped rows, and return a Solution."""

from skimp.solvers._base import Problem, Solution, Solver, as_solver
from skimp.solvers._direct import Direct
from skimp.solvers._dual_cd import DualCD
from skimp.solvers._exact import solve_exact

direct = Direct()
dual_cd = DualCD()

__all__ = [
    "Direct",
    "DualCD",
    "Problem",
    "Solution",
    "Solver",
    "as_solver",
    "direct",
    "dual_cd",
    "solve_exact",
]
