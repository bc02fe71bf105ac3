"""Solvers: minimize a regularized loss over mapped rows and return a `Solution`."""

from skimp.solvers._auto import DIRECT_FEATURES, Auto
from skimp.solvers._base import (
    Learner,
    Problem,
    Solution,
    Solver,
    Status,
    as_solver,
    incremental_solvers,
)
from skimp.solvers._compiled import as_layout, compiled_loss
from skimp.solvers._costs import visit_bytes
from skimp.solvers._cutting_plane import solve_by_cuts
from skimp.solvers._direct import Direct
from skimp.solvers._dual_cd import DualCD
from skimp.solvers._features import as_dense_features, as_features, as_targets
from skimp.solvers._items import solve_by_items
from skimp.solvers._l1_cd import L1CD
from skimp.solvers._monitors import Deadline, EarlyStopping
from skimp.solvers._newton import Newton
from skimp.solvers._passes import Passes, Visits
from skimp.solvers._pcg import PCG
from skimp.solvers._pegasos import Pegasos
from skimp.solvers._sarah import SARAH
from skimp.solvers._sgd import SGD
from skimp.solvers.ridge import solve_exact

auto = Auto()
direct = Direct()
dual_cd = DualCD()
l1_cd = L1CD()
newton = Newton()
pcg = PCG()
pegasos = Pegasos()
sarah = SARAH()
sgd = SGD()

__all__ = [
    "DIRECT_FEATURES",
    "L1CD",
    "PCG",
    "SARAH",
    "SGD",
    "Auto",
    "Deadline",
    "Direct",
    "DualCD",
    "EarlyStopping",
    "Learner",
    "Newton",
    "Passes",
    "Pegasos",
    "Problem",
    "Solution",
    "Solver",
    "Status",
    "Visits",
    "as_dense_features",
    "as_features",
    "as_layout",
    "as_solver",
    "as_targets",
    "auto",
    "compiled_loss",
    "direct",
    "dual_cd",
    "incremental_solvers",
    "l1_cd",
    "newton",
    "pcg",
    "pegasos",
    "sarah",
    "sgd",
    "solve_by_cuts",
    "solve_by_items",
    "solve_exact",
    "visit_bytes",
]
