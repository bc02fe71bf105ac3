"""What a fit costs: operations over speeds, and the bytes that are held at the same time.

Letters: n rows of d columns, D features (m points), k outputs.
"""

from skimp._core._threads import thread_count
from skimp._params._rules import broken
from skimp.choice._counts import Cost, Phase, Shape, Traits
from skimp.choice._map_cost import made_map
from skimp.choice._rates import Rates
from skimp.choice._solver_cost import exact_phases, solved
from skimp.features import FeatureMap
from skimp.losses import Loss, Squared
from skimp.solvers import Auto, Solver

__all__ = ["Phase", "Shape", "Traits", "predicted_phases"]


def predicted_phases(
    feature_map: FeatureMap | None,
    shape: Shape,
    *,
    loss: Loss,
    solver: Solver,
    labelled: bool,
    rates: Rates,
    memory_limit: int | str | None = None,
    n_jobs: int | None = None,
    alpha: float = 1e-6,
    traits: Traits | None = None,
) -> tuple[Phase, ...]:
    """Predict what the phases of a fit cost, from sizes alone.

    Parameters
    ----------
    feature_map : FeatureMap or None
        The map, not fitted; None for the exact model of the squared loss.
    shape : Shape
        The size of the data.
    loss : Loss
        The loss.
    solver : Solver
        The solver.
    labelled : bool
        Whether y are classes.
    rates : Rates
        Speeds of the machine.
    memory_limit, n_jobs, alpha
        As in estimators.
    traits : Traits or None, default=None
        What is known of the data; None for what is typical.

    Returns
    -------
    tuple of Phase

    Examples
    --------
    >>> from skimp.choice._rates import NOMINAL
    >>> from skimp.choice._cost import Shape, predicted_phases
    >>> from skimp.features import RandomFourier
    >>> from skimp.losses import squared
    >>> from skimp.solvers import Auto
    >>> options = {"loss": squared, "solver": Auto(), "labelled": False, "rates": NOMINAL}
    >>> phases = predicted_phases(RandomFourier(), Shape(100_000, 20), **options)
    >>> [phase.name for phase in phases]
    ['read', 'draw', 'solve']
    """
    if feature_map is None and not (isinstance(loss, Squared) and isinstance(solver, Auto)):
        raise broken("predicted_phases", "feature_map", "a feature map for this loss", None)
    cost = Cost(
        shape, rates, thread_count(n_jobs), n_jobs, memory_limit, labelled, traits or Traits()
    )
    read = Phase("read", cost.stream(2 * cost.data_bytes) + 2 * cost.calls(shape.n_rows), 0)
    if feature_map is None:
        return read, *exact_phases(cost)
    made = made_map(feature_map, cost)
    return read, *made.phases, solved(made, cost, loss, solver, alpha)
