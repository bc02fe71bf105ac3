"""Normal equations of the squared loss, in one pass over the rows."""

from dataclasses import dataclass
from typing import final

import numpy as np

from skimp._core._blocks import Scratch
from skimp._core._linalg import cholesky, dense, solve_positive
from skimp._core._memory import require_memory
from skimp._core._rules import broken
from skimp._core._threads import thread_count
from skimp._core._types import Array
from skimp.data import Block, Rows
from skimp.losses import Squared
from skimp.solvers._base import Problem, Solution, Solver


@final
class Direct(Solver):
    r"""Least squares by normal equations and Cholesky.

    .. math:: (S + \alpha P) \, c = s, \qquad b = \bar y - c^T \bar z

    with S the weighted covariance of the features and s that with the targets (second moments
    where no intercept is fitted). S is summed over row blocks by SYRK, in the precision of the
    rows within a block and in float64 across blocks: n D^2 operations and D^2 float64 numbers for
    n rows and D features, then O(D^3).

    In float32 the rounding of S can exceed a small penalty. S then has a direction below
    :math:`-\alpha P / 2`, which a Cholesky factorization reveals; the pass is repeated in float64,
    and the solution's message says so.
    """

    def solve(self, problem: Problem) -> Solution:
        """Solve the normal equations; see `Solver.solve`."""
        if not isinstance(problem.loss, Squared):
            raise broken(type(self).__name__, "loss", "'squared'", problem.loss)
        rows, width = problem.rows, problem.rows.n_features
        require_memory(
            (24 + rows.dtype.itemsize * thread_count(rows.n_jobs)) * width**2,
            problem.memory_limit,
            f"the direct solver with {width} features",
            "take a smaller budget or fewer features",
        )
        note = ""
        S = _moments(rows).covariance(centred=problem.fit_intercept)
        half = 0.5 * problem.alpha
        if (
            rows.dtype == np.float32
            and cholesky(_penalized(S.within, half, problem.penalty)) is None
        ):
            note = ", summed in float64 because float32 rounding exceeded the penalty"
            S = _moments(rows.copy_with(dtype=np.dtype(np.float64))).covariance(
                centred=problem.fit_intercept
            )
        H = _penalized(S.within, problem.alpha, problem.penalty)
        coef, how = solve_positive(H, S.across)
        objective = S.target - 2 * np.sum(coef * S.across) + np.sum(coef * (H @ coef))
        return Solution(
            coef=coef,
            intercept=S.target_mean - S.mean @ coef,
            n_iter=1,
            converged=True,
            message=f"direct: {how} of {width} normal equations{note}",
            history=np.array([objective]),
        )


@dataclass(frozen=True)
class _Covariance:
    """Weighted covariances, and the means to be added back."""

    within: Array
    across: Array
    target: float
    mean: Array
    target_mean: Array


@dataclass
class _Moments:
    """Weighted sums over rows: of 1, y^2, z, y, z z^T, z y^T."""

    weight: float
    yy: float
    z: Array
    y: Array
    zz: Array
    zy: Array

    def arrays(self) -> tuple[Array, ...]:
        return self.z, self.y, self.zz, self.zy

    def covariance(self, *, centred: bool) -> _Covariance:
        mean = self.z / self.weight if centred else np.zeros_like(self.z)
        target_mean = self.y / self.weight if centred else np.zeros_like(self.y)
        within = self.zz / self.weight
        within -= np.outer(mean, mean)
        return _Covariance(
            within,
            self.zy / self.weight - np.outer(mean, target_mean),
            self.yy / self.weight - float(target_mean @ target_mean),
            mean,
            target_mean,
        )


def _moments(rows: Rows) -> _Moments:
    def of_block(block: Block, scratch: Scratch) -> _Moments:
        Z, Y = dense(block.X, rows.dtype), dense(block.y, rows.dtype)
        weight = np.ones(len(Z)) if block.weight is None else block.weight
        root = np.sqrt(weight).astype(rows.dtype)
        if block.weight is not None:
            Y = Y * root[:, None]
            Z = np.multiply(Z, root[:, None], out=scratch.array("weighted", Z.shape, Z.dtype))
        zz = scratch.array("zz", (Z.shape[1], Z.shape[1]), Z.dtype)
        return _Moments(
            weight=float(weight.sum()),
            yy=float(np.sum(Y.astype(np.float64) ** 2)),
            z=root @ Z,
            y=root @ Y,
            zz=np.matmul(Z.T, Z, out=zz),
            zy=Z.T @ Y,
        )

    def add(total: _Moments | None, part: _Moments) -> _Moments:
        if total is None:
            total = _Moments(0.0, 0.0, *(np.zeros(array.shape) for array in part.arrays()))
        total.weight += part.weight
        total.yy += part.yy
        for sums, more in zip(total.arrays(), part.arrays(), strict=True):
            np.add(sums, more, out=sums)
        return total

    initial: _Moments | None = None
    moments = rows.map_reduce(of_block, add, initial)
    assert moments is not None, "rows that were checked are not empty"
    return moments


def _penalized(S: Array, alpha: float, penalty: Array | None) -> Array:
    if penalty is not None:
        return S + alpha * penalty
    S = S.copy()
    S.flat[:: len(S) + 1] += alpha
    return S
