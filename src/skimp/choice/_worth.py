"""When a larger model is worth its cost, and what it costs to find out."""

from dataclasses import replace

from skimp._core._work import Size
from skimp.choice._plan import Phase, Plan, predict_phases
from skimp.choice._rates import Rates
from skimp.choice._task import Spec
from skimp.features import Nystroem
from skimp.losses import squared
from skimp.solvers import Direct

PATIENCE, WORTH = 15.0, 0.2
"""What is minimised is error (seconds + 15)^0.2: a few seconds cost little, and where there are
many, twice the time has to buy 13 % less error."""
FIRST_ROWS = 8192
"""Rows of the first trials."""
FIRST_SIZE, FIRST_GRIDS = 512, 64
"""Landmarks or features of the first trials, and grids."""
LARGEST_SIZE, LARGEST_TRIAL = 2**14, 2**15
"""The most landmarks or features, and rows of the trials that they are tried on."""
TRIED = 0.5
"""Seconds of a trial over those of a fit to its rows."""
_FIRST_TRIALS = 10
"""Trials of the first size."""
_HOPED = 0.8
"""Error of twice the size, over that of the size."""


def price(error: float, seconds: float, n_rows: int) -> float:
    """Return what an error costs that is reached in some seconds; few rows have less patience."""
    patience = PATIENCE * min(1.0, (n_rows + 1000) / FIRST_ROWS)
    return error * float((seconds + patience) ** WORTH)


def predict_search(spec: Spec, size: Size, rates: Rates) -> tuple[Phase, Nystroem]:
    """Predict what a search for a map costs, and the largest model that it may choose.

    Of landmarks: random features of the same size cost less, and grids mostly do. A doubling is
    worth its cost as long as it would be if it brought a fifth less error.
    """
    n = size.n_rows

    def fit(m: int) -> Plan:
        landmarks = Nystroem(spec.kernel, budget=m)
        parts = {"loss": spec.loss, "solver": spec.solver}
        return Plan(predict_phases(landmarks, size, rates=rates, **parts))

    def trial(m: int, n_rows: int) -> Plan:
        landmarks = Nystroem(spec.kernel, budget=m, selector="uniform")
        few = replace(size, n_rows=min(n_rows, n))
        return Plan(predict_phases(landmarks, few, loss=squared, solver=Direct(), rates=rates))

    m = min(FIRST_SIZE, n)
    last = trial(m, FIRST_ROWS)
    spent, now = _FIRST_TRIALS * last.seconds, fit(m)
    while 2 * m <= min(LARGEST_SIZE, n):
        larger, tried = fit(2 * m), min(32 * m, LARGEST_TRIAL, n)
        late = spec.time_limit is not None and spent + larger.seconds > spec.time_limit
        hoped = price(_HOPED, (1 + TRIED * tried / n) * larger.seconds, n)
        if larger.bytes > size.memory or late or hoped >= price(1.0, now.seconds, n):
            break
        m, now = 2 * m, larger
        last = trial(m, tried)
        spent += 2 * last.seconds
    return Phase("search", spent, last.bytes), Nystroem(spec.kernel, budget=m)
