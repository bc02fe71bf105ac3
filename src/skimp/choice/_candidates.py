"""Candidates of the search: maps with kernels, bandwidths and column scalings."""

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone

from skimp._params._errors import UnsupportedError
from skimp.choice._columns import ALIKE, STANDARDIZED, WIDEST, Columns
from skimp.choice._task import Task
from skimp.features import FeatureMap, Nystroem, RandomBinning, RandomFourier, Transformer
from skimp.kernels import Gaussian, Kernel, Laplacian, Linear, as_kernel, free_bandwidths

_WIDEST_LINEAR = 1024
"""Most columns of a linear model on standardized columns; wider rows use landmarks."""


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
    statistics = task.context.bind(rows)
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
            families += [(RandomBinning(), rough)] if rows.n_features <= WIDEST else []
    found = []
    for approximation, kernel in families:
        approximation.check_kernel(kernel)
        # bandwidths of "auto" start from those of "scale"
        free = free_bandwidths(kernel)
        scaled = clone(kernel).set_params(**dict.fromkeys(free, "scale"))
        resolved = scaled.resolve(statistics, seed)
        if given is None and approximation.codes:
            try:
                resolved.pitch_rates(rows.n_features)
            except UnsupportedError:
                continue
        values = resolved.get_params(deep=True)
        factor = approximation.narrower if free else 1.0
        first = Candidate(approximation, resolved, {name: values[name] for name in free}, factor)
        degree = resolved.distance_degree
        if list(free) != ["gamma"] or degree is None:
            found.append(first)
            continue
        if columns.excess > ALIKE**2:
            # distances do not depend on the means of columns, unlike gamma="scale"
            gamma = values["gamma"] * columns.excess ** (degree / 2)
            first = replace(first, free={"gamma": float(f"{gamma:.10g}")})
        found.append(first)
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
