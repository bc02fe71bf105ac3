"""Accuracy against fit time."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_INK, _FAINT = "#222222", "#767676"
_COLOURS = ("#555555", "#D55E00", "#0072B2", "#009E73", "#CC79A7")
_MARKERS = ("s", "^", "o", "D", "v")
_STYLE = {
    "font.size": 10,
    "axes.edgecolor": _FAINT,
    "axes.labelcolor": _INK,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "text.color": _INK,
    "xtick.color": _INK,
    "ytick.color": _INK,
}


@dataclass(frozen=True)
class Point:
    """One fitted model.

    Parameters
    ----------
    family : str
        Models of a family share a marker and a colour, and are joined by a line.
    label : str
        What is written beside the point.
    seconds : float
        Fit time, positive.
    accuracy : float
        Share of the test rows that it labels correctly.
    """

    family: str
    label: str
    seconds: float
    accuracy: float


@dataclass(frozen=True)
class Panel:
    """The models of one problem.

    Parameters
    ----------
    title : str
        Heading of the panel.
    points : sequence of Point
        The models; families appear in the legend in the order of their first model.
    ceiling : float, optional
        Accuracy that no model can exceed.
    beyond : tuple of float and str, optional
        Seconds that a model was not given, and what to write there.
    """

    title: str
    points: Sequence[Point]
    ceiling: float | None = None
    beyond: tuple[float, str] | None = None


def draw_tradeoff(panels: Sequence[Panel], path: Path | str, *, caption: str = "") -> None:
    """Draw accuracy against fit time, one panel for each problem, into a PNG file.

    The file appears whole or not at all.

    Parameters
    ----------
    panels : sequence of Panel
        What to draw, from left to right.
    path : path
        Where to write; an existing file is replaced.
    caption : str, default=""
        Small print under the panels: hardware and sizes.

    Examples
    --------
    >>> from skimp.report import Panel, Point, draw_tradeoff
    >>> panel = Panel("Digits", [Point("linear", "ridge", 0.02, 0.94)])
    >>> draw_tradeoff([panel], "tradeoff.png")  # doctest: +SKIP
    """
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    path = Path(path)
    aside = path.with_name(f".{path.name}.{os.getpid()}")
    with rc_context(_STYLE):
        figure = Figure(figsize=(5.6 * len(panels), 4.9), dpi=150, layout="constrained")
        for axes, panel in zip(figure.subplots(1, len(panels), squeeze=False)[0], panels, strict=True):
            _draw_panel(axes, panel)
        figure.supxlabel(caption, fontsize=8.5, color=_FAINT)
        try:
            figure.savefig(aside, format="png")
            os.replace(aside, path)
        finally:
            aside.unlink(missing_ok=True)


def _draw_panel(axes: Any, panel: Panel) -> None:
    from matplotlib.ticker import FuncFormatter, PercentFormatter

    families = list(dict.fromkeys(point.family for point in panel.points))
    for family, marker, colour in zip(families, _MARKERS, _COLOURS, strict=False):
        points = sorted((p for p in panel.points if p.family == family), key=lambda p: p.seconds)
        axes.plot(
            [p.seconds for p in points],
            [p.accuracy for p in points],
            marker=marker,
            markersize=8,
            color=colour,
            label=family,
            linewidth=1.4,
        )
        for p in points:
            axes.annotate(
                p.label, (p.seconds, p.accuracy), (7, -12), textcoords="offset points", color=colour
            )
    axes.set_xscale("log")
    axes.set_title(panel.title, loc="left", fontweight="bold")
    axes.set_xlabel("fit time (seconds)")
    axes.set_ylabel("test accuracy")
    axes.xaxis.set_major_formatter(FuncFormatter(lambda seconds, _: f"{seconds:g}"))
    axes.yaxis.set_major_formatter(PercentFormatter(1, decimals=0))
    axes.grid(alpha=0.25)
    axes.margins(x=0.18, y=0.12)
    if panel.ceiling is not None:
        axes.axhline(panel.ceiling, color=_FAINT, linestyle="--", linewidth=1)
    axes.legend(loc="lower right", frameon=False)
