"""Nested feature maps: the first m functions of a map are the map of size m."""

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
    """A basis whose first functions are the basis of a smaller map."""

    basis: Basis
    size: int
    """Number of landmarks or features, including dependent ones without a function."""
    order: Array | None = None
    """Order in which to take the columns of the basis; None for the order of storage."""
    averaged: bool = False
    """Whether the features are scaled by one over the square root of the size."""
    step: int = 1
    """Number of columns that must be taken together, such as a cosine and its sine."""
    kept: Array | None = None
    """Increasing indices of the landmarks that have a column; None if all have one."""
    points: Matrix | None = None
    """All landmarks, in the order in which they are taken."""

    def columns(self, sizes: Array) -> Array:
        """Return the number of columns of the map of each size."""
        return sizes if self.kept is None else np.searchsorted(self.kept, sizes)


def nest(fitted: FeatureMap, rng: np.random.Generator, context: Context = LOCAL) -> Nested:
    """Return the nested basis of a fitted map with dense features."""
    if fitted.nested:
        return _nest_landmarks(fitted, rng, context)
    width, order = fitted.width, None
    if fitted.paired:
        order = np.arange(width // 2 * 2).reshape(2, -1).T.ravel()
    return Nested(fitted.basis(), width, order, averaged=True, step=2 if fitted.paired else 1)


def _nest_landmarks(fitted: FeatureMap, rng: np.random.Generator, context: Context) -> Nested:
    """Return kernel columns of the landmarks, or combinations of them if they are dependent."""
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
        raise ValueError("budget_curve: the kernel is zero at all landmarks.")
    independent = Landmarks(kernel, points[kept], dtype, n_jobs=context.n_jobs)
    basis = WhitenedLandmarks(independent, np.ascontiguousarray(inverse_lower(L).T))
    return Nested(basis, size, kept=kept, points=points)
