"""Effects as linear functionals of a model: pointwise, on average, and interactions."""

from collections.abc import Iterator
from typing import final

import numpy as np

from skimp._core._types import Array
from skimp.effects._design import Design, Term
from skimp.features import Landmarks

_STEP = 1e-4
"""Step of finite differences for second derivatives, in standard deviations."""
_CENTRAL = ((1.0, 0.5), (-1.0, -0.5))
"""Steps and factors of a central difference."""
_FORWARD = ((0.0, -1.5), (1.0, 2.0), (2.0, -0.5))
"""Steps and factors of a forward difference, for kernels that need values >= 0."""
_KINK = 0.1
"""Share of a jump of the slope that remains at a thousandth of the step if there is a kink."""


@final
class Functionals:
    r"""Effects of terms on functions :math:`f = \sum_j a_j k(\cdot, b_j)` of scaled rows.

    With ``by``, the change of these effects with another term: a finite difference of derivatives,
    or the difference between two values.
    """

    def __init__(
        self, landmarks: Landmarks, design: Design, terms: list[Term], by: Term | None = None
    ):
        self.terms = terms
        self._landmarks = landmarks
        self._design = design
        self._by = by
        # index, scaled column and scale of each derivative
        self._derivatives = [
            (i, design.place(term.column).start, term.scale)
            for i, term in enumerate(terms)
            if term.high is None
        ]

    def kinked(self) -> bool:
        """Return whether kernel columns have a kink at their landmarks in the first column."""
        column, first = self.terms[0].column, np.eye(self._landmarks.width, 1)

        def slope(step: float) -> float:
            point = self._move(self._landmarks.points[:1], column, step * self._reach(column))
            return float(self.pointwise(point, first)[0, 0, 0])

        far, near = (abs(slope(step) - slope(-step)) for step in (1.0, 1e-3))
        return near > _KINK * far

    def pointwise(self, Z: Array, coef: Array) -> Array:
        """Return the effects at each row, of shape (n, n_terms, k), for coefficients (m, k)."""
        effects = np.zeros((len(Z), len(self.terms), coef.shape[1]))
        for factor, rows in self._variants(Z):
            for output, c in enumerate(coef.T if self._derivatives else ()):
                G, A = np.zeros(rows.shape), np.broadcast_to(c, (len(Z), len(c)))
                self._landmarks.columns.add_gradient(rows, A, G)
                for i, column, scale in self._derivatives:
                    effects[:, i, output] += factor * scale * G[:, column]
            for i, change in self._differences(rows):
                effects[:, i] += factor * (change @ coef)
        return effects

    def sums(self, Z: Array, weights: Array) -> Array:
        """Return weighted sums of the functionals over rows, of shape (m, n_terms)."""
        size = self._landmarks.width
        L = np.zeros((size, len(self.terms)))
        for factor, rows in self._variants(Z):
            if self._derivatives:
                G = np.zeros((size, rows.shape[1]))
                A = np.broadcast_to(weights[:, None], (len(Z), size))
                self._landmarks.columns.add_gradient_sums(rows, A, G)
                for i, column, scale in self._derivatives:
                    L[:, i] += factor * scale * G[:, column]
            for i, change in self._differences(rows):
                L[:, i] += factor * (weights @ change)
        return L

    def _differences(self, Z: Array) -> Iterator[tuple[int, Array]]:
        """Yield the index of each difference, and its change of the kernel block."""
        for i, term in enumerate(self.terms):
            if term.high is not None:
                ends = (self._set(Z, term.column, end) for end in (term.high, term.low))
                high, low = (self._landmarks.block(rows) for rows in ends)
                yield i, high - low

    def _variants(self, Z: Array) -> Iterator[tuple[float, Array]]:
        """Yield factors and rows; the effects at the rows, times the factors, add up."""
        by = self._by
        if by is None:
            yield 1.0, Z
        elif by.high is not None:
            yield 1.0, self._set(Z, by.column, by.high)
            yield -1.0, self._set(Z, by.column, by.low)
        else:
            reach = self._reach(by.column)
            forward = self._landmarks.kernel.needs_nonnegative
            for step, factor in _FORWARD if forward else _CENTRAL:
                yield by.scale * factor / reach, self._move(Z, by.column, step * reach)

    def _reach(self, column: int) -> float:
        return _STEP * float(self._design.deviations[column])

    def _move(self, Z: Array, column: int, step: float) -> Array:
        moved = Z.copy()
        moved[:, self._design.place(column)] += step
        return moved

    def _set(self, Z: Array, column: int, value: float | None) -> Array:
        changed = Z.copy()
        changed[:, self._design.place(column)] = self._design.encoded(column, value)
        return changed
