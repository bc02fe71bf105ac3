"""Penalized least squares as a linear map of the targets: every penalty, and every covariance."""

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np

from skimp._core._types import Array
from skimp.solvers.ridge._validation import generalized_errors, left_out_errors

LEAST = 1e-15
"""A penalty that rounding does not undo, relative to the size of the kernel."""


class Smoother(ABC):
    r"""All models :math:`f = \sum_j c_j \varphi_j + b` of some rows, one for each penalty.

    They minimise :math:`\frac{1}{n} \sum_i w_i (y_i - f(x_i))^2 + \alpha \, c^T P c` for weights
    whose mean is one. With R the roots of the weights, fitted values are
    :math:`R f = H_\alpha R y`, with a symmetric H.

    Attributes
    ----------
    n_rows : int
        Number of rows, all of positive weight.
    weight : float
        Sum of the weights as they were given; the number of rows if there are none.
    scale : float
        The size of the eigenvalues that penalties compete with.
    total : array of shape (k,)
        Sums of squares of the targets: about their means if there is an intercept, otherwise about
        zero.
    least_free : float
        Share of the freedom of the rows that a model must leave: less is rounding.
    """

    n_rows: int
    weight: float
    scale: float
    total: Array
    least_free: ClassVar[float] = 0.0

    @property
    @abstractmethod
    def eigenvalues(self) -> Array:
        """Eigenvalues that n alpha is added to, largest first."""

    @abstractmethod
    def sums(
        self, alphas: Array, *, left_out: bool, copies: Array | None = None
    ) -> tuple[Array, Array]:
        """Return sums of squared residuals, (n_alphas, k), and 1 - tr H / n of each penalty.

        The residuals are those of fitted rows, or of left-out ones; see `left_out_errors`.
        """

    @abstractmethod
    def models(self, alphas: Array) -> tuple[Array, Array]:
        """Return coefficients of shape (n_alphas, D, k), and intercepts of shape (n_alphas, k)."""

    @abstractmethod
    def at(self, alpha: float) -> "LinearFit":
        """Return the model of one penalty, and what its standard errors need."""

    def scores(self, alphas: Array, criterion: str, copies: Array | None = None) -> Array:
        """Return the squared error of each penalty, by "loo" or "gcv".

        Each output counts relative to its variance. Leaving a row out leaves n alpha as it is.
        Penalties that leave too little freedom have infinite errors, but not all of them.
        """
        squares, free = self.sums(np.asarray(alphas), left_out=criterion == "loo", copies=copies)
        known = free > self.least_free
        known[-1] |= not known.any()
        errors = (squares / np.where(self.total > 0, self.total, 1.0)).mean(axis=1)
        if criterion == "gcv":
            errors = generalized_errors(errors, np.where(known, np.abs(free), 1.0))
        return np.asarray(np.where(known, errors, np.inf))

    def too_small(self, alpha: float) -> ValueError:
        """Return the error for a penalty that rounding undoes."""
        return ValueError(
            f"alpha must be larger for functions that are sums of others to rounding, "
            f"{LEAST * self.scale:.1g} or so, got {alpha:.3g}."
        )

    def grid(self) -> Array:
        """Return penalties from where rounding begins to where nothing is left of f."""
        return self.scale * np.logspace(-10, 2, 49)


class LinearFit(ABC):
    r"""The model of one penalty, linear in the targets.

    A functional :math:`\theta = L^T c + \kappa \, b` is :math:`h^T R y` for some influence h. What
    h is determined by are its coordinates q: h itself, or its coefficients in an orthogonal basis.

    Attributes
    ----------
    n_rows, total
        As in `Smoother`.
    alpha : float
        The penalty.
    coef, intercept : arrays of shape (D, k) and (k,)
        Coefficients, and the constants b.
    dimension : float
        The trace of H.
    freedom : float
        Degrees of freedom of the noise, by Satterthwaite's rule :math:`(\mathrm{tr} M)^2 /
        \mathrm{tr} M^2` for :math:`M = (I - H)^2`; nearly n less the dimension for a smooth model.
    squares : array of shape (k,)
        Sums of squared residuals.
    noise : array of shape (k,)
        Variance of the errors: squared residuals over the trace of M, which is right for a surface
        that follows nearly every row, too.
    lengths : array of shape (r, 1)
        Lengths of the functions that q are coefficients of.
    moments : array of shape (r, k)
        Inner products of these functions with the targets.
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
        """Return the coordinates of functionals, given as columns of L and a common kappa."""

    @abstractmethod
    def shrink(self, q: Array) -> Array:
        """Return coordinates of :math:`(I - H) h`."""

    @abstractmethod
    def influence(self, q: Array) -> Array:
        """Return the h as columns, a row for each row of the data."""

    @property
    @abstractmethod
    def residuals(self) -> tuple[Array, Array, Array]:
        """The residuals times R, of shape (n, k), the 1 - H_ii, and R, of shape (n, 1)."""

    @property
    def left_out(self) -> Array:
        """Residuals of rows in models of all others, of shape (n, k)."""
        errors, left, root = self.residuals
        return np.asarray(left_out_errors(errors, left) / root)

    def corrected(self, q: Array) -> Array:
        r"""Return coordinates of :math:`h + (I - H) h + (I - H)^2 h`.

        Fitted values are shrunk by H, and functionals with them. Fitting the residuals, and the
        residuals of that, returns most of what was lost, for little variance.
        """
        once = self.shrink(q)
        return np.asarray(q + once + self.shrink(once))

    def estimates(self, q: Array) -> Array:
        """Return :math:`h^T R y`, of shape (n_functionals, k)."""
        return np.asarray(q.T @ self.moments)

    def variances(self, q: Array) -> Array:
        """Return classical variances of functionals, of shape (n_functionals, k)."""
        return np.outer(np.square(self.lengths * q).sum(axis=0), self.noise)

    def covariances(
        self, q: Array, errors: str = "classical", groups: Array | None = None
    ) -> Array:
        """Return the covariance matrices of functionals, one for each output.

        Errors of the targets are independent and of equal variance, over the weight of the row
        ("classical"), independent ("robust"), or independent across ``groups``, which number the
        group of each row from zero on ("clustered").
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
        # enlarged as few groups and a rich model ask for
        factor = g / (g - 1) * (n - 1) / max(n - self.dimension, 1.0)
        return np.array([factor * (s.T @ s) for s in sums])
