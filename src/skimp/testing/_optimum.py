"""The objective of a problem, straight from its definition, and checks of its minimum."""

from dataclasses import dataclass

import numpy as np
from scipy import optimize, sparse

from skimp._core._types import Array
from skimp.losses import Loss
from skimp.testing._assertions import close, require

_REACH = (1e-4, -1e-4, 1e-2, -1e-2)
"""Offsets from a prediction at which subgradients of a loss with kinks are collected."""


@dataclass(frozen=True)
class Naive:
    """The objective of a problem, straight from its formula, in float64.

    Attributes
    ----------
    Z, Y, weight, loss, alpha, penalty, fit_intercept
        As in `Problem`, but arrays.
    flat : bool
        Whether the intercept is not penalized.
    """

    Z: Array
    Y: Array
    weight: Array
    loss: Loss
    alpha: float
    penalty: Array
    fit_intercept: bool
    flat: bool

    @property
    def _share(self) -> Array:
        return np.asarray(self.weight[:, None] / self.weight.sum())

    def value(self, coef: Array, b: Array) -> float:
        """Return the objective."""
        costs = self._share * self.loss.value(self.Y, self.Z @ coef + b)
        penalty = np.sum(coef * (self.penalty @ coef)) + (0 if self.flat else b @ b)
        return float(costs.sum() + self.alpha * penalty)

    def residual(self, coef: Array, b: Array, slopes: Array) -> tuple[Array, Array]:
        """Return the gradient with respect to coef and b, for these slopes of the loss."""
        slopes = self._share * slopes
        in_b = slopes.sum(axis=0) + (0 if self.flat else 2 * self.alpha * b)
        return self.Z.T @ slopes + 2 * self.alpha * self.penalty @ coef, in_b

    def check(self, coef: Array, b: Array, tol: float) -> None:
        """Raise if the coefficients do not minimize the objective."""
        F = self.Z @ coef + b
        if not self.fit_intercept:
            close(b, 0, "the intercept is zero if fit_intercept is False")
        if self.loss.smooth:
            in_c, in_b = self.residual(coef, b, self.loss.gradient(self.Y, F))
            close(in_c, 0, "the gradient with respect to coef is zero", tol)
            in_b = in_b if self.fit_intercept else np.zeros(1)
            close(in_b, 0, "the gradient with respect to the intercept is zero", tol)
            return
        value, rng = self.value(coef, b), np.random.default_rng(0)
        if value <= np.finfo(float).eps * self.value(0 * coef, 0 * b):
            return  # no loss is negative: zero is the minimum
        for scale in np.repeat([1e-4, 1e-2, 1.0], 20):
            other = coef + scale * rng.normal(size=coef.shape)
            moved = b + self.fit_intercept * scale * rng.normal(size=b.shape)
            lowest = value <= self.value(other, moved) + tol * value
            require(lowest, "the objective is not lower at nearby points")
        gap = self._gap(coef, b, self._slopes(coef, b))
        what = "the objective equals that of the dual problem"
        require(gap <= tol * value, f"{what}; relative gap {gap / value:.3g}, allowed {tol:.3g}")

    def _slopes(self, coef: Array, b: Array) -> Array:
        """Return subgradients of the loss that nearly cancel the gradient of the penalty.

        They are convex combinations of gradients at points around each prediction. A linear program
        finds the combination with the smallest gap, with a cost for gradients that do not cancel.
        """
        F, k = self.Z @ coef + b, self.Y.shape[1]
        columns = [np.arange(k)] if self.loss.joint else list(np.arange(k)[:, None])
        slopes = np.empty(F.shape)
        for part in columns:
            steps = [np.zeros(k), *(reach * e for reach in _REACH for e in np.eye(k)[part])]
            found = np.stack([self.loss.gradient(self.Y, F + step)[:, part] for step in steps])
            slopes[:, part] = self._balanced(found, F, part, coef[:, part], b[part])
        return slopes

    def _balanced(self, found: Array, F: Array, part: Array, coef: Array, b: Array) -> Array:
        """Combine candidate slopes, of shape (candidates, n, outputs)."""
        share, Y, f = self._share, self.Y[:, part], F[:, part]
        costs = [
            share * (self.loss.value(Y, f) + self.loss.conjugate(Y, u) - self._dot(u, f))
            for u in found
        ]
        A = np.hstack([self.Z, np.ones((len(F), int(self.fit_intercept)))])
        # entry (feature, output) of A^T (share u), for every candidate of every row
        terms = np.einsum("id,cio->doci", A, share * found).reshape(A.shape[1] * len(part), -1)
        in_c, in_b = 2 * self.alpha * self.penalty @ coef, (0 if self.flat else 2 * self.alpha) * b
        balance = np.vstack([in_c, in_b]) if self.fit_intercept else in_c
        n_slacks = len(terms)
        rows_of_one = sparse.hstack([sparse.eye(len(F))] * len(found))
        slacks = np.eye(n_slacks)
        A_eq = sparse.block_array([[terms, slacks, -slacks], [rows_of_one, None, None]])
        b_eq = np.concatenate([-balance.ravel(), np.ones(len(F))])
        # the gap has the squares of entries for coefficients, but not of those for a free intercept
        slack_costs = np.ones(n_slacks)
        slack_costs[in_c.size :] = 1e3 if self.flat else 1.0
        cost = np.concatenate([np.concatenate(costs).ravel(), slack_costs, slack_costs])
        share_of = optimize.linprog(cost, A_eq=A_eq, b_eq=b_eq).x[: -2 * n_slacks]
        mix = np.maximum(share_of.reshape(len(found), -1), 0)
        combined = np.einsum("ci,cio->io", mix / mix.sum(axis=0), found)
        # rounding may move a combination outside the range of slopes
        return np.asarray(np.clip(combined, found.min(axis=0), found.max(axis=0)))

    def _dot(self, u: Array, f: Array) -> Array:
        products: Array = u * f
        return products.sum(axis=1, keepdims=True) if self.loss.joint else products

    def _gap(self, coef: Array, b: Array, slopes: Array) -> float:
        """Return the duality gap: the objective minus the dual objective at these slopes."""
        F = self.Z @ coef + b
        excess = self.loss.value(self.Y, F) + self.loss.conjugate(self.Y, slopes)
        gap = np.sum(self._share * (excess - self._dot(slopes, F)))
        in_c, in_b = self.residual(coef, b, slopes)
        gap += np.sum(in_c * np.linalg.solve(self.penalty, in_c)) / (4 * self.alpha)
        if self.fit_intercept:
            # the dual of a free intercept is a constraint: add its violation
            gap += np.abs(in_b).sum() if self.flat else in_b @ in_b / (4 * self.alpha)
        return float(gap)
