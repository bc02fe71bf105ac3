"""What the classifier and the regressor with doubly stochastic gradients have in common."""

from abc import ABC
from contextlib import nullcontext
from typing import Any, ClassVar, final

import numpy as np
from scipy import sparse

from skimp._core._linalg import check_representable, dense
from skimp._core._random import draw_seed
from skimp._core._threads import single_threaded_blas
from skimp._core._types import Array, Matrix
from skimp._params._rules import Rule, integer, is_auto, number, one_of
from skimp.data import Context, Rows
from skimp.estimators._columns import warn_of_columns
from skimp.estimators._doubly_steps import Batch, GradientStep, ImplicitStep, StepRule
from skimp.estimators._online_machine import OnlineMachine, RowLearner
from skimp.estimators._seeded_frequencies import SeededFrequencies
from skimp.kernels import Kernel, as_kernel, require
from skimp.losses import Loss

_PER_ROW = 20
"""Frequencies per row of a fit that are enough: later steps visit them again."""
_THREADED = 2**20
"""Features of a step above which threads pay off."""
_PREDICTED = 8192
"""Number of rows for which frequencies are drawn once in a prediction."""


@final
class DoublyLearner(RowLearner):
    """The state of doubly stochastic gradients: coefficients, and seeds of the frequencies."""

    def __init__(
        self,
        frequencies: SeededFrequencies,
        loss: Loss,
        alpha: float,
        rule: StepRule,
        sizes: tuple[int, int],
        most: float,
        seed: int,
    ):
        self.frequencies, self.loss, self.alpha, self.rule = frequencies, loss, alpha, rule
        self.batch_size, self.n_new = sizes
        self.most, self.seed, self.n_steps, self._next = most, seed, 0, 0
        self.coef = np.zeros((2, 0, 0))
        self.diagonal = frequencies.kernel.diag(np.zeros((1, frequencies.n_features))).item()

    def visit(self, X: Any, Y: Array, factor: Array, order: Array) -> None:
        if self.n_steps == 0:
            self.coef = np.zeros((2, 0, Y.shape[1]))
        # batches of equal size: a short one at the end would be as noisy as it is short
        for rows in np.array_split(order, -(-len(order) // self.batch_size) or 1):
            if len(rows):
                self._step(self._take(X, rows), Y[rows], factor[rows])

    def _step(self, X: Matrix, Y: Array, factor: Array) -> None:
        # a stream of single rows must not grow by all of them with each row
        size = min(self.n_new, 2 * X.shape[0])
        known, first = self.coef.shape[1], self._first(size)
        small = X.shape[0] * (known + size) <= _THREADED
        threads = 1 if small else self.threads
        F = self.frequencies.expand(X, self.coef, threads)
        Z = self.frequencies.features(X, first, first + size, threads)
        scale = np.sqrt(self.diagonal / size)
        Z *= Z.dtype.type(scale)
        self.n_steps += 1
        batch = Batch(Z, Y, F, factor, self.loss, threads)
        with single_threaded_blas() if small else nullcontext():
            new, shrink = self.rule.step(batch, self.alpha, self.n_steps)
        new = scale * new.reshape(2, size, -1)
        check_representable(new)
        coef = self.coef * shrink
        if first == known:
            coef = np.concatenate([coef, new], axis=1)
        else:
            coef[:, first : first + size] += new
        self.coef = coef

    def _first(self, size: int) -> int:
        """Return the first frequency of a step: a new one, or the next of those to visit again."""
        known = self.coef.shape[1]
        if known < size or known + size <= self.most:
            return known
        first = self._next if self._next + size <= known else 0
        self._next = first + size
        return first

    def _take(self, X: Any, numbers: Array) -> Matrix:
        """Return some rows in the data type of the frequencies."""
        known = self.frequencies
        if isinstance(X, tuple):
            data, columns, starts = X
            shape = len(starts) - 1, known.n_features
            return sparse.csr_matrix((data, columns, starts), shape)[numbers].astype(known.dtype)
        return dense(X[numbers], known.dtype)

    def predict(self, rows: Rows, context: Context) -> Array:
        parts = [
            self.frequencies.expand(block.X, self.coef, context.threads).astype(rows.dtype)
            for block in rows.reblocked(_PREDICTED).blocks()
        ]
        return np.concatenate([np.zeros((0, self.n_outputs), rows.dtype), *parts])

    def describe(self) -> str:
        return f"{self.n_steps:,} steps, {self.coef.shape[1]:,} frequencies"


class DoublyMachine(OnlineMachine, ABC):
    """A kernel machine that draws new random features in each step."""

    rules: ClassVar[dict[str, Rule]] = {
        **OnlineMachine.rules,
        "alpha": number(above=0) | one_of("auto"),
        "step": number(above=0) | one_of("auto"),
        "batch_size": integer(at_least=1),
        "n_frequencies": integer(at_least=1),
    }

    kernel: Kernel | str
    loss: Loss | str
    alpha: float | str
    step: float | str
    batch_size: int
    n_frequencies: int
    _learner: DoublyLearner

    def _begin(self, rows: Rows, rng: np.random.Generator, context: Context) -> DoublyLearner:
        owner, loss = type(self).__name__, self._checked_loss(self.loss)
        kernel = as_kernel(self.kernel, owner=owner)
        advice = "its spectrum is sampled; for example Gaussian or Laplacian"
        require(kernel, "stationary", owner=owner, advice=advice)
        self._refuse_few_rows(rows, context, kernel)
        warn_of_columns(type(self).__name__, rows, kernel, context)
        seed, frequency_seed, kernel_seed = (draw_seed(rng) for _ in range(3))
        kernel = kernel.resolve(context.bind(rows), kernel_seed)
        frequencies = SeededFrequencies(kernel, rows.n_features, frequency_seed, rows.dtype)
        rule = ImplicitStep() if is_auto(self.step) else GradientStep(float(self.step))
        sizes = int(self.batch_size), int(self.n_frequencies)
        alpha = self._penalty(self.alpha, rows, context)
        most = np.inf if self._streaming else _PER_ROW * rows.n_rows
        return DoublyLearner(frequencies, loss, alpha, rule, sizes, most, seed)

    def _set_learnt(self, learner: DoublyLearner) -> None:
        self.kernel_, self.alpha_ = learner.frequencies.kernel, learner.alpha
        self.frequencies_ = learner.frequencies
        self.n_frequencies_ = learner.coef.shape[1]
        coef = learner.coef.reshape(2 * self.n_frequencies_, -1)
        self.coef_ = coef.astype(learner.frequencies.dtype)
