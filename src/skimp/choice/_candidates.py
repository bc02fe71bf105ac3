"""Models that could serve: maps with kernels, whose bandwidths and column scales may be free."""

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

STANDARDIZED, MIDDLE = "standardized", "scaled by their middle"
"""How columns may be scaled: by standard deviations, or by the distance of two quantiles."""
_ALIKE = 2.0
"""Standard deviations of columns that differ by less than this factor are not adjusted."""
_HEAVY = 3.0
"""A column has heavy tails if its standard deviation is this many times that of its middle."""
_QUANTILES = {(0.25, 0.75): 1.349, (0.1, 0.9): 2.5631}
"""Quantiles between which the middle of a column lies, and how far apart they are for a normal
distribution of variance one; the second ones if the first are equal."""
_MIDDLE_ROWS = 2000
"""Rows that quantiles are taken of."""
_STRIP = 256
_WIDEST = 256
"""Columns up to which quantiles are computed, and grids tried: many make all rows far apart."""
_WIDEST_LINEAR = 1024
"""Columns up to which a linear model takes standardized columns; landmarks serve wider rows."""


@dataclass(frozen=True)
class Columns:
    """What is known of the columns of some rows.

    Attributes
    ----------
    dominant : str
        The column that holds 99 % of the variance of X, as messages name it; "" if none does.
    scalings : dict
        Scales that differ from those of the columns as they are, by name.
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
    return Columns(dominant, scalings)


@dataclass(frozen=True, eq=False)
class Candidate:
    """A kind of map with a kernel, whose bandwidth may be free.

    Attributes
    ----------
    approximation : FeatureMap
        The kind of map; it is not fitted.
    kernel : Kernel or None
        A kernel with numbers for parameters, None for a map that has none.
    free : dict
        The parameters of the kernel that are multiplied by ``factor``.
    factor : float
        The inverse bandwidth, relative to ``free``.
    scaling : str
        How columns are scaled, "" if they are not.
    """

    approximation: FeatureMap
    kernel: Kernel | None = None
    free: dict[str, Any] = field(default_factory=dict)
    factor: float = 1.0
    scaling: str = ""

    def sized(self, size: int | None) -> FeatureMap:
        """Return the map with its kernel, of a size; of its own for None."""
        sized = self.approximation.resized(size)
        if self.kernel is not None:
            values = {name: self.factor * value for name, value in self.free.items()}
            sized.set_params(kernel=clone(self.kernel).set_params(**values))
        return sized


def list_candidates(task: Task, columns: Columns, seed: int, *, small: bool) -> list[Candidate]:
    """Return the models to choose from: one map if it was given, else landmarks, features, grids.

    A kernel that is not given is the Gaussian for landmarks and features and the Laplacian for
    grids; ``small`` data have landmarks of either. Their columns may be scaled, and a linear model
    of standardized columns is tried as well.
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
            # ten digits: the last bits of a sum depend on how rows are stored
            np.divide(1.0, np.count_nonzero(scale) * scale**degree, out=gamma, where=scale > 0)
            digits = np.array([float(f"{value:.10g}") for value in gamma])
            found.append(replace(first, free={"gamma": digits}, scaling=name))
    if given is None and task.kernel is None and rows.n_features > _WIDEST_LINEAR:
        found.append(Candidate(Nystroem(), Linear()))
    elif given is None and task.kernel is None:
        scaler = StandardScaler(with_mean=not sparse.issparse(next(rows.blocks()).X))
        found.append(Candidate(Transformer(scaler), scaling=STANDARDIZED))
    return found
