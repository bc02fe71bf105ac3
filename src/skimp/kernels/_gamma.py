"""Bandwidth heuristics: ``gamma="scale"``, ``"median"`` and ``"dim"``."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from skimp._core._pairs import Distances, Pairs
from skimp._core._squared_distances import SquaredDistances
from skimp._core._types import Array, DType
from skimp._params._rules import is_auto, number, numbers, one_of

if TYPE_CHECKING:
    from skimp.kernels._base import Kernel

Gamma = float | str | Sequence[float] | Array
"""The type of the parameter ``gamma``."""

_NAMED = one_of("scale", "median", "dim", "auto")
GAMMA = number(above=0) | numbers("one number >= 0 per column") | _NAMED
"""The rule for the parameter ``gamma``."""

SAMPLE_SIZE = 1000
"""Number of sampled rows for ``"median"``."""


class RowStatistics(Protocol):
    """Statistics of the training rows that heuristics use."""

    @property
    def n_features(self) -> int: ...

    @property
    def dtype(self) -> DType: ...

    @property
    def feature_names(self) -> list[str] | None: ...

    def variance(self, columns: Array | None = None) -> float:
        """Return the variance of all entries, or of the entries in some columns."""

    def sample(self, size: int, seed: int) -> Any:
        """Draw rows uniformly, with their weights."""


def resolve_gamma(
    gamma: str, rows: RowStatistics, seed: int, statistic: type[Pairs] | None = None
) -> float:
    r"""Return the value of a bandwidth heuristic for these rows.

    - ``"scale"``: 1 / (d v), where d is the number of columns and v the variance of all entries,
      as in scikit-learn; the standard deviation replaces v if the distance is not squared.
    - ``"median"``: 1 / the median distance between distinct rows, in a sample of 1,000 rows.
    - ``"dim"``: 1 / (2 d).
    - ``"auto"``: the same as ``"scale"``, because there are no targets here; estimators search for
      the best value instead.

    The distance is the statistic of the kernel if that is a distance, and the squared Euclidean
    distance otherwise. If all rows are equal, the result is 1.
    """
    distances: type[Pairs] = SquaredDistances
    if statistic is not None and issubclass(statistic, Distances):
        distances = statistic
    if gamma == "dim":
        return 1.0 / (2 * rows.n_features)
    if gamma in ("scale", "auto"):
        scale = rows.n_features * rows.variance() ** (distances.degree / 2)
        limits = np.finfo(rows.dtype)
        if scale and not 1e3 * float(limits.tiny) < scale < 1e-3 * float(limits.max):
            raise ValueError(
                f"X must have a scale whose squares {rows.dtype} can represent, found a variance "
                f"of {rows.variance():.3g}: rescale its columns."
            )
    else:
        scale = _median_distance(rows.sample(SAMPLE_SIZE, seed), distances)
    if scale == 0:
        return 1.0
    # round to ten digits, because the last bits of a sum depend on the block size
    return float(f"{1.0 / scale:.10g}")


def _median_distance(sample: Any, distances: type[Pairs]) -> float:
    """Return the median over pairs of distinct rows, weighted by the product of their weights."""
    X, w = sample.X, sample.weight
    D = np.empty((X.shape[0], X.shape[0]))
    distances(X, D.dtype).fill(X, D)
    pairs = np.triu(1e-12 * D.max() < D, k=1)
    values, weights = D[pairs], np.outer(w, w)[pairs]
    if values.size == 0:
        return 0.0
    order = np.argsort(values)
    below = np.cumsum(weights[order]) / weights.sum()
    # the mean of two values if exactly half of the weight is below, as for repeated rows
    middle = np.searchsorted(below, [0.5 - 1e-12, 0.5 + 1e-12])
    return float(values[order][np.minimum(middle, len(values) - 1)].mean())


def free_bandwidths(kernel: "Kernel") -> list[str]:
    """Return the names of parameters that are ``gamma="auto"``, including nested ones.

    Parameters
    ----------
    kernel : Kernel
        The kernel.
    """
    return [name for name, rule in bandwidth_rules(kernel).items() if is_auto(rule)]


def bandwidth_rules(part: Any) -> dict[str, str]:
    """Return the parameters ``gamma`` that are rules evaluated on rows, including nested ones.

    Parameters
    ----------
    part : Kernel or FeatureMap
        A part with parameters.
    """
    params = part.get_params(deep=True).items()
    bandwidths = {name: v for name, v in params if name.rpartition("__")[2] == "gamma"}
    return {name: v for name, v in bandwidths.items() if isinstance(v, str) and v != "dim"}
