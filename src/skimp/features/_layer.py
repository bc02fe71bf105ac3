"""Random hidden layer of an extreme learning machine."""

from dataclasses import KW_ONLY, dataclass
from typing import ClassVar, final

import numpy as np

from skimp._core._linalg import product
from skimp._core._random import draw_seed
from skimp._core._types import Array, Matrix, RandomState
from skimp._params._rules import Rule, one_of
from skimp.data import Context, Rows
from skimp.features._base import SIZED, FeatureMap
from skimp.features._strips import strips
from skimp.kernels import GAMMA, Gamma, Gaussian


@final
@dataclass(eq=False, repr=False)
class RandomLayer(FeatureMap):
    r"""Random hidden layer; with a linear model on top, an extreme learning machine.

    .. math:: z(x) = \frac{a}{\sqrt D} \, [g(w_j^T x + b_j)]_j, \qquad w_j \sim N(0, 2 \gamma I)

    with :math:`b_j \sim N(0, 1)` and a = 1, except for these activations:

    - "sine": :math:`a = \sqrt 2` and :math:`b_j` is uniform on :math:`[0, 2 \pi]`. The features
      approximate the Gaussian kernel, like `RandomFourier` in phase form.
    - "relu": :math:`a = \sqrt 2`. The features approximate `ArcCosine` of order 1 on the rows
      :math:`(\sqrt{2 \gamma} \, x, 1)`.
    - "rbf": the nodes are :math:`\exp(-\gamma \|x - c_j\|^2)` with random centres
      :math:`c_j \sim N(0, I / (\gamma d))`. With ``gamma="scale"``, the centres have the same
      variance as the entries of X.

    Mapping n rows takes 2 n d D operations and n D function values. The weights take d D numbers
    of memory. If gamma is a number or "dim", `fit_width` draws the layer before any data.

    Parameters
    ----------
    n_components : int, default=1000
        Number of nodes D.
    activation : "sigmoid", "tanh", "relu", "sine" or "rbf", default="sigmoid"
        Activation function g.
    gamma : float, array of shape (d,), "scale", "median" or "dim", default="scale"
        Inverse squared bandwidth, as in `Gaussian`.
    random_state : int, Generator, RandomState or None, default=None
        Seed of the weights.

    Attributes
    ----------
    gamma_ : float or array of shape (d,)
        The inverse squared bandwidth as a number.
    weights_ : array of shape (d, n_components)
        Weights w, for "sine" divided by :math:`2 \pi`; for "rbf" the centres c.
    offset_ : array of shape (n_components,)
        Offsets b. For "sine" they are divided by :math:`2 \pi` and reduced by 1/4; for "rbf" zero.

    References
    ----------
    Huang, Zhu and Siew (2006), Extreme learning machine: theory and applications.

    Examples
    --------
    >>> import numpy as np
    >>> from skimp import KernelRegressor
    >>> from skimp.features import RandomLayer
    >>> X = np.random.default_rng(0).normal(size=(500, 2))
    >>> model = KernelRegressor(approximation=RandomLayer(200, random_state=0))
    >>> bool(model.fit(X, np.sin(X[:, 0])).score(X, np.sin(X[:, 0])) > 0.99)
    True
    """

    n_components: int = 1000
    _: KW_ONLY
    activation: str = "sigmoid"
    gamma: Gamma = "scale"
    random_state: RandomState = None

    size_name = "n_components"
    depends_on = None
    rules: ClassVar[dict[str, Rule]] = {
        **SIZED,
        "activation": one_of("sigmoid", "tanh", "relu", "sine", "rbf"),
        "gamma": GAMMA,
    }

    def draw(self, rows: Rows, rng: np.random.Generator, context: Context) -> None:
        d, size = rows.n_features, int(self.n_components)
        kernel = Gaussian(self.gamma).resolve(context.bind(rows), draw_seed(rng))
        self.gamma_, self._activation = kernel.gamma, self.activation
        W, offset = rng.standard_normal((d, size)), np.zeros(size)
        scale = np.sqrt(2 * kernel.gammas(d))
        if self._activation == "rbf":
            # columns with gamma = 0 are ignored: their centres are zero
            W *= np.divide(np.sqrt(2 / d), scale, out=np.zeros(d), where=scale > 0)[:, None]
            self._nodes = kernel.bind(np.ascontiguousarray(W.T), rows.dtype)
        elif self._activation == "sine":
            # in units of 2 pi; a quarter turns the cosine into a sine
            W *= scale[:, None] / (2 * np.pi)
            offset = rng.random(size) - 0.25
        else:
            W *= scale[:, None]
            offset = rng.standard_normal(size)
        self.weights_, self.offset_ = W.astype(rows.dtype), offset.astype(rows.dtype)

    @property
    def width(self) -> int:
        return len(self.offset_)

    def map_block(self, X: Matrix, out: Array) -> None:
        from skimp._core.loops._features import cosines, ramps, sigmoids

        real = self.dtype_.type
        one, root = (real(np.sqrt(a / self.width)) for a in (1, 2))
        for part, strip, _ in strips(X, out, self.width):
            if self._activation == "rbf":
                self._nodes.fill_strip(part, strip)
                strip *= one
                continue
            product(part, self.weights_, strip)
            if self._activation == "sine":
                cosines(strip, self.offset_, root)
            elif self._activation == "relu":
                ramps(strip, self.offset_, root)
            elif self._activation == "tanh":
                sigmoids(strip, self.offset_, real(1), one, real(0))
            else:
                # 1 / (1 + exp(-t)) = (1 + tanh(t / 2)) / 2
                sigmoids(strip, self.offset_, real(0.5), one / 2, one / 2)
