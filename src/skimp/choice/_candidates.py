"""Candidates of the search: maps with kernels, bandwidths and column scalings."""

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone

from skimp._core._types import Array, Matrix
from skimp._params._errors import UnsupportedError
from skimp.choice._task import Task
from skimp.features import FeatureMap, Nystroem, RandomBinning, RandomFourier, Transformer
from skimp.kernels import Gaussian, Kernel, Laplacian, Linear, as_kernel, free_bandwidths

STANDARDIZED, MIDDLE = "standardized", "scaled by quantiles"
"""Scalings of columns: by standard deviations, or by the distance between two quantiles."""
_ALIKE = 2.0
"""Columns are scaled only if their standard deviations differ by more than this factor."""
_HEAVY = 3.0
"""A column has heavy tails if its standard deviation is this many times its quantile scale."""
_QUANTILES = {(0.25, 0.75): 1.349, (0.1, 0.9): 2.5631}
"""Pairs of quantiles, and their distance for a standard normal distribution. The second pair is
used if the quantiles of the first are equal."""
_MIDDLE_ROWS = 2000
"""Number of rows from which quantiles are computed."""
_STRIP = 256
_WIDEST = 256
"""Most columns for which quantiles are computed and grids are tried."""
_WIDEST_LINEAR = 1024
"""Most columns of a linear model on standardized columns; wider rows use landmarks."""


@dataclass(frozen=True)
class Columns:
    """Statistics of the columns of a sample.

    Attributes
    ----------
    dominant : str
        Name of the column that holds 99 % of the variance of X, for messages; "" if none does.
    scalings : dict
        Scalings to try besides the columns as given, by name.
    """

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
    return Columns(dominant, scalings)


@dataclass(frozen=True, eq=False)
class Candidate:
    """A kind of map with a kernel, whose bandwidth may be free.

    Attributes
    ----------
    approximation : FeatureMap
        The map, not fitted.
    kernel : Kernel or None
        A kernel with numeric parameters. None for a map without a kernel.
    free : dict
        Kernel parameters that are multiplied by ``factor``.
    factor : float
        The inverse bandwidth, relative to ``free``.
    scaling : str
        Scaling of the columns, "" for none.
    """

    approximation: FeatureMap
    kernel: Kernel | None = None
    free: dict[str, Any] = field(default_factory=dict)
    factor: float = 1.0
    scaling: str = ""

    def sized(self, size: int | None) -> FeatureMap:
        """Return the map with its kernel and a size; None keeps the size."""
        sized = self.approximation.resized(size)
        if self.kernel is not None:
            values = {name: self.factor * value for name, value in self.free.items()}
            sized.set_params(kernel=clone(self.kernel).set_params(**values))
        return sized


def list_candidates(task: Task, columns: Columns, seed: int, *, small: bool) -> list[Candidate]:
    """Return the candidates: the given map, or landmarks, random features and grids.

    If no kernel is given, landmarks and features use the Gaussian and grids the Laplacian;
    ``small`` data try landmarks with both. Candidates differ in the scaling of columns. A linear
    model of standardized columns is a candidate as well.
    """
    from sklearn.preprocessing import StandardScaler

    rows, given, kernel = task.numbers, task.given, task.kernel
    if given is not None:
        if not given.kernelled:
            return [Candidate(given)]
        default = as_kernel(given.default_kernel, owner=task.spec.owner)
        families = [(given, default.set_params(gamma="auto") if kernel is None else kernel)]
    else:
        smooth = Gaussian(gamma="auto") if kernel is None else kernel
        rough = Laplacian(gamma="auto") if kernel is None else kernel
        families = [(Nystroem(), smooth)]
        if small:
            families += [(Nystroem(), rough)] if kernel is None else []
        elif not smooth.takes_objects:
            families += [(RandomFourier(), smooth)] if smooth.stationary else []
            families += [(RandomBinning(), rough)] if rows.n_features <= _WIDEST else []
    found = []
    for approximation, kernel in families:
        approximation.check_kernel(kernel)
        # bandwidths of "auto" start from those of "scale"
        free = free_bandwidths(kernel)
        scaled = clone(kernel).set_params(**dict.fromkeys(free, "scale"))
        resolved = scaled.resolve(task.context.bind(rows), seed)
        if given is None and approximation.codes:
            try:
                resolved.pitch_rates(rows.n_features)
            except UnsupportedError:
                continue
        values = resolved.get_params(deep=True)
        factor = approximation.narrower if free else 1.0
        first = Candidate(approximation, resolved, {name: values[name] for name in free}, factor)
        found.append(first)
        degree = resolved.distance_degree
        if list(free) != ["gamma"] or degree is None:
            continue
        for name, scale in columns.scalings.items():
            gamma = np.zeros(len(scale))
            # ten digits, because the last bits of a sum depend on the storage of rows
            np.divide(1.0, np.count_nonzero(scale) * scale**degree, out=gamma, where=scale > 0)
            digits = np.array([float(f"{value:.10g}") for value in gamma])
            found.append(replace(first, free={"gamma": digits}, scaling=name))
    if given is None and task.kernel is None and rows.n_features > _WIDEST_LINEAR:
        found.append(Candidate(Nystroem(), Linear()))
    elif given is None and task.kernel is None:
        scaler = StandardScaler(with_mean=not sparse.issparse(next(rows.blocks()).X))
        found.append(Candidate(Transformer(scaler), scaling=STANDARDIZED))
    return found
