"""Error against budget: the plot of a budget curve."""

from typing import Any, Self, final

from skimp.diagnostics import BudgetCurve, budget_curve
from skimp.report._axes import draw_legend, open_axes, require_kind, scale_axes


@final
class BudgetCurveDisplay:
    """Error against the size of an approximation, with the knee marked.

    Parameters
    ----------
    curve : BudgetCurve
        The curve, from `skimp.diagnostics.budget_curve`.

    Attributes
    ----------
    figure_, ax_ : matplotlib Figure, Axes
        The figure that was drawn last, and its axes.

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

    def __init__(self, curve: BudgetCurve):
        wording = "a BudgetCurve from skimp.diagnostics.budget_curve(model, X, y)"
        require_kind("BudgetCurveDisplay", "curve", curve, BudgetCurve, wording)
        self.curve = curve

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, y: Any = None, **options: Any) -> Self:
        """Return the display of `skimp.diagnostics.budget_curve` with these arguments."""
        return cls(budget_curve(estimator, X, y, **options))

    def to_frame(self) -> Any:
        """Return the numbers as a pandas frame, one row per size and penalty."""
        return self.curve.to_frame()

    def plot(self, ax: Any = None) -> Self:
        """Draw the best error of each size, with other penalties in grey, in ``ax`` if given."""
        (ax,) = open_axes("BudgetCurveDisplay", ax, 1, figsize=(6.5, 4.2))
        curve = self.curve
        for number, errors in enumerate(curve.errors.T if len(curve.alphas) > 1 else ()):
            label = "other penalties" if number == 0 else None
            ax.plot(curve.sizes, errors, color="0.8", linewidth=0.8, zorder=1, label=label)
        label = "best penalty by cross-validation" if curve.gcv is not None else "best penalty"
        ax.plot(curve.sizes, curve.best_errors, "o-", markersize=5, color="C0", label=label)
        if curve.confirmed:
            sizes, errors = zip(*curve.confirmed.items(), strict=True)
            label = "fitted with the loss itself, on held-out rows"
            ax.plot(sizes, errors, linestyle="", marker="D", color="C1", label=label)
        last = " or beyond" if curve.knee == curve.sizes[-1] else ""
        ax.axvline(curve.knee, color="C3", linestyle="--", label=f"knee: {curve.knee:,}{last}")
        low, high = curve.best_errors.min(), curve.best_errors.max()
        if low > 0:
            # penalties that are far off would squeeze the curve of interest
            shown = [low, *(error for error in curve.confirmed.values() if error > 0)]
            ax.set_ylim(min(shown) / 1.3, max(*shown, min(high * 2, curve.errors.max() * 1.3)))
        scale_axes(ax, log_y=low > 0, xlabel=curve.what, ylabel=curve.measure)
        draw_legend(ax)
        self.ax_, self.figure_ = ax, ax.figure
        return self
