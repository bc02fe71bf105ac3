"""What fitting KRLS costs: an exact factorization, or passes over the rows with few functions."""

from collections.abc import Iterator
from typing import Any

from skimp._core._work import Size
from skimp._params._memory import parse_bytes
from skimp._params._rules import check_params
from skimp.budgets import as_selector
from skimp.choice import Rates
from skimp.choice._counts import DOUBLE, Cost, Phase, Shape, Traits
from skimp.choice._map_cost import selected
from skimp.effects._approximation import (
    Approximation,
    Points,
    RowSample,
    Sketch,
    as_approximation,
)
from skimp.kernels import Gaussian, as_kernel
from skimp.solvers.ridge import FOLDS


def predict_krls(model: Any, size: Size, rates: Rates) -> tuple[Phase, ...]:
    """Predict what the phases of fitting a `KRLS` cost, from sizes alone.

    Raises for parameters that ``fit`` refuses. A category counts as one column.
    """
    check_params(model)
    approximation = as_approximation(model.approximation, owner="KRLS")
    kernel = Gaussian() if model.kernel is None else as_kernel(model.kernel, owner="KRLS")
    shape = Shape(size.n_rows, size.n_features, size.dtype, size.n_outputs, size.density)
    cost = Cost(shape, rates, size.threads, size.threads, size.memory, False, Traits())
    read = Phase("read", cost.stream(4 * cost.data_bytes) + 4 * cost.calls(size.n_rows), 0)
    return read, *krls_phases(model, approximation, kernel, cost)


def krls_phases(
    estimator: Any, approximation: Approximation | None, kernel: Any, cost: Cost
) -> Iterator[Phase]:
    """Yield the phases of a fit after the rows were read.

    Parameters
    ----------
    estimator : KRLS
        Its ``alpha`` says what a penalty is chosen by, its ``sigmas`` how many widths there are.
    approximation : Approximation or None
        What is fitted.
    kernel : Kernel
        The kernel.
    cost : Cost
        The data and the machine.
    """
    n = cost.shape.n_rows
    m = n if approximation is None else approximation.count(n)
    # the model of the best width is made twice
    widths = 1 if estimator.sigmas is None else len(estimator.sigmas) + (len(estimator.sigmas) > 1)
    criterion = estimator.alpha if isinstance(estimator.alpha, str) else None
    if approximation is None or isinstance(approximation, RowSample):
        n = m
        refits = FOLDS * (1 - 1 / FOLDS) ** 3 if criterion == "kfold" else 0.0
        seconds = cost.kernel(kernel, n, n, DOUBLE) + _tridiagonal(n, cost)
        held = int((9 + 6 * (refits > 0)) * n**2 + 32 * n * cost.shape.n_features)
        yield Phase("factor", widths * (1 + refits) * seconds, held)
        return
    points = m * cost.shape.n_features * 8
    mapping = cost.kernel(kernel, n, m, DOUBLE)
    if not isinstance(approximation, Points):
        mapping = cost.kernel(kernel, n, n, DOUBLE) + cost.gemm(2 * n**2 * m, DOUBLE)
        yield Phase("draw", widths * mapping, int(8 * n * (m + cost.shape.n_features)))
    else:
        chosen, held_then = selected(
            as_selector(approximation.selector, owner="plan"), kernel, m, cost
        )
        # each fold has points of its own
        times = 1 + (FOLDS - 1) * (criterion == "kfold")
        yield Phase("select", widths * times * chosen, int(held_then + points))
    kept = 8 * n * m if 8 * n * m < parse_bytes(cost.memory_limit) // 4 else 0
    # covariances; residuals, and those of all penalties, unless values are kept; folds
    again = 0 if kept else 1 + (criterion in ("loo", "gcv"))
    passes = 1 + again + FOLDS * (criterion == "kfold")
    seconds = passes * mapping + cost.factor(16 * m**3)
    products = 1.0 + 2 * (criterion == "loo") + (FOLDS - 1) * (criterion == "kfold")
    seconds += cost.gemm(products * n * m**2, DOUBLE)
    blocks = 3 * cost.threads * min(n, 2048) * m * 8
    held = (48 + 16 * cost.threads) * m**2 + blocks + kept + points
    held += 8 * n * m if isinstance(approximation, Sketch) else 0
    yield Phase("solve", widths * seconds, int(held))


def _tridiagonal(n: int, cost: Cost) -> float:
    """Return the seconds of a factorization: half of its reduction reads the matrix column-wise."""
    return cost.stream(4 / 3 * n**3) + cost.gemm(2 * n**3, DOUBLE)
