"""Which penalty, and which of several kernels: models of all of them, and the best one."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from skimp._core._random import draw_seed
from skimp._core._types import Array
from skimp._params._memory import parse_bytes, require_memory
from skimp.data import Rows, keep_rows, kept_bytes
from skimp.effects._approximation import Approximation, Functions, RowSample, Sketch
from skimp.effects._random_sums import RandomSums
from skimp.features import Landmarks
from skimp.kernels import Kernel, check_gram
from skimp.solvers._exact_smoother import ExactSmoother
from skimp.solvers._folds import fold_scores
from skimp.solvers._reduced_smoother import ReducedSmoother
from skimp.solvers._smoother import Smoother, best_alpha

_DOUBLE = np.dtype(np.float64)


@dataclass(frozen=True)
class Choice:
    """A kernel, all models of it, and the penalty of the best.

    ``alphas`` and ``scores`` are the penalties that were compared and their squared errors, None if
    the penalty was given.
    """

    kernel: Kernel
    models: "Models"
    alpha: float
    alphas: Array | None = None
    scores: Array | None = None

    @property
    def score(self) -> float:
        """The least error, the lowest of all if the penalty was given."""
        return -np.inf if self.scores is None else float(np.min(self.scores))


@dataclass(frozen=True)
class Models:
    """The functions of a kernel, the models in them, and which rows were fitted, None for all."""

    basis: Landmarks | RandomSums
    smoother: Smoother
    fitted_rows: Array | None = None


@dataclass(frozen=True)
class Choices:
    """How to choose: the parameters of `skimp.KRLS` of these names, and a search for alpha.

    ``search`` is used for "loo" if there are no ``lams``; None for a grid.
    """

    approximation: Approximation | None
    alpha: float | str
    lams: Any
    fit_intercept: bool
    memory_limit: int | str | None
    search: Callable[[Smoother], tuple[float, Array, Array]] | None = None

    def best(self, rows: Rows, kernels: list[Kernel], seed: int) -> Choice:
        """Return the best of the kernels, and the first of equal ones.

        Of several, one model is held at a time: that of the best is made again.
        """
        if len(kernels) == 1:
            return self._of(rows, kernels[0], seed)
        found = []
        for kernel in kernels:
            choice = self._of(rows, kernel, seed)
            found.append((choice.score, choice.alpha, choice.alphas, choice.scores, kernel))
            del choice
        _, alpha, alphas, scores, kernel = min(found, key=lambda made: made[0])
        known = replace(self, alpha=alpha)._of(rows, kernel, seed)
        return replace(known, alphas=alphas, scores=scores)

    def _of(self, rows: Rows, kernel: Kernel, seed: int) -> Choice:
        models = self.models(rows, kernel, seed)
        smoother = models.smoother
        if not isinstance(self.alpha, str):
            return Choice(kernel, models, float(self.alpha))
        free = self.lams is None
        if free and self.search is not None and self.alpha == "loo":
            return Choice(kernel, models, *self.search(smoother))
        alphas = smoother.grid()
        if not free:
            alphas = np.sort(np.asarray(self.lams, float)) / smoother.n_rows
        if self.alpha == "kfold":
            lams = alphas * smoother.weight
            scores = fold_scores(
                rows, lams, seed, lambda part: self._fold(part, kernel, seed), rows.context
            )
        else:
            scores = smoother.scores(alphas, self.alpha)
        alpha = best_alpha(alphas, scores) if free else float(alphas[np.argmin(scores)])
        return Choice(kernel, models, alpha, alphas, scores)

    def _fold(
        self, rows: Rows, kernel: Kernel, seed: int
    ) -> tuple[Landmarks | RandomSums, Smoother]:
        """Return the functions and models of a fold, whose approximation sees its rows alone."""
        models = self.models(rows, kernel, seed)
        return models.basis, models.smoother

    def models(self, rows: Rows, kernel: Kernel, seed: int) -> Models:
        """Return all models of some rows, after their approximation."""
        rng = np.random.default_rng(seed)
        approximation = self.approximation
        if isinstance(approximation, RowSample):
            part, indices = approximation.draw(rows, draw_seed(rng), rows.context)
            return replace(self._exact_models(part, kernel), fitted_rows=indices)
        if not isinstance(approximation, Functions):
            return self._exact_models(rows, kernel)
        self._require_memory(rows, approximation)
        basis = approximation.make_basis(rows, kernel, rng, rows.context)
        mapped: Rows = rows.mapped(basis)
        if kept_bytes(mapped) < parse_bytes(self.memory_limit) // 4:
            mapped = keep_rows(mapped)
        smoother = ReducedSmoother(
            mapped, basis.penalty, fit_intercept=self.fit_intercept, context=rows.context
        )
        return Models(basis, smoother)

    def _exact_models(self, rows: Rows, kernel: Kernel) -> Models:
        n = rows.n_rows
        # a fold is factored beside all rows
        require_memory(
            (16 if self.alpha == "kfold" else 10) * n**2,
            self.memory_limit,
            f"the exact model of {n} rows (approximation=None)",
            "take an approximation such as 1000",
        )
        everything = rows.collect()
        assert everything.y is not None, "targets were computed for every block"
        landmarks = Landmarks(kernel, everything.X, _DOUBLE)
        K = kernel(landmarks.points, n_jobs=rows.n_jobs)
        check_gram(K, kernel)
        smoother = ExactSmoother(
            K,
            everything.y,
            everything.weight,
            fit_intercept=self.fit_intercept,
            n_jobs=rows.n_jobs,
        )
        return Models(landmarks, smoother)

    def _require_memory(self, rows: Rows, approximation: Functions) -> None:
        size = approximation.count(rows.n_rows)
        sketch = 8 * rows.n_rows * size if isinstance(approximation, Sketch) else 0
        require_memory(
            80 * size**2 + sketch,
            self.memory_limit,
            f"an approximation by {size} functions",
            "take fewer",
        )
