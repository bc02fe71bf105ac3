"""What KRLS tells about its columns: effects, tables of them, and expectations."""

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from scipy import stats
from sklearn.utils.validation import check_is_fitted

from skimp._core._blocks import Scratch
from skimp._core._linalg import dense
from skimp._core._types import Array
from skimp._params._memory import require_memory
from skimp._params._rules import BOOLEAN, FRACTION, NONE, Rule, broken, check_values, integer
from skimp.data import ArrayRows, Block, Rows
from skimp.effects._approximation import Approximation
from skimp.effects._design import Design, Term
from skimp.effects._error_groups import known_errors
from skimp.effects._functionals import Functionals
from skimp.effects._random_sums import RandomSums
from skimp.effects._summary import EffectsSummary, Expectation, summarize
from skimp.features import Landmarks
from skimp.kernels import Kernel
from skimp.solvers._smoother import Errors, LinearFit

_DOUBLE = np.dtype(np.float64)
_CLOSE = 0.9
"""Share of the rows whose number of effective parameters leaves little to tell errors from."""
_BLOCK_ENTRIES = 2**22
"""Entries of a block of kernel values."""

_RULES: dict[str, Rule] = {
    "corrected": NONE | BOOLEAN,
    "level": FRACTION,
    "n_points": integer(at_least=2),
}


class Effects(ABC):
    """Effects of a fitted model that is linear in its targets."""

    alpha_: float
    kernel_: Kernel
    memory_limit: int | str | None
    convention: str
    terms_: list[str]
    _rows: Rows
    _present: Array | None
    _fitted_rows: Array | None
    _design: Design
    _approximation: Approximation | None
    _basis: Landmarks | RandomSums
    _points: Landmarks
    _dual: Array
    _constant: Array
    _fit: LinearFit
    _single_output: bool

    def effects(self, X: Any = None, return_std: bool = False) -> Any:
        """Return the effect of each term at each row.

        The derivative of the fitted function in a column of numbers, per unit of the column; the
        difference between its two values for a column of two; the difference from the first level
        for each other level of a column of categories.

        Parameters
        ----------
        X : array, CSR matrix, frame or Rows of shape (n, d), optional
            Where to take them; the rows of ``fit``, those of weight zero left out, by default.
        return_std : bool, default=False
            Whether to return their classical standard errors as well, which take a solution for
            each of them.

        Returns
        -------
        array of shape (n, n_terms) or (n, n_terms, k), or a tuple of two
            A column for each of ``terms_``.
        """
        rows = self._where(X)
        functionals = self._functionals(self._design.terms)
        effects = self._outputs(self._pointwise(rows, functionals))
        if not return_std:
            return effects
        shape = len(self._design.terms), self._dual.shape[1]

        def errors(block: Block, _: Scratch) -> Array:
            L = np.hstack([functionals.sums(block.X[i : i + 1], _ONE) for i in range(block.size)])
            variances = self._fit.variances(self._fit.coordinates(self._gathered(L)))
            return np.sqrt(variances).reshape(block.size, *shape)

        few = self._blocked(rows, shape[0])
        return effects, self._outputs(few.computed(errors, shape, np.float64))

    def summary(
        self,
        X: Any = None,
        *,
        errors: str = "classical",
        groups: Any = None,
        level: float = 0.95,
        corrected: bool | None = None,
    ) -> EffectsSummary:
        """Return average effects with standard errors, and how effects vary.

        Parameters
        ----------
        X : array, CSR matrix, frame or Rows of shape (n, d), optional
            Rows to average over; those of ``fit``, with their weights, by default.
        errors : str, default="classical"
            What is taken for granted of the errors of y: "classical", that they have equal
            variances and are independent; "robust", that they are independent; "clustered", that
            those of different groups are.
        groups : array of shape (n,), optional
            The group of each row of ``fit``, for "clustered".
        level : float, default=0.95
            Nominal coverage of the intervals.
        corrected : bool or None, default=None
            Whether effects, and with them standard errors, t, p and intervals, are corrected for
            the shrinkage of the penalty, which moves averages by up to a standard error. False
            takes means of the pointwise effects. None is True, but False for ``convention="R"``.

        Returns
        -------
        EffectsSummary
        """
        check_is_fitted(self)
        terms = self._design.terms
        names, kinds = [term.name for term in terms], [term.kind for term in terms]
        parts = [self._functionals(terms)]
        return self._summarized("summary", X, parts, names, kinds, errors, groups, level, corrected)

    def interaction(
        self,
        first: str | int,
        second: str | int,
        X: Any = None,
        *,
        errors: str = "classical",
        groups: Any = None,
        level: float = 0.95,
        corrected: bool | None = None,
    ) -> EffectsSummary:
        """Return how much the effect of one term changes with another one.

        The second derivative for two columns of numbers, or the curvature if they are the same;
        differences of derivatives or of differences for others.

        Parameters
        ----------
        first, second : str or int
            Terms, by their names or numbers in ``terms_``; or names of columns of categories, for
            all of their levels.
        X, errors, groups, level, corrected
            As in `summary`.

        Returns
        -------
        EffectsSummary
            With an effect for each pair of terms, and ``pointwise`` the interactions at each row.
        """
        check_is_fitted(self)
        ones, others = self._terms(first, "first"), self._terms(second, "second")
        differ = any(term.high is not None for term in (*ones, *others))
        if ones[0].column == others[0].column and differ:
            raise broken("interaction", "second", "a term of another column", second)
        kind = "change of the effect"
        if ones[0].high is None and others[0].high is None:
            kind = "second derivative"
            if self._functionals(ones).kinked(ones[0].column):
                raise broken("interaction", "kernel", "twice differentiable", self.kernel_)
        names = [f"{one.name} x {other.name}" for other in others for one in ones]
        kinds = [kind] * len(names)
        parts = [self._functionals(ones, other) for other in others]
        return self._summarized(
            "interaction", X, parts, names, kinds, errors, groups, level, corrected
        )

    def expectation(
        self, column: str | int, *, n_points: int = 50, level: float = 0.95
    ) -> Expectation:
        """Return what is expected of y along one column, with the others at typical values.

        Numbers are at their mean, columns of two values and of categories at the most frequent one.

        Parameters
        ----------
        column : str or int
            The column, by name or number.
        n_points : int, default=50
            Points between the least and the largest value of a column of numbers.
        level : float, default=0.95
            Nominal coverage of the bands at each point.

        Returns
        -------
        Expectation
        """
        check_is_fitted(self)
        check_values("expectation", _RULES, n_points=n_points, level=level)
        design = self._design
        j = _number(column, design.names, "expectation", "column")
        values = design.values_along(j, n_points)
        rows = np.tile(design.typical, (len(values), 1))
        rows[:, j] = values
        scaled = ArrayRows(rows).mapped(design)
        k = self._dual.shape[1]

        def found(block: Block, _: Scratch) -> Array:
            L = self._gathered(self._points.block(block.X).T)
            q = self._fit.coordinates(L, constant=1.0)
            mean = L.T @ self._fit.coef + self._constant
            return np.stack([mean, np.sqrt(self._fit.variances(q))], axis=1)

        mean, error = np.moveaxis(scaled.computed(found, (2, k), np.float64), 1, 0)
        reach = stats.t.ppf((1 + level) / 2, self._freedom) * error
        return Expectation(
            column=design.names[j],
            values=design.decoded(j, values),
            mean=self._outputs(mean),
            std_error=self._outputs(error),
            ci_low=self._outputs(mean - reach),
            ci_high=self._outputs(mean + reach),
            level=level,
        )

    def column_values(self, column: str | int, X: Any = None) -> tuple[str, Array]:
        """Return the name of a column and its values: what effects can be drawn against.

        Parameters
        ----------
        column : str or int
            The column, by name or number.
        X : array, CSR matrix, frame or Rows of shape (n, d), optional
            The rows; those of ``fit`` by default.
        """
        rows = self._where(X)
        design = self._design
        j = _number(column, design.names, "column_values", "column")
        values = rows.computed(lambda block, _: dense(block.X, _DOUBLE)[:, j], (), np.float64)
        return design.names[j], design.decoded(j, values)

    def vcov(self, *, errors: str = "classical", groups: Any = None) -> Array:
        """Return the covariance of the coefficients ``coef_``.

        Parameters
        ----------
        errors, groups
            As in `summary`.

        Returns
        -------
        array of shape (m, m) or (k, m, m)
        """
        check_is_fitted(self)
        size = len(self._fit.coef)
        rows = size if errors == "classical" else self._fit.n_rows
        require_memory(
            32 * size * max(rows, size),
            self.memory_limit,
            f"the covariance of {size} coefficients",
            "take an approximation",
        )
        q = self._fit.coordinates(np.eye(size))
        found = self._fit.covariances(q, self._errors("vcov", errors, groups))
        return found[0] if self._single_output else found

    def _summarized(
        self,
        owner: str,
        X: Any,
        parts: list[Functionals],
        names: list[str],
        kinds: list[str],
        errors: str,
        groups: Any,
        level: float,
        corrected: bool | None,
    ) -> EffectsSummary:
        rows = self._where(X)
        check_values(owner, _RULES, level=level, corrected=corrected)
        known = self._errors(owner, errors, groups)
        corrected = self.convention != "R" if corrected is None else corrected
        pointwise = np.concatenate([self._pointwise(rows, part) for part in parts], axis=1)
        weight = rows.weights()
        weight = np.ones(len(pointwise)) if weight is None else weight
        L = np.hstack([self._averages(rows, part) for part in parts])
        q = self._fit.coordinates(self._gathered(L))
        q = self._fit.corrected(q) if corrected else q
        return summarize(
            pointwise,
            weight,
            self._covariances(q, known, parts),
            self._fit.estimates(q) if corrected else None,
            names=names,
            kinds=kinds,
            # groups are numbered from zero on: one less than there are
            freedom=self._freedom if known.groups is None else float(known.groups.max()),
            level=level,
            facts=self._facts(len(pointwise), errors),
            notes=self._notes(level, corrected),
        )

    def _covariances(self, q: Array, errors: Errors, parts: list[Functionals]) -> Array:
        """Return covariances of functionals, with R's factor for differences."""
        found = self._fit.covariances(q, errors)
        if self.convention != "R":
            return found
        factors = np.concatenate([np.where(part.are_differences, _TWICE, 1.0) for part in parts])
        return np.asarray(found * np.outer(factors, factors))

    def _where(self, X: Any) -> Rows:
        check_is_fitted(self)
        return self._rows if X is None else self._opened(X)

    @abstractmethod
    def _opened(self, X: Any) -> Rows:
        """Return rows of the user's, with the columns of ``fit``."""

    def _functionals(self, terms: list[Term], by: Term | None = None) -> Functionals:
        return Functionals(self._points, self._design, terms, by)

    def _blocked(self, rows: Rows, n_values: int = 1) -> Rows:
        """Return scaled rows in blocks whose kernel values, some for each pair, stay small."""
        size = max(1, _BLOCK_ENTRIES // (n_values * self._points.width))
        return rows.copy_with(block_rows=min(rows.block_rows, size)).mapped(self._design)

    def _pointwise(self, rows: Rows, functionals: Functionals) -> Array:
        """Return effects of shape (n, n_terms, k)."""
        shape = functionals.n_terms, self._dual.shape[1]
        return self._blocked(rows).computed(
            lambda block, _: functionals.pointwise(block.X, self._dual), shape, np.float64
        )

    def _averages(self, rows: Rows, functionals: Functionals) -> Array:
        """Return averages of functionals over rows, as functionals of kernel columns."""

        def of_block(block: Block, _: Scratch) -> tuple[Array, float]:
            weight = np.ones(block.size) if block.weight is None else block.weight
            return functionals.sums(block.X, weight), float(weight.sum())

        def add(total: tuple[Array, float], part: tuple[Array, float]) -> tuple[Array, float]:
            return total[0] + part[0], total[1] + part[1]

        initial = np.zeros((self._points.width, functionals.n_terms)), 0.0
        sums, weight = self._blocked(rows).map_reduce(of_block, add, initial)
        return np.asarray(sums / weight)

    def _gathered(self, L: Array) -> Array:
        """Return functionals of kernel columns as functionals of the model's functions."""
        return np.asarray(self._basis.mixing.T @ L) if isinstance(self._basis, RandomSums) else L

    def _outputs(self, values: Array) -> Array:
        return values[..., 0] if self._single_output else values

    @property
    def _freedom(self) -> float:
        return max(self._fit.freedom, 1.0)

    def _terms(self, given: str | int, role: str) -> list[Term]:
        """Return a term by name or number, or all terms of a column of categories."""
        design = self._design
        names = {design.names[j]: j for j in design.levels}
        if isinstance(given, str) and given in names and given not in self.terms_:
            found = [term for term in design.terms if term.column == names[given]]
            if not found:
                raise broken("interaction", role, "a column of two levels or more", given)
            return found
        known = [*self.terms_, *names]
        number = _number(given, self.terms_, "interaction", role, known)
        return [design.terms[number]]

    def _errors(self, owner: str, kind: str, groups: Any) -> Errors:
        n = self._rows.n_rows
        return known_errors(kind, groups, n, self._present, self._fitted_rows, owner=owner)

    def _facts(self, n_rows: int, errors: str) -> dict[str, str]:
        fit = self._fit
        return {
            "rows": f"{n_rows:,}",
            "fitted": f"{fit.n_rows:,}",
            "alpha": f"{self.alpha_:.3g}",
            "effective parameters": f"{fit.dimension:.1f}",
            "R2": ", ".join(f"{value:.4f}" for value in self._r_squared()),
            "error s.d.": ", ".join(f"{value:.4g}" for value in np.sqrt(fit.noise)),
            "errors": errors,
        }

    def _r_squared(self) -> Array:
        """Return the share of the variance of y that is explained, of the rows that were fitted."""
        fit = self._fit
        squares = fit.squares
        if self.convention == "R":
            # R takes the variance of the residuals, whose mean is not zero without an intercept
            squares = squares - np.square((fit.root * fit.residuals[0]).sum(axis=0)) / fit.n_rows
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(1 - squares / fit.total)

    def _notes(self, level: float, corrected: bool) -> list[str]:
        notes = [f"ci_low and ci_high are a nominal {100 * level:g} % confidence interval."]
        if corrected:
            notes += [
                "effect, std_error, t, p and the interval refer to shrinkage-corrected averages.",
                "mean, q25, q50 and q75 summarize the pointwise effects.",
            ]
        else:
            notes.append(
                "effect is the mean of the pointwise effects, not corrected for shrinkage."
            )
        if self.convention == "R":
            notes.append("Formulas are those of R's package KRLS.")
        if self._fit.dimension > _CLOSE * self._fit.n_rows:
            notes.append("The fit nearly interpolates: estimates are unreliable.")
        if self._approximation is not None:
            given = self._approximation.conditional.format(len(self._fit.coef))
            notes.append(f"Standard errors are conditional on {given}.")
        return notes


_ONE = np.ones(1)
_TWICE = np.sqrt(2.0)
"""R's factor for the standard errors of first differences."""


def _number(
    given: str | int, names: list[str], owner: str, role: str, known: list[str] | None = None
) -> int:
    """Return the number of a name, or a number that there is; ``known`` names are in the error."""
    if isinstance(given, str) and given in names:
        return names.index(given)
    if integer(at_least=0, at_most=len(names) - 1).test(given):
        return int(given)
    raise broken(owner, role, f"one of {known or names}, or its number", given)
