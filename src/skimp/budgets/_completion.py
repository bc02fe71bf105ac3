"""Complete a budget if a rule found fewer points than were asked for."""

import numpy as np

from skimp._core._linalg import dense
from skimp._core._types import Array, Matrix

_ROUNDING = 64


def complete(chosen: Array, size: int, n_rows: int, rng: np.random.Generator) -> Array:
    """Return distinct row numbers: the first ``size`` of those chosen, then others at random."""
    chosen = chosen[:size]
    missing = size - len(chosen)
    if missing == 0:
        return chosen
    others = np.setdiff1d(np.arange(n_rows), chosen)
    return np.append(chosen, rng.permutation(others)[:missing])


def complete_centres(centres: Array, size: int, X: Matrix, rng: np.random.Generator) -> Array:
    """Return centres that differ by more than rounding, then rows of X at random."""
    spread = np.ptp(centres, axis=0)
    spread[spread == 0] = 1
    steps = np.round((centres - centres[0]) / spread / (_ROUNDING * np.finfo(centres.dtype).eps))
    first = np.sort(np.unique(steps, axis=0, return_index=True)[1])
    others = rng.permutation(X.shape[0])[: size - len(first)]
    return np.concatenate([centres[first], dense(X[others], centres.dtype)])
