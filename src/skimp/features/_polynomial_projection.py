"""Random projections from the feature spaces of polynomial kernels."""

from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from skimp._core._linalg import dense
from skimp._core._types import Array, DType, RandomState
from skimp._core._work import DOUBLE, Size, Work
from skimp._params._rules import BOOLEAN, Rule, broken, integer, number, one_of
from skimp.features._base import SIZED
from skimp.features._polynomial import POLYNOMIAL, PolynomialMap, Products, product_work
from skimp.features._pool import draw_signs, hands, stretched


@final
@dataclass(eq=False, repr=False, kw_only=True)
class PolynomialProjection(PolynomialMap):
    r"""Random projection from the feature space of a polynomial kernel (PK-RP).

    Of a pool of p random vectors, each feature takes g t, and is the sum of t products

    .. math:: z_c(x) = \frac{1}{\sqrt{k t}} \sum_{i=1}^t \prod_{j=1}^g \langle x, r_{c i j} \rangle

    which is the inner product of a random vector with the :math:`d^g` monomials of x, never
    computed. It is unbiased, :math:`E \langle z(x), z(y) \rangle = \langle x, y \rangle^g`, as no
    vector occurs twice in one feature. With p = g t k, if none is shared, the variance is that
    of an explicit projection but for a part that t divides,

    .. math::

        k \operatorname{Var} = \frac{m^g}{t} + \left(1 - \frac 1 t\right) \left(2 \kappa^2 +
        \|x\|^{2g} \|y\|^{2g}\right) - \kappa^2, \qquad \kappa = \langle x, y \rangle^g

    with :math:`m = \|x\|^2 \|y\|^2 + 2 \langle x, y \rangle^2 + (s - 3) \sum_i x_i^2 y_i^2`, s = 3
    being normal vectors. If ``coef0`` is c, rows have a column :math:`\sqrt c` more.

    The map depends on the number of columns (and a named gamma) only. Mapping n rows takes 2 n d p
    operations and g t k gathers a row.

    Parameters
    ----------
    degree, gamma, coef0 : default=2, 1.0 and 0.0
        As in `~skimp.kernels.Polynomial`: g, the factor (a number, one for each column, "scale",
        "median" or "dim") and the constant c >= 0.
    n_components : int, default=1000
        Number of features k; the error of kernel values falls with its root.
    n_vectors : int, default=500
        Vectors in the pool p, at least g t. Hundreds are enough for classifiers, thousands keep
        distances better (López-Sánchez 2019, tables 4.2, 4.4).
    n_terms : int, default=1
        Products in each feature t. One is enough for classifiers; 10 to 30 make distances as exact
        as those of an explicit projection if there are vectors enough.
    distribution : "gaussian" or "achlioptas", default="gaussian"
        Entries of the vectors: normal, or Achlioptas' :math:`\sqrt s \{1, 0, -1\}`.
    sparsity : float, default=3.0
        Achlioptas' s; one entry in s is not zero. 1 has the lowest variance, 3 that of normal
        numbers; from 10 on, for rows of thousands of columns, products with sparse rows are faster.
    spread : bool, default=True
        Deal the vectors out like cards, so that all are used equally often, which lowers the
        variance if p < g t k. Otherwise each feature draws its own at random.
    random_state : int, Generator, RandomState or None, default=None
        Seed of the vectors.

    Attributes
    ----------
    kernel_ : Polynomial
        The kernel with numbers for parameters.
    vectors_ : array or CSR matrix of shape (d, n_vectors)
        The pool, times the root of gamma.
    factors_ : array of shape (n_terms, degree, n_components)
        Columns of the pool that each feature multiplies.

    References
    ----------
    López-Sánchez, González Arrieta and Corchado (2018), Data-independent random projections from
    the feature-space of the homogeneous polynomial kernel.

    López-Sánchez (2019), Low computational cost machine learning: random projections and polynomial
    kernels (thesis), chapter 4.

    Examples
    --------
    >>> import numpy as np
    >>> from skimp.features import PolynomialProjection
    >>> X = np.random.default_rng(0).normal(size=(50, 3)) / 2
    >>> projection = PolynomialProjection(n_components=20_000, n_vectors=40_000, random_state=0)
    >>> Z = projection.fit_transform(X)
    >>> bool(np.abs(Z @ Z.T - (X @ X.T) ** 2).mean() < 0.02)
    True
    """

    n_components: int = 1000
    n_vectors: int = 500
    n_terms: int = 1
    distribution: str = "gaussian"
    sparsity: float = 3.0
    spread: bool = True
    random_state: RandomState = None

    size_name = "n_components"
    rules: ClassVar[dict[str, Rule]] = {
        **POLYNOMIAL,
        **SIZED,
        "n_vectors": integer(at_least=1),
        "n_terms": integer(at_least=1),
        "distribution": one_of("gaussian", "achlioptas"),
        "sparsity": number(at_least=1),
        "spread": BOOLEAN,
    }

    def count(self, size: Size) -> tuple[float, Work]:
        factors = self.degree * self.n_terms * self.n_components
        numbers = size.n_features * self.n_vectors + factors
        return numbers, product_work(size, self.n_vectors, factors)

    def draw_functions(self, stretch: Array, dtype: DType, rng: np.random.Generator) -> Products:
        k, t, g, p = map(int, (self.n_components, self.n_terms, self.degree, self.n_vectors))
        if g * t > p:
            wording = f"at least degree * n_terms = {g * t}, as no vector may occur twice"
            raise broken(type(self).__name__, "n_vectors", wording, self.n_vectors)
        if self.distribution == "gaussian":
            pool = rng.standard_normal((len(stretch), p))
        else:
            pool = draw_signs(len(stretch), p, self.sparsity, rng)
        factors = hands(p, k, g * t, rng, spread=self.spread).reshape(k, t, g).transpose(1, 2, 0)
        scale = np.full(k, 1 / np.sqrt(k * t))
        offset = stretch[-1] * dense(pool[[-1]], DOUBLE).ravel()
        products = Products.of(stretched(pool[:-1], stretch[:-1]), offset, factors, scale, dtype)
        self.vectors_, self.factors_ = products.vectors, products.factors
        return products
