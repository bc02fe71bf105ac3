"""Tables of average effects and of expectations, with their uncertainty."""

from dataclasses import dataclass
from html import escape
from numbers import Real
from typing import Any

import numpy as np
from scipy import stats

from skimp._core._html import table
from skimp._core._lines import Lined, Lines
from skimp._core._types import Array

_NAMES = ("effect", "std_error", "t", "p", "ci_low", "ci_high", "mean", "q25", "q50", "q75")
_COLUMNS = dict.fromkeys(_NAMES, ".4g") | {"t": ".2f", "p": ".3f"}
"""Columns of the table, and the format of their numbers."""
_SHOWN = 5
"""Number of points of an expectation to print."""


@dataclass(frozen=True, eq=False)
class EffectsSummary:
    """Average effects with standard errors, and quartiles of the pointwise effects.

    Attributes
    ----------
    names : tuple of str
        Names of the effects: columns, and levels of categorical columns. With several outputs, the
        output comes first.
    kinds : tuple of str
        Kind of each effect: "derivative", or the values between which the difference is taken.
    effect, std_error : arrays of shape (n_effects,)
        Average effects and their standard errors. If ``corrected``, averages are corrected for the
        shrinkage of the penalty; otherwise they equal ``mean``.
    t, p : arrays of shape (n_effects,)
        ``effect / std_error``, and the two-sided p value. NaN for constant columns.
    ci_low, ci_high : arrays of shape (n_effects,)
        Nominal confidence intervals for ``effect``.
    mean, q25, q50, q75 : arrays of shape (n_effects,)
        Weighted means and quartiles of the pointwise effects.
    covariance : array of shape (n_outputs, n_terms, n_terms)
        Covariance matrix of ``effect``, for each output.
    pointwise : array of shape (n_rows, n_effects)
        The effects at each row.
    level, corrected : float and bool
        Nominal coverage of the intervals, and whether ``effect`` is corrected for shrinkage.
    facts, notes : dict and tuple of str
        Facts about the model, printed above the table, and notes, printed below it.
    """

    names: tuple[str, ...]
    kinds: tuple[str, ...]
    effect: Array
    std_error: Array
    t: Array
    p: Array
    ci_low: Array
    ci_high: Array
    mean: Array
    q25: Array
    q50: Array
    q75: Array
    covariance: Array
    pointwise: Array
    level: float
    corrected: bool
    facts: dict[str, str]
    notes: tuple[str, ...]

    def to_frame(self, *, pointwise: bool = False) -> Any:
        """Return the table as a pandas frame, one row per effect.

        Parameters
        ----------
        pointwise : bool, default=False
            Whether to return the pointwise effects instead, one column per effect.
        """
        import pandas

        if pointwise:
            return pandas.DataFrame(self.pointwise, columns=list(self.names))
        columns = {name: getattr(self, name) for name in _COLUMNS}
        return pandas.DataFrame(columns, index=pandas.Index(self.names, name="term"))

    def _cells(self) -> list[list[str]]:
        rows = [["", *_COLUMNS]]
        for i, (name, kind) in enumerate(zip(self.names, self.kinds, strict=True)):
            title = name if kind == "derivative" else f"{name} ({kind})"
            rows.append([title, *(f"{getattr(self, c)[i]:{form}}" for c, form in _COLUMNS.items())])
        return rows

    def __str__(self) -> str:
        """Return the table as text."""
        cells = self._cells()
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        lines = [
            "  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])])
            for row in cells
        ]
        rule = "-" * len(lines[0])
        head = [""]
        for fact in (f"{name}: {value}" for name, value in self.facts.items()):
            if head[-1] and len(head[-1]) + len(fact) + 3 > len(rule):
                head.append("")
            head[-1] += f"   {fact}" if head[-1] else fact
        return "\n".join([*head, rule, lines[0], rule, *lines[1:], rule, *self.notes])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        head = table(("average effects", ""), list(self.facts.items()))
        notes = "".join(f"<div>{escape(note)}</div>" for note in self.notes)
        columns, *rows = self._cells()
        return head + table(columns, rows) + notes


@dataclass(frozen=True, eq=False, repr=False)
class Expectation(Lined):
    """Expected y along one column, with the other columns at typical values.

    Attributes
    ----------
    column : str
        The column.
    values : array of shape (n_points,)
        Values of the column: numbers or levels.
    mean, std_error, ci_low, ci_high : arrays of shape (n_points,) or (n_points, k)
        The expected y, its standard error and its pointwise confidence band.
    level : float
        Nominal coverage of the band at each point.
    """

    column: str
    values: Array
    mean: Array
    std_error: Array
    ci_low: Array
    ci_high: Array
    level: float

    def _lines(self) -> Lines:
        n = len(self.values)
        parts = [np.reshape(part, (n, -1)) for part in (self.mean, self.ci_low, self.ci_high)]
        few = "" if n <= _SHOWN else f", {_SHOWN} of {n} points"
        lines = [(self.column, f"mean of y [nominal {self.level:.0%} band]{few}")]
        # the first, the last and a few between
        for i in np.unique(np.linspace(0, n - 1, _SHOWN).astype(int)):
            value, outputs = self.values[i], zip(*(part[i] for part in parts), strict=True)
            name = f"{value:.4g}" if isinstance(value, Real) else f"{value}"
            lines.append((name, "; ".join(f"{m:.4g} [{a:.4g}, {b:.4g}]" for m, a, b in outputs)))
        return lines

    def to_frame(self) -> Any:
        """Return a pandas frame indexed by the column's values, one row per value and output."""
        import pandas

        n, names = len(self.values), ("mean", "std_error", "ci_low", "ci_high")
        parts = {name: np.reshape(getattr(self, name), (n, -1)) for name in names}
        k = parts["mean"].shape[1]
        frame = {"output": np.tile(np.arange(k), n)} if k > 1 else {}
        frame |= {name: part.ravel() for name, part in parts.items()}
        return pandas.DataFrame(frame, pandas.Index(np.repeat(self.values, k), name=self.column))


def summarize(
    pointwise: Array,
    weight: Array,
    covariance: Array,
    corrected: Array | None,
    *,
    names: list[str],
    kinds: list[str],
    freedom: float,
    level: float,
    facts: dict[str, str],
    notes: list[str],
) -> EffectsSummary:
    """Return the table of effects of terms on outputs.

    ``pointwise`` has the shape (n, n_terms, k) and ``covariance`` (k, n_terms, n_terms).
    ``corrected`` has the shape (n_terms, k), or is None to use means of the pointwise effects.
    """
    n, n_terms, k = pointwise.shape
    flat = pointwise.transpose(0, 2, 1).reshape(n, k * n_terms)
    mean = weight @ flat / weight.sum()
    effect = mean if corrected is None else corrected.T.ravel()
    errors = np.sqrt(np.diagonal(covariance, axis1=1, axis2=2)).ravel()
    known = errors > 0
    t = np.divide(effect, errors, out=np.full(len(effect), np.nan), where=known)
    reach = stats.t.ppf((1 + level) / 2, freedom) * errors
    q25, q50, q75 = _weighted_quartiles(flat, weight)
    far = np.count_nonzero(known & (np.abs(effect - mean) > reach))
    if far:
        outside = f"{far} of {np.count_nonzero(known)} means are outside the intervals"
        notes = [
            *notes,
            f"The correction is large: {outside}. Are columns collinear or very skewed?",
        ]
    outputs = [""] if k == 1 else [f"y{i}: " for i in range(k)]
    return EffectsSummary(
        names=tuple(output + name for output in outputs for name in names),
        kinds=tuple(kinds) * k,
        effect=effect,
        std_error=errors,
        t=t,
        p=2 * stats.t.sf(np.abs(t), freedom),
        ci_low=effect - reach,
        ci_high=effect + reach,
        mean=mean,
        q25=q25,
        q50=q50,
        q75=q75,
        covariance=covariance,
        pointwise=flat,
        level=level,
        corrected=corrected is not None,
        facts=facts,
        notes=tuple(notes),
    )


def _weighted_quartiles(values: Array, weight: Array) -> Array:
    """Return the quartiles of each column, of shape (3, n_columns).

    They are interpolated if all weights are equal, and values of single rows otherwise.
    """
    shares = np.array([0.25, 0.5, 0.75])
    if np.ptp(weight) == 0:
        return np.asarray(np.quantile(values, shares, axis=0))
    quartiles = []
    for column in values.T:
        order = np.argsort(column, kind="stable")
        below = np.cumsum(weight[order])
        places = np.searchsorted(below, shares * below[-1])
        quartiles.append(column[order[places]])
    return np.transpose(quartiles)
