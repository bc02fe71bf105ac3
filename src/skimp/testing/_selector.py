"""Checks of selectors."""

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone

from skimp._core._work import Size, Work
from skimp.budgets import Budget, Selector
from skimp.data import open_rows
from skimp.kernels import Gaussian
from skimp.testing._assertions import close, params_of, require, rows_for


def check_selector(selector: Selector, X: Any = None, *, size: int = 20) -> None:
    """Check the landmarks, weights, cost and parameters of a selector.

    A budget must have at most the requested number of landmarks, and indices must refer to the
    chosen rows. The choice must not depend on the block size or on sparse or dense storage, and
    must ignore rows of weight zero.

    Parameters
    ----------
    selector : Selector
        The selector.
    X : array of shape (n, d), optional
        Rows from which to choose; by default 600 random rows of five columns.
    size : int
        Number of landmarks.

    Raises
    ------
    AssertionError
        If a check fails; the message names it.

    Examples
    --------
    >>> from skimp.budgets import Uniform
    >>> from skimp.testing import check_selector
    >>> check_selector(Uniform())
    """
    X, params = rows_for(X), params_of(selector)
    labels = np.where(X[:, 0] > X[:, 0].mean(), "above", "below")

    def select(source: Any, size: int = size, y: Any = labels) -> Budget:
        return selector.select(source, size, Gaussian(gamma=0.1), np.random.default_rng(0), y)

    for asked in (1, size, len(X) - 1, len(X) + 1):
        most = asked if selector.repeats else min(asked, len(X))
        chosen = select(X, asked)
        m = len(chosen.points)
        require(1 <= m <= most, f"a budget has 1 to {most} points, found {m}")
        if chosen.indices is not None:
            distinct = selector.repeats or m == len(np.unique(chosen.indices))
            which = "rows" if selector.repeats else "distinct rows"
            counted = m == most == len(chosen.indices)
            require(counted and distinct, f"indices are those of {most} {which}, found {m} points")
            close(chosen.points, X[chosen.indices], "indices refer to the points")
        if chosen.weights is not None:
            positive = bool(np.all(chosen.weights > 0))
            require(len(chosen.weights) == m and positive, "every point has a positive weight")
    chosen = select(X)
    for block_rows in (None, 1, 7):
        for form in (X, sparse.csr_matrix(X)):
            same = select(open_rows(form, target=labels, block_rows=block_rows), y=None)
            points = same.points.toarray() if sparse.issparse(same.points) else same.points
            close(points, chosen.points, "the same seed chooses the same points", 1e-10)
            if chosen.indices is not None:
                close(same.indices, chosen.indices, "the same seed chooses the same rows")
    stage = selector.cost(size, Gaussian(gamma=0.1), Size(*X.shape))
    counted = stage.bytes >= 0 and min(vars(stage.work).values()) >= 0
    require(counted and stage.work != Work(), "cost counts work, and no entry is negative")
    weight = np.arange(len(X)) % 2.0
    present = select(open_rows(X, target=labels, weight=weight), y=None).indices
    require(present is None or weight[present].all(), "rows of weight zero are not chosen")
    require(params_of(selector) == params == params_of(clone(selector)), "parameters do not change")
