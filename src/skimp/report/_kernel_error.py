"""Feature maps side by side: plots of how far they are from their kernel."""

from typing import Any, Self, final

from skimp.diagnostics import MapComparison, compare_maps
from skimp.report._axes import draw_legend, draw_line, open_axes, require_kind, scale_axes

_OWNER = "KernelErrorDisplay"
_LABELS = {
    "frobenius": "Frobenius norm of the error, of that of K",
    "spectral": "spectral norm of the error, of that of K",
    "max": "largest error",
    "mean": "mean absolute error",
    "distortion": "mean relative error of squared distances",
}


@final
class KernelErrorDisplay:
    """How far inner products and distances of features are from the kernel's, by map and size.

    Parameters
    ----------
    comparison : MapComparison
        The maps, from `skimp.diagnostics.compare_maps`.

    Attributes
    ----------
    figure_ : matplotlib.figure.Figure
        The figure that was drawn last.
    axes_ : array of matplotlib.axes.Axes
        Its panels, one for each measure.

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
        wording = "a MapComparison, which skimp.diagnostics.compare_maps returns"
        require_kind(_OWNER, "comparison", comparison, MapComparison, wording)
        self.comparison = comparison

    @classmethod
    def from_data(cls, maps: Any, X: Any, **options: Any) -> Self:
        """Return the display of `skimp.diagnostics.compare_maps` with these arguments."""
        return cls(compare_maps(maps, X, **options))

    def to_frame(self) -> Any:
        """Return the numbers as a pandas frame, a row for each map."""
        return self.comparison.to_frame()

    def plot(self, measures: Any = ("frobenius", "max"), axes: Any = None) -> Self:
        """Draw measures of the error against the number of features, or the parameter compared.

        Lines join the means over repeats; bars reach one standard deviation.

        Parameters
        ----------
        measures : sequence of str, default=("frobenius", "max")
            Any of "max", "mean", "frobenius", "spectral" and "distortion", a panel each.
        axes : as many matplotlib Axes, optional
            Where to draw; a new figure by default.
        """
        names = [measures] if isinstance(measures, str) else measures
        if not isinstance(names, list | tuple) or not names or not set(names) <= set(_LABELS):
            listed = ", ".join(map(repr, _LABELS))
            raise ValueError(f"{_OWNER}: measures must be of {listed}, got {measures!r}.")
        axes = open_axes(_OWNER, axes, len(names), figsize=(5 * len(names) + 1, 4.2))
        frame = self.to_frame()
        for panel, measure in zip(axes, names, strict=True):
            for number, (name, group) in enumerate(frame.groupby("map", sort=False)):
                errors = group.groupby("size")[measure].agg(["mean", "std"]).fillna(0.0)
                draw_line(panel, number, name, errors.index, errors["mean"], errors["std"])
            scale_axes(
                panel,
                log_y=(frame[measure] > 0).all(),
                xlabel=self.comparison.parameter or "features",
                ylabel=_LABELS[measure],
            )
        draw_legend(axes[-1], beside=True)
        self.axes_, self.figure_ = axes, axes[0].figure
        return self
