"""Checks, axes, lines and ticks that all displays share."""

from math import log10
from typing import Any

import numpy as np

_MARKERS = "osD^vPX*<>"


def require_kind(owner: str, name: str, value: Any, kind: type, wording: str) -> None:
    """Raise a `TypeError` if a value has the wrong type."""
    if not isinstance(value, kind):
        found = f"the class {value.__name__}" if isinstance(value, type) else type(value).__name__
        raise TypeError(f"{owner}: {name} must be {wording}, got {found}.")


def open_axes(owner: str, axes: Any, number: int, *, n_rows: int = 1, **options: Any) -> Any:
    """Return the given axes as an array, or the panels of a new figure."""
    if axes is None:
        from matplotlib import pyplot

        shape = n_rows, -(-number // n_rows)
        _, panels = pyplot.subplots(*shape, squeeze=False, layout="constrained", **options)
        for spare in panels.ravel()[number:]:
            spare.remove()
        axes = panels.ravel()[:number]
    axes = np.ravel(axes)
    if len(axes) != number:
        raise ValueError(f"{owner}: axes must be {number} Axes, found {len(axes)}.")
    return axes


def draw_line(ax: Any, number: int, label: str, x: Any, y: Any, spread: Any) -> None:
    """Draw a line with error bars; its number sets colour and marker."""
    look: dict[str, Any] = {"marker": _MARKERS[number % len(_MARKERS)], "color": f"C{number}"}
    ax.errorbar(x, y, spread, label=label, markersize=5, linewidth=1.3, **look)


def scale_axes(ax: Any, *, log_y: bool, y_form: Any = "{x:g}", **texts: Any) -> None:
    """Make x (and y on request) logarithmic with plain numbers. Call it after drawing."""
    ax.set(xscale="log", yscale="log" if log_y else "linear", **texts)
    plain_log_ticks(ax, "x", "{x:,g}")
    if log_y:
        plain_log_ticks(ax, "y", y_form)
    ax.grid(alpha=0.3, which="both")


def draw_legend(ax: Any, *, beside: bool = False) -> None:
    """Add a legend without a frame, inside the axes or beside them."""
    place: dict[str, Any] = {"loc": "center left", "bbox_to_anchor": (1, 0.5)} if beside else {}
    ax.legend(fontsize="small", frameon=False, **place)


def plain_log_ticks(ax: Any, which: str, form: Any = "{x:g}") -> None:
    """Label the logarithmic axis "x" or "y" with a few plain numbers.

    Between powers of ten Matplotlib writes 2 x 10^1, with overlaps, or nothing at all. Ticks depend
    on the limits, so call this after drawing.
    """
    from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter

    axis, (low, high) = (ax.xaxis, ax.get_xlim()) if which == "x" else (ax.yaxis, ax.get_ylim())
    decades = log10(high / low)
    if decades < 0.7:
        axis.set_major_locator(MaxNLocator(5, steps=[1, 2, 2.5, 5, 10]))
    else:
        axis.set_major_locator(LogLocator(subs=(1, 2, 5) if decades < 2.5 else (1,)))
    axis.set_major_formatter(form)
    axis.set_minor_formatter(NullFormatter())
