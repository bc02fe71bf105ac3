"""A map with numbers for parameters, and the problem in its functions: trials and fits share it."""

from typing import Any

import numpy as np
from sklearn.base import clone

from skimp.data import Context, Rows
from skimp.features import FeatureMap, Landmarks
from skimp.kernels import Kernel
from skimp.losses import Loss
from skimp.solvers import Problem


def fit_map(
    feature_map: FeatureMap,
    rows: Rows,
    rng: np.random.Generator,
    context: Context,
    kernel: Kernel | None = None,
) -> FeatureMap:
    """Fit a copy of a map; ``kernel`` is used if the map has none of its own."""
    fitted: FeatureMap = clone(feature_map)
    return fitted.fit_rows(rows, rng, kernel, context)


def pose_problem(
    fitted: FeatureMap | Landmarks, rows: Rows, loss: Loss, alpha: float, **options: Any
) -> Problem:
    """State what is to be minimised over functions of a fitted map, for rows with numbers for y."""
    basis = fitted.basis()
    mapped = rows.mapped(basis)
    return Problem(mapped, loss, alpha, penalty=basis.penalty, factor=basis.factor, **options)
