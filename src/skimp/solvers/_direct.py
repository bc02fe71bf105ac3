"""Normal equations of the squared loss, in one pass over the rows."""

from dataclasses import dataclass, replace
from typing import final

import numpy as np

from skimp._core._blocks import Scratch
from skimp._core._linalg import (
    check_representable,
    cholesky,
    dense,
    reciprocal_condition,
    solve_positive,
)
from skimp._core._memory import require_memory
from skimp._core._rules import broken
from skimp._core._threads import single_threaded_blas, thread_count
from skimp._core._types import Array, DType
from skimp.data import Block, Codes, Rows
from skimp.losses import Squared
from skimp.solvers._base import Problem, Solution, Solver
from skimp.solvers._features import targets


@final
class Direct(Solver):
    r"""Least squares by normal equations and Cholesky.

    .. math:: (S + \alpha P) \, c = s, \qquad b = \bar y - c^T \bar z

    with S the weighted covariance of the features and s that with the targets (second moments
    where no intercept is fitted): n D^2 operations and D^2 float64 numbers for n rows and D
    features, then O(D^3).

    S is summed by SYRK within row blocks and in float64 across them. float32 features are summed
    in float32 within blocks, at twice the speed; where the equations turn out so ill conditioned
    that its rounding would show, they are summed again in float64, and the solution's message says
    so. A penalty matrix, which can be nearly singular, asks for float64 from the start.

    Examples
    --------
    >>> import numpy as np
    >>> from skimp.data import open_rows
    >>> from skimp.losses import squared
    >>> from skimp.solvers import Direct, Problem
    >>> Z = np.array([[0.0], [1.0], [2.0]])
    >>> rows = open_rows(Z, target=3 * Z + 1)
    >>> solution = Direct().solve(Problem(rows, squared, alpha=1e-12))
    >>> solution.coef.round(6).item(), solution.intercept.round(6).item()
    (3.0, 1.0)
    """

    def needed_bytes(self, problem: Problem) -> int:
        """Return the memory that `solve` takes besides the rows."""
        rows, width = problem.rows, problem.rows.n_features
        threads = thread_count(rows.n_jobs)
        # S, H and its factor; a penalty with its own; a sum and a block for each thread
        squares = 24 + (0 if problem.penalty is None else 24) + 8 * threads
        return squares * width**2 + 16 * threads * rows.block_rows * width

    def solve(self, problem: Problem) -> Solution:
        """Solve the normal equations; see `Solver.solve`."""
        if not isinstance(problem.loss, Squared):
            raise broken(type(self).__name__, "loss", "'squared'", problem.loss)
        width = problem.rows.n_features
        require_memory(
            self.needed_bytes(problem),
            problem.memory_limit,
            f"the direct solver with {width} features",
            "take a smaller budget or fewer features",
        )
        plain = problem.penalty is None and problem.rows.coded is None
        dtype = problem.rows.dtype if plain else _DOUBLE
        S = _covariance(problem, dtype)
        check_representable(S.within, S.across)
        H = _penalized(S, problem)
        note = ""
        if dtype != _DOUBLE and _condition(H) > _LARGEST_CONDITION * np.sqrt(S.n_rows):
            note = ", summed in float64 because they are ill conditioned for float32"
            S = _covariance(problem, _DOUBLE)
            H = _penalized(S, problem)
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


_DOUBLE = np.dtype(np.float64)
_SHIFT_ROWS = 256

_LARGEST_CONDITION = 2.5e-4 / np.finfo(np.float32).eps
"""Up to here, times the root of n because the rows' rounding averages out, float32 sums that were
differently blocked moved predictions by less than 5e-5 of their size."""


def _condition(H: Array) -> float:
    R = cholesky(H)
    return np.inf if R is None else 1 / reciprocal_condition(R, H)


def _covariance(problem: Problem, dtype: DType) -> "_Covariance":
    shift = np.zeros(problem.rows.n_features)
    if problem.fit_intercept and problem.rows.coded is None:
        # the mean of some rows: what is left of the mean, to be subtracted from sums, is small
        with single_threaded_blas(), np.errstate(over="ignore", invalid="ignore"):
            first = next(problem.rows.copy_with(block_rows=_SHIFT_ROWS).blocks())
            shift = dense(first.X, _DOUBLE).mean(axis=0)
    S = _moments(problem.rows, dtype, shift).covariance(centred=problem.fit_intercept)
    return replace(S, mean=S.mean + shift)


def _penalized(S: "_Covariance", problem: Problem) -> Array:
    if problem.penalty is not None:
        return S.within + problem.alpha * problem.penalty
    H = S.within.copy()
    H.flat[:: len(H) + 1] += problem.alpha
    return H


@dataclass(frozen=True)
class _Covariance:
    """Weighted covariances, and the means to be added back."""

    n_rows: int
    within: Array
    across: Array
    target: float
    mean: Array
    target_mean: Array


@dataclass
class _Moments:
    """Sums over rows: of 1, and with weights of 1, y^2, z, y, z z^T, z y^T."""

    n_rows: int
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
        within = self.zz
        within /= self.weight
        within -= np.outer(mean, mean)
        return _Covariance(
            self.n_rows,
            within,
            self.zy / self.weight - np.outer(mean, target_mean),
            self.yy / self.weight - float(target_mean @ target_mean),
            mean,
            target_mean,
        )


def _moments(rows: Rows, dtype: DType, shift: Array) -> _Moments:
    """Sum ``z - shift``, in ``dtype`` within blocks and in float64 across them."""
    shift = shift.astype(dtype)

    def of_block(block: Block, scratch: Scratch) -> _Moments:
        if isinstance(block.X, Codes):
            return _coded_moments(block, block.X)
        Y = dense(block.y, dtype)
        Z = scratch.array("centred", block.X.shape, dtype)
        np.subtract(dense(block.X, dtype), shift, out=Z)
        weight = np.ones(len(Z)) if block.weight is None else block.weight
        root = np.sqrt(weight).astype(dtype)
        if block.weight is not None:
            Y = Y * root[:, None]
            Z *= root[:, None]
        zz = scratch.array("zz", (Z.shape[1], Z.shape[1]), dtype)
        return _Moments(
            n_rows=len(Z),
            weight=float(weight.sum()),
            yy=float(np.sum(Y.astype(np.float64) ** 2)),
            z=root @ Z,
            y=root @ Y,
            zz=np.matmul(Z.T, Z, out=zz),
            zy=Z.T @ Y,
        )

    def add(total: _Moments | None, part: _Moments) -> _Moments:
        if total is None:
            total = _Moments(0, 0.0, 0.0, *(np.zeros(array.shape) for array in part.arrays()))
        total.n_rows += part.n_rows
        total.weight += part.weight
        total.yy += part.yy
        for sums, more in zip(total.arrays(), part.arrays(), strict=True):
            np.add(sums, more, out=sums)
        return total

    initial: _Moments | None = None
    moments = rows.map_reduce(of_block, add, initial)
    assert moments is not None, "rows that were checked are not empty"
    return moments


def _coded_moments(block: Block, Z: Codes) -> _Moments:
    """Do the same for codes, whose features are equal or zero: they need no shift."""
    from skimp._core._code_loops import gram

    Y, weight = targets(block, _DOUBLE)
    zz, zy, z = (np.zeros((Z.width, size)) for size in (Z.width, Y.shape[1], 1))
    gram(*Z.layout, weight[:, 0], zz)
    Z.add_transposed(weight * Y, zy)
    Z.add_transposed(weight, z)
    return _Moments(
        n_rows=block.size,
        weight=float(weight.sum()),
        yy=float(np.sum(weight * Y**2)),
        z=z[:, 0],
        y=weight[:, 0] @ Y,
        zz=zz,
        zy=zy,
    )
