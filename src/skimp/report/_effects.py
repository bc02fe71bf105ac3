"""Plots of effects: averages, distributions, heterogeneity and expectations."""

from typing import TYPE_CHECKING, Any, Self, final

import numpy as np

from skimp._params._rules import broken, integer
from skimp.report._axes import draw_legend, open_axes, require_kind

if TYPE_CHECKING:
    from skimp.effects import KRLS, EffectsSummary

_SIZE = 7.5, 4.0
_BINS = 12
"""Groups of equal size whose medians a line joins."""


@final
class EffectsDisplay:
    """Four plots of the effects of a fitted `~skimp.KRLS`.

    Parameters
    ----------
    model : KRLS
        The fitted model.
    summary : EffectsSummary
        Its effects, from ``model.summary(X)``.
    X : array or frame, optional
        The rows of the effects. By default the training rows.

    Attributes
    ----------
    figure_ : matplotlib.figure.Figure
        The figure that was drawn last.
    axes_ : array of matplotlib.axes.Axes
        Its panels.

    Examples
    --------
    >>> import numpy as np
    >>> from skimp import KRLS
    >>> from skimp.report import EffectsDisplay
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> model = KRLS().fit(X, X[:, 0] * X[:, 1])
    >>> display = EffectsDisplay.from_estimator(model)
    >>> display.to_frame().index.tolist()
    ['x0', 'x1']
    """

    def __init__(self, model: "KRLS", summary: "EffectsSummary", X: Any = None):
        from skimp.effects import EffectsSummary

        _require_krls(model)
        wording = "an EffectsSummary from model.summary()"
        require_kind(type(self).__name__, "summary", summary, EffectsSummary, wording)
        if not summary.names:
            raise ValueError("EffectsDisplay: summary must have effects, found none.")
        self.model = model
        self.summary = summary
        self.X = X

    @classmethod
    def from_estimator(cls, model: "KRLS", X: Any = None, **options: Any) -> Self:
        """Compute effects and return their display, not yet drawn.

        Parameters
        ----------
        model : KRLS
            A fitted model.
        X : array or frame, optional
            Rows at which to compute effects. By default the training rows.
        **options
            Options of `skimp.KRLS.summary`.
        """
        _require_krls(model)
        return cls(model, model.summary(X, **options), X)

    def to_frame(self) -> Any:
        """Return the averages as a pandas frame, one row per effect."""
        return self.summary.to_frame()

    def plot(self, ax: Any = None, *, standardized: bool = False) -> Self:
        """Draw average effects with their intervals, and the quartiles of pointwise effects.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw. By default a new figure.
        standardized : bool, default=False
            Whether to multiply derivatives by the standard deviation of their column in the
            training rows, so that columns in different units can be compared. Differences between
            levels do not change.
        """
        s = self.summary
        (ax,) = self._open(ax, 1, (7.5, 1 + 0.42 * len(s.names)))
        places = np.arange(len(s.names))
        unit = self._deviations() if standardized else np.ones(len(places))
        low, high = s.ci_low * unit, s.ci_high * unit
        middle = {"color": "0.85", "linewidth": 9, "label": "middle half of the rows"}
        ax.hlines(places, s.q25 * unit, s.q75 * unit, **middle)
        ax.hlines(places, low, high, color="C0", linewidth=2, label=_percent(s.level))
        ax.plot(s.effect * unit, places, "o", color="C0", markersize=6, label="average effect")
        ax.axvline(0, color="0.4", linewidth=0.8, zorder=0)
        ax.set_yticks(places, s.names)
        ax.invert_yaxis()
        ax.set_xlabel("effect of a standard deviation" if standardized else "effect")
        ax.grid(axis="x", alpha=0.3)
        draw_legend(ax, beside=True)
        return self

    def plot_distributions(self, axes: Any = None) -> Self:
        """Draw histograms of the pointwise effects, one panel per term.

        Parameters
        ----------
        axes : sequence of matplotlib Axes, one per term, optional
            Where to draw. By default a new figure.
        """
        s, number = self.summary, len(self.summary.names)
        columns = min(4, number)
        n_rows = -(-number // columns)
        given = None if axes is None else np.ravel(axes)[:number]
        axes = self._open(given, number, (2.8 * columns, 2.4 * n_rows), n_rows=n_rows)
        for ax, name, mean, single in zip(axes, s.names, s.mean, s.pointwise.T, strict=True):
            ax.hist(single, bins=min(40, max(10, len(single) // 20)), color="C0", alpha=0.55)
            ax.axvline(mean, color="C0", linewidth=2)
            ax.axvline(0, color="0.4", linewidth=0.8)
            below = float(np.mean(single < 0))
            ax.set_title(f"{name}\n{100 * below:.0f} % below zero", fontsize="medium")
            ax.set_yticks([])
        axes[0].set_ylabel("rows")
        return self

    def plot_heterogeneity(self, effect: str | int, against: str | int, ax: Any = None) -> Self:
        """Draw the pointwise effect of one term against the values of a column.

        Parameters
        ----------
        effect, against : str or int
            The term, and the column, by name or number.
        ax
            As in `plot`.
        """
        names = list(self.summary.names)
        known = integer(at_least=0, at_most=len(names) - 1).test(effect)
        if not known and effect not in names:
            raise broken("plot_heterogeneity", "effect", f"one of {names}, or its number", effect)
        number = names.index(effect) if isinstance(effect, str) else int(effect)
        column, values = self.model.column_values(against, self.X)
        single = self.summary.pointwise[:, number]
        if len(single) != len(values):
            raise ValueError(
                f"EffectsDisplay: X must be the {len(single)} rows of the summary, found "
                f"{len(values)}: pass the X of model.summary(X)."
            )
        (ax,) = self._open(ax, 1, _SIZE)
        if values.dtype.kind in "OUS":
            # in the order of the levels
            labels = [str(level) for level in self.model.expectation(against).values]
            codes = np.array([labels.index(str(value)) for value in values])
            groups = [codes == i for i in range(len(labels))]
            values = codes + np.random.default_rng(0).uniform(-0.2, 0.2, len(codes))
            ax.set_xticks(range(len(labels)), labels)
        else:
            groups = _groups(values)
        look = {"s": 9, "alpha": min(0.6, 40 / len(single) ** 0.5), "linewidths": 0}
        ax.scatter(values, single, color="C0", rasterized=len(single) > 5000, **look)
        middles = [np.median(values[group]) for group in groups]
        ax.plot(middles, [np.median(single[group]) for group in groups], "o-", color="C1")
        ax.axhline(0, color="0.4", linewidth=0.8, zorder=0)
        ax.set(xlabel=column, ylabel=f"effect of {names[number]}")
        ax.grid(alpha=0.3)
        return self

    def plot_expectation(
        self, column: str | int, ax: Any = None, *, n_points: int = 50, output: int = 0
    ) -> Self:
        """Draw the expected y along one column, the others at typical values, with a band.

        Parameters
        ----------
        column : str or int
            The column.
        ax
            As in `plot`.
        n_points : int, default=50
            Points of the curve.
        output : int, default=0
            Index of the output, if there are several.
        """
        found = self.model.expectation(column, n_points=n_points, level=self.summary.level)
        n, bands = len(found.values), (found.mean, found.ci_low, found.ci_high)
        parts = np.reshape(bands, (3, n, -1))
        last = parts.shape[2] - 1
        if not integer(at_least=0, at_most=last).test(output):
            raise broken("plot_expectation", "output", f"an integer from 0 to {last}", output)
        mean, low, high = parts[:, :, output]
        (ax,) = self._open(ax, 1, _SIZE)
        if found.values.dtype.kind in "OUS" or n == 2:
            places = np.arange(n)
            ax.errorbar(places, mean, [mean - low, high - mean], fmt="o", color="C0", capsize=4)
            shown = [f"{v:g}" if isinstance(v, float) else str(v) for v in found.values.tolist()]
            ax.set_xticks(places, shown)
            ax.margins(x=0.3)
        else:
            ax.fill_between(found.values, low, high, color="C0", alpha=0.2, linewidth=0)
            ax.plot(found.values, mean, color="C0", linewidth=2)
        ax.set(xlabel=found.column, ylabel=f"expected y, with {_percent(found.level)}")
        ax.grid(alpha=0.3)
        return self

    def _deviations(self) -> Any:
        """Return the standard deviation of each derivative's column, and 1 for differences."""
        model, number = self.model, len(self.summary.names)
        if number % len(model.terms_):
            raise ValueError(
                "EffectsDisplay: standardized must be False for the effects of interaction()."
            )
        units = [
            model.column_values(name)[1].std() if kind == "derivative" else 1.0
            for name, kind in zip(model.terms_, self.summary.kinds, strict=False)
        ]
        return np.tile(units, number // len(units))

    def _open(self, axes: Any, number: int, figsize: tuple[float, float], **options: Any) -> Any:
        self.axes_ = open_axes("EffectsDisplay", axes, number, figsize=figsize, **options)
        self.figure_ = self.axes_[0].figure
        return self.axes_


def _require_krls(model: Any) -> None:
    from skimp.effects import KRLS

    require_kind("EffectsDisplay", "model", model, KRLS, "a fitted KRLS")


def _percent(level: float) -> str:
    return f"nominal {100 * level:g} % interval"


def _groups(values: Any) -> list[Any]:
    """Return groups of neighbouring values of equal size; equal values stay together."""
    found = np.unique(values)
    if len(found) <= _BINS:
        return [values == value for value in found]
    ends = np.unique(np.quantile(values, np.linspace(0, 1, _BINS + 1)))
    number = np.clip(np.searchsorted(ends, values, side="right") - 1, 0, len(ends) - 2)
    return [number == i for i in np.unique(number)]
