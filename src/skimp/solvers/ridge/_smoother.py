"""Ridge regression as a linear smoother: penalties, functionals and their covariances."""

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np

from skimp._core._types import Array
from skimp.solvers.ridge._validation import generalized_errors, left_out_errors

LEAST = 1e-15
"""Smallest penalty above rounding, relative to the size of the kernel."""


class Smoother(ABC):
    r"""Models :math:`f = \sum_j c_j \varphi_j + b` of the same rows for all penalties.

    They minimize

    .. math:: \frac{1}{n} \sum_i w_i (y_i - f(x_i))^2 + \alpha \, c^T P c

    for weights with mean one. With the diagonal matrix R of the roots of the weights, the fitted
    values are :math:`R f = H_\alpha R y` with a symmetric hat matrix H.

    Attributes
    ----------
    n_rows : int
        Number of rows, all of positive weight.
    weight : float
        Sum of the given weights; the number of rows if there are none.
    scale : float
        Size of the eigenvalues, with which penalties are compared.
    total : array of shape (k,)
        Sum of squares of the targets, about their mean if there is an intercept.
    least_free : float
        Minimum of 1 - tr H / n; models below it are dominated by rounding.
    """

    n_rows: int
    weight: float
    scale: float
    total: Array
    least_free: ClassVar[float] = 0.0

    @property
    @abstractmethod
    def eigenvalues(self) -> Array:
        """Eigenvalues to which n alpha is added, in descending order."""

    @abstractmethod
    def sums(
        self, alphas: Array, *, left_out: bool, copies: Array | None = None
    ) -> tuple[Array, Array]:
        """Return the sums of squared residuals, (n_alphas, k), and 1 - tr H / n for each penalty.

        If ``left_out``, the residuals are those of leave-one-out predictions. See `left_out_errors`
        for ``copies``.
        """

    @abstractmethod
    def models(self, alphas: Array) -> tuple[Array, Array]:
        """Return coefficients of shape (n_alphas, D, k) and intercepts of shape (n_alphas, k)."""

    @abstractmethod
    def at(self, alpha: float) -> "LinearFit":
        """Return the model for one penalty, with what its standard errors need."""

    def scores(self, alphas: Array, criterion: str, copies: Array | None = None) -> Array:
        """Return the squared error of each penalty by ``criterion``, "loo" or "gcv".

        Errors are relative to the variance of each output. Leaving a row out does not change
        n alpha. The error is infinite if 1 - tr H / n is too small, except for the last penalty if
        that holds for all.
        """
        squares, free = self.sums(np.asarray(alphas), left_out=criterion == "loo", copies=copies)
        known = free > self.least_free
        known[-1] |= not known.any()
        errors = (squares / np.where(self.total > 0, self.total, 1.0)).mean(axis=1)
        if criterion == "gcv":
            errors = generalized_errors(errors, np.where(known, np.abs(free), 1.0))
        return np.asarray(np.where(known, errors, np.inf))

    def too_small(self, alpha: float) -> ValueError:
        """Return the error for a penalty below rounding."""
        return ValueError(
            f"alpha must be at least about {LEAST * self.scale:.1g} (the basis functions are "
            f"linearly dependent up to rounding), got {alpha:.3g}."
        )

    def grid(self) -> Array:
        """Return a grid of penalties, from the level of rounding to a constant model."""
        return self.scale * np.logspace(-10, 2, 49)


class LinearFit(ABC):
    r"""Model for one penalty, which is linear in the targets.

    A functional :math:`\theta = L^T c + \kappa \, b` of the model equals :math:`h^T R y`, where h
    is its influence vector. The influence is represented by coordinates q: either h itself, or its
    coefficients in an orthogonal basis.

    Attributes
    ----------
    n_rows, total
        As in `Smoother`.
    alpha : float
        The penalty.
    coef, intercept : arrays of shape (D, k) and (k,)
        Coefficients c and intercepts b.
    dimension : float
        Effective dimension: the trace of H.
    freedom : float
        Residual degrees of freedom by Satterthwaite's rule, :math:`(\mathrm{tr} M)^2 /
        \mathrm{tr} M^2` with :math:`M = (I - H)^2`. Close to n minus the dimension for a smooth
        model.
    squares : array of shape (k,)
        Sums of squared residuals.
    noise : array of shape (k,)
        Error variance: the sum of squared residuals divided by the trace of M. This also holds for
        models that nearly interpolate.
    lengths : array of shape (r, 1)
        Norms of the basis vectors of q.
    moments : array of shape (r, k)
        Inner products of the basis vectors of q with the targets.
    """

    n_rows: int
    total: Array
    alpha: float
    coef: Array
    intercept: Array
    dimension: float
    freedom: float
    squares: Array
    noise: Array
    lengths: Array
    moments: Array

    @abstractmethod
    def coordinates(self, L: Array, constant: float = 0.0) -> Array:
        """Return the coordinates of functionals, given by the columns of L and a common kappa."""

    @abstractmethod
    def shrink(self, q: Array) -> Array:
        """Return the coordinates of :math:`(I - H) h`."""

    @abstractmethod
    def influence(self, q: Array) -> Array:
        """Return the influences h as columns, with one row per row of the data."""

    @property
    @abstractmethod
    def residuals(self) -> tuple[Array, Array, Array]:
        """Residuals multiplied by R, (n, k); 1 - H_ii, (n,); and the diagonal of R, (n, 1)."""

    @property
    def left_out(self) -> Array:
        """Leave-one-out residuals, of shape (n, k)."""
        errors, left, root = self.residuals
        return np.asarray(left_out_errors(errors, left) / root)

    def corrected(self, q: Array) -> Array:
        r"""Return the coordinates of :math:`h + (I - H) h + (I - H)^2 h`, corrected for shrinkage.

        H shrinks fitted values and functionals. Adding the fits of the residuals, and of their
        residuals, recovers most of what was lost at the cost of little variance.
        """
        once = self.shrink(q)
        return np.asarray(q + once + self.shrink(once))

    def estimates(self, q: Array) -> Array:
        """Return the functionals :math:`h^T R y`, of shape (n_functionals, k)."""
        return np.asarray(q.T @ self.moments)

    def variances(self, q: Array) -> Array:
        """Return the classical variances of functionals, of shape (n_functionals, k)."""
        return np.outer(np.square(self.lengths * q).sum(axis=0), self.noise)

    def covariances(
        self, q: Array, errors: str = "classical", groups: Array | None = None
    ) -> Array:
        """Return the covariance matrices of functionals, one per output.

        ``errors`` is the assumption on the errors of the targets:

        - "classical": independent, with a variance proportional to 1 / weight;
        - "robust": independent, with any variance;
        - "clustered": independent across ``groups``, which holds the group number of each row.
        """
        if errors == "classical":
            h = self.lengths * q
            return np.asarray(self.noise[:, None, None] * (h.T @ h))
        h, (missed, left, _) = self.influence(q), self.residuals
        if groups is None:
            scores = [h * e[:, None] for e in left_out_errors(missed, left).T]
            return np.array([s.T @ s for s in scores])
        n, g = self.n_rows, int(groups.max()) + 1
        sums = np.zeros((missed.shape[1], g, h.shape[1]))
        for total, e in zip(sums, missed.T, strict=True):
            np.add.at(total, groups, h * e[:, None])
        # correction for few groups and many effective parameters
        factor = g / (g - 1) * (n - 1) / max(n - self.dimension, 1.0)
        return np.array([factor * (s.T @ s) for s in sums])
