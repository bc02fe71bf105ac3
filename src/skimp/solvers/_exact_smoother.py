"""Exact kernel ridge regression for every penalty, from one factorization of the kernel matrix."""

from functools import cached_property
from typing import final

import numpy as np

from skimp._core._linalg import check_representable
from skimp._core._tridiagonal import Tridiagonal
from skimp._core._types import Array
from skimp.solvers._smoother import LinearFit, Smoother


@final
class ExactSmoother(Smoother):
    r"""Models :math:`f = \sum_i c_i k(\cdot, x_i) + b` of all rows.

    With :math:`\tilde K = R K R` for the roots R of the weights, u their vector, and
    :math:`A = (\tilde K + n \alpha I)^{-1}`,

    .. math:: R^{-1} c = G R y, \quad G = A - \frac{A u u^T A}{u^T A u}, \quad I - H = n \alpha G

    where there is an intercept; G = A where there is none. Left-out residuals are
    :math:`(G R y)_i / G_{ii}`. One factorization takes 8 n^3 / 3 operations in the memory of K;
    penalties then take O(n^2) each.

    Parameters
    ----------
    K : array of shape (n, n)
        The kernel matrix in float64; overwritten.
    Y : array of shape (n, k)
        Targets, centred where there is an intercept.
    weight : array of shape (n,), or None
        Positive weights.
    fit_intercept : bool
        Whether there is an unpenalized b.
    n_jobs : int or None
        Threads.
    """

    def __init__(
        self,
        K: Array,
        Y: Array,
        weight: Array | None,
        *,
        fit_intercept: bool,
        n_jobs: int | None = None,
    ):
        check_representable(K, Y)
        self.n_rows = n = len(K)
        self.weight = float(n if weight is None else weight.sum())
        self.root = np.ones(n) if weight is None else np.sqrt(weight / weight.mean())
        self.Y = Y * self.root[:, None]
        self.fit_intercept = fit_intercept
        if weight is not None:
            K *= self.root[:, None]
            K *= self.root
        self.factor = Tridiagonal(K, n_jobs)
        self.scale = self.factor.trace / n or 1.0
        right = np.column_stack([self.Y, self.root]) if fit_intercept else self.Y
        self._right = self.factor.rotated(right)
        middle = np.outer(self.root, self.root @ self.Y / n) * fit_intercept
        with np.errstate(over="ignore"):
            self.total = np.square(self.Y - middle).sum(axis=0)
        check_representable(self.total)

    @property
    def eigenvalues(self) -> Array:
        """The eigenvalues of R K R; see `Smoother.eigenvalues`."""
        return np.sort(self.factor.values)[::-1]

    def scores(self, alphas: Array, criterion: str) -> Array:
        """Return scores by the diagonals of G; see `Smoother.scores`."""
        shifts = self.n_rows * np.asarray(alphas)
        diagonals = self.factor.inverse_diagonals(shifts)
        total = np.where(self.total > 0, self.total, 1.0)
        scores = []
        for shift, diagonal in zip(shifts, diagonals, strict=True):
            coef, _, border = self.solved(shift)
            left = diagonal - np.square(border)
            missed = coef / (left.mean() if criterion == "gcv" else left[:, None])
            scores.append(np.mean(np.square(missed).sum(axis=0) / total))
        return np.array(scores)

    def models(self, alphas: Array) -> tuple[Array, Array]:
        """Return the models; see `Smoother.models`."""
        solved = [self.solved(self.n_rows * alpha) for alpha in alphas]
        coefs = np.array([coef * self.root[:, None] for coef, _, _ in solved])
        return coefs, np.array([intercept for _, intercept, _ in solved])

    def solved(self, shift: float) -> tuple[Array, Array, Array]:
        r"""Return :math:`G R y`, b, and :math:`A u / \sqrt{u^T A u}`, for one n alpha."""
        try:
            solved = self.factor.rotated_back(self.factor.solved(shift, self._right))
        except np.linalg.LinAlgError:
            raise self.too_small(shift / self.n_rows) from None
        if not self.fit_intercept:
            return solved, np.zeros(solved.shape[1]), np.zeros(self.n_rows)
        coef, ones = solved[:, :-1], solved[:, -1]
        square = self.root @ ones
        intercept = ones @ self.Y / square
        return coef - np.outer(ones, intercept), intercept, ones / np.sqrt(square)

    def at(self, alpha: float) -> "ExactFit":
        """Return the model of one penalty; see `Smoother.at`."""
        return ExactFit(self, alpha)


@final
class ExactFit(LinearFit):
    """The exact model of one penalty; coordinates are the influence of each row."""

    def __init__(self, smoother: ExactSmoother, alpha: float):
        self._smoother = smoother
        self.alpha = alpha
        self.n_rows = n = smoother.n_rows
        self._shift = n * alpha
        self._coef, self.intercept, self._border = smoother.solved(self._shift)
        self.coef = self._coef * smoother.root[:, None]
        diagonal = smoother.factor.inverse_diagonals(np.array([self._shift]))[0]
        self._left = self._shift * (diagonal - np.square(self._border))
        self.dimension = n - float(self._left.sum())
        second, fourth = self._traces()
        self.freedom = second**2 / fourth
        squares = np.square(self._coef).sum(axis=0)
        self.squares, self.total = self._shift**2 * squares, smoother.total
        self.noise = squares / second

    def _traces(self) -> tuple[float, float]:
        """Return the traces of G^2 and G^4, from eigenvalues of A and powers of A at the border."""
        factor, tiny = self._smoother.factor, float(np.finfo(np.float64).tiny)
        inverse = 1 / (factor.values + self._shift)
        z = [factor.rotated(self._border)]
        for _ in range(2):
            z.append(factor.solved(self._shift, z[-1]))
        p0, p1, p2, p3 = z[0] @ z[0], z[0] @ z[1], z[1] @ z[1], z[1] @ z[2]
        second = np.sum(inverse**2) - 2 * p1 + p0**2
        fourth = np.sum(inverse**4) - 4 * p3 + 4 * p0 * p2 + 2 * p1**2 - 4 * p0**2 * p1 + p0**4
        return max(float(second), tiny), max(float(fourth), tiny)

    def coordinates(self, L: Array, constant: float = 0.0) -> Array:
        """Return the influence itself."""
        h = self._solved(self._smoother.root[:, None] * L)
        if constant and self._smoother.fit_intercept:
            # A u / u^T A u, from the border A u / sqrt(u^T A u)
            h += (constant / (self._smoother.root @ self._border) * self._border)[:, None]
        return h

    def _solved(self, B: Array) -> Array:
        """Return G B."""
        solved = self._smoother.factor.solve(self._shift, B)
        return np.asarray(solved - np.outer(self._border, self._border @ B))

    def shrunk(self, q: Array) -> Array:
        """Multiply by I - H, which is n alpha G."""
        return self._shift * self._solved(q)

    def estimates(self, q: Array) -> Array:
        """Multiply by the targets."""
        return np.asarray(q.T @ self._smoother.Y)

    def halves(self, q: Array) -> Array:
        """Return the influence."""
        return q

    def influence(self, q: Array) -> Array:
        """Return the influence."""
        return q

    @cached_property
    def residuals(self) -> tuple[Array, Array]:
        """The residuals, which are n alpha times the coefficients."""
        return self._shift * self._coef, self._left

    @property
    def root(self) -> Array:
        """The roots of the weights."""
        return self._smoother.root[:, None]
