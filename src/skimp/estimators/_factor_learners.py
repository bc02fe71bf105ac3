"""Factorizations that learn from blocks of rows: by closed forms, or by stochastic steps."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from operator import add
from typing import Any, Self, final

import numpy as np

from skimp._core._blocks import Scratch
from skimp._core._linalg import solve_positive
from skimp._core._threads import single_threaded_blas
from skimp._core._types import Array
from skimp.data import Block, Context, Rows
from skimp.estimators._factor_sums import FactorSums, collect_sums
from skimp.estimators._factors import (
    Factors,
    Weighting,
    alternate,
    objective_falls,
    start_factors,
)
from skimp.estimators._label_model import LabelModel, fit_label_model
from skimp.estimators._partial_labels import PartialTargets
from skimp.features import FeatureMap, mean_length
from skimp.solvers import Passes, Visits, visit_bytes

_DECAY = 100
"""Steps after which the step size decreases as the inverse root of their number."""


@dataclass(frozen=True)
class Setting:
    """What does not change while a factorization learns.

    Attributes
    ----------
    feature_map : FeatureMap
        The fitted map z.
    unit : float
        Mean of k(x, x): squared lengths in feature space are in multiples of it.
    targets : PartialTargets
        The encoding of labels.
    weighting : Weighting
        Factors of the terms of the objective.
    n_components : int
        Number r of codes.
    tol : float
        Relative decrease of the objective at which to stop.
    max_iter : int
        Maximum number of iterations.
    """

    feature_map: FeatureMap
    unit: float
    targets: PartialTargets
    weighting: Weighting
    n_components: int
    tol: float
    max_iter: int


@dataclass(frozen=True)
class FactorLearner(ABC):
    """A factorization, and what it needs to learn from more rows.

    Attributes
    ----------
    setting : Setting
        What does not change.
    factors : Factors or None
        Basis and label weights; None before the first rows.
    history : tuple of float
        The objective, in each iteration over the last rows.
    converged : bool
        Whether it stopped decreasing, or more rows may follow.
    """

    setting: Setting
    factors: Factors | None = None
    history: tuple[float, ...] = ()
    converged: bool = False

    @abstractmethod
    def learn(self, rows: Rows, context: Context, *, stream: bool) -> Self:
        """Return a learner that has also seen these rows, of which labels are not yet encoded.

        ``stream`` is whether more rows may follow.
        """

    @abstractmethod
    def label_model(self) -> LabelModel | None:
        """Return the scores of labels; None if there are no labels so far."""

    @property
    def fitted(self) -> Factors:
        """The factors of a learner that has seen rows."""
        assert self.factors is not None, "it has seen rows"
        return self.factors


@final
@dataclass(frozen=True)
class BlockLearner(FactorLearner):
    """Closed forms for codes and for factors in turns, on sums over all rows so far."""

    sums: FactorSums | None = None

    def learn(self, rows: Rows, context: Context, *, stream: bool) -> "BlockLearner":
        given, max_iter = self.setting, self.setting.max_iter
        with context.phase("moments", unit="rows"):
            sums = collect_sums(rows, given.targets, given.feature_map, given.unit, context)
        start = self.factors
        if self.sums is not None:
            sums = self.sums.merged(sums)
        # bit-equal for any number of threads
        with (
            single_threaded_blas(),
            context.phase("factorize", unit="iterations", total=max_iter) as factorizing,
        ):
            if start is None:
                start = start_factors(sums, given.n_components, given.weighting)
            found = alternate(
                sums,
                start,
                given.weighting,
                tol=given.tol,
                max_iter=max_iter,
                advance=factorizing.advance,
            )
            factors = found.factors.canonical()
            factorizing.result = f"objective {found.history[-1]:.6g}"
        return replace(
            self,
            # a copy, without the products that it has kept meanwhile
            sums=replace(sums),
            factors=factors,
            history=found.history,
            converged=found.converged,
        )

    def label_model(self) -> LabelModel | None:
        assert self.sums is not None, "it has seen rows"
        if self.sums.labelled is None:
            return None
        eps = float(np.finfo(self.setting.feature_map.dtype_).eps)
        with single_threaded_blas():
            return fit_label_model(
                self.fitted,
                self.setting.weighting,
                replace(self.sums),
                eps,
                self.setting.targets.exclusive,
            )


@final
@dataclass(frozen=True)
class StepLearner(FactorLearner):
    """Stochastic gradient steps on the factors, with the best codes of each mini-batch.

    Attributes
    ----------
    seed : int
        Seed of the start and of the order of the rows.
    batch_size : int
        Number of rows of a step.
    room : int
        Bytes for features.
    weight : float
        Total weight of the rows so far.
    passes, steps : int
        Number of passes and of steps so far.
    """

    seed: int = field(kw_only=True)
    batch_size: int = field(kw_only=True)
    room: int = field(kw_only=True)
    weight: float = 0.0
    passes: int = 0
    steps: int = 0

    def learn(self, rows: Rows, context: Context, *, stream: bool) -> "StepLearner":
        given, factors = self.setting, self.factors
        max_iter = 1 if stream else given.max_iter
        if factors is None:
            rng, size = np.random.default_rng(self.seed), given.n_components
            D, k = given.feature_map.width, given.targets.n_outputs
            factors = Factors(rng.normal(size=(D, size)), rng.normal(size=(k, size)))
            factors = Factors(factors.P / np.sqrt(D), factors.V / np.sqrt(k))
        encoded = rows.with_targets(given.targets)
        weight = self.weight + context.map_reduce(encoded, _weigh, add, 0.0)
        energy = weight * mean_length(given.feature_map, encoded, context) / given.unit
        features = encoded.mapped(given.feature_map)
        beside = visit_bytes(given.targets.n_outputs)
        passes = Passes(
            features, "reshuffled", self.seed, self.room, context, Visits(), beside=beside
        )
        state, history, converged = Steps(factors, given, weight, energy, self.steps), [], False
        with context.phase("factorize", unit="passes", total=max_iter) as factorizing:
            for number in range(max_iter):
                state.begin_pass()
                passes.run(self.passes + number, state.visit(self.batch_size))
                history.append(state.objective())
                stop = factorizing.advance(f"objective {history[-1]:.6g}")
                converged = not objective_falls(history, given.tol)
                if stop or converged:
                    break
            factorizing.result = f"objective {history[-1]:.6g}"
        return replace(
            self,
            factors=state.factors,
            history=tuple(history),
            converged=converged or stream,
            weight=weight,
            passes=self.passes + len(history),
            steps=state.steps,
        )

    def label_model(self) -> LabelModel:
        return LabelModel(self.fitted.V, np.zeros(len(self.fitted.V)), False)


class Steps:
    """Factors that take a step on each mini-batch.

    The gradients are those of the objective divided by the total weight of the rows. The codes of a
    mini-batch are the best ones for the factors before the step, so that they count as constants.
    """

    def __init__(
        self, factors: Factors, setting: Setting, weight: float, energy: float, steps: int
    ):
        self.factors, self.steps = factors, steps
        self._setting, self._weight, self._energy = setting, weight, energy
        self._loss = self._visits = 0.0

    def begin_pass(self) -> None:
        """Forget the loss of the last pass."""
        self._loss = self._visits = 0.0

    def objective(self) -> float:
        """Return the objective, with the mean loss of the mini-batches before their steps."""
        loss = self._energy / 2 + self._weight * self._loss / self._visits
        return loss + self.factors.penalty(self._setting.weighting)

    def visit(self, batch_size: int) -> Any:
        """Return the function that visits rows in an order."""

        def visit(X: Any, Y: Array, factor: Array, order: Array) -> None:
            root = np.sqrt(self._setting.unit)
            with single_threaded_blas():
                for start in range(0, len(order), batch_size):
                    chosen = order[start : start + batch_size]
                    Z = np.asarray(X[chosen], np.float64) / root
                    self.step(Z, Y[chosen], factor[chosen])

        return visit

    def step(self, Z: Array, Y: Array, weight: Array) -> None:
        """Take a step on some rows with features Z and labels Y, which are NaN if unknown."""
        given, (P, V) = self._setting.weighting, (self.factors.P, self.factors.V)
        H = best_codes(self.factors, given, Z, Y)
        of_rows, of_labels = H @ P.T - Z, np.nan_to_num(H @ V.T - Y)
        weighted, total = H * weight[:, None], float(weight.sum())
        # the squared lengths of the rows are in the energy, with their part outside the span
        squares = np.sum(of_rows**2, axis=1) - np.sum(Z**2, axis=1)
        squares += given.label * np.sum(of_labels**2, axis=1) + given.codes * np.sum(H**2, axis=1)
        self._loss += float(weight @ squares) / 2
        self._visits += total
        G = of_rows.T @ weighted / total + given.basis / self._weight * P
        A = given.label * (of_labels.T @ weighted) / total + given.labels / self._weight * V
        self.steps += 1
        # the curvature is at most the mean squared length of the codes
        curvature = float(weight @ np.sum(H**2, axis=1)) / total
        share = (1 + self.steps / _DECAY) ** -0.5
        basis, labels = given.basis / self._weight, given.labels / self._weight
        self.factors = Factors(
            P - share * G / (curvature + basis),
            V - share * A / (given.label * curvature + labels),
        )


def best_codes(factors: Factors, weighting: Weighting, Z: Array, Y: Array) -> Array:
    """Return the codes of rows that minimize the objective; Y is NaN for unknown labels."""
    known = ~np.isnan(Y).any(axis=1)
    B, H = Z @ factors.P, np.empty((len(Z), factors.P.shape[1]))
    B[known] += weighting.label * Y[known] @ factors.V
    for rows, labelled in ((known, True), (~known, False)):
        if rows.any():
            A = factors.inner(weighting, labelled=labelled)
            H[rows] = solve_positive(A, B[rows].T)[0].T
    return H


def _weigh(block: Block, _: Scratch) -> float:
    return float(block.weights().sum())
