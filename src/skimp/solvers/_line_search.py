"""Line searches along a step, for all outputs at once."""

from collections.abc import Callable

import numpy as np

from skimp._core._types import Array
from skimp.solvers._objective import Objective, P

_DOUBLINGS, _QUARTERINGS, _BISECTIONS = 6, 40, 6
_EARLY = 2
"""Number of first steps without extrapolation."""
_FLAT = 0.1
"""Accept a step if the slope at its end is below this fraction of the initial slope."""
_SHORT = 0.05
"""If less than this fraction of a step is taken, replace the curvature by a majorant."""


def search(
    objective: Objective[P], point: P, step: Array, slope: Array, number: int
) -> tuple[P, bool]:
    """Search along a step for the approximate minimum of each output.

    The minimum lies beyond the full step if many rows become inactive on the way. The first steps
    do not go beyond it, because early stopping chooses among their smooth models. Also returns
    whether only a small part of the step was taken.
    """
    line, early = objective.line(point, step), number < _EARLY
    rounding = objective.rounding(point).reshape(slope.shape)
    flat = np.maximum(rounding, (1.0 if early else _FLAT) * slope)
    doublings = 0 if early else _DOUBLINGS
    t = minimum_along(line.slopes, line.end, flat, doublings, line.at_once)
    moved = line.moved(t)
    falls = moved.value <= point.value + objective.rounding(point).sum()
    return moved if falls else point, bool(t.min() < _SHORT)


def minimum_along(
    slopes: Callable[[Array], Array], end: Array, flat: Array, doublings: int, at_once: int
) -> Array:
    """Return the step length at which the slope of each output is about zero.

    Return 1 if the slope there, ``end``, is at most ``flat``. If the slope is still negative after
    all doublings, return the longest step. ``slopes`` gets up to ``at_once`` step lengths per call,
    which do not change the result.
    """
    done = np.abs(end) <= flat
    falling = (end < 0) & ~done
    longer = _ladder(2.0 ** np.arange(1, doublings + 1), end)
    up = _first(slopes, longer, lambda S: ~(S < 0), falling, at_once)
    done |= falling & (up == doublings)
    shorter = _ladder(0.25 ** np.arange(1, _QUARTERINGS + 1), end)
    down = _first(slopes, shorter, lambda S: ~(S > 0), ~(falling | done), at_once)
    low = np.where(falling, 2.0**up, np.where(done, 1.0, 0.25 ** (down + 1)))
    high = np.where(done, low, np.where(falling, 2 * low, 4 * low))
    halvings = (at_once + 1).bit_length() - 1
    parts = _ladder(np.arange(1, 2**halvings) / 2**halvings, end)
    for _ in range(0, _BISECTIONS, halvings):
        grid, width = low + parts * (high - low), (high - low) / 2**halvings
        below = _first(slopes, grid, lambda S: S > 0, ~done, len(grid))
        low, high = low + below * width, low + (below + 1) * width
    return low


def _ladder(rungs: Array, like: Array) -> Array:
    """Return the same rungs for each output."""
    return np.multiply.outer(rungs, np.ones_like(like))


def _first(
    slopes: Callable[[Array], Array],
    ladder: Array,
    stops: Callable[[Array], Array],
    open_: Array,
    at_once: int,
) -> Array:
    """Return the number of the first rung of each open output at which its slope stops the search.

    It is the number of rungs if there is none.
    """
    found = np.full(open_.shape, len(ladder))
    for start in range(0, len(ladder), at_once):
        if not open_.any():
            break
        stopped = stops(slopes(ladder[start : start + at_once]))
        ends = stopped.any(axis=0)
        found = np.where(open_ & ends, start + stopped.argmax(axis=0), found)
        open_ = open_ & ~ends
    return found
