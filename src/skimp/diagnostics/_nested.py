"""Maps of which a part is a smaller map: landmarks in an order, features one after the other."""

import copy
from dataclasses import dataclass
from typing import Any

import numpy as np

from skimp._core._linalg import cholesky, inverse_lower
from skimp._core._types import Array
from skimp.budgets import Fixed, RPCholesky, Selector, Uniform, as_selector
from skimp.budgets._rpcholesky import pivot_order
from skimp.data import Rows
from skimp.features import FeatureMap, Landmarks, Nystroem, RandomFourier
from skimp.features._base import Basis

_ROUNDING = 8 * float(np.finfo(np.float64).eps)


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
    """

    basis: Basis
    order: Array | None = None
    averaged: bool = False
    step: int = 1


def nested(feature_map: FeatureMap, rows: Rows, rng: np.random.Generator) -> Nested:
    """Return the nested functions of a fitted map that is not coded."""
    if isinstance(feature_map, Nystroem):
        return Nested(_nested_landmarks(feature_map, rows, rng))
    width = feature_map.width
    if isinstance(feature_map, RandomFourier) and feature_map.form == "pair":
        # a cosine and its sine, which are in the two halves of the columns
        half = width // 2
        pairs = np.arange(2 * half).reshape(2, half).T.ravel()
        return Nested(feature_map.basis(), pairs, averaged=True, step=2)
    return Nested(feature_map.basis(), averaged=True)


def _nested_landmarks(feature_map: Nystroem, rows: Rows, rng: np.random.Generator) -> Basis:
    """Return kernel columns of the points, or combinations of them where they are dependent."""
    kernel, points = feature_map.kernel_, feature_map.budget_.points
    if not _is_nested(as_selector(feature_map.selector, owner="budget_curve")):
        points = points[pivot_order(points, kernel, rng)]
    landmarks = Landmarks(kernel, points, rows.dtype, n_jobs=rows.n_jobs)
    if landmarks.factor is not None:
        return landmarks
    eps = float(np.finfo(rows.dtype).eps)
    R = cholesky(landmarks.penalty, jitter=max(eps**1.5, _ROUNDING) * landmarks.width)
    if R is None:
        raise ValueError("budget_curve: the kernel matrix of the points must not be singular.")
    features: Any = copy.copy(feature_map)
    features.landmarks_ = landmarks
    features._whitening = features._root = np.ascontiguousarray(inverse_lower(R.T).T)
    features.dtype_ = np.dtype(np.float64)
    basis: Basis = features
    return basis


def _is_nested(selector: Selector) -> bool:
    """Tell whether the first points of a rule's budget are a budget of that rule."""
    return isinstance(selector, RPCholesky | Fixed) or (
        isinstance(selector, Uniform) and selector.stratify is None and not selector.replacement
    )
