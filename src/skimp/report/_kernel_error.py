"""Feature maps side by side: plots of how far they are from their kernel."""

from typing import TYPE_CHECKING, Any, Self, final

from skimp.report._takes import require_kind
from skimp.report._ticks import plain_log_ticks

if TYPE_CHECKING:
    from skimp.diagnostics import MapComparison

_MARKERS = "osD^vPX*<>"
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

    def __init__(self, comparison: "MapComparison"):
        from skimp.diagnostics import MapComparison

        wording = "a MapComparison, which skimp.diagnostics.compare_maps returns"
        require_kind(type(self).__name__, "comparison", comparison, MapComparison, wording)
        self.comparison = comparison

    @classmethod
    def from_data(cls, maps: Any, X: Any, **options: Any) -> Self:
        """Fit maps, compare them with their kernels, and return the display, not yet drawn.

        Parameters
        ----------
        maps, X, **options
            As in `skimp.diagnostics.compare_maps`.
        """
        from skimp.diagnostics import compare_maps

        return cls(compare_maps(maps, X, **options))

    def to_frame(self) -> Any:
        """Return the numbers as a pandas frame, a row for each map."""
        return self.comparison.to_frame()

    def plot(self, measures: Any = ("frobenius", "max"), axes: Any = None) -> Self:
        """Draw measures of the error against the number of features, or what else was changed.

        Lines join the means over repeats; bars reach one standard deviation.

        Parameters
        ----------
        measures : sequence of str, default=("frobenius", "max")
            Any of "max", "mean", "frobenius", "spectral" and "distortion", a panel each.
        axes : as many matplotlib Axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        self
        """
        import numpy as np

        names = [measures] if isinstance(measures, str) else measures
        known = isinstance(names, list | tuple) and all(name in tuple(_LABELS) for name in names)
        if not known or not names:
            listed = ", ".join(map(repr, _LABELS))
            raise ValueError(f"KernelErrorDisplay: measures must be of {listed}, got {measures!r}.")
        measures = list(names)
        if axes is None:
            from matplotlib import pyplot

            size = (5 * len(measures) + 1, 4.2)
            _, axes = pyplot.subplots(1, len(measures), figsize=size, layout="constrained")
        axes = np.ravel(axes)
        if len(axes) != len(measures):
            raise ValueError(
                f"KernelErrorDisplay: axes must be {len(measures)} Axes, found {len(axes)}."
            )
        frame = self.to_frame()
        for panel, measure in zip(axes, measures, strict=True):
            for number, (name, group) in enumerate(frame.groupby("map", sort=False)):
                errors = group.groupby("size")[measure].agg(["mean", "std"]).fillna(0.0)
                look = {"marker": _MARKERS[number % len(_MARKERS)], "color": f"C{number}"}
                panel.errorbar(
                    errors.index,
                    errors["mean"],
                    errors["std"],
                    label=name,
                    markersize=5,
                    linewidth=1.3,
                    **look,
                )
            scale = "log" if (frame[measure] > 0).all() else "linear"
            panel.set(
                xscale="log",
                yscale=scale,
                xlabel=self.comparison.parameter or "features",
                ylabel=_LABELS[measure],
            )
            plain_log_ticks(panel, "x", "{x:,g}")
            if scale == "log":
                plain_log_ticks(panel, "y")
            panel.grid(alpha=0.3, which="both")
        axes[-1].legend(fontsize="small", frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
        self.axes_, self.figure_ = axes, axes[0].figure
        return self
