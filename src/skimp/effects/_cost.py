"""Cost of fitting KRLS: an exact factorization, or passes over the rows."""

from collections.abc import Iterator
from typing import Any

from skimp._core._work import DOUBLE, Size, Stage, calls, factor, gemm, stream
from skimp.budgets import as_selector
from skimp.effects._approximation import Points, Sketch
from skimp.effects._models import default_kernel, read_spec
from skimp.solvers.ridge import FOLDS, exact_work


def count_cost(model: Any, size: Size) -> Iterator[Stage]:
    """Yield the stages of a fit of a `skimp.KRLS`; a categorical column counts as one column."""
    spec, kernel = read_spec(model), default_kernel(model, size.n_features)
    n, d, given = size.n_rows, size.n_features, spec.approximation
    m = n if given is None else given.count(n)
    # the model of the best bandwidth is fitted twice
    n_kernels = 1 if model.sigmas is None else len(model.sigmas) + (len(model.sigmas) > 1)
    loo, folds = spec.alpha == "loo", spec.alpha == "kfold"
    yield Stage("read", stream(4 * size.data_bytes) + 4 * calls(n), 0)
    if not isinstance(given, Points | Sketch):
        work = kernel.work(m, m, size, DOUBLE) + exact_work(m, several=True)
        refits = FOLDS * (1 - 1 / FOLDS) ** 3 if folds else 0.0
        yield Stage("factor", n_kernels * (1 + refits) * work, (9 + 6 * folds) * m**2 + 32 * m * d)
        return
    points, mixing = 8 * m * d, 0
    mapping = kernel.work(n, m, size, DOUBLE)
    if isinstance(given, Points):
        select = as_selector(given.selector, owner="KRLS").cost(m, kernel, size)
        # each fold has its own landmarks
        times = n_kernels * (FOLDS if folds else 1)
        yield Stage("select", times * select.work, select.bytes + points)
    if isinstance(given, Sketch):
        mixing = 8 * n * m
        mapping = kernel.work(n, n, size, DOUBLE) + gemm(2 * n**2 * m, DOUBLE)
        yield Stage("draw", n_kernels * mapping, mixing + 8 * n * d)
    kept = 8 * n * m if 8 * n * m < size.memory // 4 else 0
    # covariances; residuals for one and for all penalties unless values are kept; folds
    passes = 1 + (0 if kept else 1 + (loo or spec.alpha == "gcv")) + FOLDS * folds
    work = passes * mapping + factor(16 * m**3)
    work += gemm((1 + 2 * loo + (FOLDS - 1) * folds) * n * m**2, DOUBLE)
    blocks = 3 * size.threads * min(n, 2048) * m * 8
    held = (48 + 16 * size.threads) * m**2 + blocks + kept + points + mixing
    yield Stage("solve", n_kernels * work, held)
