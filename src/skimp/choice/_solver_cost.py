"""What solving costs, once there is a feature map."""

from collections.abc import Iterator

from skimp._core._work import MapCost, Size, Stage, Work
from skimp._params._memory import parse_bytes
from skimp.choice._counts import DOUBLE, Cost, Made, Phase
from skimp.choice._rates import seconds
from skimp.losses import Loss
from skimp.solvers import Solver
from skimp.solvers.ridge import exact_cost


def exact_phases(cost: Cost) -> Iterator[Phase]:
    n, d = cost.shape.n_rows, cost.shape.n_features
    points = 16 * n * d
    yield Phase("factor", cost.kernel(None, n, n, DOUBLE), int(9 * n**2 + points))
    yield _phase(exact_cost(_size(cost)), cost)


def solved(made: Made, cost: Cost, loss: Loss, solver: Solver, alpha: float) -> Phase:
    mapped = MapCost(
        (),
        made.width,
        made.dtype,
        Work(calls=made.mapping * cost.rates.calls),
        made.held,
        made.scratch,
        made.landmarks,
        made.groups,
        made.n_bins,
    )
    return _phase(solver.cost(mapped, _size(cost), loss, alpha), cost)


def _size(cost: Cost) -> Size:
    shape = cost.shape
    return Size(
        shape.n_rows,
        shape.n_features,
        shape.dtype,
        shape.n_outputs,
        shape.density,
        threads=cost.threads,
        memory=parse_bytes(cost.memory_limit),
    )


def _phase(stage: Stage, cost: Cost) -> Phase:
    return Phase(stage.name, seconds(stage.work, cost.rates), int(stage.bytes))
