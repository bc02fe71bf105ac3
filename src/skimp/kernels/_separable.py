"""Products over columns of a function of yours."""

from collections.abc import Callable
from typing import Any, ClassVar, Self, final

import numpy as np

from skimp._core._pairs import ManhattanDistances, private
from skimp._core._types import Array, DType, Matrix
from skimp._params._rules import Rule
from skimp.kernels._columns import Columns
from skimp.kernels._function import function_name
from skimp.kernels._gamma import GAMMA, Gamma
from skimp.kernels._tents import TentMixture
from skimp.kernels._widths import Widths


@final
class Separable(Widths):
    r"""Product over columns of a convex function of yours.

    .. math:: k(x, y) = \prod_j \phi(\gamma_j |x_j - y_j|)

    with :math:`\phi(0) = 1`, falling ever more slowly towards a limit that is not negative. Such a
    function is a mixture of tents :math:`\max(0, 1 - t / h)`, hence a kernel (Polya), and one that
    `~skimp.features.RandomBinning` approximates. That it is convex is checked at 8,192 distances.

    A block of n x m values takes n m d evaluations of the function.

    Parameters
    ----------
    profile : callable
        :math:`\phi` of an array of distances in float64. For use in several processes it has to be
        one that pickle can find, at the top of a module.
    gamma : float, array of shape (d,), "scale", "median" or "dim", default="scale"
        Inverse width, for all columns or for each; a name is resolved in ``fit``, as for
        `Laplacian`.

    Examples
    --------
    >>> import numpy as np
    >>> from skimp.kernels import Separable
    >>> def slow_decay(t):
    ...     return 1 / (1 + t)
    >>> Separable(slow_decay, gamma=1.0)(np.array([[0.0, 0.0], [1.0, 3.0]])).tolist()
    [[1.0, 0.125], [0.125, 1.0]]
    """

    _rules: ClassVar[dict[str, Rule]] = {"profile": Rule("a callable", callable), "gamma": GAMMA}
    _pairs = ManhattanDistances
    differentiable = False

    def __init__(self, profile: Callable[[Array], Any], gamma: Gamma = "scale"):
        self.profile = profile
        self.gamma = gamma

    def __sklearn_clone__(self) -> Self:
        """Return a kernel that shares the function, and what it holds."""
        return type(self)(**self.get_params(deep=False))

    def check_resolved(self) -> None:
        """Raise unless gamma is a number, and the function convex."""
        super().check_resolved()
        self._mixture()

    def _mixture(self) -> TentMixture:
        return TentMixture(self.profile, owner="Separable", name="profile", value=self.profile)

    def _diag(self, X: Matrix) -> Array:
        """Return ones."""
        return np.ones(X.shape[0])

    def bind(self, B: Matrix, dtype: DType) -> Columns:
        """Return the functions k(., b); see `Kernel.bind`."""
        return _SeparableColumns(self, B)

    def _pitches(self, n_features: int, size: int, rng: np.random.Generator) -> Array:
        """Draw pitches of the function, and scale them."""
        return self._in_widths(self._mixture().sample((n_features, size), rng))

    def _pitch_rates(self, n_features: int) -> Array:
        """Return the slope of the function at zero, scaled."""
        gamma = np.broadcast_to(self.column_weights(n_features), n_features).astype(float)
        rate = self._mixture().rate
        return np.where(gamma > 0, np.maximum(gamma, 0) * rate, 0.0)

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        """Return the call that makes it, with the function by its name."""
        gamma = "" if isinstance(self.gamma, str) and self.gamma == "scale" else f"{self.gamma!r}"
        return f"Separable({function_name(self.profile)}{gamma and f', gamma={gamma}'})"


@final
class _SeparableColumns(Columns):
    def __init__(self, kernel: Separable, B: Matrix):
        kernel.check_rows(B)
        self._kernel = kernel
        self._Bt = private(B, np.dtype(np.float64)).T.copy()

    def fill_strip(self, X: Matrix, out: Array) -> None:
        """Multiply the values of all columns."""
        X = private(X, np.dtype(np.float64))
        gamma = np.broadcast_to(self._kernel.column_weights(X.shape[1]), X.shape[1])
        K = np.ones(out.shape)
        for x, b, width in zip(X.T, self._Bt, gamma, strict=True):
            if width > 0:
                K *= self._kernel.profile(width * np.abs(x[:, None] - b))
        out[...] = K

    def add_gradient_strip(self, X: Matrix, A: Array, out: Array) -> None:
        """Raise: there is no derivative."""
        raise NotImplementedError("Separable is not differentiable.")

    add_gradient_sums_strip = add_gradient_strip
