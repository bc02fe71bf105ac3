"""Penalties of a model on trial, and its error: by equations, or by sweeps for codes."""

from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from skimp._core._blocks import Scratch, fold
from skimp._core._linalg import canonical, check_representable
from skimp._core._threads import single_threaded_blas, thread_count
from skimp._core._types import Array, Matrix
from skimp.data import ArrayRows, Block, Rows
from skimp.data._kept import keep_rows
from skimp.losses import squared
from skimp.solvers import DualCD, Problem
from skimp.solvers._features import dense_features
from skimp.solvers._moments import covariance
from skimp.solvers._objective import mean_losses
from skimp.solvers._path import ridge_path

ALPHAS = np.logspace(-10, 0, 21)
"""Penalties, over the mean of k(x, x), that are tried: in the first trials each second one."""
_RIDGES = np.array([0.03, 0.3, 3.0])
"""Penalties n alpha for codes."""
_EQUAL, _FLAT = 1.003, 1.03
"""Errors, over the least, of penalties of which the largest is taken, which is solved fastest: of
equations, and of codes, whose sweeps stop early."""
_DOUBLE = np.dtype(np.float64)


def narrowed(problem: Problem, judging: Rows | None) -> tuple[Problem, Rows | None]:
    """Turn features that are more than rows until all rows have zeros but in the first few.

    The penalty does not change, and equations are as many as rows.
    """
    block = problem.rows.collect()
    with single_threaded_blas():
        turned, R = np.linalg.qr(dense_features(block.X, _DOUBLE).T)

    def rows(Z: Array, block: Block) -> Rows:
        return ArrayRows(Z, block.y, block.weight).copy_with(n_jobs=problem.rows.n_jobs)

    narrow = replace(problem, rows=rows(R.T, block))
    if judging is None:
        return narrow, None
    judged = judging.collect()
    return narrow, rows(dense_features(judged.X, _DOUBLE) @ turned, judged)


def by_factors(
    problem: Problem, alphas: Array | None, scale: float, judging: Rows | None, size: float
) -> tuple[float, float, float | None]:
    """Return the best penalty, and the error with all and half of the columns.

    Judging rows tell, or cross-validation where there are none.
    """
    S = covariance(problem, _DOUBLE)
    check_representable(S.within, S.across, np.array(S.target))
    if judging is None:
        S = replace(S, size=size)
    width = len(S.within)
    path = ridge_path(
        S,
        ALPHAS[:: 1 if judging is None else 2] * scale if alphas is None else alphas,
        (max(1, width // 2), width),
        intercept=problem.fit_intercept,
        factor=problem.factor,
        n_jobs=problem.rows.n_jobs,
    )
    if judging is None:
        best = path.best()
        return (
            float(path.alphas[best]),
            float(path.cautious[-1, best]),
            float(path.cautious[0].min()),
        )
    models = [
        (coef, S.target_mean - S.mean[: len(coef)] @ coef) for coefs in path.coefs for coef in coefs
    ]
    halves, wholes = np.split(mean_losses(judging, squared, models), 2)
    best = _largest(path.alphas, wholes, _EQUAL)
    return float(path.alphas[best]), float(wholes[best]), float(halves.min())


def by_sweeps(
    problem: Problem, alphas: Array | None, scale: float, judging: Rows | None, size: float
) -> tuple[float, float, float | None]:
    """Return the penalty that judging rows prefer for codes, and their error."""
    assert judging is not None, "codes are not among the maps of few rows"
    if alphas is None:
        alphas = _RIDGES / problem.rows.n_rows * scale
    n_jobs = problem.rows.n_jobs
    codes = keep_rows(problem.rows).copy_with(n_jobs=n_jobs if len(alphas) == 1 else 1)

    def solved(alpha: float, _: Scratch) -> tuple[Array, Array]:
        each = replace(problem, rows=codes, alpha=float(alpha))
        solution = DualCD(tol=2e-2, max_iter=6).solve(each)
        return solution.coef, solution.intercept

    def append(models: list[Any], model: tuple[Array, Array]) -> list[Any]:
        return [*models, model]

    initial: list[Any] = []
    models = fold(alphas, solved, append, initial, thread_count(n_jobs))
    errors = mean_losses(judging, squared, models)
    best = _largest(alphas, errors, _FLAT)
    return float(alphas[best]), float(errors[best]), None


def _largest(alphas: Array, errors: Array, flat: float) -> int:
    """Return which penalty is the largest of those whose error is the least, up to a factor."""
    return int(max(np.flatnonzero(errors <= flat * errors.min()), key=alphas.__getitem__))


def distinct_size(rows: Rows) -> float:
    """Return how many rows of equal weight some rows are worth, where equal rows count as one.

    So a weight of 2 is the same as a row given twice, and neither is more to choose by.
    """
    everything = rows.collect()
    weight = np.ones(everything.size) if everything.weight is None else everything.weight
    totals: dict[Any, float] = {}
    for key, w in zip(_row_keys(canonical(everything.X)), weight, strict=True):
        totals[key] = totals.get(key, 0.0) + float(w)
    shares = np.array(list(totals.values())) / weight.sum()
    return float(1 / np.sum(shares**2))


def _row_keys(X: Matrix) -> list[Any]:
    """Return what rows are told apart by: their bytes, or the objects in them."""
    if sparse.issparse(X):
        ends = zip(X.indptr, X.indptr[1:], strict=False)
        return [(X.indices[i:j].tobytes(), X.data[i:j].tobytes()) for i, j in ends]
    X = np.asarray(X)
    return [tuple(row) if X.dtype == object else row.tobytes() for row in X]
