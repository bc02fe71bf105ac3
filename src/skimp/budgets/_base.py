"""What a selector is, and the record that it returns."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from skimp._core._names import as_object
from skimp._core._types import Array, Matrix
from skimp.kernels import Kernel


@dataclass(frozen=True)
class Budget:
    """Points that stand for the data.

    Attributes
    ----------
    points : array or CSR matrix of shape (m, d)
        The points, in the dtype of the data.
    indices : array of shape (m,), or None
        Their row numbers, None if the points are not rows of the data.
    weights : array of shape (m,), or None
        Their weights in a rank-truncated approximation, None for equal ones.
    """

    points: Matrix
    indices: Array | None = None
    weights: Array | None = None


class Selector(BaseEstimator, ABC):
    """A rule by which a budget is chosen: parameters, and `select`."""

    @abstractmethod
    def select(
        self,
        X: Any,
        size: int,
        kernel: Kernel,
        rng: np.random.Generator,
        y: Array | None = None,
    ) -> Budget:
        """Choose points.

        Parameters
        ----------
        X : array, CSR matrix, frame or Rows
            The data.
        size : int
            Number of points; all rows are taken where there are fewer.
        kernel : Kernel
            The kernel that the points will serve, with numbers for parameters.
        rng : numpy.random.Generator
            Source of randomness.
        y : array, optional
            Targets, for rules that look at them.

        Returns
        -------
        Budget
        """


_NAMES = {"uniform": "Uniform"}


def as_selector(selector: Any, *, owner: str) -> Selector:
    """Return a selector for a name or an object; ``owner`` is named in the error."""
    return as_object(selector, Selector, _NAMES, "skimp.budgets", owner=owner, role="selector")  # type: ignore[type-abstract]
