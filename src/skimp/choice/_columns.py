"""Statistics of columns: which scalings to try, and when to warn."""

from dataclasses import dataclass, field

import numpy as np
from scipy import sparse

from skimp._core._types import Array, Matrix
from skimp._core._warn import warn_user
from skimp.kernels import Kernel, bandwidth_rules, free_bandwidths

STANDARDIZED, MIDDLE = "standardized", "scaled by quantiles"
"""Scalings of columns: by standard deviations, or by the distance between two quantiles."""
ALIKE = 2.0
"""Columns are scaled only if their standard deviations differ by more than this factor."""
_HEAVY = 3.0
"""A column has heavy tails if its standard deviation is this many times its quantile scale."""
_QUANTILES = {(0.25, 0.75): 1.349, (0.1, 0.9): 2.5631}
"""Pairs of quantiles, and their distance for a standard normal distribution. The second pair is
used if the quantiles of the first are equal."""
_MIDDLE_ROWS = 2000
"""Number of rows from which quantiles are computed."""
_STRIP = 256
WIDEST = 256
"""Most columns for which quantiles are computed and grids are tried."""
_EXCESS = 10.0
"""Warn if gamma="scale" is too small by this factor."""


@dataclass(frozen=True)
class Columns:
    """Statistics of the columns of a sample.

    Attributes
    ----------
    dominant : str
        Name of the column that holds 99 % of the variance of X, for messages; "" if none does.
    scalings : dict
        Scalings to try besides the columns as given, by name.
    excess : float
        Variance of all entries divided by the mean variance of a column. It is 1 if all columns
        have the same mean.
    """

    dominant: str = ""
    scalings: dict[str, Array] = field(default_factory=dict)
    excess: float = 1.0

    def warn(self, owner: str, kernel: Kernel, remedy: str) -> None:
        """Warn if a bandwidth that will not be searched does not suit the columns.

        Parameters
        ----------
        owner : str
            The name of the estimator.
        kernel : Kernel
            Kernel as the user gave it.
        remedy : str
            What to do instead of standardizing columns of different units.
        """
        if kernel.distance_degree is None or free_bandwidths(kernel):
            return
        if self.dominant:
            warn_user(
                f"{owner}: {self.dominant} holds 99 % of the variance of X, so kernel={kernel!r} "
                f"nearly ignores the others. Standardize the columns{remedy}.",
                UserWarning,
            )
        elif self.excess > _EXCESS and "scale" in bandwidth_rules(kernel).values():
            warn_user(
                f"{owner}: the means of the columns of X differ more than their values, and "
                f"gamma='scale' takes that for variance, so kernel={kernel!r} is too wide. Centre "
                "the columns, or use gamma='median'.",
                UserWarning,
            )


def measure_columns(X: Matrix, weight: Array, names: list[str] | None = None) -> Columns:
    """Measure the columns of weighted rows."""
    share = weight / weight.sum()
    if sparse.issparse(X):
        X = X.astype(np.float64)
        mean = X.T @ share
        variance = X.multiply(X).T @ share - mean**2
        deviation = np.sqrt(np.maximum(variance, 0.0))
        # for a constant column this difference of squares is rounding error
        deviation[deviation <= 1e-6 * np.abs(mean)] = 0.0
    else:
        strips = [slice(start, start + _STRIP) for start in range(0, len(X), _STRIP)]
        mean = sum(share[part] @ np.asarray(X[part], np.float64) for part in strips)
        # a scale that overflows is refused later, when the bandwidth is computed
        with np.errstate(over="ignore", invalid="ignore"):
            squares = (np.square(np.asarray(X[part], np.float64) - mean) for part in strips)
            pairs = zip(strips, squares, strict=True)
            deviation = np.sqrt(sum(share[part] @ square for part, square in pairs))
        # deviations at the level of rounding count as zero
        deviation[deviation <= 1e-12 * np.abs(mean)] = 0.0
    # a robust scale, which outliers and sentinel values do not change
    middle = deviation
    if not sparse.issparse(X) and X.shape[1] <= WIDEST:
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
    excess = 1.0
    if np.isfinite(deviation).all():
        # squares of huge means overflow, and those of tiny deviations are zero
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            ratio = float(np.var(mean) / np.mean(np.square(deviation)))
        excess += ratio if np.isfinite(ratio) else 0.0
        if len(varying) and varying.max() > ALIKE * varying.min():
            scalings[STANDARDIZED] = deviation
        if np.any(deviation > _HEAVY * middle):
            scalings[MIDDLE] = middle
    return Columns(dominant, scalings, excess)
