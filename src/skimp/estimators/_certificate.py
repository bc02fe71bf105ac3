"""What a fit was like: how good its approximation is, what it chose, and what it cost."""

from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg, sparse

from skimp._core._html import table
from skimp._core._linalg import cholesky, condition_number
from skimp._core._threads import single_threaded_blas
from skimp._core._types import Array, Matrix
from skimp._params._memory import readable
from skimp.choice import Phase
from skimp.data import ArrayRows, Codes
from skimp.estimators._fitted import Fitted
from skimp.features import Basis, FeatureMap, Landmarks
from skimp.kernels import Precomputed

_PAIRS = 500
_EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class Certificate:
    r"""What a fit was like.

    Attributes
    ----------
    approximation : str
        The map, as it would be written.
    kernel : str or None
        Its kernel, with numbers for parameters.
    columns : str
        How columns are scaled: "as given", or what the search found to be better. A column that
        holds nearly all of the variance of X is named.
    size : int
        Number of basis functions: landmarks or features. Landmarks that others determine are left
        out, and a budget larger than the number of rows is that number.
    alpha : float
        The penalty.
    residual_trace : float or None
        Of landmarks, what they miss of the kernel: the sum of
        :math:`k(x, x) - k(x, B) K_{mm}^+ k(B, x)` as a share of that of k(x, x), over a sample of
        1,000 rows. None for random features, which are right on average instead.
    kernel_error : float or None
        Relative error of the kernel matrix of 500 rows, in the Frobenius norm.
    effective_dimension : float
        How many directions the model uses: the trace of
        :math:`\tilde K (\tilde K + n \alpha I)^{-1}`. That of all rows where the solver knows it,
        and else of the sample, to the number of whose rows it is limited.
    condition_number : float or None
        Of the kernel matrix of the landmarks, in the 1-norm.
    kernel_evaluations : int
        Kernel values that were computed, trials included.
    phases : tuple of Phase
        Seconds that "search", "map" and "solve" took, and the bytes that they were to hold.
    trials : tuple of dict
        What was tried before: ``map``, ``kernel``, ``columns``, ``size``, ``rows``, ``alpha``, the
        squared ``error`` of rows that were held out or left out one by one, and ``seconds``.
    reason : str
        Why the search stopped where it did; empty where there was none.
    solver : str
        What the solver says.
    """

    approximation: str
    kernel: str | None
    columns: str
    size: int
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
        """What all phases took."""
        return sum(phase.seconds for phase in self.phases)

    def _lines(self) -> list[tuple[str, str]]:
        numbers = {
            "residual trace": self.residual_trace,
            "kernel error": self.kernel_error,
            "effective dimension": self.effective_dimension,
            "condition number": self.condition_number,
        }
        lines = [
            ("approximation", " ".join(self.approximation.split())),
            ("kernel", str(self.kernel)),
            ("columns", self.columns),
            ("size", f"{self.size:,}"),
            ("alpha", f"{self.alpha:.3g}"),
        ]
        lines += [(name, f"{value:.4g}") for name, value in numbers.items() if value is not None]
        lines.append(("kernel evaluations", f"{self.kernel_evaluations:,}"))
        lines += [
            (phase.name, f"{phase.seconds:.3g} s, {readable(phase.bytes)}") for phase in self.phases
        ]
        if self.trials:
            lines.append(("chosen", f"in {len(self.trials)} trials: {self.reason}"))
        return [*lines, ("solver", self.solver)]

    def __str__(self) -> str:
        """Return a line for each number."""
        return "\n".join(f"{name:<20} {value}" for name, value in self._lines())

    __repr__ = __str__

    def _repr_html_(self) -> str:
        page = table(("certificate", ""), self._lines())
        if not self.trials:
            return page
        header = ("map", "kernel", "columns", "size", "rows", "alpha", "error", "seconds")
        cells = [
            [f"{v:.3g}" if isinstance(v, float) else f"{v}" for v in trial.values()]
            for trial in self.trials
        ]
        return page + table(header, cells, "trials")


def certify(fitted: Fitted) -> Certificate:
    """Put together what a fit kept, and what a sample of its rows says about the basis."""
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
        approximation="exact" if spec.solves_exactly else repr(choice.approximation),
        kernel=None if kernel is None else repr(kernel),
        columns=choice.columns,
        size=fitted.basis.width,
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
    """What a sample of rows says about a basis."""

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
    """Measure a fitted map on checked rows with weights, for a penalty.

    ``centred`` if the model has an intercept, which takes the mean of the features.
    """
    kernel, landmarks, share = feature_map.kernel_, feature_map.landmarks_, weight / weight.sum()
    if isinstance(kernel, Precomputed):
        kernel = None  # its matrix need not have columns for all rows
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
    """Return the eigenvalues of the weighted covariance, or second moments, of features."""
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
    """Return features in which the norm of a model is that of its coefficients."""
    block = ArrayRows(X).mapped(basis).collect().X
    if isinstance(block, Codes):
        return block.tocsr().astype(np.float64)
    Z = np.asarray(block, np.float64)
    if basis.penalty is None:
        return Z
    R = basis.factor
    R = cholesky(basis.penalty, jitter=8 * _EPS * len(basis.penalty)) if R is None else R
    return linalg.solve_triangular(R, Z.T, trans="T").T
