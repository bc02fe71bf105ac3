"""Ticks of logarithmic axes that read as numbers."""

from math import log10
from typing import Any


def plain_log_ticks(ax: Any, which: str, form: Any = "{x:g}") -> None:
    """Label a logarithmic axis with a few plain numbers, whatever it spans.

    Matplotlib writes 2 x 10^1 at the ticks between powers of ten, over each other, or labels none
    of them.

    Parameters
    ----------
    ax : matplotlib Axes
        Drawn already: the ticks depend on the limits.
    which : str
        "x" or "y".
    form : str or Formatter, default="{x:g}"
        How a number is written.
    """
    from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter

    axis = getattr(ax, f"{which}axis")
    low, high = getattr(ax, f"get_{which}lim")()
    decades = log10(high / low)
    if decades < 0.7:
        axis.set_major_locator(MaxNLocator(5, steps=[1, 2, 2.5, 5, 10]))
    else:
        axis.set_major_locator(LogLocator(subs=(1, 2, 5) if decades < 2.5 else (1,)))
    axis.set_major_formatter(form)
    axis.set_minor_formatter(NullFormatter())
