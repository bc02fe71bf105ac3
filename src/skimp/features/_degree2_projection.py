"""Random projections from the feature space of the squared inner product."""

from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from skimp._core._linalg import check_finite, dense, product
from skimp._core._types import Array, Matrix, RandomState
from skimp._core._work import DOUBLE, Size, Work
from skimp._params._rules import Rule, integer, number
from skimp.data import Context, Rows
from skimp.features._base import SIZED, FeatureMap
from skimp.features._polynomial import product_work
from skimp.features._pool import draw_signs
from skimp.features._strips import strips
from skimp.kernels import Polynomial


@final
@dataclass(eq=False, repr=False, kw_only=True)
class Degree2Projection(FeatureMap):
    r"""Random projection from the feature space of :math:`\langle x, y \rangle^2` (D2PK-RP).

    Features are sums and differences of squared inner products with random vectors:

    .. math::

        z_c(x) = \frac{1}{\sqrt k} \left( \sum_{i \le t / 2} \langle x, r_{c i} \rangle^2 -
        \sum_{i > t / 2} \langle x, r_{c i} \rangle^2 \right)

    where the vectors have entries :math:`\sqrt s (2 t)^{-1/4} \{1, 0, -1\}` with probabilities
    :math:`1 / 2s, 1 - 1 / s, 1 / 2s`. The mean of an inner product is

    .. math::

        E \langle z(x), z(y) \rangle = \langle x, y \rangle^2 + \frac{s - 3}{2} \sum_i x_i^2 y_i^2

    which equals the kernel only for s = 3. A single term, t = 1, adds a bias of
    :math:`\|x\|^2 \|y\|^2 / 2`.

    The map depends only on the number of columns, so that `fit_width` draws it before any data.
    Mapping n rows takes 2 n d k t operations, and the vectors take d k t numbers of memory.
    `PolynomialProjection` is faster because its features share vectors.

    Parameters
    ----------
    n_components : int, default=1000
        Number of features k. The error of kernel values is proportional to 1 / sqrt(k).
    n_terms : int, default=2
        Number of vectors t per feature: an even number, or 1 for the biased form. 10 to 30 preserve
        distances nearly as well as an explicit projection.
    sparsity : float, default=3.0
        Achlioptas' s. The default is unbiased; López-Sánchez reports distances for s = 1.
    random_state : int, Generator, RandomState or None, default=None
        Seed of the vectors.

    Attributes
    ----------
    kernel_ : Polynomial
        The approximated kernel.
    vectors_ : array of shape (n_terms, d, n_components)
        The random vectors.

    References
    ----------
    López-Sánchez, Corchado and González Arrieta (2018), Data-independent random projections from
    the feature-map of the homogeneous polynomial kernel of degree two.

    López-Sánchez (2019), Low computational cost machine learning: random projections and polynomial
    kernels (thesis), chapter 3.

    Examples
    --------
    >>> import numpy as np
    >>> from skimp.features import Degree2Projection
    >>> X = np.random.default_rng(0).normal(size=(50, 3)) / 2
    >>> Z = Degree2Projection(n_components=20_000, n_terms=10, random_state=0).fit_transform(X)
    >>> bool(np.abs(Z @ Z.T - (X @ X.T) ** 2).mean() < 0.02)
    True
    """

    n_components: int = 1000
    n_terms: int = 2
    sparsity: float = 3.0
    random_state: RandomState = None

    size_name = "n_components"
    depends_on = None
    rules: ClassVar[dict[str, Rule]] = {
        **SIZED,
        "n_terms": Rule(
            "an even integer >= 2, or 1",
            lambda v: integer(at_least=1).test(v) and (v == 1 or v % 2 == 0),
        ),
        "sparsity": number(at_least=1),
    }

    def count(self, size: Size) -> tuple[float, Work]:
        vectors = self.n_components * self.n_terms
        return size.n_features * vectors, product_work(size, vectors, vectors)

    def draw(self, rows: Rows, rng: np.random.Generator, context: Context) -> None:
        k, t = int(self.n_components), int(self.n_terms)
        self.kernel_ = Polynomial(2, 1.0, 0.0)
        drawn = draw_signs(rows.n_features, k * t, self.sparsity, rng)
        vectors = dense(drawn, DOUBLE).reshape(-1, t, k).transpose(1, 0, 2)
        self.vectors_ = np.ascontiguousarray(vectors * (2 * t) ** -0.25, rows.dtype)

    @property
    def width(self) -> int:
        return int(self.vectors_.shape[2])

    def map_block(self, X: Matrix, out: Array) -> None:
        from skimp._core.loops._products import add_squares

        t, width, dtype = len(self.vectors_), self.width, self.dtype_
        one = dtype.type(1 / np.sqrt(width))
        for rows, strip, part in strips(X, out, width, columns=width, dtype=dtype):
            strip[...] = 0
            for i, vectors in enumerate(self.vectors_):
                product(rows, vectors, part)
                add_squares(part, one if 2 * i < t else -one, strip)
            check_finite(strip)
