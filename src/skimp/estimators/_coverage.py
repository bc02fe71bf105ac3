"""Error of a classifier that rejects rows, against the share of rows that it accepts."""

from dataclasses import dataclass
from typing import Any, final

import numpy as np

from skimp._core._lines import Lined, Lines
from skimp._core._types import Array

_SHOWN = (1.0, 0.95, 0.9, 0.8, 0.5)
"""Coverages that are printed."""


@final
@dataclass(frozen=True, repr=False)
class CoverageCurve(Lined):
    """Error among accepted rows for each threshold on the probability of the predicted class.

    Attributes
    ----------
    threshold : array of shape (t,)
        The thresholds: all probabilities that occur, in descending order.
    coverage : array of shape (t,)
        Share of the rows whose probability reaches the threshold.
    error : array of shape (t,)
        Share of wrong labels among these rows.
    """

    threshold: Array
    coverage: Array
    error: Array

    def _lines(self) -> Lines:
        lines = [("coverage", "error of the accepted rows, and threshold")]
        for share in _SHOWN:
            i = reached(self.coverage, share)
            lines.append(
                (f"{self.coverage[i]:.1%}", f"{self.error[i]:.2%}, {self.threshold[i]:.3g}")
            )
        return lines

    def to_frame(self) -> Any:
        """Return a pandas frame with a row for each threshold."""
        import pandas as pd

        columns = {"threshold": self.threshold, "coverage": self.coverage, "error": self.error}
        return pd.DataFrame(columns)


def coverage_curve(confidence: Array, wrong: Array, weight: Array | None = None) -> CoverageCurve:
    """Return the curve of rows with these probabilities, of which some are ``wrong``."""
    w = np.ones(len(confidence)) if weight is None else np.asarray(weight, np.float64)
    order = np.argsort(-confidence, kind="stable")
    threshold, accepted = confidence[order], np.cumsum(w[order])
    errors = np.cumsum(w[order] * wrong[order])
    # rows of the same probability are accepted together, and a row of weight zero does not count
    last = np.append(threshold[1:] < threshold[:-1], True) & (accepted > 0)
    return CoverageCurve(
        threshold[last], accepted[last] / accepted[-1], errors[last] / accepted[last]
    )


def reached(coverage: Array, share: float) -> int:
    """Return the index of the highest threshold that accepts a share of the rows."""
    # sums of weights are subject to rounding
    return min(int(np.searchsorted(coverage, share - 1e-12)), len(coverage) - 1)
