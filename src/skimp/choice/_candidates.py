"""Models that could serve: maps with kernels, whose bandwidths and column scales may be free."""

from dataclasses import dataclass, field, replace
from typing import Any
from warnings import warn

import numpy as np
from scipy import sparse
from sklearn.base import clone

from skimp._core._types import Array, Matrix
from skimp._params._errors import UnsupportedError
from skimp._params._memory import parse_bytes
from skimp._params._rules import is_auto
from skimp.data import Rows
from skimp.features import FeatureMap, Nystroem, RandomBinning, RandomFourier, Transformer
from skimp.kernels import Gaussian, Kernel, Laplacian, Linear, as_kernel, free_bandwidths, require

SMALL = 8192
"""Rows up to which every row is left out once, and landmarks of two kernels are tried."""
_WIDEST = 256
"""Columns up to which grids are tried: each costs time, and many make all rows far apart."""
_WIDEST_LINEAR = 1024
"""Columns up to which a linear model takes standardized columns; landmarks serve wider rows."""
_NARROW = 4.0
"""Bandwidths of grids to start from, over those of landmarks."""
_ALIKE = 2.0
"""Standard deviations of columns that differ by less than this factor are not adjusted."""
_HEAVY = 3.0
"""A column has heavy tails if its standard deviation is this many times that of its middle."""
_QUANTILES = {(0.25, 0.75): 1.349, (0.1, 0.9): 2.5631}
"""Quantiles between which the middle of a column lies, and how far apart they are for a normal
distribution of variance one; the second ones if the first are equal."""
_LOOKED_AT, _MIDDLE_ROWS = 2**24, 2000
"""Bytes of the rows that columns are judged by, and rows that quantiles are taken of."""
_STRIP = 256
STANDARDIZED, MIDDLE = "standardized", "scaled by their middle"
"""How columns may be scaled: by standard deviations, or by the distance of two quantiles."""


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
        The bandwidth.
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

    @property
    def family(self) -> tuple[type, type]:
        """The kind of map and the kind of kernel."""
        return type(self.approximation), type(self.kernel)

    @property
    def is_landmarks(self) -> bool:
        """Whether its functions are kernel columns of points."""
        return isinstance(self.approximation, Nystroem)

    @property
    def is_coded(self) -> bool:
        """Whether its features are codes of bins, which have no equations."""
        return isinstance(self.approximation, RandomBinning)


@dataclass(frozen=True)
class Columns:
    """What a sample of rows says about the columns of X.

    Attributes
    ----------
    deviation : array of shape (d,)
        Standard deviations.
    middle : array of shape (d,)
        The same from the middle of each column, which outliers and sentinels do not change.
    names : list of str, or None
        Names of the columns.
    """

    deviation: Array
    middle: Array
    names: list[str] | None = None

    @classmethod
    def of_sample(
        cls, rows: Rows, kernel: Kernel | str, memory_limit: int | str | None
    ) -> "Columns":
        """Look at some rows; a kernel of objects has no columns to look at."""
        if not is_auto(kernel) and as_kernel(kernel, owner="").takes_objects:
            return cls(np.empty(0), np.empty(0))
        allowed = min(_LOOKED_AT, parse_bytes(memory_limit) // 16)
        drawn = rows.sample(max(64, min(SMALL, allowed // (8 * max(1, rows.n_features)))), 0)
        return replace(cls.of(drawn.X, drawn.weight), names=rows.feature_names)

    @classmethod
    def of(cls, X: Matrix, weight: Array) -> "Columns":
        """Look at rows with weights."""
        share = weight / weight.sum()
        if sparse.issparse(X):
            X = X.astype(np.float64)
            mean = X.T @ share
            variance = X.multiply(X).T @ share - mean**2
            deviation = np.sqrt(np.maximum(variance, 0.0))
            # the difference of two squares is rounding for a constant
            deviation[deviation <= 1e-6 * np.abs(mean)] = 0.0
            return cls(deviation, deviation)
        strips = [slice(start, start + _STRIP) for start in range(0, len(X), _STRIP)]
        mean = sum(share[part] @ np.asarray(X[part], np.float64) for part in strips)
        # a scale that overflows is refused when the bandwidth is looked for
        with np.errstate(over="ignore", invalid="ignore"):
            deviation = np.sqrt(
                sum(
                    share[part] @ np.square(np.asarray(X[part], np.float64) - mean)
                    for part in strips
                )
            )
        # rounding is no deviation
        deviation[deviation <= 1e-12 * np.abs(mean)] = 0.0
        if X.shape[1] > _WIDEST:
            return cls(deviation, deviation)
        few, middle = np.asarray(X[:_MIDDLE_ROWS], np.float64), np.zeros(X.shape[1])
        for quantiles, spread in _QUANTILES.items():
            low, high = np.quantile(few, quantiles, axis=0)
            middle = np.where(middle > 0, middle, (high - low) / spread)
        return cls(deviation, np.where(middle > 0, middle, deviation))

    @property
    def dominant(self) -> int | None:
        """The column that holds 99 % of the variance of X, None if there is none."""
        variance = np.square(self.deviation)
        if np.count_nonzero(variance) < 2:
            return None
        most = int(np.argmax(variance))
        return most if variance[most] > 0.99 * variance.sum() else None

    def describe(self, scaling: str) -> str:
        """Return in words how columns are scaled, and which of them holds nearly all variance."""
        text, column = scaling or "as given", self.dominant
        if column is None:
            return text
        name = column if self.names is None else self.names[column]
        return f"{text}; column {name!r} holds 99 % of the variance of X"

    def warn(self, kernel: Kernel | str, owner: str) -> None:
        """Warn if a kernel with one bandwidth for all columns sees one of them alone."""
        column = self.dominant
        if column is None or as_kernel(kernel, owner=owner).distance_degree is None:
            return
        name = column if self.names is None else self.names[column]
        warn(
            f"{owner}: column {name!r} holds 99 % of the variance of X, and kernel={kernel!r} "
            "hardly sees the others. Standardize the columns, or leave kernel='auto', which tries "
            "that.",
            UserWarning,
            stacklevel=6,
        )

    def scalings(self) -> dict[str, Array]:
        """Return the scales that differ from those of the columns as they are, by name."""
        varying = self.deviation[self.deviation > 0]
        scales: dict[str, Array] = {}
        if not np.isfinite(self.deviation).all():
            return scales
        if len(varying) and varying.max() > _ALIKE * varying.min():
            scales[STANDARDIZED] = self.deviation
        if np.any(self.deviation > _HEAVY * self.middle):
            scales[MIDDLE] = self.middle
        return scales


def candidates(
    kernel: Kernel | str,
    approximation: FeatureMap | None,
    rows: Rows,
    columns: Columns,
    seed: int,
    *,
    small: bool,
    owner: str,
) -> list[Candidate]:
    """Return the models to choose from: one map if it was given, else landmarks, features, grids.

    ``"auto"`` for a kernel is the Gaussian for landmarks and features and the Laplacian for grids;
    ``small`` data have landmarks of either. Their columns may be scaled, and a linear model of
    standardized columns is tried as well.
    """
    free = is_auto(kernel)
    smooth = Gaussian(gamma="auto") if free else as_kernel(kernel, owner=owner)
    rough = Laplacian(gamma="auto") if free else smooth
    if approximation is not None:
        if "kernel" not in approximation.get_params(deep=False):
            return [Candidate(approximation)]
        own = approximation.kernel
        given = rough if isinstance(approximation, RandomBinning) else smooth
        first = _opened(approximation, given if own is None else own, rows, seed, owner)
        return _scaled(first, columns)
    families: list[tuple[FeatureMap, Kernel]] = [(Nystroem(), smooth)]
    if small:
        families += [(Nystroem(), rough)] if free else []
    elif not smooth.takes_objects:
        families += [(RandomFourier(), smooth)] if smooth.stationary else []
        families += [(RandomBinning(), rough)] if rows.n_features <= _WIDEST else []
    found = [
        c
        for family in families
        for c in _scaled(_opened(*family, rows, seed, owner), columns)
        if not c.is_coded or _has_pitches(c, rows)
    ]
    return [*found, _linear(rows)] if free else found


def _opened(
    approximation: FeatureMap, kernel: Kernel | str, rows: Rows, seed: int, owner: str
) -> Candidate:
    """Return a candidate whose bandwidths of "auto" start from those of "scale"."""
    kernel = as_kernel(kernel, owner=owner)
    if isinstance(approximation, Nystroem):
        # as the map says it, of the kernel as it was written
        require(kernel, "positive_definite", owner="Nystroem", advice="its features need a root")
    names = free_bandwidths(kernel)
    resolved = clone(kernel).set_params(**dict.fromkeys(names, "scale")).resolve(rows, seed)
    values = resolved.get_params(deep=True)
    factor = _NARROW if names and isinstance(approximation, RandomBinning) else 1.0
    return Candidate(approximation, resolved, {name: values[name] for name in names}, factor)


def _scaled(first: Candidate, columns: Columns) -> list[Candidate]:
    """Return a candidate, and the same with scaled columns if its kernel's bandwidth is free."""
    degree = None if first.kernel is None else first.kernel.distance_degree
    if list(first.free) != ["gamma"] or degree is None:
        return [first]
    found = [first]
    for name, scale in columns.scalings().items():
        gamma = np.zeros(len(scale))
        # ten digits: the last bits of a sum depend on how rows are stored
        np.divide(1.0, np.count_nonzero(scale) * scale**degree, out=gamma, where=scale > 0)
        digits = np.array([float(f"{value:.10g}") for value in gamma])
        found.append(replace(first, free={"gamma": digits}, scaling=name))
    return found


def _linear(rows: Rows) -> Candidate:
    """Return a linear model: of standardized columns, or by landmarks for very many columns."""
    from sklearn.preprocessing import StandardScaler

    if rows.n_features > _WIDEST_LINEAR:
        return Candidate(Nystroem(), Linear())
    dense = not sparse.issparse(next(rows.blocks()).X)
    return Candidate(Transformer(StandardScaler(with_mean=dense)), scaling=STANDARDIZED)


def _has_pitches(candidate: Candidate, rows: Rows) -> bool:
    """Tell whether there are grids for a kernel, the only way to know being to ask for them."""
    assert candidate.kernel is not None, "binning has a kernel"
    try:
        candidate.kernel.pitch_rates(rows.n_features)
    except UnsupportedError:
        return False
    return True
