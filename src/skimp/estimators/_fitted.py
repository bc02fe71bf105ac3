"""The record of a fit."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from skimp._core._objects import as_real
from skimp._core._types import Array, DType, Matrix
from skimp._core._work import DOUBLE
from skimp.choice import Choice, Phase, Spec
from skimp.data import ArrayRows, Block, Context, Rows
from skimp.features import Basis, FeatureMap, Landmarks
from skimp.kernels import Linear
from skimp.solvers import Learner, Solution, as_features

if TYPE_CHECKING:
    from skimp.estimators._certificate import Certificate

SAMPLE_ROWS = 1000
"""Rows of the sample that a fit keeps for its certificate."""
_STRIP = 512
_ROUNDING = 1e-12
"""Squared distances below this share of the squared norms are rounding."""


@dataclass
class Clock:
    """Sums the seconds of each phase."""

    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Add the seconds of the block to a phase."""
        start = perf_counter()
        try:
            yield
        finally:
            self.seconds[name] = self.seconds.get(name, 0.0) + perf_counter() - start


class Model(NamedTuple):
    """A fitted map with coefficients, penalty, a sample of rows, and planned bytes by phase."""

    feature_map: FeatureMap | Landmarks
    solution: Solution
    alpha: float
    sample: Block
    bytes: dict[str, int]


class Stream(NamedTuple):
    """State between calls of ``partial_fit``, and the rows of the first call and of all calls."""

    learner: Learner
    first_rows: int
    n_rows: int


def predicting(coef: Array, basis: Basis, dtype: DType) -> Array:
    """Return coefficients in the precision of predictions."""
    # coefficients of kernel columns are large and cancel, so their products need float64
    single = basis.dtype == np.float32 and basis.penalty is None
    return coef.astype(dtype) if single else coef


@dataclass(frozen=True, eq=False)
class Fitted:
    """A fitted machine: what predictions, certificates and warm starts need.

    Attributes
    ----------
    spec : Spec
        The checked parameters.
    feature_map : FeatureMap or Landmarks
        The fitted map. For an exact model, all rows are landmarks.
    basis : Basis
        The basis functions of the model.
    solution : Solution
        Coefficients and intercept in float64, and the report of the solver.
    alpha : float
        The penalty.
    choice : Choice
        The choices of the search, with its trials.
    sample : Block
        Rows for the certificate and `typicality`.
    coef : array of shape (width, k)
        The coefficients, in the precision of predictions.
    dtype : dtype
        Data type of predictions.
    phases : tuple of Phase
        Measured seconds and planned bytes of each phase.
    kernel_evaluations : int
        Number of kernel values computed, trials included.
    recipe : object
        Parameters that a warm start must share with this fit. None if no fit can start from it.
    stream : Stream or None
        State of ``partial_fit``. None after a fit, which cannot be continued.
    """

    spec: Spec
    feature_map: FeatureMap | Landmarks
    basis: Basis
    solution: Solution
    alpha: float
    choice: Choice
    sample: Block
    coef: Array
    dtype: DType
    phases: tuple[Phase, ...]
    kernel_evaluations: int
    recipe: Any = None
    stream: Stream | None = None

    @cached_property
    def certificate(self) -> "Certificate":
        """The certificate, computed on first access."""
        from skimp.estimators._certificate import certify

        return certify(self)

    def predict(self, rows: Rows, context: Context) -> Array:
        """Return the outputs at checked rows, of shape (n, k)."""
        coef, k = self.coef, self.solution.coef.shape[1]

        def outputs(block: Block, _: object) -> Array:
            F = np.empty((block.size, k), self.dtype)
            for start in range(0, block.size, _STRIP):
                strip = slice(start, start + _STRIP)
                F[strip] = as_features(block.X[strip], coef.dtype) @ coef
            return F

        F = context.compute(rows.mapped(self.basis), outputs, (k,), self.dtype)
        F += self.solution.intercept.astype(self.dtype)
        return F

    def typicality(self, rows: Rows, context: Context) -> Array:
        r"""Return the share of sampled rows at least as far from their nearest neighbour.

        Neighbours are other rows of the sample. The squared distance is that of the kernel,
        :math:`k(x, x) - 2 k(x, y) + k(y, y)`, or of the features if the map has no kernel.
        """
        points: Rows = ArrayRows(self.sample.X)
        kernel = self.feature_map.kernel_
        if kernel is None:
            kernel = Linear()
            rows, points = rows.mapped(self.feature_map), points.mapped(self.feature_map)
        S = as_real(points.collect().X, DOUBLE)
        norms = kernel.diag(S, n_jobs=1)

        def distances(X: Matrix) -> Array:
            X = as_real(X, DOUBLE)
            sums = kernel.diag(X, n_jobs=1)[:, None] + norms
            found: Array = sums - 2 * kernel(X, S, n_jobs=1)
            # the distance of equal rows is zero up to rounding
            return np.where(found > _ROUNDING * sums, found, 0.0)

        own = distances(S)
        np.fill_diagonal(own, np.inf)
        nearest = np.sort(own.min(axis=1))

        def nearer(block: Block, _: object) -> Array:
            found: Array = np.searchsorted(nearest, distances(block.X).min(axis=1), side="left")
            return found

        counts = len(nearest) - context.compute(rows, nearer, (), np.float64)
        shared: Array = (1 + counts) / (1 + len(nearest))
        return shared
