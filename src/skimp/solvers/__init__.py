"""Solvers: minimise a regularized loss over mapped rows, and return a Solution."""

from skimp.solvers._auto import Auto
from skimp.solvers._base import Problem, Solution, Solver, Status, as_solver
from skimp.solvers._direct import Direct
from skimp.solvers._dual_cd import DualCD
from skimp.solvers._early_stopping import EarlyStopping
from skimp.solvers._exact import solve_exact
from skimp.solvers._newton import Newton
from skimp.solvers._pcg import PCG

auto = Auto()
direct = Direct()
dual_cd = DualCD()
newton = Newton()
pcg = PCG()

__all__ = [
    "PCG",
    "Auto",
    "Direct",
    "DualCD",
    "EarlyStopping",
    "Newton",
    "Problem",
    "Solution",
    "Solver",
    "Status",
    "as_solver",
    "auto",
    "direct",
    "dual_cd",
    "newton",
    "pcg",
    "solve_exact",
]
