"""Solvers: minimise a regularized loss over mapped rows, and return a Solution."""

from skimp.solvers._base import Problem, Solution, Solver, as_solver
from skimp.solvers._direct import Direct
from skimp.solvers._exact import solve_exact

direct = Direct()

__all__ = ["Direct", "Problem", "Solution", "Solver", "as_solver", "direct", "solve_exact"]
