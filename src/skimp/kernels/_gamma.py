"""Bandwidths: what ``gamma="scale"``, ``"median"`` and ``"dim"`` stand for."""

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
"""What may be passed as ``gamma``."""

_NAMED = one_of("scale", "median", "dim", "auto")
GAMMA = number(above=0) | numbers("one >= 0 for each column") | _NAMED
"""The rule for ``gamma``."""

SAMPLE_SIZE = 1000
"""Rows that ``"median"`` looks at."""


class RowStatistics(Protocol):
    """What a heuristic may ask of the training rows."""

    @property
    def n_features(self) -> int: ...

    @property
    def dtype(self) -> DType: ...

    @property
    def feature_names(self) -> list[str] | None: ...

    def variance(self, columns: Array | None = None) -> float:
        """Return the variance of all entries, or of those in some columns."""

    def sample(self, size: int, seed: int) -> Any:
        """Return rows drawn uniformly, with their weights."""


def resolve_gamma(
    gamma: str, rows: RowStatistics, seed: int, statistic: type[Pairs] | None = None
) -> float:
    r"""Return the number that a heuristic stands for on these rows.

    - ``"scale"``: one over (number of columns times variance of all entries), as in scikit-learn;
      with the standard deviation instead of the variance for distances that are not squared;
    - ``"median"``: one over the median distance of rows that differ, of a sample of 1,000;
    - ``"dim"``: one over twice the number of columns;
    - ``"auto"``: what an estimator finds to be best on a sample of the rows; ``"scale"`` here,
      because there are no targets.

    Distances are squared unless the statistic that gamma multiplies is a distance itself. A scale
    of zero, if all rows are equal, gives 1.
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
                f"X must be of a scale whose squares {rows.dtype} can hold, found a variance of "
                f"{rows.variance():.3g}: rescale its columns."
            )
    else:
        scale = _median_distance(rows.sample(SAMPLE_SIZE, seed), distances)
    if scale == 0:
        return 1.0
    # ten digits: the last bits of a sum depend on how the rows were blocked
    return float(f"{1.0 / scale:.10g}")


def _median_distance(sample: Any, distances: type[Pairs]) -> float:
    """Return the median over pairs of rows that differ, each pair with both rows' weights."""
    X, w = sample.X, sample.weight
    D = np.empty((X.shape[0], X.shape[0]))
    distances(X, D.dtype).fill(X, D)
    pairs = np.triu(1e-12 * D.max() < D, k=1)
    values, weights = D[pairs], np.outer(w, w)[pairs]
    if values.size == 0:
        return 0.0
    order = np.argsort(values)
    below = np.cumsum(weights[order]) / weights.sum()
    # as for repeated values, the mean of two if the weight below is exactly a half
    middle = np.searchsorted(below, [0.5 - 1e-12, 0.5 + 1e-12])
    return float(values[order][np.minimum(middle, len(values) - 1)].mean())


def free_bandwidths(kernel: "Kernel") -> list[str]:
    """Return the names of the parameters that are ``gamma="auto"``, inner kernels included."""
    params = kernel.get_params(deep=True).items()
    return [n for n, v in params if n.rpartition("__")[2] == "gamma" and is_auto(v)]
