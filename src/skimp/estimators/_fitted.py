"""What a fit found, in one record."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from skimp._core._types import Array, DType
from skimp.choice import Choice, Phase, Spec
from skimp.data import Block, Context, Rows
from skimp.features import Basis, FeatureMap, Landmarks
from skimp.kernels import Kernel
from skimp.solvers import Solution, as_features

if TYPE_CHECKING:
    from skimp.estimators._certificate import Certificate

_STRIP = 512


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


@dataclass(frozen=True)
class Trace:
    """What a fit took: seconds and predicted bytes by phase, and kernel values, trials included."""

    phases: tuple[Phase, ...]
    kernel_evaluations: int


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
    dtype : dtype
        What predictions are returned in.
    trace : Trace
        What the fit took.
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
    dtype: DType
    trace: Trace
    recipe: Any = None

    @property
    def kernel(self) -> Kernel | None:
        """The kernel with numbers for parameters, None if the map has none."""
        kernel: Kernel | None = self.feature_map.kernel_
        return kernel

    @cached_property
    def coef(self) -> Array:
        """Coefficients as predictions multiply them.

        Those of kernel columns are large and cancel: their products need float64.
        """
        single = self.basis.dtype == np.float32 and self.basis.penalty is None
        return self.solution.coef.astype(self.dtype) if single else self.solution.coef

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
