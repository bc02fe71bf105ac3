"""Exact kernel ridge regression, for data small enough for a full kernel matrix."""

from collections.abc import Callable
from functools import cached_property
from typing import final

import numpy as np

from skimp._core._linalg import check_representable, solve_positive
from skimp._core._tridiagonal import Tridiagonal
from skimp._core._types import Array
from skimp._core._work import Size, Stage, factor, stream
from skimp.data import LOCAL, Context
from skimp.solvers._base import Solution, Status
from skimp.solvers.ridge._smoother import LinearFit, Smoother
from skimp.solvers.ridge._validation import best_alpha, left_out_errors


def solve_exact(
    K: Array,
    Y: Array,
    weight: Array | None,
    *,
    alpha: float | None,
    fit_intercept: bool,
    trusted: Callable[[Array], Array] | None = None,
) -> Solution:
    r"""Minimise the squared loss over all functions of the kernel's space.

    .. math:: \Bigl(K + \alpha \sum_i w_i \; \mathrm{diag}(1 / w)\Bigr) \, c = y - b

    whose solution is :math:`f = \sum_i c_i k(\cdot, x_i) + b`, with b such that
    :math:`\sum_i c_i = 0` if an intercept is fitted. O(n^3) time, O(n^2) memory.

    Parameters
    ----------
    K : array of shape (n, n)
        The kernel matrix in float64; overwritten.
    Y : array of shape (n, k)
        Targets.
    weight : array of shape (n,), or None
        Positive weights.
    alpha : float or None
        Strength of the penalty, as in `Problem`; None for that with the least leave-one-out error.
    fit_intercept : bool
        Whether there is an unpenalized b.
    trusted : callable, optional
        Given intercepts of shape (n_alphas, k), returns which of these models may be chosen.
    """
    if alpha is None:
        return _solve_best(K, Y, weight, fit_intercept, trusted)
    check_representable(K, Y)
    w = np.ones(len(K)) if weight is None else weight
    # scaled by the roots of the weights: a weight near zero is then an equation near 0 = 0
    root = np.sqrt(w / w.mean())[:, None]
    K *= root
    K *= root.T
    K.flat[:: len(K) + 1] += alpha * len(K)
    right = np.column_stack([Y, np.ones(len(K))]) if fit_intercept else Y
    solved, how = solve_positive(K, root * right)
    solved *= root
    coef, intercept = solved, np.zeros(Y.shape[1])
    if fit_intercept:
        coef, ones = solved[:, :-1], solved[:, -1]
        intercept = coef.sum(axis=0) / ones.sum()
        coef = coef - np.outer(ones, intercept)
    # at the optimum y - b - K c = alpha (sum w / w) c: the objective needs no further product
    objective = alpha * np.sum(coef * (Y - intercept))
    return _solution(coef, intercept, alpha, how, np.array([objective]))


def _solve_best(
    K: Array,
    Y: Array,
    weight: Array | None,
    fit_intercept: bool,
    trusted: Callable[[Array], Array] | None,
) -> Solution:
    # one thread: LAPACK gives other bits for other numbers of threads
    smoother = ExactSmoother(K, Y, weight, fit_intercept=fit_intercept, context=Context(n_jobs=1))
    alphas = smoother.grid()
    # a single row leaves nothing to predict it by
    with np.errstate(divide="ignore", invalid="ignore"):
        scores = np.nan_to_num(smoother.scores(alphas, "loo"), nan=np.inf)
    if trusted is not None:
        scores[~trusted(smoother.models(alphas)[1])] = np.inf
    alpha = best_alpha(alphas, scores)
    coefs, intercepts = smoother.models(np.array([alpha]))
    return _solution(coefs[0], intercepts[0], alpha, "factorization", np.empty(0))


def _solution(coef: Array, intercept: Array, alpha: float, how: str, history: Array) -> Solution:
    n = len(coef)
    return Solution(
        coef=coef,
        intercept=intercept,
        n_iter=1,
        status=Status.CONVERGED,
        message=f"exact: {how} of the {n} x {n} kernel matrix",
        history=history,
        alpha=alpha,
        solver="exact",
    )


def exact_cost(size: Size) -> Stage:
    """Return what `solve_exact` costs, beside the kernel matrix."""
    n, d = size.n_rows, size.n_features
    # K and its factor; a byte each for what is finite
    held = 17 * n**2 + 16 * n * d + 32 * n * size.n_outputs
    return Stage("solve", factor(n**3 / 3) + stream(60 * n**2), held)


@final
class ExactSmoother(Smoother):
    r"""Models :math:`f = \sum_i c_i k(\cdot, x_i) + b` of all rows.

    With :math:`\tilde K = R K R` for the roots R of the weights, u their vector, and
    :math:`A = (\tilde K + n \alpha I)^{-1}`,

    .. math:: R^{-1} c = G R y, \quad G = A - \frac{A u u^T A}{u^T A u}, \quad I - H = n \alpha G

    if there is an intercept; otherwise G = A. One factorization takes 8 n^3 / 3 operations in the
    memory of K; penalties then take O(n^2) each.

    Parameters
    ----------
    K : array of shape (n, n)
        The kernel matrix in float64; overwritten.
    Y : array of shape (n, k)
        Targets, centred if there is an intercept.
    weight : array of shape (n,), or None
        Positive weights.
    fit_intercept : bool
        Whether there is an unpenalized b.
    context : Context
        Threads.
    """

    def __init__(
        self,
        K: Array,
        Y: Array,
        weight: Array | None,
        *,
        fit_intercept: bool,
        context: Context = LOCAL,
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
        self.factor = Tridiagonal(K, context.n_jobs)
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

    def sums(self, alphas: Array, *, left_out: bool) -> tuple[Array, Array]:
        """Return sums by the diagonals of G; see `Smoother.sums`."""
        shifts = self.n_rows * alphas
        squares, free = [], []
        for shift, diagonal in zip(shifts, self.factor.inverse_diagonals(shifts), strict=True):
            coef, _, border = self.solved(shift)
            errors, left = shift * coef, shift * (diagonal - np.square(border))
            errors = left_out_errors(errors, left) if left_out else errors
            squares.append(np.square(errors).sum(axis=0))
            free.append(left.mean())
        return np.array(squares), np.array(free)

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
        h = self._solved(self.root * L)
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
