"""Choose what is left on "auto": candidates, trials, limits, and the plan of a fit."""

from skimp.choice._choose import choose, choose_penalty
from skimp.choice._columns import measure_columns
from skimp.choice._judging import Judge
from skimp.choice._limits import Limits
from skimp.choice._plan import NOMINAL, Phase, Plan, Rates, predict_phases, seconds
from skimp.choice._rates import measured_rates
from skimp.choice._search import Choice, predict_search
from skimp.choice._task import Spec, Task
from skimp.choice._trials import (
    Trial,
    Trials,
    describe_kernel,
    describe_map,
    given_again,
    merge_equal,
)

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
    "describe_kernel",
    "describe_map",
    "given_again",
    "measure_columns",
    "measured_rates",
    "merge_equal",
    "predict_phases",
    "predict_search",
    "seconds",
]
