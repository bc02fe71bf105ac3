"""Solvers: minimize a regularized loss over mapped rows and return a `Solution`."""

from skimp.solvers._auto import DIRECT_FEATURES, Auto
from skimp.solvers._base import Problem, Solution, Solver, Status, as_solver
from skimp.solvers._direct import Direct
from skimp.solvers._dual_cd import DualCD
from skimp.solvers._features import as_dense_features, as_features, as_targets
from skimp.solvers._monitors import Deadline, EarlyStopping
from skimp.solvers._newton import Newton
from skimp.solvers._pcg import PCG
from skimp.solvers._pegasos import Pegasos
from skimp.solvers._sgd import SGD
from skimp.solvers.ridge import solve_exact

auto = Auto()
direct = Direct()
dual_cd = DualCD()
newton = Newton()
pcg = PCG()
pegasos = Pegasos()
sgd = SGD()

__all__ = [
    "DIRECT_FEATURES",
    "PCG",
    "SGD",
    "Auto",
    "Deadline",
    "Direct",
    "DualCD",
    "EarlyStopping",
    "Newton",
    "Pegasos",
    "Problem",
    "Solution",
    "Solver",
    "Status",
    "as_dense_features",
    "as_features",
    "as_solver",
    "as_targets",
    "auto",
    "direct",
    "dual_cd",
    "newton",
    "pcg",
    "pegasos",
    "sgd",
    "solve_exact",
]
