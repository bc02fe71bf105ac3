"""The diagonal of the curvature, for features that are too many for a matrix of them."""

from typing import final

import numpy as np

from skimp._core._types import Array
from skimp.data import Block, Codes, Context, Rows
from skimp.solvers._base import Problem


@final
class Diagonal:
    r"""Approximates the second derivative of the objective by its diagonal, for `Codes`.

    :math:`h \, \overline{z_j^2} + 2 \alpha` for feature j, with a mean curvature h. Takes one pass,
    and as many numbers as there are features.
    """

    by_output = False

    def __init__(self, problem: Problem, rows: Rows, context: Context):
        self._alpha = problem.alpha
        self._dtype = rows.dtype

        def add(total: Array, block: Block) -> Array:
            assert isinstance(block.X, Codes), "rows are coded"
            weight = block.weights()
            block.X.add_transposed(weight[:, None], total[:-1])
            total[-1] += weight.sum()
            return total

        sums = context.map_reduce(
            rows, lambda block, _: block, add, np.zeros((rows.n_features + 1, 1))
        )
        assert rows.coded is not None, "rows are coded"
        self._means = sums / sums[-1]
        self._means[:-1] *= rows.coded.value
        self._inverse = np.ones_like(self._means)

    def stand_in(self, height: float) -> None:
        """Adapt to a mean curvature."""
        curved = height * self._means
        curved[:-1] += 2 * self._alpha
        self._inverse = np.divide(1.0, curved, out=np.ones_like(curved), where=curved > 0)

    def solve(self, R: Array, columns: Array) -> Array:
        """Return the inverse of the approximate curvature times R."""
        solved: Array = (self._inverse * R).astype(self._dtype)
        return solved

    def to_rows(self, V: Array) -> Array:
        """Return V: coefficients are the coordinates."""
        return V

    def from_rows(self, V: Array) -> Array:
        """Return V: gradients are those of the coordinates."""
        return V
