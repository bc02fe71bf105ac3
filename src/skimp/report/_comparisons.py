"""Plots that compare feature maps, or selectors, by error, size and seconds."""

from typing import Any, Self, final

from skimp.diagnostics import MapComparison, SelectorComparison, compare_maps, compare_selectors
from skimp.report._axes import draw_legend, draw_line, open_axes, require_kind, scale_axes

_LABELS = {
    "frobenius": "relative error, Frobenius norm",
    "spectral": "relative error, spectral norm",
    "max": "largest error",
    "mean": "mean absolute error",
    "distortion": "mean relative error of squared distances",
}


@final
class KernelErrorDisplay:
    """Kernel error of feature maps against their size.

    Parameters
    ----------
    comparison : MapComparison
        The maps, from `skimp.diagnostics.compare_maps`.

    Attributes
    ----------
    figure_, axes_ : matplotlib Figure, array of Axes
        The figure that was drawn last, and its panels, one per measure.

    Examples
    --------
    >>> import numpy as np
    >>> from skimp.features import RandomFourier
    >>> from skimp.report import KernelErrorDisplay
    >>> X = np.random.default_rng(0).normal(size=(300, 2))
    >>> maps = {"iid": RandomFourier(), "qmc": RandomFourier(sampling="qmc")}
    >>> display = KernelErrorDisplay.from_data(maps, X, sizes=[50, 100], repeats=1)
    >>> display.to_frame()["map"].tolist()
    ['iid', 'iid', 'qmc', 'qmc']
    """

    def __init__(self, comparison: MapComparison):
        wording = "a MapComparison from skimp.diagnostics.compare_maps"
        require_kind("KernelErrorDisplay", "comparison", comparison, MapComparison, wording)
        self.comparison = comparison

    @classmethod
    def from_data(cls, maps: Any, X: Any, **options: Any) -> Self:
        """Return the display of `skimp.diagnostics.compare_maps` with these arguments."""
        return cls(compare_maps(maps, X, **options))

    def to_frame(self) -> Any:
        """Return the numbers as a pandas frame, one row per map."""
        return self.comparison.to_frame()

    def plot(self, measures: Any = ("frobenius", "max"), axes: Any = None) -> Self:
        """Draw the error against the number of features, or against the compared parameter.

        Lines show means over repeats, bars one standard deviation.

        Parameters
        ----------
        measures : sequence of str, default=("frobenius", "max")
            Any of "max", "mean", "frobenius", "spectral" and "distortion", one panel each.
        axes : sequence of matplotlib Axes, optional
            One per measure. By default a new figure.
        """
        owner, names = "KernelErrorDisplay", [measures] if isinstance(measures, str) else measures
        if not isinstance(names, list | tuple) or not names or not set(names) <= set(_LABELS):
            listed = ", ".join(map(repr, _LABELS))
            raise ValueError(f"{owner}: measures must be among {listed}, got {measures!r}.")
        axes = open_axes(owner, axes, len(names), figsize=(5 * len(names) + 1, 4.2))
        frame, across = self.to_frame(), self.comparison.parameter or "features"
        for panel, measure in zip(axes, names, strict=True):
            for number, (name, group) in enumerate(frame.groupby("map", sort=False)):
                errors = group.groupby("size")[measure].agg(["mean", "std"]).fillna(0.0)
                draw_line(panel, number, name, errors.index, errors["mean"], errors["std"])
            positive = (frame[measure] > 0).all()
            scale_axes(panel, log_y=positive, xlabel=across, ylabel=_LABELS[measure])
        draw_legend(axes[-1], beside=True)
        self.axes_, self.figure_ = axes, axes[0].figure
        return self


@final
class SelectorDisplay:
    """Quality of budgets against their size and the seconds of their selection.

    Parameters
    ----------
    comparison : SelectorComparison
        The budgets, from `skimp.diagnostics.compare_selectors`.

    Attributes
    ----------
    figure_, axes_ : matplotlib Figure, array of Axes
        The figure that was drawn last, and its two panels.

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
        wording = "a SelectorComparison from skimp.diagnostics.compare_selectors"
        require_kind("SelectorDisplay", "comparison", comparison, SelectorComparison, wording)
        self.comparison = comparison

    @classmethod
    def from_data(cls, selectors: Any, kernel: Any, X: Any, y: Any = None, **options: Any) -> Self:
        """Return the display of `skimp.diagnostics.compare_selectors` with these arguments."""
        return cls(compare_selectors(selectors, kernel, X, y, **options))

    def to_frame(self) -> Any:
        """Return the numbers as a pandas frame, one row per budget."""
        return self.comparison.to_frame()

    def plot(self, axes: Any = None) -> Self:
        """Draw the residual trace against size and against seconds, in two ``axes`` if given.

        Lines show means over repeats, bars one standard deviation. Seconds are the minimum over
        repeats.
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
        for panel, label in zip(axes, ("points", "seconds to select them"), strict=True):
            scale_axes(panel, log_y=positive, y_form=percent, xlabel=label)
            panel.grid(visible=False, which="minor")
            if not positive:
                panel.yaxis.set_major_formatter(percent)
        axes[0].set_ylabel("share of the kernel trace missed")
        draw_legend(axes[1], beside=True)
        self.axes_, self.figure_ = axes, axes[0].figure
        return self
