"""Exact kernel ridge regression with a full kernel matrix."""

from collections.abc import Callable
from dataclasses import replace
from typing import final

import numpy as np

from skimp._core._linalg import check_representable, solve_positive
from skimp._core._tridiagonal import Tridiagonal
from skimp._core._types import Array
from skimp._core._work import DOUBLE, Size, Stage, Work, factor, gemm, stream
from skimp.data import LOCAL, Context
from skimp.solvers._base import Solution, Status
from skimp.solvers.ridge._search import best_alpha
from skimp.solvers.ridge._smoother import LinearFit, Smoother
from skimp.solvers.ridge._validation import left_out_errors

_TINY = float(np.finfo(np.float64).tiny)


def solve_exact(
    K: Array,
    Y: Array,
    weight: Array,
    *,
    alpha: float | None,
    fit_intercept: bool,
    trusted: Callable[[Array], Array] | None = None,
    context: Context = LOCAL,
) -> Solution:
    r"""Solve kernel ridge regression exactly.

    The model :math:`f = \sum_i c_i k(\cdot, x_i) + b` solves

    .. math:: \Bigl(K + \alpha \sum_i w_i \; \mathrm{diag}(1 / w)\Bigr) \, c = y - b,

    with :math:`\sum_i c_i = 0` if an intercept is fitted. Takes O(n^3) time and O(n^2) memory.

    Parameters
    ----------
    K : array of shape (n, n)
        Kernel matrix in float64. It is overwritten.
    Y : array of shape (n, k)
        Targets.
    weight : array of shape (n,)
        Positive weights.
    alpha : float or None
        Penalty strength, as in `Problem`. None minimizes the leave-one-out error.
    fit_intercept : bool
        Whether to fit an unpenalized intercept b.
    trusted : callable, optional
        Takes intercepts of shape (n_alphas, k) and returns which of these models may be chosen.
    context : Context
        Receives the progress of the factorization.

    Returns
    -------
    Solution
    """
    n = len(K)
    if alpha is None:
        # one thread: the bits of LAPACK results depend on the number of threads
        single = replace(context, n_jobs=1)
        smoother = ExactSmoother(K, Y, weight, fit_intercept=fit_intercept, context=single)
        alphas = smoother.grid()
        # with a single row there are no others to predict it from
        with np.errstate(divide="ignore", invalid="ignore"):
            scores = np.nan_to_num(smoother.scores(alphas, "loo"), nan=np.inf)
        if trusted is not None:
            scores[~trusted(smoother.models(alphas)[1])] = np.inf
        alpha = best_alpha(alphas, scores)
        (coef,), (intercept,) = smoother.models(np.array([alpha]))
        how, history = "factorization", np.empty(0)
    else:
        check_representable(K, Y)
        root = _scale_rows(K, weight)
        K.flat[:: n + 1] += alpha * n
        solved, how = solve_positive(K, root * _add_ones(Y, fit_intercept))
        coef, intercept, _ = _subtract_border(solved, root * Y, root, fit_intercept)
        coef = root * coef
        # at the optimum y - b - K c = alpha (sum w / w) c, so the objective needs no product
        history = np.array([alpha * np.sum(coef * (Y - intercept))])
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


def exact_work(n: int, *, several: bool) -> Work:
    """Return the work of factorizing an n x n matrix, for one penalty or for several."""
    if several:
        # half of the reduction to tridiagonal form reads the matrix column by column
        return stream(4 / 3 * n**3) + gemm(2 * n**3, DOUBLE)
    return factor(n**3 / 3) + stream(60 * n**2)


def exact_cost(size: Size) -> Stage:
    """Return the cost of `solve_exact` for one penalty, without computing the kernel matrix."""
    n, d = size.n_rows, size.n_features
    # K, its factor, and a mask of finite entries
    held = 17 * n**2 + 16 * n * d + 32 * n * size.n_outputs
    return Stage("solve", exact_work(n, several=False), held)


def _scale_rows(K: Array, weight: Array) -> Array:
    """Multiply K by the roots of the weights on both sides; return the roots as a column.

    A row of nearly zero weight then gives an equation near 0 = 0.
    """
    root: Array = np.sqrt(weight / weight.mean())[:, None]
    K *= root
    K *= root.T
    return root


def _add_ones(Y: Array, fit_intercept: bool) -> Array:
    return np.column_stack([Y, np.ones(len(Y))]) if fit_intercept else Y


def _subtract_border(
    solved: Array, Y: Array, root: Array, fit_intercept: bool
) -> tuple[Array, Array, Array]:
    r"""Return :math:`G R y`, b and :math:`A u / \sqrt{u^T A u}`; see `ExactSmoother`.

    Y is R y and ``root`` is u. ``solved`` is A Y, with A u appended if there is an intercept.
    """
    if not fit_intercept:
        return solved, np.zeros(Y.shape[1]), np.zeros(len(Y))
    coef, ones = solved[:, :-1], solved[:, -1]
    square = root[:, 0] @ ones
    intercept = ones @ Y / square
    return coef - np.outer(ones, intercept), intercept, ones / np.sqrt(square)


@final
class ExactSmoother(Smoother):
    r"""Exact models :math:`f = \sum_i c_i k(\cdot, x_i) + b` for all penalties.

    Let u be the vector of the square roots of the weights, R the diagonal matrix of u,
    :math:`\tilde K = R K R` and :math:`A = (\tilde K + n \alpha I)^{-1}`. Then

    .. math:: R^{-1} c = G R y, \quad G = A - \frac{A u u^T A}{u^T A u}, \quad I - H = n \alpha G

    if there is an intercept; otherwise G = A. A single factorization takes 8 n^3 / 3 operations and
    the memory of K. Each penalty then takes O(n^2) time.

    Parameters
    ----------
    K, Y, weight, fit_intercept
        As in `solve_exact`. Targets must be centred if there is an intercept.
    context : Context
        Number of threads.
    """

    def __init__(
        self, K: Array, Y: Array, weight: Array, *, fit_intercept: bool, context: Context = LOCAL
    ):
        check_representable(K, Y)
        self.n_rows, self.weight, self.fit_intercept = len(K), float(weight.sum()), fit_intercept
        self.root = _scale_rows(K, weight)
        self.Y = self.root * Y
        middle = fit_intercept * self.root * (self.root.T @ self.Y / self.n_rows)
        with np.errstate(over="ignore"):
            self.total = np.square(self.Y - middle).sum(axis=0)
        check_representable(self.total)
        self.scale = float(K.trace()) / self.n_rows or 1.0
        with context.phase("reduction", unit="percent", total=100) as reducing:
            self.factor = Tridiagonal(K, context.n_jobs, reducing.reach)
        self._right = self.factor.Q.T @ (self.root * _add_ones(Y, fit_intercept))

    @property
    def eigenvalues(self) -> Array:
        """Eigenvalues of R K R; see `Smoother.eigenvalues`."""
        return np.sort(self.factor.values)[::-1]

    def sums(
        self, alphas: Array, *, left_out: bool, copies: Array | None = None
    ) -> tuple[Array, Array]:
        """Return the sums from the diagonals of G; see `Smoother.sums`."""
        shifts = self.n_rows * alphas
        squares, free = [], []
        for shift, diagonal in zip(shifts, self.factor.inverse_diagonals(shifts), strict=True):
            coef, _, border = self.solve(shift)
            errors, left = shift * coef, shift * (diagonal - np.square(border))
            errors = left_out_errors(errors, left, copies=copies) if left_out else errors
            squares.append(np.square(errors).sum(axis=0))
            free.append(left.mean())
        return np.array(squares), np.array(free)

    def models(self, alphas: Array) -> tuple[Array, Array]:
        """Return the models; see `Smoother.models`."""
        coefs, intercepts, _ = zip(
            *(self.solve(self.n_rows * alpha) for alpha in alphas), strict=True
        )
        return self.root * np.array(coefs), np.array(intercepts)

    def solve(self, shift: float) -> tuple[Array, Array, Array]:
        r"""Return :math:`G R y`, b and :math:`A u / \sqrt{u^T A u}` for one shift, n alpha."""
        try:
            solved = self.factor.Q @ self.factor.solve_rotated(shift, self._right)
        except np.linalg.LinAlgError:
            raise self.too_small(shift / self.n_rows) from None
        return _subtract_border(solved, self.Y, self.root, self.fit_intercept)

    def at(self, alpha: float) -> "ExactFit":
        """Return the model of one penalty; see `Smoother.at`."""
        return ExactFit(self, alpha)


@final
class ExactFit(LinearFit):
    """Exact model for one penalty; coordinates are the influences of the rows."""

    def __init__(self, smoother: ExactSmoother, alpha: float):
        self._smoother, self._shift = smoother, smoother.n_rows * alpha
        self.alpha, self.n_rows, self.total = alpha, smoother.n_rows, smoother.total
        coef, self.intercept, self._border = smoother.solve(self._shift)
        self.coef = smoother.root * coef
        (diagonal,) = smoother.factor.inverse_diagonals(np.array([self._shift]))
        left = self._shift * (diagonal - np.square(self._border))
        self._residuals = self._shift * coef, left, smoother.root
        self.dimension = self.n_rows - float(left.sum())
        second, fourth = self._traces()
        self.freedom = second**2 / fourth
        squares = np.square(coef).sum(axis=0)
        self.squares, self.noise = self._shift**2 * squares, squares / second
        self.lengths, self.moments = np.ones((1, 1)), smoother.Y

    def _traces(self) -> tuple[float, float]:
        """Return the traces of G^2 and G^4, from A's eigenvalues and products with the border."""
        factor = self._smoother.factor
        inverse = 1 / (factor.values + self._shift)
        z0 = factor.Q.T @ self._border
        z1 = factor.solve_rotated(self._shift, z0)
        z2 = factor.solve_rotated(self._shift, z1)
        p0, p1, p2, p3 = z0 @ z0, z0 @ z1, z1 @ z1, z1 @ z2
        second = np.sum(inverse**2) - 2 * p1 + p0**2
        fourth = np.sum(inverse**4) - 4 * p3 + 4 * p0 * p2 + 2 * p1**2 - 4 * p0**2 * p1 + p0**4
        return max(float(second), _TINY), max(float(fourth), _TINY)

    def coordinates(self, L: Array, constant: float = 0.0) -> Array:
        """Return the influences; see `LinearFit.coordinates`."""
        root = self._smoother.root
        h = self._solve(root * L)
        if constant and self._smoother.fit_intercept:
            # A u / u^T A u, from the border A u / sqrt(u^T A u)
            h += constant / (self._border @ root) * self._border[:, None]
        return h

    def _solve(self, B: Array) -> Array:
        """Return G B."""
        solved = self._smoother.factor.solve(self._shift, B)
        return np.asarray(solved - np.outer(self._border, self._border @ B))

    def shrink(self, q: Array) -> Array:
        """Multiply by I - H = n alpha G."""
        return self._shift * self._solve(q)

    def influence(self, q: Array) -> Array:
        """Return q, which is the influence."""
        return q

    @property
    def residuals(self) -> tuple[Array, Array, Array]:
        """Residuals, which are n alpha times the coefficients; see `LinearFit.residuals`."""
        return self._residuals
