"""Steps of doubly stochastic gradients: a batch of rows sets the coefficients of new features."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import final

import numpy as np

from skimp._core._types import Array
from skimp.estimators._batch_ridge import BatchRidge, crossed
from skimp.losses import Loss

_NOISE = 0.25
"""Least ridge penalty of a step, relative to the errors of means over its frequencies and rows."""


@final
@dataclass(frozen=True, eq=False)
class Batch:
    """A batch of b rows, with features that no earlier step has used.

    Attributes
    ----------
    Z : array of shape (b, D)
        New features; their squares at a row sum to k(x, x).
    Y, F : arrays of shape (b, k)
        Targets, and outputs before the step.
    factor : array of shape (b,)
        A factor for the gradient of each row.
    loss : Loss
        The loss.
    threads : int
        Number of threads.
    """

    Z: Array
    Y: Array
    F: Array
    factor: Array
    loss: Loss
    threads: int

    def reach(self) -> Array:
        """Return 1 / c for each output, where c is the largest curvature of the loss.

        For a loss of lines, c is the curvature of a parabola above it at the mean residual.
        """
        size = 1.0
        if not self.loss.labels:
            size = self.factor @ np.abs(self.Y - self.F) / len(self.Y)
        least = np.full(self.Y.shape[1], 1 / self.loss.max_curvature)
        reach: Array = np.maximum(least, size / self.loss.max_slope)
        return reach

    def targets(self, F: Array) -> Array:
        """Return the targets of regressions: steps from F to the minima of the parabolas."""
        return -self.reach() * self.loss.gradient(self.Y, F)

    def regression(self) -> BatchRidge:
        """Return regressions on the new features."""
        return BatchRidge(self.Z, self.factor, self.threads)

    @property
    def worse_than_zero(self) -> Array:
        """Whether the loss exceeds that of outputs that are zero, for each output."""
        before, zero = (self.loss.value(self.Y, F) for F in (self.F, np.zeros_like(self.F)))
        worse: Array = self.factor @ before > self.factor @ zero
        return np.broadcast_to(worse, self.Y.shape[1])


class StepRule(ABC):
    """How a step sets the coefficients of new features, and shrinks those of earlier ones."""

    @abstractmethod
    def step(self, batch: Batch, alpha: float, t: int) -> tuple[Array, Array]:
        """Return the new coefficients, of shape (D, k), and the factors of earlier ones, (k,).

        ``t`` counts the steps from 1.
        """


@final
@dataclass(frozen=True)
class GradientStep(StepRule):
    r"""A step along the gradient of decreasing size, as in Dai et al. (2014), algorithm 1.

    .. math:: \gamma_t = \frac{\theta}{1 + 2 \alpha \theta t}, \qquad
        a = -\gamma_t \, \text{mean}_i \; \ell'(y_i, f(x_i)) \, z(x_i)

    Earlier coefficients are multiplied by :math:`1 - 2 \alpha \gamma_t`.
    """

    theta: float

    def step(self, batch: Batch, alpha: float, t: int) -> tuple[Array, Array]:
        size = self.theta / (1 + 2 * alpha * self.theta * t)
        slopes = batch.loss.gradient(batch.Y, batch.F) * batch.factor[:, None]
        coef = crossed(batch.Z, slopes, batch.threads) * (-size / len(slopes))
        return coef, np.full(coef.shape[1], 1 - 2 * alpha * size)


@final
@dataclass(frozen=True)
class ImplicitStep(StepRule):
    r"""A step to the minimum of parabolas above the loss, over the new features.

    .. math::
        a = -(\gamma_t^{-1} I + c \, C)^{-1} \, \text{mean}_i \; \ell'(y_i, s f(x_i)) \, z(x_i)

    where :math:`C = \text{mean}_i \; z(x_i) z(x_i)^T`, c is the curvature of the parabolas, and
    :math:`s = 1 - 2 \alpha \gamma_t` shrinks earlier coefficients. For the squared loss, the
    minimum of the objective is a fixed point of the expected step for any step size.

    The step size is :math:`\gamma_t = \min(\gamma, 1 / (2 \alpha t))`. With a longer step than
    :math:`\gamma`, the errors of means over m frequencies and b rows, which fall as 1 / m and
    1 / b, would add more than the step removes. If f is worse than zero on the batch, it is halved,
    so that no sequence of steps diverges.
    """

    def step(self, batch: Batch, alpha: float, t: int) -> tuple[Array, Array]:
        n, size = batch.Z.shape
        diagonal, reach = float(batch.Z[0] @ batch.Z[0]), batch.reach()
        noise = _NOISE * np.sqrt(t) * diagonal * (2 / size + 1 / n)
        ridges = np.maximum(noise, 2 * alpha * t * reach)
        shrink = 1 - 2 * alpha * reach / ridges
        shrink = np.where(batch.worse_than_zero, shrink / 2, shrink)
        return batch.regression().solve(batch.targets(shrink * batch.F), ridges), shrink
