"""The exact model of the squared loss, with a landmark at each row."""

import numpy as np

from skimp._core._objects import as_real
from skimp._core._random import draw_seed
from skimp._core._work import DOUBLE
from skimp._params._memory import require_memory
from skimp.choice import Choice, Judge, Spec, Task, merge_equal
from skimp.data import Block
from skimp.estimators._fitted import Clock, Model
from skimp.features import Landmarks
from skimp.kernels import Gaussian, as_kernel, check_gram, require
from skimp.solvers import solve_exact

_SAMPLE = 1000
"""Rows that a certificate looks at."""


def require_definite(spec: Spec) -> None:
    """Raise for a kernel that the exact model cannot have."""
    kernel = Gaussian() if spec.kernel is None else spec.kernel
    require(kernel, "positive_definite", owner=spec.owner, advice="the exact model needs it")


def fit_exactly(task: Task, choice: Choice, rng: np.random.Generator, clock: Clock) -> Model:
    """Fit the exact model of the chosen kernel."""
    spec, rows, context = task.spec, task.numbers, task.context
    own, n = choice.approximation.kernel, rows.n_rows
    kernel = as_kernel(spec.kernel if own is None else own, owner=spec.owner)
    kernel = kernel.resolve(context.bind(rows), draw_seed(rng))
    require_memory(
        24 * n**2,
        spec.memory_limit,
        f"an exact model of {n} rows (approximation=None)",
        "give approximation a budget such as 1000",
    )
    distinct = merge_equal(rows.collect())[0]
    # float64, because small penalties make coefficients that amplify the rounding of float32
    basis = Landmarks(kernel, as_real(distinct.X, DOUBLE), DOUBLE)
    with clock.phase("map"):
        K = kernel(basis.points, n_jobs=context.n_jobs)
        check_gram(K, kernel)
    spread = np.unique(np.linspace(0, distinct.size - 1, _SAMPLE).astype(int))
    # the intercept, which is predicted far from all rows, stays near the range of numbers
    Y = np.asarray(distinct.y)
    judge = Judge.of_targets(spec.loss, Y, spec.fit_intercept)
    with clock.phase("solve"):
        solution = solve_exact(
            K,
            Y,
            distinct.weights(),
            alpha=spec.alpha,
            fit_intercept=spec.fit_intercept,
            trusted=None if spec.classes else lambda b: judge.trusts(b, b),
        )
    assert solution.alpha is not None, "it was given or chosen"
    sample = Block(basis.points[spread], None, distinct.weights()[spread], 0)
    held = {"search": choice.bytes, "map": 8 * n**2, "solve": 24 * n**2}
    return Model(basis, solution, solution.alpha, sample, held)
