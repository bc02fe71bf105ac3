"""Maps of which a part is a smaller map: landmarks in an order, features one after the other."""

from dataclasses import dataclass

import numpy as np

from skimp._core._linalg import inverse_lower, ordered_cholesky
from skimp._core._types import Array, Matrix
from skimp.budgets import Fixed, RPCholesky, Selector, Uniform, as_selector, pivot_order
from skimp.data import Rows
from skimp.features import (
    Basis,
    FeatureMap,
    Landmarks,
    Nystroem,
    RandomFourier,
    WhitenedLandmarks,
)

_EPS64 = float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class Nested:
    """Functions of which the first ones are a smaller map's.

    Attributes
    ----------
    basis : Basis
        All of the functions.
    order : array or None
        The columns of the basis in the order in which they are taken, None for that of columns.
    averaged : bool
        Whether features of a smaller map are larger, as those are that are averages.
    step : int
        Columns that belong together.
    kept : array or None
        Numbers of the landmarks that have a column, rising; None where all have.
    points : array, CSR matrix or None
        All landmarks, in their order.
    """

    basis: Basis
    order: Array | None = None
    averaged: bool = False
    step: int = 1
    kept: Array | None = None
    points: Matrix | None = None

    def columns(self, sizes: Array) -> Array:
        """Return how many columns maps of some sizes have."""
        return sizes if self.kept is None else np.searchsorted(self.kept, sizes)


def nested(feature_map: FeatureMap, rows: Rows, rng: np.random.Generator) -> Nested:
    """Return the nested functions of a fitted map that is not coded."""
    if isinstance(feature_map, Nystroem):
        return _nested_landmarks(feature_map, rows, rng)
    width = feature_map.width
    if isinstance(feature_map, RandomFourier) and feature_map.form == "pair":
        # a cosine and its sine, which are in the two halves of the columns
        half = width // 2
        pairs = np.arange(2 * half).reshape(2, half).T.ravel()
        return Nested(feature_map.basis(), pairs, averaged=True, step=2)
    return Nested(feature_map.basis(), averaged=True)


def _nested_landmarks(feature_map: Nystroem, rows: Rows, rng: np.random.Generator) -> Nested:
    """Return kernel columns of the points, or combinations of them where they are dependent."""
    kernel, points = feature_map.kernel_, feature_map.budget_.points
    if not _is_nested(as_selector(feature_map.selector, owner="budget_curve")):
        points = points[pivot_order(points, kernel, rng, rows.context)]
    landmarks = Landmarks(kernel, points, rows.dtype, n_jobs=rows.n_jobs)
    if landmarks.factor is not None:
        return Nested(landmarks, points=points)
    eps = float(np.finfo(rows.dtype).eps)
    kept, L = ordered_cholesky(landmarks.penalty, tol=max(eps**1.5, _EPS64))
    if len(kept) == 0:
        raise ValueError("budget_curve: the kernel must not be zero at all landmarks.")
    independent = Landmarks(kernel, points[kept], rows.dtype, n_jobs=rows.n_jobs)
    features = WhitenedLandmarks(independent, np.ascontiguousarray(inverse_lower(L).T))
    return Nested(features, kept=kept, points=points)


def _is_nested(selector: Selector) -> bool:
    """Tell whether the first points of a rule's budget are a budget of that rule."""
    return isinstance(selector, RPCholesky | Fixed) or (
        isinstance(selector, Uniform) and selector.stratify is None and not selector.replacement
    )
