"""Maps of which a part is a smaller map: landmarks in an order, features one after the other."""

from dataclasses import dataclass

import numpy as np

from skimp._core._linalg import inverse_lower, ordered_cholesky
from skimp._core._types import Array, Matrix
from skimp.budgets import pivot_order
from skimp.data import LOCAL, Context
from skimp.features import Basis, FeatureMap, Landmarks, WhitenedLandmarks

_EPS64 = float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class Nested:
    """Functions of which the first ones are a smaller map's."""

    basis: Basis
    size: int
    """Landmarks or features, of which some may have no function."""
    order: Array | None = None
    """The columns of the basis in the order in which they are taken; None if they are in order."""
    averaged: bool = False
    """Whether features of a smaller map are larger, as averages are."""
    step: int = 1
    """Columns that belong together."""
    kept: Array | None = None
    """Numbers of the landmarks that have a column, rising; None if all have one."""
    points: Matrix | None = None
    """All landmarks, in their order."""

    def columns(self, sizes: Array) -> Array:
        """Return how many columns maps of some sizes have."""
        return sizes if self.kept is None else np.searchsorted(self.kept, sizes)


def nest(fitted: FeatureMap, rng: np.random.Generator, context: Context = LOCAL) -> Nested:
    """Return the nested functions of a fitted map whose features are not codes."""
    if fitted.nested:
        return _nest_landmarks(fitted, rng, context)
    width, order = fitted.width, None
    if fitted.paired:
        order = np.arange(width // 2 * 2).reshape(2, -1).T.ravel()
    return Nested(fitted.basis(), width, order, averaged=True, step=2 if fitted.paired else 1)


def _nest_landmarks(fitted: FeatureMap, rng: np.random.Generator, context: Context) -> Nested:
    """Return kernel columns of the points, or combinations of them if they are dependent."""
    kernel, points, dtype = fitted.kernel_, fitted.budget_.points, fitted.dtype_
    if not fitted.chosen_selector().nested:
        points = points[pivot_order(points, kernel, rng, context)]
    size = points.shape[0]
    landmarks = Landmarks(kernel, points, dtype, n_jobs=context.n_jobs)
    if landmarks.factor is not None:
        return Nested(landmarks, size, points=points)
    tol = max(float(np.finfo(dtype).eps) ** 1.5, _EPS64)
    kept, L = ordered_cholesky(landmarks.penalty, tol=tol)
    if len(kept) == 0:
        raise ValueError("budget_curve: the kernel must not be zero at all landmarks.")
    independent = Landmarks(kernel, points[kept], dtype, n_jobs=context.n_jobs)
    basis = WhitenedLandmarks(independent, np.ascontiguousarray(inverse_lower(L).T))
    return Nested(basis, size, kept=kept, points=points)
