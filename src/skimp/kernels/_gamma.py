"""Bandwidths: what ``gamma="scale"``, ``"median"`` and ``"dim"`` stand for."""

from typing import Protocol

import numpy as np

from skimp._core._pairs import SquaredDistances
from skimp._core._rules import number, one_of
from skimp._core._types import Matrix

GAMMA = number(above=0) | one_of("scale", "median", "dim")
"""The rule for ``gamma``."""

SAMPLE_SIZE = 1000
"""Rows that ``"median"`` looks at."""


class RowStatistics(Protocol):
    """What a heuristic may ask of the training rows."""

    @property
    def n_features(self) -> int:
        """Number of columns."""

    def variance(self) -> float:
        """Return the variance of all entries."""

    def sample(self, size: int, seed: int) -> "_Sampled":
        """Return rows drawn uniformly."""


class _Sampled(Protocol):
    @property
    def X(self) -> Matrix: ...


def resolve_gamma(gamma: str, rows: RowStatistics, seed: int) -> float:
    r"""Return the number that a heuristic stands for on these rows.

    - ``"scale"``: one over (number of columns times variance of all entries), as in scikit-learn;
    - ``"median"``: one over the median squared distance of the rows of a sample that differ;
    - ``"dim"``: one over twice the number of columns.

    A scale of zero, where all rows are equal, gives 1.
    """
    if gamma == "dim":
        return 1.0 / (2 * rows.n_features)
    if gamma == "scale":
        scale = rows.n_features * rows.variance()
    else:
        X = rows.sample(SAMPLE_SIZE, seed).X
        distances = np.empty((X.shape[0], X.shape[0]))
        SquaredDistances(X, np.dtype(np.float64)).fill(X, distances)
        upper = distances[np.triu_indices(len(distances), k=1)]
        differ = upper[upper > 1e-12 * distances.max()]
        scale = float(np.median(differ)) if differ.size else 0.0
    # ten digits: the last bits of a sum depend on how the rows were blocked
    return float(f"{1.0 / scale:.10g}") if scale > 0 else 1.0
