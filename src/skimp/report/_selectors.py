"""Selectors side by side: plots of what their budgets miss, against size and seconds."""

from typing import TYPE_CHECKING, Any, Self, final

from skimp.report._takes import require_kind
from skimp.report._ticks import plain_log_ticks

if TYPE_CHECKING:
    from skimp._core._types import Array
    from skimp.diagnostics import SelectorComparison

_MARKERS = "osD^vPX*<>"


@final
class SelectorDisplay:
    """What budgets miss of the data, by rule, against their size and the seconds they took.

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

    def __init__(self, comparison: "SelectorComparison"):
        from skimp.diagnostics import SelectorComparison

        wording = "a SelectorComparison, which skimp.diagnostics.compare_selectors returns"
        require_kind(type(self).__name__, "comparison", comparison, SelectorComparison, wording)
        self.comparison = comparison

    @classmethod
    def from_data(cls, selectors: Any, kernel: Any, X: Any, y: Any = None, **options: Any) -> Self:
        """Choose budgets, judge them, and return the display of them, not yet drawn.

        Parameters
        ----------
        selectors, kernel, X, y, **options
            As in `skimp.diagnostics.compare_selectors`.
        """
        from skimp.diagnostics import compare_selectors

        return cls(compare_selectors(selectors, kernel, X, y, **options))

    def to_frame(self) -> Any:
        """Return the numbers as a pandas frame, a row for each budget."""
        return self.comparison.to_frame()

    def plot(self, axes: Any = None) -> Self:
        """Draw the share of the trace that budgets miss against size, and against seconds.

        Lines join the means over repeats; bars reach one standard deviation.

        Parameters
        ----------
        axes : two matplotlib Axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        self
        """
        import numpy as np
        from matplotlib.ticker import FuncFormatter

        if axes is None:
            from matplotlib import pyplot

            _, axes = pyplot.subplots(1, 2, figsize=(10, 4.2), sharey=True, layout="constrained")
        axes = np.ravel(axes)
        if len(axes) != 2:
            raise ValueError(f"SelectorDisplay: axes must be two Axes, found {len(axes)}.")
        curves = self._curves()
        positive = all((points[:, 2] > 0).all() for points in curves.values())
        for number, (name, points) in enumerate(curves.items()):
            size, seconds, mean, spread = points.T
            look = {"marker": _MARKERS[number % len(_MARKERS)], "color": f"C{number}"}
            for panel, x in zip(axes, (size, seconds), strict=True):
                panel.errorbar(x, mean, spread, label=name, markersize=5, linewidth=1.3, **look)
        for panel, label in zip(axes, ("points", "seconds to choose them"), strict=True):
            panel.set(xscale="log", yscale="log" if positive else "linear", xlabel=label)
            plain_log_ticks(panel, "x", "{x:,g}")
            percent = FuncFormatter(lambda share, _: f"{100 * share:g} %")
            if positive:
                plain_log_ticks(panel, "y", percent)
            else:
                panel.yaxis.set_major_formatter(percent)
            panel.grid(alpha=0.3)
        axes[0].set_ylabel("share of the trace that is missed")
        axes[1].legend(fontsize="small", frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
        self.axes_, self.figure_ = axes, axes[0].figure
        return self

    def _curves(self) -> "dict[str, Array]":
        """Return, by rule, a row for each size: size, best seconds, mean and deviation of r."""
        import numpy as np

        curves: dict[str, dict[int, list[tuple[float, float]]]] = {}
        for record in self.comparison.records:
            by_size = curves.setdefault(record["selector"], {})
            measured = record["seconds"], record["quality"].residual_trace
            by_size.setdefault(record["size"], []).append(measured)

        def summary(size: int, measured: list[tuple[float, float]]) -> list[float]:
            seconds, missed = np.transpose(measured)
            return [size, seconds.min(), missed.mean(), missed.std()]

        return {
            name: np.array([summary(size, measured) for size, measured in by_size.items()])
            for name, by_size in curves.items()
        }
