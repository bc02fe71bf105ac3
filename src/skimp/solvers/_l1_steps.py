"""Steps of `L1CD`: quadratic models of the objective, minimized by coordinate descent."""

from math import isqrt
from typing import Any

import numpy as np
from scipy import linalg, sparse

from skimp._core._blocks import Scratch, fold
from skimp._core._linalg import check_representable, cholesky
from skimp._core._types import Array
from skimp._core._work import DOUBLE
from skimp._params._memory import parse_bytes, require_memory
from skimp.data import Block, Codes
from skimp.solvers._base import Problem
from skimp.solvers._features import as_features, place_of
from skimp.solvers._held_objective import HeldObjective, HeldPoint

FIRST = 256
"""Size of the first working set of features."""
MATRIX = 80
"""Bytes of a step per output and pair of features in a working set: a few matrices in float64."""
_SWEEPS = 8
"""Sweeps of coordinate descent between two steps of all nonzero coefficients."""
_ROUNDS = 100
_NEGLIGIBLE = 1e-3
"""Share of the decrease so far below which a round is the last one."""
_NEAR = 0.75
"""Unused features enter a working set if their gradient is at least this share of the threshold."""
_DAMPING, _FLOOR = 1e-10, 1e-14
"""Curvature that the model adds, relative to the bound: if there is none, and at least."""
_DAMPINGS = (1e-13, 1e-11, 1e-9)
"""Relative increases of the diagonal that are tried in turn, because matrices may be singular."""
_DENSE = 0.05
"""Share of nonzero features above which dense products are faster than sparse ones."""


class L1Steps:
    r"""Steps to the minimum of a quadratic model over a working set of features.

    With the gradient g and the Hessian H of the smooth part, a step of one output minimizes

    .. math:: g^T d + \tfrac12 d^T H d + \lambda \|c + d\|_1

    over the features in the working set and the intercept. The working set holds the features in
    use and, up to the same number, those that are likely to come into use. They are ordered by
    :math:`u_j = (|g_j| - \lambda) / \sqrt{\beta_j}`, where :math:`\beta_j` bounds the second
    derivative with respect to coefficient j: if :math:`u_j` is positive, a single coordinate step
    lowers the objective by at least :math:`u_j^2 / 2`.

    Parameters
    ----------
    problem : Problem
        The problem, with the part of alpha that is not for the L1 norm.
    objective : HeldObjective
        Its objective, evaluated at least once.
    threshold : float
        The factor of the L1 norm.
    taken : int
        Bytes of the memory limit that are in use.
    """

    def __init__(self, problem: Problem, objective: HeldObjective, threshold: float, taken: int):
        self._problem, self._objective = problem, objective
        self._threshold, self._taken = threshold, taken
        self._matrix = MATRIX * objective.targets.shape[1]
        self._most = isqrt((parse_bytes(problem.memory_limit) - taken) // self._matrix)
        loss, alpha, P = problem.loss, problem.alpha, problem.penalty
        self._bounds = loss.max_curvature * self._mean_squares()
        self._bounds += 2 * alpha * (1.0 if P is None else P.diagonal())
        check_representable(self._bounds)
        self._sets: list[Array] = []
        self._curvature, self._grams = np.empty(0), list[Array]()

    def _mean_squares(self) -> Array:
        weight = self._objective.weight

        def squares(block: Block, _: Scratch) -> Array:
            Z: Any = _matrix(block)
            Z = Z.multiply(Z) if sparse.issparse(Z) else Z * Z
            return np.asarray(weight[place_of(block), 0] @ Z)

        zeros = np.zeros(self._objective.rows.n_features)
        context = self._objective.context
        return context.map_reduce(self._objective.rows, squares, lambda a, b: a + b, zeros)

    def step(self, point: HeldPoint, seed: list[int]) -> tuple[Array, float]:
        """Return a step, shaped like the gradient, and the expected decrease of the objective."""
        c, g, threshold = point.coef, point.gradient[:-1], self._threshold
        excess = np.abs(g + threshold * np.sign(c)) - threshold * (c == 0)
        known, k = self._bounds > 0, c.shape[1]
        urgency = np.full(c.shape, -np.inf)
        urgency[known] = excess[known] / np.sqrt(self._bounds[known, None])
        near = (c != 0) | (np.abs(g) >= _NEAR * threshold)
        # outputs of the same curvature, as with the squared loss, share one Hessian
        alike = bool((point.curvature == point.curvature[:, :1]).all())
        groups = [np.arange(k)] if alike else list(np.arange(k)[:, None])
        sets = [
            self._working_set(near[:, group].any(axis=1), urgency[:, group], c[:, group])
            for group in groups
        ]
        self._sum(point, groups, sets)
        gains = np.maximum(urgency, 0) ** 2
        step = np.zeros_like(point.gradient)

        def minimize(output: int, _: Scratch) -> float:
            place = 0 if alike else output
            A, rng = sets[place], np.random.default_rng([*seed, output])
            d, decrease = self._minimum(self._grams[place], A, point, output, rng)
            step[A, output], step[-1, output] = d[:-1], d[-1]
            # features outside of the working set would lower the objective further
            inside, every = gains[A, output].sum(), gains[:, output].sum()
            return float(decrease * every / inside if inside > 0 else decrease)

        threads = self._objective.context.threads
        return step, fold(range(k), minimize, lambda a, b: a + b, 0.0, threads)

    def _working_set(self, near: Array, urgency: Array, coef: Array) -> Array:
        """Return the numbers of the features of a working set for some outputs."""
        if len(near) <= min(FIRST, self._most):
            return np.arange(len(near))
        used, order = coef.any(axis=1), urgency.max(axis=1)
        n_used, candidates = int(np.count_nonzero(used)), np.flatnonzero(near)
        size = min(self._most, max(FIRST, 2 * n_used))
        if n_used >= size < len(candidates):
            needed = self._taken + self._matrix * (n_used + 1) ** 2
            what = f"l1_cd with {n_used} features in use"
            require_memory(needed, self._problem.memory_limit, what, "choose a larger alpha")
        order[used] = np.inf
        return np.sort(candidates[np.argsort(-order[candidates], kind="stable")[:size]])

    def _sum(self, point: HeldPoint, groups: list[Array], sets: list[Array]) -> None:
        """Sum the Hessians of the loss over the rows, with a border for the intercept."""
        same = len(sets) == len(self._sets) and all(map(np.array_equal, sets, self._sets))
        if same and np.array_equal(point.curvature, self._curvature):
            return
        self._sets, self._curvature, self._grams = sets, point.curvature, []

        def products(block: Block, _: Scratch) -> list[Array]:
            Z, D = _matrix(block), point.curvature[place_of(block)]
            return [_gram(Z, A, D[:, g[0]]) for g, A in zip(groups, sets, strict=True)]

        def add(total: list[Array], parts: list[Array]) -> list[Array]:
            for G, part in zip(total, parts, strict=True):
                G += part
            return total

        zeros = [np.zeros((len(A) + 1, len(A) + 1)) for A in sets]
        context = self._objective.context
        self._grams = context.map_reduce(self._objective.rows, products, add, zeros)

    def _minimum(
        self, G: Array, A: Array, point: HeldPoint, output: int, rng: np.random.Generator
    ) -> tuple[Array, float]:
        """Return the step of an output over the features A, and the decrease of the model."""
        problem, P = self._problem, self._problem.penalty
        H, g, old = G[:-1, :-1].copy(), point.gradient[A, output], point.coef[A, output]
        if P is None:
            H.flat[:: len(H) + 1] += 2 * problem.alpha
        else:
            H += 2 * problem.alpha * P[np.ix_(A, A)]
        slope, border, corner = point.gradient[-1, output], G[:-1, -1], G[-1, -1]
        fits = problem.fit_intercept and corner > 0
        if fits:
            # eliminate the intercept, which is not penalized
            H -= np.outer(border / corner, border)
            g = g - border * (slope / corner)
        # rows without curvature may leave the model without a minimum
        missing = 1 - point.curvature[:, output].sum(dtype=np.float64) / problem.loss.max_curvature
        added = max(_DAMPING * missing, _FLOOR) * self._bounds[A]
        H.flat[:: len(H) + 1] += np.maximum(added, np.finfo(float).tiny)
        new, decrease = minimize_quadratic(H, g, old, self._threshold, rng)
        d = np.append(new - old, 0.0)
        if fits:
            d[-1] = -(slope + border @ d[:-1]) / corner
            decrease += slope**2 / (2 * corner)
        return d, decrease


def minimize_quadratic(
    H: Array, g: Array, c: Array, threshold: float, rng: np.random.Generator
) -> tuple[Array, float]:
    """Minimize ``g . d + d . H d / 2 + threshold |c + d|_1``; return c + d and the decrease.

    A round takes a few sweeps of coordinate descent in random order, which find the signs, then
    goes to the minimum for these signs.
    """
    from skimp._core.loops._l1 import coordinate_steps

    c, g, decrease = c.copy(), g.copy(), 0.0
    sweeps = np.tile(np.arange(len(c)), (_SWEEPS, 1))
    for _ in range(_ROUNDS):
        order = rng.permuted(sweeps, axis=1).ravel()
        last = coordinate_steps(order, H, threshold, c, g) + _step_together(H, g, c, threshold)
        decrease += last
        if last <= _NEGLIGIBLE * decrease:
            break
    return c, decrease


def _step_together(H: Array, g: Array, c: Array, threshold: float) -> float:
    """Go to the minimum for the signs of c; coefficients that reach zero on the way stay there.

    Updates c and g, and returns the decrease, like `coordinate_steps`.
    """
    used, decrease = np.flatnonzero(c), 0.0
    rows = H[used]
    if not len(used):
        return decrease
    B = rows[:, used]
    for damping in _DAMPINGS:
        B.flat[:: len(B) + 1] *= 1 + damping
        R = cholesky(B)
        if R is not None:
            break
    else:
        return decrease
    inverse = linalg.cho_solve((R, False), np.eye(len(used)), check_finite=False)
    while True:
        slopes = g[used] + threshold * np.sign(c[used])
        d = -inverse @ slopes
        change = d @ rows
        slope, curvature = float(slopes @ d), float(change[used] @ d)
        if not slope < 0 < curvature:
            return decrease
        # not beyond a damped step, because the minimum may be at infinity
        t, first = min(1.0, -slope / curvature), -1
        crossing = np.flatnonzero(d * c[used] < 0)
        if threshold > 0 and len(crossing):
            ways = -c[used[crossing]] / d[crossing]
            if ways.min() < t:
                t, first = float(ways.min()), int(crossing[ways.argmin()])
        c[used] += t * d
        g += t * change
        decrease -= t * (slope + t * curvature / 2)
        if first < 0:
            return decrease
        # the inverse without this row and column
        c[used[first]] = 0.0
        column = inverse[:, first].copy()
        inverse -= np.outer(column, column / column[first])
        inverse[first] = inverse[:, first] = 0.0


def _matrix(block: Block) -> Any:
    """Return the features of a block in float64, dense or as a CSR matrix."""
    return as_features(block.X.tocsr() if isinstance(block.X, Codes) else block.X, DOUBLE)


def _gram(Z: Any, A: Array, D: Array) -> Array:
    """Return ``sum_i D_i z_i z_i^T`` of the features A, with a one appended to each row."""
    rows = np.flatnonzero(D)
    root = np.sqrt(D[rows].astype(np.float64))
    Z = Z if len(rows) == Z.shape[0] else Z[rows]
    Z = Z if len(A) == Z.shape[1] else Z[:, A]
    G = np.empty((len(A) + 1, len(A) + 1))
    if sparse.issparse(Z):
        if Z.nnz < _DENSE * len(rows) * len(A):
            Z = Z.multiply(root[:, None]).tocsr()
            G[:-1, :-1] = (Z.T @ Z).toarray()
            G[-1, :-1] = G[:-1, -1] = Z.T @ root
            G[-1, -1] = root @ root
            return G
        Z = Z.toarray()
    scaled = np.empty((len(rows), len(A) + 1))
    np.multiply(Z, root[:, None], out=scaled[:, :-1])
    scaled[:, -1] = root
    return np.matmul(scaled.T, scaled, out=G)
