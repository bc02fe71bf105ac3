"""Error against budget: the plot of a budget curve."""

from typing import TYPE_CHECKING, Any, Self, final

from skimp.report._takes import require_kind
from skimp.report._ticks import plain_log_ticks

if TYPE_CHECKING:
    from skimp.diagnostics import BudgetCurve


@final
class BudgetCurveDisplay:
    """Error against the size of an approximation, with the knee marked.

    Parameters
    ----------
    curve : BudgetCurve
        The curve, from `skimp.diagnostics.budget_curve`.

    Attributes
    ----------
    figure_ : matplotlib.figure.Figure
        The figure that was drawn last.
    ax_ : matplotlib.axes.Axes
        Its axes.

    Examples
    --------
    >>> import numpy as np
    >>> from skimp import KernelRegressor
    >>> from skimp.report import BudgetCurveDisplay
    >>> X = np.random.default_rng(0).uniform(-3, 3, (500, 1))
    >>> model = KernelRegressor("rbf", approximation=60, random_state=0)
    >>> display = BudgetCurveDisplay.from_estimator(model, X, np.sin(X[:, 0]), sizes=[4, 20, 60])
    >>> display.to_frame()["size"].unique().tolist()
    [4, 20, 60]
    """

    def __init__(self, curve: "BudgetCurve"):
        from skimp.diagnostics import BudgetCurve

        wording = "a BudgetCurve, which skimp.diagnostics.budget_curve(model, X, y) returns"
        require_kind(type(self).__name__, "curve", curve, BudgetCurve, wording)
        self.curve = curve

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, y: Any = None, **options: Any) -> Self:
        """Compute the curve of a model, and return the display, not yet drawn.

        Parameters
        ----------
        estimator, X, y, **options
            As in `skimp.diagnostics.budget_curve`.
        """
        from skimp.diagnostics import budget_curve

        return cls(budget_curve(estimator, X, y, **options))

    def to_frame(self) -> Any:
        """Return the numbers as a pandas frame, a row for each size and penalty."""
        return self.curve.to_frame()

    def plot(self, ax: Any = None) -> Self:
        """Draw the error of each size with its best penalty, over those of other penalties.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        self
        """
        if ax is None:
            from matplotlib import pyplot

            _, ax = pyplot.subplots(figsize=(6.5, 4.2), layout="constrained")
        curve = self.curve
        ax.set_xscale("log")
        many = len(curve.alphas) > 1
        for number, errors in enumerate(curve.errors.T if many else ()):
            label = "other penalties" if number == 0 else None
            ax.plot(curve.sizes, errors, color="0.8", linewidth=0.8, zorder=1, label=label)
        ax.plot(
            curve.sizes,
            curve.best_errors,
            marker="o",
            markersize=5,
            color="C0",
            label="best penalty by cross-validation" if curve.gcv is not None else "best penalty",
        )
        if curve.confirmed:
            ax.plot(
                list(curve.confirmed),
                list(curve.confirmed.values()),
                linestyle="",
                marker="D",
                color="C1",
                label="fitted with the loss itself, rows held out",
            )
        last = " or beyond" if curve.knee == curve.sizes[-1] else ""
        ax.axvline(curve.knee, color="C3", linestyle="--", label=f"knee: {curve.knee:,}{last}")
        limits = curve.best_errors.min(), curve.best_errors.max()
        logarithmic = limits[0] > 0
        ax.set(
            yscale="log" if logarithmic else "linear",
            xlabel=curve.what,
            ylabel=curve.measure,
        )
        if logarithmic:
            # penalties that are far off would squeeze the curve that matters
            ax.set_ylim(limits[0] / 1.3, min(limits[1] * 2, curve.errors.max() * 1.3))
            plain_log_ticks(ax, "y")
        plain_log_ticks(ax, "x", "{x:,g}")
        ax.grid(alpha=0.3, which="both")
        ax.legend(fontsize="small", frameon=False)
        self.ax_, self.figure_ = ax, ax.figure
        return self
