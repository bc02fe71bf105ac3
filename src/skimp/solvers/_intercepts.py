"""The intercept in the dual problem, with and without a penalty."""

from abc import ABC, abstractmethod
from typing import final

import numpy as np

from skimp._core._threads import single_threaded_blas
from skimp._core._types import Array

_SHARE = 0.1
"""Penalty of a free intercept: a constant feature with this share of the mean squared norm."""
_SEARCH, _REFINE = 4.0, 1.25
"""Growth of the pace before s changes its sign, and after that."""
_CHUNK = 4096


class Intercept(ABC):
    r"""The intercept as the coefficient of a constant feature.

    Sweeps keep :math:`b_j = b^0_j + \kappa s_j`, where :math:`s_j = \sum_i C_i \beta_{ij}`, the
    constant feature is :math:`\sqrt\kappa`, and the penalty is
    :math:`\|b - b^0\|^2 / (2 \kappa)`.

    Attributes
    ----------
    constant : float
        The factor :math:`\kappa`.
    free : bool
        Whether the problem does not penalize the intercept.
    """

    constant: float
    free: bool

    def penalty(self, b: Array) -> float:
        """Return the squared norm of the intercept in the objective of the problem."""
        return 0.0 if self.free else float(b @ b)

    @abstractmethod
    def place(self, b: Array, at: Array) -> None:
        r"""Change b from :math:`\kappa s` to a starting point, if the penalty allows that."""

    @abstractmethod
    def state(self) -> list[Array]:
        """Return all that changes."""

    @abstractmethod
    def restore(self, state: list[Array]) -> None:
        """Continue from an earlier state."""

    @abstractmethod
    def move(self, b: Array) -> tuple[Array, float]:
        r"""Return by how much to change b after a check, and :math:`s^T b`.

        For an intercept with a penalty, both are zero.
        """


@final
class PenalizedIntercept(Intercept):
    """An intercept with the same penalty as the coefficients, or none if ``constant`` is 0."""

    free = False

    def __init__(self, constant: float):
        self.constant = constant

    def place(self, b: Array, at: Array) -> None:
        """Do nothing: the dual variables determine the intercept."""

    def state(self) -> list[Array]:
        """Return nothing."""
        return []

    def restore(self, state: list[Array]) -> None:
        """Do nothing."""

    def move(self, b: Array) -> tuple[Array, float]:
        """Return zeros."""
        return np.zeros_like(b), 0.0


@final
class FreeIntercept(Intercept):
    r"""An intercept without a penalty, by the method of multipliers.

    The dual then has the constraint s = 0. Sweeps keep a weak penalty around a centre
    :math:`b^0`. After each check the centre moves by :math:`t \kappa s`, and so does b, until
    s = 0. The pace t is that of a secant step, from the last two centres and s, but at least 1. It
    grows by a factor of at most 4 until s changes its sign, and of at most 1.25 after that.

    A weaker penalty takes fewer sweeps and more moves. With :math:`\kappa = \alpha`, the first
    move is half the mean derivative of the loss.

    References
    ----------
    Rockafellar (1976), Augmented Lagrangians and applications of the proximal point algorithm in
    convex programming.
    """

    free = True

    def __init__(self, squared_norm: float, alpha: float, k: int):
        self.constant = max(_SHARE * squared_norm, alpha)
        self._centre, self._last, self._pace = np.zeros(k), np.zeros(k), np.ones(k)
        self._growth = np.ones(k)

    def place(self, b: Array, at: Array) -> None:
        """Move the centre so that b is at the starting point."""
        self._centre[:] = at - b
        b[:] = at

    def state(self) -> list[Array]:
        """Return the centre, the last pull, the pace and its largest growth."""
        return [self._centre, self._last, self._pace, self._growth]

    def restore(self, state: list[Array]) -> None:
        """Continue from an earlier state."""
        self._centre, self._last, self._pace, self._growth = (np.array(part) for part in state)

    def move(self, b: Array) -> tuple[Array, float]:
        """Move the centre; return its change and the product of s and b."""
        pull = b - self._centre
        fastest = self._growth * self._pace
        with np.errstate(divide="ignore", invalid="ignore"):
            secant = self._pace * self._last / (self._last - pull)
        # the secant is not positive if the pull has become larger
        self._pace = np.clip(np.where(secant > 0, secant, fastest), 1.0, fastest)
        self._pace[pull == 0] = 1.0
        found = (self._growth == _REFINE) | (pull * self._last < 0)
        self._growth = np.where(found, _REFINE, _SEARCH)
        self._last = pull
        change: Array = self._pace * pull
        self._centre += change
        return change, float(pull @ b) / self.constant


def flows_between(C: Array, Y: Array, slopes: Array, *, joint: bool) -> Array:
    """Return what the groups of some rows pass on, for `Balance`."""
    k = slopes.shape[1]
    flows = np.zeros((k, k) if joint else (k, 2, 2))
    with single_threaded_blas():
        for start in range(0, len(C), _CHUNK):
            part = slice(start, start + _CHUNK)
            if joint:
                flows -= (C[part, None] * (Y[part] > 0)).T @ np.minimum(slopes[part], 0)
            else:
                flows[:, 0, 1] -= C[part] @ np.minimum(slopes[part], 0)
                flows[:, 1, 0] += C[part] @ np.maximum(slopes[part], 0)
    return flows


class Balance:
    r"""Factors of at most 1 that make :math:`\sum_i C_i \beta_{ij} = 0` for each output j.

    Slopes are scaled in groups. The groups of an output are its negative and its positive slopes;
    those of a joint loss are the rows of each class. A group a passes a flow :math:`M_{ab} \ge 0`
    to the other groups b: the sums are zero if each group passes on as much as it receives. The
    factors r solve :math:`r_a \sum_b M_{ab} = \sum_b r_b M_{ba}`.
    """

    def __init__(self, flows: Array, *, joint: bool):
        self._joint = joint
        with single_threaded_blas():
            passed = np.zeros_like(flows)
            each = np.arange(flows.shape[-1])
            passed[..., each, each] = flows.sum(axis=-1)
            surplus = passed - np.swapaxes(flows, -1, -2)
            # the solution nearest to ones
            ones = np.ones((*flows.shape[:-1], 1))
            factors = (ones - np.linalg.pinv(surplus) @ (surplus @ ones))[..., 0]
        factors = np.maximum(factors, 0)
        self._factors = factors / factors.max(axis=-1, keepdims=True)

    def scaled(self, Y: Array, slopes: Array) -> Array:
        """Return the scaled slopes of some rows."""
        if self._joint:
            factors: Array = self._factors[np.argmax(Y, axis=1)][:, None]
        else:
            factors = np.where(slopes > 0, self._factors[:, 1], self._factors[:, 0])
        return np.multiply(factors, slopes)
