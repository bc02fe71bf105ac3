"""What a fit found, in one record."""

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
from skimp.solvers import Solution, as_features

if TYPE_CHECKING:
    from skimp.estimators._certificate import Certificate

SAMPLE_ROWS = 1000
"""Rows of the sample that a fit keeps for its certificate."""
_STRIP = 512
_ROUNDING = 1e-12
"""Squared distances up to this share of the squared norms are those of equal rows."""


@dataclass
class Clock:
    """Adds up the seconds that each phase took."""

    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Count what is done inside as this phase."""
        start = perf_counter()
        try:
            yield
        finally:
            self.seconds[name] = self.seconds.get(name, 0.0) + perf_counter() - start


class Model(NamedTuple):
    """A map with coefficients, a penalty and a sample of rows, and predicted bytes by phase."""

    feature_map: FeatureMap | Landmarks
    solution: Solution
    alpha: float
    sample: Block
    bytes: dict[str, int]


@dataclass(frozen=True, eq=False)
class Fitted:
    """A fitted machine: all that predictions, certificates and further fits need.

    Attributes
    ----------
    spec : Spec
        What was asked for.
    feature_map : FeatureMap or Landmarks
        The fitted map; landmarks at all rows if the model is exact.
    basis : Basis
        The functions of which predictions are sums.
    solution : Solution
        Coefficients and intercept in float64, and how the solver found them.
    alpha : float
        The penalty.
    choice : Choice
        What was chosen, and by which trials.
    sample : Block
        Rows that certificates and `typicality` look at.
    coef : array of shape (width, k)
        The coefficients as predictions multiply them.
    dtype : dtype
        What predictions are returned in.
    phases : tuple of Phase
        Seconds and predicted bytes of its phases.
    kernel_evaluations : int
        Kernel values that were computed, trials included.
    recipe : object
        What a later fit has to be asked for in order to start from this one; None if none may.
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

    @cached_property
    def certificate(self) -> "Certificate":
        """What the fit was like; computed when it is asked for first."""
        from skimp.estimators._certificate import certify

        return certify(self)

    def predict(self, rows: Rows, context: Context) -> Array:
        """Return the functions at checked rows, of shape (n, k)."""
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
        r"""Return the share of sampled rows as far from their nearest neighbour as a row is.

        Neighbours are other rows of the sample, and distances those of the kernel,
        :math:`k(x, x) - 2 k(x, y) + k(y, y)`; those of the features for a map without a kernel.
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
            # equal rows are at a distance of zero, but for rounding
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
