"""What accuracy costs: models of one problem, and a plot of accuracy against fit time."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from math import log
from pathlib import Path
from typing import Any

from skimp.report._axes import plain_log_ticks

_INK, _FAINT = "#222222", "#6b6b6b"
_LOOKS = (("s", "#555555"), ("^", "#c44e00"), ("o", "#0067a5"), ("D", "#007a5a"), ("v", "#9b4f80"))
_STYLE: dict[Any, Any] = {
    "font.size": 10,
    "text.color": _INK,
    "axes.edgecolor": _FAINT,
    "axes.labelcolor": _INK,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "xtick.color": _INK,
    "ytick.color": _INK,
}


@dataclass(frozen=True)
class Measurement:
    """A fitted model, what it reached and what it took.

    Attributes
    ----------
    family : str
        Models of a family differ in rows or budget only.
    rows : int
        Training rows.
    budget : int or None
        Landmarks, if the family has a budget.
    accuracy : float
        Share of the test rows that are labelled correctly.
    fit_seconds, predict_seconds : float
        Time to fit the training rows and to label the test rows.
    peak_bytes : int or None
        Largest resident memory of the process, if the system reports it.
    ceiling : float or None
        Accuracy of the rule that drew the labels, if it is known.
    """

    family: str
    rows: int
    budget: int | None
    accuracy: float
    fit_seconds: float
    predict_seconds: float
    peak_bytes: int | None = None
    ceiling: float | None = None

    @property
    def label(self) -> str:
        """What sets the model apart from its family."""
        return f"{self.rows:,} rows" if self.budget is None else f"budget {self.budget:,}"


@dataclass(frozen=True)
class Tradeoff:
    """Models of one problem.

    Attributes
    ----------
    title : str
        Name of the problem.
    rows : int
        All training rows there are; some models may have been given fewer.
    models : sequence of Measurement
        The models, at least one.
    """

    title: str
    rows: int
    models: Sequence[Measurement]

    def best(self, within: float) -> Measurement:
        """Return the fastest fit whose accuracy is at most ``within`` below the highest."""
        enough = max(model.accuracy for model in self.models) - within
        return min((m for m in self.models if m.accuracy >= enough), key=lambda m: m.fit_seconds)

    def families(self) -> dict[str, list[Measurement]]:
        """Return the models by family, the families in the order of their first model."""
        grouped: dict[str, list[Measurement]] = {}
        for model in self.models:
            grouped.setdefault(model.family, []).append(model)
        return grouped

    def extrapolated(self, family: str) -> float | None:
        """Return the seconds that all rows would take a family that was given fewer.

        Fit time is taken to grow as n^p, with the p between the family's fewest and most rows;
        None if the family was given all rows, or always as many.
        """
        models = sorted(self.families()[family], key=lambda m: m.rows)
        few, many = models[0], models[-1]
        if few.rows == many.rows or many.rows == self.rows:
            return None
        p = log(many.fit_seconds / few.fit_seconds) / log(many.rows / few.rows)
        return many.fit_seconds * float((self.rows / many.rows) ** p)


def draw_tradeoffs(tradeoffs: Sequence[Tradeoff], path: Path | str, *, caption: str = "") -> None:
    """Draw accuracy against fit time, a panel for each problem, into a PNG file.

    The file appears whole or not at all.

    Parameters
    ----------
    tradeoffs : sequence of Tradeoff
        What to draw, from left to right.
    path : path
        Where to write; a file that is there is replaced.
    caption : str, default=""
        Small print under the panels: hardware, sizes.
    """
    from matplotlib import rc_context
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    path = Path(path)
    aside = path.with_name(f".{path.name}.{os.getpid()}")
    with rc_context(_STYLE):
        layout = ConstrainedLayoutEngine(w_pad=0.12, h_pad=0.08)
        figure = Figure(figsize=(5.8 * len(tradeoffs), 5.2), dpi=150, layout=layout)
        panels = figure.subplots(1, len(tradeoffs), squeeze=False)[0]
        for axes, tradeoff in zip(panels, tradeoffs, strict=True):
            _draw(axes, tradeoff)
        handles, labels = panels[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside upper left", ncols=5, frameon=False)
        figure.supxlabel(caption, x=0.01, ha="left", fontsize=8.5, color=_FAINT)
        try:
            figure.savefig(aside, format="png")
            os.replace(aside, path)
        finally:
            aside.unlink(missing_ok=True)


def _draw(axes: Any, tradeoff: Tradeoff) -> None:
    from matplotlib.ticker import PercentFormatter

    looks = zip(tradeoff.families().items(), _LOOKS, strict=False)
    for (family, models), (marker, colour) in looks:
        x, y = [m.fit_seconds for m in models], [m.accuracy for m in models]
        axes.plot(x, y, marker, linestyle="-", color=colour, markersize=8, label=family)
        for model in models:
            # above a curve of budgets and below the others, so that curves that cross stay legible
            up = model.budget is not None
            place = {"ha": "right", "va": "bottom"} if up else {"ha": "left", "va": "top"}
            shift = (-6, 1) if up else (5, -5)
            _write(axes, model.label, (model.fit_seconds, model.accuracy), shift, colour, **place)
        seconds = tradeoff.extrapolated(family)
        if seconds is not None:
            axes.axvline(seconds, color=colour, linestyle=":")
            text = f"{family}, all rows: about {duration(seconds)}\n(extrapolated)"
            across = {"xycoords": ("data", "axes fraction"), "rotation": 90, "va": "center"}
            _write(axes, text, (seconds, 0.4), (-4, 0), colour, ha="right", **across)
    ceiling = tradeoff.models[0].ceiling
    if ceiling is not None:
        axes.axhline(ceiling, color=_FAINT, linestyle="--", linewidth=1)
        text, along = "limit set by noise in the labels", ("axes fraction", "data")
        _write(axes, text, (0, ceiling), (5, 4), _FAINT, xycoords=along)
    axes.margins(x=0.22, y=0.14)
    axes.set(xscale="log", xlabel="fit time, seconds (log scale)", ylabel="accuracy on test rows")
    axes.set_title(tradeoff.title, loc="left", fontweight="bold")
    plain_log_ticks(axes, "x", "{x:,g}")
    axes.yaxis.set_major_formatter(PercentFormatter(1, decimals=0))
    axes.grid(color="#e8e8e8", linewidth=0.8)
    axes.set_axisbelow(True)


def _write(axes: Any, text: str, at: Any, shift: Any, colour: str, **options: Any) -> None:
    from matplotlib.patheffects import withStroke

    options |= {"textcoords": "offset points", "color": colour}
    axes.annotate(
        text, at, shift, path_effects=[withStroke(linewidth=3, foreground="white")], **options
    )


def duration(seconds: float) -> str:
    """Return a rough time in the unit that suits it."""
    if seconds < 100:
        return f"{seconds:.0f} seconds"
    return f"{seconds / 60:.0f} minutes" if seconds < 6000 else f"{seconds / 3600:.1f} hours"
