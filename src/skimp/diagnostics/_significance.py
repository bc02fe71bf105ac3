"""Significance tests for methods that were compared on the same data sets."""

from dataclasses import dataclass
from itertools import count
from numbers import Real
from typing import Any

import numpy as np

from skimp._core._lines import Lined, Lines, cut
from skimp._core._types import Array
from skimp._params._rules import BOOLEAN, broken, check_values, integer, is_number
from skimp.data import is_frame


@dataclass(frozen=True, repr=False)
class Significance(Lined):
    """A Friedman test of several methods, and tests of each against a control.

    Attributes
    ----------
    statistic : float
        Friedman's statistic, chi-square with n_methods - 1 degrees of freedom.
    p_value : float
        Probability of a statistic at least this large if all methods are equal.
    control : str
        The method that the others are compared with.
    methods : tuple of str
        The methods, in the order of the columns.
    ranks : array of shape (n_methods,)
        Mean ranks; 1 is best, and equal scores share a rank.
    z : array of shape (n_methods,)
        Difference of the mean rank from that of the control, in standard errors. NaN for the
        control.
    p, bonferroni_dunn, holm, hochberg : array of shape (n_methods,)
        Two-sided p values of these differences: unadjusted, and adjusted for the number of methods
        by three procedures. NaN for the control.
    """

    statistic: float
    p_value: float
    control: str
    methods: tuple[str, ...]
    ranks: Array
    z: Array
    p: Array
    bonferroni_dunn: Array
    holm: Array
    hochberg: Array

    def _lines(self) -> Lines:
        rank = self.ranks[self.methods.index(self.control)]
        found = zip(self.methods, self.ranks, self.z, self.holm, strict=True)
        others = [
            (method, f"mean rank {rank:.2f}, z {z:.2f}, p {p:.3g} (Holm)")
            for method, rank, z, p in sorted(found, key=lambda item: item[1])
            if np.isfinite(z)
        ]
        return [
            ("Friedman test", f"statistic {self.statistic:.3g}, p {self.p_value:.2g}"),
            ("control", f"{self.control}, mean rank {rank:.2f}"),
            *cut(others, "to_frame()"),
        ]

    def to_frame(self) -> Any:
        """Return a pandas frame with one row per method, best first."""
        import pandas as pd

        names = ["rank", "z", "p", "bonferroni_dunn", "holm", "hochberg"]
        values = self.ranks, self.z, self.p, self.bonferroni_dunn, self.holm, self.hochberg
        index = pd.Index(self.methods, name="method")
        frame = pd.DataFrame(np.column_stack(values), index, names)
        return frame.sort_values("rank", kind="stable")


def compare_significance(
    scores: Any, *, control: str | int | None = None, greater_is_better: bool = True
) -> Significance:
    r"""Test whether methods differ, and which of them differ from a control.

    The Friedman test ranks k methods on each of N data sets and tests whether their mean ranks
    differ more than by chance. Then the mean rank of each method is compared with that of the
    control; the standard error of the difference is :math:`\sqrt{k (k + 1) / 6 N}`. The p values
    are adjusted for several comparisons by the Bonferroni-Dunn, Holm (step-down) and Hochberg
    (step-up) procedures.

    Parameters
    ----------
    scores : array or frame of shape (n_sets, n_methods)
        A score per data set and method. The columns of a frame name the methods.
    control : str or int, optional
        The method to compare with, by name or column. By default the one that ranks best.
    greater_is_better : bool, default=True
        Set to False if the scores are errors.

    Returns
    -------
    Significance

    References
    ----------
    Demsar (2006), Statistical comparisons of classifiers over multiple data sets.

    Garcia, Fernandez, Luengo and Herrera (2010), Advanced nonparametric tests for multiple
    comparisons in the design of experiments in computational intelligence and data mining.

    Examples
    --------
    >>> import numpy as np
    >>> from skimp.diagnostics import compare_significance
    >>> errors = np.random.default_rng(0).normal([0.1, 0.11, 0.3], 0.01, size=(10, 3))
    >>> found = compare_significance(errors, greater_is_better=False)
    >>> (found.holm < 0.05).tolist()
    [False, False, True]
    """
    from scipy import stats

    owner = "compare_significance"
    check_values(owner, {"greater_is_better": BOOLEAN}, greater_is_better=greater_is_better)
    S = _check_scores(owner, scores)
    methods = tuple(map(str, scores.columns if is_frame(scores) else range(S.shape[1])))
    n_sets, n_methods = S.shape
    ranks = stats.rankdata(-S if greater_is_better else S, axis=1)
    means = ranks.mean(axis=0)
    chosen = int(means.argmin()) if control is None else _column(owner, methods, control)
    tied = bool((ranks == means.mean()).all())
    # the test is undefined if all methods are equal on every set
    statistic, p_value = (0.0, 1.0) if tied else stats.friedmanchisquare(*S.T)
    z = (means - means[chosen]) / np.sqrt(n_methods * (n_methods + 1) / (6 * n_sets))
    others = np.arange(n_methods) != chosen
    p = 2 * stats.norm.sf(np.abs(z))
    adjusted = np.full((3, n_methods), np.nan)
    adjusted[:, others] = np.minimum(1, others.sum() * p[others]), *_stepwise(p[others])
    z, p = (np.where(others, values, np.nan) for values in (z, p))
    friedman = float(statistic), float(p_value)
    return Significance(*friedman, methods[chosen], methods, means, z, p, *adjusted)


def _check_scores(owner: str, scores: Any) -> Array:
    """Return scores as a float64 array, or raise."""
    needed = "finite numbers of at least 2 data sets (rows) and 3 methods (columns)"
    wording = f"{owner}: scores must be {needed}, got"
    try:
        S = np.asarray(scores)
    except ValueError:
        raise ValueError(f"{wording} rows of unequal lengths.") from None
    if S.ndim != 2 or S.shape[0] < 2 or S.shape[1] < 3:
        found = f"shape {S.shape}" if S.ndim else type(scores).__name__
        raise ValueError(f"{wording} {found}.")
    for column, name in zip(S.T, scores.columns if is_frame(scores) else count(), strict=False):
        # frames with missing values may become arrays of objects
        wrong = [v for v in column if not is_number(v, Real) or not np.isfinite(float(v))]
        if wrong:
            found = repr(wrong[0][:40]) if isinstance(wrong[0], str) else wrong[0]
            left_out = "this column" if len(wrong) == len(S) else "these data sets"
            raise ValueError(f"{wording} {found} in column {name!r}: leave out {left_out}.")
    return S.astype(np.float64)


def _column(owner: str, methods: tuple[str, ...], control: str | int) -> int:
    if isinstance(control, str) and methods.count(control) == 1:
        return methods.index(control)
    if not isinstance(control, str) and integer(0, len(methods) - 1).test(control):
        return int(control)
    raise broken(owner, "control", f"one of {', '.join(methods)}, or its column", control)


def _stepwise(p: Array) -> tuple[Array, Array]:
    """Return the p values adjusted by Holm and by Hochberg."""
    order = np.argsort(p)
    scaled = p[order] * np.arange(len(p), 0, -1)
    holm, hochberg = np.empty_like(p), np.empty_like(p)
    holm[order] = np.minimum(1, np.maximum.accumulate(scaled))
    hochberg[order] = np.minimum.accumulate(scaled[::-1])[::-1]
    return holm, np.minimum(1, hochberg)
