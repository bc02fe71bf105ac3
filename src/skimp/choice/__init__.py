"""What "auto" does: candidates, trials, limits, and the plan of a fit."""

from skimp.choice._choose import choose, choose_penalty
from skimp.choice._fit_fixed import fit_map, pose_problem
from skimp.choice._judging import Judge
from skimp.choice._limits import Limits
from skimp.choice._merge_equal import merge_equal
from skimp.choice._plan import Phase, Plan, predict_phases
from skimp.choice._rates import NOMINAL, Rates, measured_rates, seconds
from skimp.choice._search import Choice
from skimp.choice._task import Spec, Task
from skimp.choice._trials import Trial, Trials
from skimp.choice._worth import predict_search

__all__ = [
    "NOMINAL",
    "Choice",
    "Judge",
    "Limits",
    "Phase",
    "Plan",
    "Rates",
    "Spec",
    "Task",
    "Trial",
    "Trials",
    "choose",
    "choose_penalty",
    "fit_map",
    "measured_rates",
    "merge_equal",
    "pose_problem",
    "predict_phases",
    "predict_search",
    "seconds",
]
