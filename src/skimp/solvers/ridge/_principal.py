"""Ridge models for all penalties from one eigendecomposition."""

from dataclasses import dataclass

import numpy as np

from skimp._core._types import Array


@dataclass(frozen=True)
class PrincipalRidge:
    r"""Ridge models in coordinates with diagonal covariance and identity penalty.

    Let S be the covariance of the features, and T such that :math:`T^T P T = I` and
    :math:`T^T S T = \mathrm{diag}(\lambda)`. The coordinates :math:`u = T^T (z - \bar z)` have the
    coefficients :math:`s / (\lambda + \alpha)`, where s is their covariance with y. The leverage
    of row i is

    .. math:: h_i = \frac{w_i}{W} \Bigl(1 + \sum_j \frac{u_{ij}^2}{\lambda_j + \alpha}\Bigr)

    Attributes
    ----------
    turn : array of shape (D, r)
        Matrix T.
    values : array of shape (r,)
        Variances :math:`\lambda`.
    across : array of shape (r, k)
        Covariances s.
    mean, target_mean : arrays of shape (D,) and (k,)
        Means of the features and the targets; zeros without an intercept.
    intercept : bool
        Whether there is an intercept.
    """

    turn: Array
    values: Array
    across: Array
    mean: Array
    target_mean: Array
    intercept: bool

    def _shrink(self, alphas: Array) -> Array:
        return np.asarray(1 / np.add.outer(self.values, np.asarray(alphas)))

    def dimensions(self, alphas: Array) -> Array:
        """Return the trace of the hat matrix for each penalty."""
        return np.asarray(self.values @ self._shrink(alphas) + self.intercept)

    def models(self, alphas: Array) -> tuple[Array, Array]:
        """Return coefficients of shape (n_alphas, D, k) and intercepts of shape (n_alphas, k)."""
        shrunk = self._shrink(alphas).T[:, :, None] * self.across
        coefs = np.stack([self.turn @ c for c in shrunk])
        return coefs, self.target_mean - self.mean @ coefs

    def coordinates(self, Z: Array) -> Array:
        """Return the coordinates u of the features Z."""
        return np.asarray((Z - self.mean) @ self.turn)

    def residuals(self, Z: Array, Y: Array, share: Array, alphas: Array) -> tuple[Array, Array]:
        """Return residuals of shape (n, n_alphas, k), and 1 - h_i of shape (n, n_alphas).

        ``share`` is the weight of each row divided by the total weight.
        """
        U, shrink = self.coordinates(Z), self._shrink(alphas)
        coefs = (shrink[:, :, None] * self.across[:, None]).reshape(U.shape[1], -1)
        fitted = (U @ coefs).reshape(len(U), len(alphas), -1)
        errors = (Y - self.target_mean)[:, None] - fitted
        return errors, 1 - share[:, None] * (np.square(U) @ shrink + self.intercept)
