"""Selectors side by side: plots of what their budgets miss, against size and seconds."""

from typing import Any, Self, final

from skimp.diagnostics import SelectorComparison, compare_selectors
from skimp.report._axes import draw_legend, draw_line, open_axes, require_kind, scale_axes


@final
class SelectorDisplay:
    """What budgets miss of the data, by selector, against their size and the seconds they took.

    Parameters
    ----------
    comparison : SelectorComparison
        The budgets, from `skimp.diagnostics.compare_selectors`.

    Attributes
    ----------
    figure_ : matplotlib.figure.Figure
        The figure that was drawn last.
    axes_ : array of matplotlib.axes.Axes
        Its two panels.

    Examples
    --------
    >>> import numpy as np
    >>> from skimp.report import SelectorDisplay
    >>> X = np.random.default_rng(0).normal(size=(500, 2))
    >>> rules = ["uniform", "rpcholesky"]
    >>> display = SelectorDisplay.from_data(rules, "rbf", X, sizes=[5, 10], random_state=0)
    >>> display.to_frame()["selector"].tolist()
    ['uniform', 'uniform', 'rpcholesky', 'rpcholesky']
    """

    def __init__(self, comparison: SelectorComparison):
        wording = "a SelectorComparison, which skimp.diagnostics.compare_selectors returns"
        require_kind("SelectorDisplay", "comparison", comparison, SelectorComparison, wording)
        self.comparison = comparison

    @classmethod
    def from_data(cls, selectors: Any, kernel: Any, X: Any, y: Any = None, **options: Any) -> Self:
        """Return the display of `skimp.diagnostics.compare_selectors` with these arguments."""
        return cls(compare_selectors(selectors, kernel, X, y, **options))

    def to_frame(self) -> Any:
        """Return the numbers as a pandas frame, a row for each budget."""
        return self.comparison.to_frame()

    def plot(self, axes: Any = None) -> Self:
        """Draw the share of the trace that budgets miss against size, and against seconds.

        Lines join the means over repeats; bars reach one standard deviation. Seconds are the
        least of the repeats.

        Parameters
        ----------
        axes : two matplotlib Axes, optional
            Where to draw; a new figure by default.
        """
        from matplotlib.ticker import FuncFormatter

        axes = open_axes("SelectorDisplay", axes, 2, figsize=(10, 4.2), sharey=True)
        frame = self.to_frame()
        for number, (name, group) in enumerate(frame.groupby("selector", sort=False)):
            of_size = group.groupby("size", sort=False)
            missed, seconds = of_size["residual_trace"], of_size["seconds"].min()
            for panel, x in zip(axes, (seconds.index, seconds), strict=True):
                draw_line(panel, number, name, x, missed.mean(), missed.std(ddof=0))
        percent = FuncFormatter(lambda share, _: f"{100 * share:g} %")
        positive = (frame.groupby(["selector", "size"])["residual_trace"].mean() > 0).all()
        for panel, label in zip(axes, ("points", "seconds to choose them"), strict=True):
            scale_axes(panel, log_y=positive, y_form=percent, xlabel=label)
            panel.grid(visible=False, which="minor")
            if not positive:
                panel.yaxis.set_major_formatter(percent)
        axes[0].set_ylabel("share of the trace that is missed")
        draw_legend(axes[1], beside=True)
        self.axes_, self.figure_ = axes, axes[0].figure
        return self
