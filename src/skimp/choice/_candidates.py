"""Models that could serve: maps with kernels, whose bandwidths and column scales may be free."""

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone

from skimp._params._errors import UnsupportedError
from skimp.choice._columns import STANDARDIZED, Columns
from skimp.choice._task import Task
from skimp.features import FeatureMap, Nystroem, RandomBinning, RandomFourier, Transformer
from skimp.kernels import Gaussian, Kernel, Laplacian, Linear, as_kernel, free_bandwidths

_WIDEST = 256
"""Columns up to which grids are tried: each costs time, and many make all rows far apart."""
_WIDEST_LINEAR = 1024
"""Columns up to which a linear model takes standardized columns; landmarks serve wider rows."""


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
        if given is None and approximation.codes and not _has_pitches(resolved, rows.n_features):
            continue
        values = resolved.get_params(deep=True)
        factor = approximation.narrower if free else 1.0
        first = Candidate(approximation, resolved, {name: values[name] for name in free}, factor)
        found += _scale_columns(first, columns)
    return found if given is not None or task.kernel is not None else [*found, _linear(task)]


def _scale_columns(first: Candidate, columns: Columns) -> list[Candidate]:
    """Return a candidate, and the same with scaled columns if its kernel's bandwidth is free."""
    degree = None if first.kernel is None else first.kernel.distance_degree
    if list(first.free) != ["gamma"] or degree is None:
        return [first]
    found = [first]
    for name, scale in columns.scalings.items():
        gamma = np.zeros(len(scale))
        # ten digits: the last bits of a sum depend on how rows are stored
        np.divide(1.0, np.count_nonzero(scale) * scale**degree, out=gamma, where=scale > 0)
        digits = np.array([float(f"{value:.10g}") for value in gamma])
        found.append(replace(first, free={"gamma": digits}, scaling=name))
    return found


def _linear(task: Task) -> Candidate:
    """Return a linear model: of standardized columns, or by landmarks for very many columns."""
    from sklearn.preprocessing import StandardScaler

    if task.rows.n_features > _WIDEST_LINEAR:
        return Candidate(Nystroem(), Linear())
    dense = not sparse.issparse(next(task.rows.blocks()).X)
    return Candidate(Transformer(StandardScaler(with_mean=dense)), scaling=STANDARDIZED)


def _has_pitches(kernel: Kernel, n_features: int) -> bool:
    """Tell whether there are grids for a kernel, the only way to know being to ask for them."""
    try:
        kernel.pitch_rates(n_features)
    except UnsupportedError:
        return False
    return True
