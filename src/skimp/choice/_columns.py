"""What a sample of rows says about the columns of X, and how they may be scaled."""

from dataclasses import dataclass, field

import numpy as np
from scipy import sparse

from skimp._core._types import Array, Matrix

STANDARDIZED, MIDDLE = "standardized", "scaled by their middle"
"""How columns may be scaled: by standard deviations, or by the distance of two quantiles."""
_ALIKE = 2.0
"""Standard deviations of columns that differ by less than this factor are not adjusted."""
_HEAVY = 3.0
"""A column has heavy tails if its standard deviation is this many times that of its middle."""
_QUANTILES = {(0.25, 0.75): 1.349, (0.1, 0.9): 2.5631}
"""Quantiles between which the middle of a column lies, and how far apart they are for a normal
distribution of variance one; the second ones if the first are equal."""
_WIDEST, _MIDDLE_ROWS = 256, 2000
"""Columns up to which quantiles are computed, and rows that they are taken of."""
_STRIP = 256


@dataclass(frozen=True)
class Columns:
    """What is known of the columns of some rows.

    Attributes
    ----------
    deviation : array of shape (d,)
        Standard deviations.
    dominant : str
        The column that holds 99 % of the variance of X, as messages name it; "" if none does.
    scalings : dict
        Scales that differ from those of the columns as they are, by name.
    """

    deviation: Array
    dominant: str = ""
    scalings: dict[str, Array] = field(default_factory=dict)


def measure_columns(X: Matrix, weight: Array, names: list[str] | None = None) -> Columns:
    """Measure the columns of weighted rows."""
    share = weight / weight.sum()
    if sparse.issparse(X):
        X = X.astype(np.float64)
        mean = X.T @ share
        variance = X.multiply(X).T @ share - mean**2
        deviation = np.sqrt(np.maximum(variance, 0.0))
        # the difference of two squares is rounding for a constant
        deviation[deviation <= 1e-6 * np.abs(mean)] = 0.0
    else:
        strips = [slice(start, start + _STRIP) for start in range(0, len(X), _STRIP)]
        mean = sum(share[part] @ np.asarray(X[part], np.float64) for part in strips)
        # a scale that overflows is refused when the bandwidth is looked for
        with np.errstate(over="ignore", invalid="ignore"):
            squares = (np.square(np.asarray(X[part], np.float64) - mean) for part in strips)
            pairs = zip(strips, squares, strict=True)
            deviation = np.sqrt(sum(share[part] @ square for part, square in pairs))
        # rounding is not a deviation
        deviation[deviation <= 1e-12 * np.abs(mean)] = 0.0
    # the same from the middle of each column, which outliers and sentinels do not change
    middle = deviation
    if not sparse.issparse(X) and X.shape[1] <= _WIDEST:
        few, middle = np.asarray(X[:_MIDDLE_ROWS], np.float64), np.zeros(X.shape[1])
        for quantiles, spread in _QUANTILES.items():
            low, high = np.quantile(few, quantiles, axis=0)
            middle = np.where(middle > 0, middle, (high - low) / spread)
        middle = np.where(middle > 0, middle, deviation)
    dominant, varying, scalings = "", deviation[deviation > 0], {}
    if len(varying) > 1:
        with np.errstate(over="ignore", invalid="ignore"):
            variance = np.square(deviation)
        most = int(np.argmax(variance))
        if variance[most] > 0.99 * variance.sum():
            dominant = f"column {most if names is None else names[most]!r}"
    if np.isfinite(deviation).all():
        if len(varying) and varying.max() > _ALIKE * varying.min():
            scalings[STANDARDIZED] = deviation
        if np.any(deviation > _HEAVY * middle):
            scalings[MIDDLE] = middle
    return Columns(deviation, dominant, scalings)
