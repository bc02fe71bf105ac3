"""Landmarks given by the user."""

from typing import Any, final

import numpy as np
from sklearn.utils.validation import check_array

from skimp._core._objects import check_any_rows
from skimp._core._types import Matrix
from skimp.budgets._base import Budget, Selector
from skimp.data import Context, Rows
from skimp.kernels import Kernel


@final
class Fixed(Selector):
    """Points given by the user, the first ``size`` of them if there are more.

    Parameters
    ----------
    points : array or CSR matrix of shape (m, d), or objects
        The points. They need not be rows of the data.

    Examples
    --------
    >>> import numpy as np
    >>> from skimp.budgets import Fixed
    >>> from skimp.kernels import Linear
    >>> grid = np.array([[0.0], [0.5], [1.0]])
    >>> X = np.random.default_rng(0).random((100, 1))
    >>> Fixed(grid).select(X, 1000, Linear(), np.random.default_rng(0)).points.shape
    (3, 1)
    """

    nested = True

    def __init__(self, points: Any):
        self.points = points

    def select_from(
        self, rows: Rows, size: int, kernel: Kernel, rng: np.random.Generator, context: Context
    ) -> Budget:
        """Return the points; see `Selector.select_from`."""
        points = check_points(
            self.points, kernel, rows.n_features, owner=type(self).__name__, name="points"
        )
        return Budget(points[:size].copy())


def check_points(points: Any, kernel: Kernel, n_features: int, *, owner: str, name: str) -> Matrix:
    """Return the validated points; raise unless they have as many columns as X."""
    if kernel.takes_objects:
        points = check_any_rows(points, name)
    else:
        points = check_array(points, accept_sparse="csr", dtype="numeric", input_name=name)
    if points.shape[1] != n_features:
        raise ValueError(
            f"{owner}: {name} must have as many columns as X ({n_features}), "
            f"found {points.shape[1]}."
        )
    return points
