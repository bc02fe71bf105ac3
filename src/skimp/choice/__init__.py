"""What "auto" does: candidates, trials, limits, and the plan of a fit."""

from skimp.choice._cost import Phase, predict_phases
from skimp.choice._plan import Plan
from skimp.choice._rates import NOMINAL, Rates, measured_rates
from skimp.choice._task import Spec, Task

__all__ = [
    "NOMINAL",
    "Phase",
    "Plan",
    "Rates",
    "Spec",
    "Task",
    "measured_rates",
    "predict_phases",
]
