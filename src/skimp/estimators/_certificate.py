"""Certificates: the quality of a fit, what it chose, and what it cost."""

from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg, sparse

from skimp._core._html import table
from skimp._core._linalg import cholesky, condition_number
from skimp._core._lines import Lined, Lines, brief
from skimp._core._threads import single_threaded_blas
from skimp._core._types import Array, Matrix
from skimp._params._memory import readable
from skimp.choice import Phase
from skimp.data import ArrayRows, Codes
from skimp.estimators._fitted import SAMPLE_ROWS, Fitted
from skimp.features import Basis, FeatureMap, Landmarks
from skimp.kernels import Precomputed
from skimp.solvers import Status

_PAIRS = 500
_EPS = float(np.finfo(np.float64).eps)
_CROWDED = 0.5
"""Effective dimension, as a share of the size, above which the size limits a model."""
_CONSTANT = 0.5
"""Effective dimension below which a model is nearly constant."""
_ADVICE = {
    Status.MAX_ITER.value: "raise max_iter, scale the columns, or choose a larger alpha",
    Status.STALLED.value: "rounding errors; scale the columns, or choose a larger alpha",
    Status.TIME_LIMIT.value: "raise time_limit",
}
"""What to do if a solver stopped before its tolerance."""


@dataclass(frozen=True, repr=False)
class Certificate(Lined):
    r"""Quality, choices and cost of a fit.

    Attributes
    ----------
    status : str
        Why the solver stopped: the value of a `skimp.solvers.Status`, such as "converged".
    approximation : str
        The feature map, as you would write it; "exact" if every row is a landmark.
    kernel : str or None
        The kernel with its numbers. None for maps without a kernel, such as a linear model.
    columns : str
        Scaling of the columns: "as given", or the scaling that lowered the held-out error. If one
        column holds nearly all of the variance of X, its name follows.
    size : int
        Number of basis functions: landmarks or features. Landmarks that depend linearly on others
        do not count.
    size_given : bool
        Whether the size was given; otherwise the search chose it.
    rows : int or None
        Number of rows fitted, if a limit excluded some.
    alpha : float
        Strength of the penalty.
    residual_trace : float or None
        Share of the kernel that the landmarks miss: the sum of
        :math:`k(x, x) - k(x, B) K_{mm}^+ k(B, x)` over a sample of 1,000 rows, divided by the sum
        of :math:`k(x, x)`. None for random features, whose kernel is right on average.
    kernel_error : float or None
        Relative error of the kernel matrix of 500 rows, in the Frobenius norm.
    effective_dimension : float
        Number of directions that the model uses: the trace of
        :math:`\tilde K (\tilde K + n \alpha I)^{-1}`, over all rows if the solver knows it and
        over the sample otherwise. The sample cannot show more directions than it has rows. With an
        L1 penalty, the number of features in use.
    condition_number : float or None
        Condition number of the kernel matrix of the landmarks, in the 1-norm. It is infinite, and
        not printed, if the matrix is singular up to rounding.
    kernel_evaluations : int
        Number of kernel values that the fit computed, trials included.
    phases : tuple of Phase
        Measured seconds and planned bytes of "search", "map" and "solve".
    trials : tuple of dict
        Models that the search tried: ``map``, ``kernel``, ``columns``, ``size``, ``rows``,
        ``alpha``, ``error`` (the squared error on rows that the model was not fitted to) and
        ``seconds``.
    reason : str
        Why the search stopped. Empty if there was no search.
    solver : str
        Message of the solver.
    """

    status: str
    approximation: str
    kernel: str | None
    columns: str
    size: int
    size_given: bool
    rows: int | None
    alpha: float
    residual_trace: float | None
    kernel_error: float | None
    effective_dimension: float
    condition_number: float | None
    kernel_evaluations: int
    phases: tuple[Phase, ...]
    trials: tuple[dict[str, Any], ...]
    reason: str
    solver: str

    def to_dict(self) -> dict[str, Any]:
        """Return the attributes by name, as numbers, texts, lists and dicts."""
        record = asdict(self)
        return {**record, "phases": list(record["phases"]), "trials": list(record["trials"])}

    @property
    def seconds(self) -> float:
        """Seconds that all phases took together."""
        return sum(phase.seconds for phase in self.phases)

    @property
    def verdict(self) -> str:
        """Whether the solver converged, and whether the size limits the model."""
        if self.status in _ADVICE:
            return f"not converged: {_ADVICE[self.status]}"
        if self.kernel is None or self.approximation == "exact":
            kind = "the exact model" if self.kernel else "a model without a kernel"
            return f"{self.status}; {kind}"
        if self.effective_dimension < _CONSTANT:
            return f"{self.status}; the model is nearly constant"
        used = f"the model uses {self.effective_dimension:,.0f} of {self.size:,} directions"
        if self.rows is not None:
            return f"{self.status}; a limit allows only {self.rows:,} rows, {used}"
        if not self.size_given:
            return f"{self.status}; the search chose the size, {used}"
        if self.effective_dimension > _CROWDED * self.size:
            return f"{self.status}; a larger size may help, {used}"
        # a sample of rows cannot show more directions than it has rows
        if self.effective_dimension > _CROWDED * SAMPLE_ROWS:
            return f"{self.status}; {used}"
        return f"{self.status}; the size is large enough, {used}"

    def _lines(self) -> Lines:
        measured = {
            "residual trace": self.residual_trace,
            "kernel error": self.kernel_error,
            "condition number": self.condition_number,
        }
        known = {name: x for name, x in measured.items() if x is not None and np.isfinite(x)}
        tried = [("trials", f"{len(self.trials)}; {self.reason}")] if self.trials else []
        return [
            (f"fit in {self.seconds:.2g} s", self.verdict),
            ("approximation", brief(self.approximation)),
            ("kernel", brief(str(self.kernel))),
            ("columns", self.columns),
            ("size", f"{self.size:,}"),
            ("alpha", f"{self.alpha:.3g}"),
            ("effective dimension", f"{self.effective_dimension:,.0f}"),
            *((name, f"{value:.2g}") for name, value in known.items()),
            ("kernel evaluations", f"{self.kernel_evaluations:,}"),
            ("seconds", ", ".join(f"{p.name} {p.seconds:.2g}" for p in self.phases)),
            ("memory", readable(max((p.bytes for p in self.phases), default=0))),
            *tried,
            ("solver", self.solver),
        ]

    def _repr_html_(self) -> str:
        page = super()._repr_html_()
        if not self.trials:
            return page
        header = ("map", "kernel", "columns", "size", "rows", "alpha", "error", "seconds")
        cells = [
            [f"{v:.3g}" if isinstance(v, float) else brief(f"{v}") for v in trial.values()]
            for trial in self.trials
        ]
        return page + table(header, cells, "trials")


def certify(fitted: Fitted) -> Certificate:
    """Combine the record of a fit with the quality of its basis on a sample of rows."""
    spec, choice, solution = fitted.spec, fitted.choice, fitted.solution
    kernel = fitted.feature_map.kernel_
    quality = measure_quality(
        fitted.feature_map,
        fitted.sample.X,
        fitted.sample.weights(),
        fitted.alpha,
        centred=spec.fit_intercept,
    )
    return Certificate(
        status=solution.status.value,
        approximation="exact" if spec.exact else repr(choice.approximation),
        kernel=None if kernel is None else repr(kernel),
        columns=choice.columns,
        size=fitted.basis.width,
        size_given=spec.exact or spec.approximation is not None,
        rows=choice.n_rows,
        alpha=fitted.alpha,
        residual_trace=quality.residual_trace,
        kernel_error=quality.kernel_error,
        effective_dimension=quality.dimension if solution.dimension is None else solution.dimension,
        condition_number=quality.condition_number,
        kernel_evaluations=fitted.kernel_evaluations,
        phases=fitted.phases,
        trials=tuple(trial.to_dict() for trial in choice.trials),
        reason=choice.reason,
        solver=solution.message,
    )


class Quality(NamedTuple):
    """Quality of a basis, measured on a sample of rows."""

    residual_trace: float | None
    kernel_error: float | None
    dimension: float
    condition_number: float | None


def measure_quality(
    feature_map: FeatureMap | Landmarks,
    X: Matrix,
    weight: Array,
    alpha: float,
    *,
    centred: bool = False,
) -> Quality:
    """Measure a fitted map on weighted rows, for a penalty alpha.

    Set ``centred`` if the model has an intercept: it absorbs the mean of the features.
    """
    kernel, landmarks, share = feature_map.kernel_, feature_map.landmarks_, weight / weight.sum()
    if isinstance(kernel, Precomputed):
        kernel = None  # its matrix may lack columns for these rows
    residual = error = None
    with single_threaded_blas():
        Z = _coordinates(feature_map.basis(), X)
        if kernel is not None:
            own = kernel.diag(X)
            if feature_map.nested and share @ own > 0:
                squares = Z.multiply(Z) if sparse.issparse(Z) else Z**2
                missed = np.clip(own - np.asarray(squares.sum(axis=1)).ravel(), 0, None)
                residual = float(share @ missed / (share @ own))
            K, A = kernel(X[:_PAIRS]), Z[:_PAIRS] @ Z[:_PAIRS].T
            norm = float(np.linalg.norm(K))
            error = float(np.linalg.norm(K - A)) / norm if norm else 0.0
        values = _spectrum(Z, share, centred)
        condition = None if landmarks is None else condition_number(landmarks.penalty)
    return Quality(residual, error, float((values / (values + alpha)).sum()), condition)


def _spectrum(Z: Any, share: Array, centred: bool) -> Array:
    """Return the eigenvalues of the weighted covariance (or second moments) of features."""
    roots = np.sqrt(share)[:, None]
    if Z.shape[1] <= Z.shape[0] and not sparse.issparse(Z):
        Z = roots * (Z - share @ Z if centred else Z)
        G = Z.T @ Z
    else:
        G = Z @ Z.T
        G = np.asarray(G.todense() if sparse.issparse(G) else G)
        if centred:
            G = G - share @ G
            G = G - (G @ share)[:, None]
        G = roots * G * roots.T
    values: Array = np.linalg.eigvalsh(G).clip(0)
    return values


def _coordinates(basis: Basis, X: Matrix) -> Any:
    """Return features such that the norm of a model is the norm of its coefficients."""
    block = ArrayRows(X).mapped(basis).collect().X
    if isinstance(block, Codes):
        return block.tocsr().astype(np.float64)
    Z = np.asarray(block, np.float64)
    if basis.penalty is None:
        return Z
    R = basis.factor
    R = cholesky(basis.penalty, jitter=8 * _EPS * len(basis.penalty)) if R is None else R
    return linalg.solve_triangular(R, Z.T, trans="T").T
