"""Effects of a fitted model: pointwise, on average, and along one column."""

from typing import Any

import numpy as np
from scipy import stats

from skimp._core._blocks import Scratch
from skimp._core._linalg import dense
from skimp._core._types import Array
from skimp._core._work import DOUBLE
from skimp._params._memory import require_memory
from skimp._params._rules import BOOLEAN, FRACTION, NONE, broken, check_values, integer, one_of
from skimp.data import ArrayRows, Block, Rows
from skimp.effects._design import Design, Term
from skimp.effects._fit import Fitted
from skimp.effects._functionals import Functionals
from skimp.effects._levels import MISSING
from skimp.effects._summary import EffectsSummary, Expectation, summarize

_CLOSE = 0.9
"""Effective parameters per row above which the error variance is unreliable."""
_CONSTANT = 0.5
"""Effective parameters, besides the intercept, below which the fit is nearly constant."""
_BLOCK_ENTRIES = 2**22
"""Entries of a block of kernel values."""
_RULES = {
    "corrected": NONE | BOOLEAN,
    "errors": one_of("classical", "robust", "clustered"),
    "level": FRACTION,
    "n_points": integer(at_least=2),
}


def predict_at(fitted: Fitted, rows: Rows, return_std: bool) -> Any:
    """Return predictions, and their standard errors if ``return_std``."""
    fit, scaled, shape = fitted.fit, rows.mapped(fitted.design), (fitted.dual.shape[1],)

    def values(block: Block, _: Scratch) -> Array:
        return np.asarray(block.X @ fitted.dual + fitted.constant)

    def errors(block: Block, _: Scratch) -> Array:
        return np.sqrt(fit.variances(fit.coordinates(block.X.T, constant=1.0)))

    compute, dtype = fitted.context.compute, rows.dtype
    F = fitted.outputs(compute(scaled.mapped(fitted.points), values, shape, dtype))
    if not return_std:
        return F
    mapped = scaled.mapped(fitted.models.basis)
    return F, fitted.outputs(compute(mapped, errors, shape, dtype))


def effects_at(fitted: Fitted, rows: Rows, return_std: bool) -> Any:
    """Return effects at each row, and their classical standard errors if ``return_std``."""
    functionals, fit = fitted.functionals(fitted.design.terms), fitted.fit
    effects = fitted.outputs(_pointwise(fitted, rows, functionals))
    if not return_std:
        return effects
    shape, one = (len(functionals.terms), fitted.dual.shape[1]), np.ones(1)

    def errors(block: Block, _: Scratch) -> Array:
        L = np.hstack([functionals.sums(block.X[i : i + 1], one) for i in range(block.size)])
        variances = fit.variances(fit.coordinates(fitted.gather(L)))
        return np.sqrt(variances).reshape(block.size, *shape)

    few = _scale(fitted, rows, shape[0])
    return effects, fitted.outputs(fitted.context.compute(few, errors, shape, DOUBLE))


def _pointwise(fitted: Fitted, rows: Rows, functionals: Functionals) -> Array:
    """Return effects at each row, of shape (n, n_terms, k)."""

    def of_block(block: Block, _: Scratch) -> Array:
        return functionals.pointwise(block.X, fitted.dual)

    shape = len(functionals.terms), fitted.dual.shape[1]
    return fitted.context.compute(_scale(fitted, rows), of_block, shape, DOUBLE)


def average(fitted: Fitted, rows: Rows, functionals: Functionals) -> Array:
    """Return functionals averaged over rows, as functionals of the basis."""

    def of_block(block: Block, _: Scratch) -> tuple[Array, float]:
        weight = block.weights()
        return functionals.sums(block.X, weight), float(weight.sum())

    def add(a: tuple[Array, float], b: tuple[Array, float]) -> tuple[Array, float]:
        return a[0] + b[0], a[1] + b[1]

    initial = np.zeros((fitted.points.width, len(functionals.terms))), 0.0
    sums, weight = fitted.context.map_reduce(_scale(fitted, rows), of_block, add, initial)
    return fitted.gather(sums / weight)


def _scale(fitted: Fitted, rows: Rows, n_values: int = 1) -> Rows:
    """Return scaled rows in blocks small enough for ``n_values`` kernel values per pair."""
    size = max(1, _BLOCK_ENTRIES // (n_values * fitted.points.width))
    return rows.reblocked(min(rows.block_rows, size)).mapped(fitted.design)


def summarize_terms(fitted: Fitted, rows: Rows, **asked: Any) -> EffectsSummary:
    """Return the table of all terms; see `skimp.KRLS.summary`."""
    terms = fitted.design.terms
    names, kinds = [term.name for term in terms], [term.kind for term in terms]
    return _summarize("summary", fitted, rows, [fitted.functionals(terms)], names, kinds, **asked)


def summarize_interaction(
    fitted: Fitted, rows: Rows, first: str | int, second: str | int, **asked: Any
) -> EffectsSummary:
    """Return the table of pairs of terms; see `skimp.KRLS.interaction`."""
    ones = _find_terms(fitted.design, first, "first")
    others = _find_terms(fitted.design, second, "second")
    kind, derivatives = "change of the effect", ones[0].high is None and others[0].high is None
    if ones[0].column == others[0].column and not derivatives:
        raise broken("interaction", "second", "a term of another column", second)
    if derivatives:
        kind = "second derivative"
        if fitted.functionals(ones).kinked():
            raise broken("interaction", "kernel", "twice differentiable", fitted.points.kernel)
    names = [f"{one.name} x {other.name}" for other in others for one in ones]
    parts = [fitted.functionals(ones, other) for other in others]
    return _summarize("interaction", fitted, rows, parts, names, [kind] * len(names), **asked)


def _summarize(
    owner: str,
    fitted: Fitted,
    rows: Rows,
    parts: list[Functionals],
    names: list[str],
    kinds: list[str],
    *,
    errors: str,
    groups: Any,
    level: float,
    corrected: bool | None,
) -> EffectsSummary:
    check_values(owner, _RULES, level=level, corrected=corrected)
    groups = _find_groups(owner, fitted, errors, groups)
    fit, like_r = fitted.fit, fitted.spec.like_r
    corrected = not like_r if corrected is None else corrected
    pointwise = np.concatenate([_pointwise(fitted, rows, part) for part in parts], axis=1)
    weight = rows.weights(fitted.context)
    q = fit.coordinates(np.hstack([average(fitted, rows, part) for part in parts]))
    q = fit.corrected(q) if corrected else q
    covariance = fit.covariances(q, errors, groups)
    if like_r:
        # R multiplies the standard errors of differences by the root of two
        differ = [term.high is not None for part in parts for term in part.terms]
        factors = np.where(differ, np.sqrt(2.0), 1.0)
        covariance = covariance * np.outer(factors, factors)
    return summarize(
        pointwise,
        np.ones(len(pointwise)) if weight is None else weight,
        covariance,
        fit.estimates(q) if corrected else None,
        names=names,
        kinds=kinds,
        # groups are numbered from zero, so the largest number is one less than their count
        freedom=fitted.freedom if groups is None else float(groups.max()),
        level=level,
        facts={
            "rows": f"{len(pointwise):,}",
            "fitted": f"{fit.n_rows:,}",
            "alpha": f"{fit.alpha:.3g}",
            "effective parameters": f"{fit.dimension:.1f}",
            "R2": ", ".join(f"{value:.4f}" for value in r_squared(fitted)),
            "error s.d.": ", ".join(f"{value:.4g}" for value in np.sqrt(fit.noise)),
            "errors": errors,
        },
        notes=_note(fitted, level, corrected),
    )


def r_squared(fitted: Fitted) -> Array:
    """Return R squared on the fitted rows."""
    fit, squares = fitted.fit, fitted.fit.squares
    if fitted.spec.like_r:
        # R uses the variance of the residuals; without an intercept their mean is not zero
        errors, _, root = fit.residuals
        squares = squares - np.square((root * errors).sum(axis=0)) / fit.n_rows
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(1 - squares / fit.total)


def _note(fitted: Fitted, level: float, corrected: bool) -> list[str]:
    fit, spec = fitted.fit, fitted.spec
    notes = [f"ci_low and ci_high are a nominal {100 * level:g} % confidence interval."]
    if corrected:
        notes += [
            "effect, std_error, t, p and the interval refer to shrinkage-corrected averages.",
            "mean, q25, q50 and q75 summarize the pointwise effects.",
        ]
    else:
        notes.append("effect is the mean of the pointwise effects, not corrected for shrinkage.")
    if spec.like_r:
        notes.append("Formulas are those of R's package KRLS.")
    if fit.dimension - spec.fit_intercept < _CONSTANT:
        notes.append(
            "The penalty shrinks the fit to a constant: the intervals say nothing about effects."
        )
    if fit.dimension > _CLOSE * fit.n_rows:
        notes.append("The fit nearly interpolates: estimates are unreliable.")
    if spec.approximation is not None:
        given = spec.approximation.conditional.format(len(fit.coef))
        notes.append(f"Standard errors are conditional on {given}.")
    return notes


def _find_groups(owner: str, fitted: Fitted, errors: str, groups: Any) -> Array | None:
    """Return the group number of each fitted row, or None without clustered errors.

    Groups may be given for all training rows, or for those with positive weight.
    """
    check_values(owner, _RULES, errors=errors)
    if errors == "clustered" and groups is None:
        raise broken(owner, "groups", "one group per training row if errors='clustered'", None)
    if errors != "clustered" and groups is not None:
        raise broken(owner, "groups", f"None if errors={errors!r}", f"shape {np.shape(groups)}")
    if groups is None:
        return None
    groups, n, present = np.asarray(groups), fitted.data.rows.n_rows, fitted.data.present
    given = fitted.data.n_given
    if groups.ndim != 1 or len(groups) not in (n, given):
        raise broken(
            owner,
            "groups",
            f"an array with one group for each of the {n} training rows",
            groups.shape,
        )
    if any(str(group) in MISSING for group in groups.tolist()):
        raise broken(owner, "groups", "known for every row", "a missing value")
    if present is not None and len(groups) == given:
        groups = groups[present.origin(np.arange(n))]
    if fitted.models.sampled is not None:
        groups = groups[fitted.models.sampled]
    # objects of different types cannot be sorted
    groups = groups.astype(str) if groups.dtype == object else groups
    found, codes = np.unique(groups, return_inverse=True)
    if len(found) < 2:
        raise broken(owner, "groups", "at least two different groups", found.tolist())
    return np.asarray(codes)


def covariance_of(fitted: Fitted, errors: str, groups: Any) -> Array:
    """Return the covariance of the coefficients; see `skimp.KRLS.vcov`."""
    fit, size = fitted.fit, len(fitted.fit.coef)
    needed = 32 * size * max(size, 0 if errors == "classical" else fit.n_rows)
    what = f"the covariance of {size} coefficients"
    require_memory(needed, fitted.spec.memory_limit, what, "take an approximation")
    groups = _find_groups("vcov", fitted, errors, groups)
    found = fit.covariances(fit.coordinates(np.eye(size)), errors, groups)
    return found[0] if fitted.data.single_output else found


def values_of(fitted: Fitted, rows: Rows, column: str | int) -> tuple[str, Array]:
    """Return a column's name and values; see `skimp.KRLS.column_values`."""
    design = fitted.design
    j = _find_number(column, design.names, "column_values", "column")
    values = fitted.context.compute(rows, lambda block, _: dense(block.X, DOUBLE)[:, j], (), DOUBLE)
    return design.names[j], design.decoded(j, values)


def expect_along(fitted: Fitted, column: str | int, n_points: int, level: float) -> Expectation:
    """Return the expectation along a column; see `skimp.KRLS.expectation`."""
    check_values("expectation", _RULES, n_points=n_points, level=level)
    design = fitted.design
    j = _find_number(column, design.names, "expectation", "column")
    values = design.values_along(j, n_points)
    rows = np.tile(design.typical, (len(values), 1))
    rows[:, j] = values
    mean, error = predict_at(fitted, ArrayRows(rows), return_std=True)
    reach = stats.t.ppf((1 + level) / 2, fitted.freedom) * error
    shown = design.decoded(j, values)
    return Expectation(design.names[j], shown, mean, error, mean - reach, mean + reach, level)


def _find_terms(design: Design, given: str | int, role: str) -> list[Term]:
    """Return a term by name or number, or all terms of a categorical column."""
    terms = [term.name for term in design.terms]
    names = {design.names[j]: j for j in design.levels}
    if isinstance(given, str) and given in names and given not in terms:
        found = [term for term in design.terms if term.column == names[given]]
        if not found:
            raise broken("interaction", role, "a column with at least two levels", given)
        return found
    return [design.terms[_find_number(given, terms, "interaction", role, [*terms, *names])]]


def _find_number(
    given: str | int, names: list[str], owner: str, role: str, known: list[str] | None = None
) -> int:
    """Return the position of a name, or check a given position; errors list ``known`` names."""
    if isinstance(given, str) and given in names:
        return names.index(given)
    if integer(at_least=0, at_most=len(names) - 1).test(given):
        return int(given)
    raise broken(owner, role, f"one of {known or names}, or its number", given)
