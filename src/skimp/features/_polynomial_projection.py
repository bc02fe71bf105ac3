"""Random projections from the feature space of a polynomial kernel."""

from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from skimp._core._linalg import dense
from skimp._core._types import Array, DType, RandomState
from skimp._core._work import DOUBLE, Size, Work
from skimp._params._rules import BOOLEAN, Rule, broken, integer, number, one_of
from skimp.features._base import SIZED
from skimp.features._polynomial import POLYNOMIAL, PolynomialMap, Products, product_work
from skimp.features._pool import draw_signs, draw_subsets, stretched


@final
@dataclass(eq=False, repr=False, kw_only=True)
class PolynomialProjection(PolynomialMap):
    r"""Random projection from the feature space of a polynomial kernel (PK-RP).

    Each feature uses g t vectors from a pool of p random vectors and is the sum of t products:

    .. math:: z_c(x) = \frac{1}{\sqrt{k t}} \sum_{i=1}^t \prod_{j=1}^g \langle x, r_{c i j} \rangle

    This equals the inner product of a random vector with the :math:`d^g` monomials of x, which are
    never computed. Inner products are unbiased, :math:`E \langle z(x), z(y) \rangle =
    \langle x, y \rangle^g`, because a feature uses each vector at most once. If features share no
    vectors (p = g t k), the variance is

    .. math::

        k \operatorname{Var} = \frac{m^g}{t} + \left(1 - \frac 1 t\right) \left(2 \kappa^2 +
        \|x\|^{2g} \|y\|^{2g}\right) - \kappa^2, \qquad \kappa = \langle x, y \rangle^g

    with :math:`m = \|x\|^2 \|y\|^2 + 2 \langle x, y \rangle^2 + (s - 3) \sum_i x_i^2 y_i^2`, and
    s = 3 for normal vectors. For large t it approaches the variance of an explicit projection. If
    ``coef0`` is c > 0, a column :math:`\sqrt c` is appended to the rows.

    The map depends only on the number of columns, so that `fit_width` draws it before any data;
    gamma="scale" and "median" depend on the data, too. Mapping n rows takes 2 n d p operations and
    n g t k gathers. The map takes d p + g t k numbers of memory.

    Parameters
    ----------
    degree, gamma, coef0 : default=2, 1.0 and 0.0
        As in `~skimp.kernels.Polynomial`: the degree g, the factor gamma (a number, one number per
        column, "scale", "median" or "dim") and the constant c >= 0.
    n_components : int, default=1000
        Number of features k. The error of kernel values is proportional to 1 / sqrt(k).
    n_vectors : int, default=500
        Size p of the pool, at least g t. Hundreds are enough for classification; thousands
        preserve distances better (López-Sánchez 2019, tables 4.2, 4.4).
    n_terms : int, default=1
        Number of products t per feature. One is enough for classification. With a large pool, 10
        to 30 preserve distances as well as an explicit projection.
    distribution : "gaussian" or "achlioptas", default="gaussian"
        Distribution of the vectors' entries: normal, or Achlioptas' :math:`\sqrt s \{1, 0, -1\}`.
    sparsity : float, default=3.0
        Achlioptas' s: a fraction 1 / s of the entries is nonzero. 1 has the lowest variance, 3 that
        of normal entries. From 10 upwards the vectors are stored sparse, which speeds up the
        products with sparse rows of thousands of columns.
    spread : bool, default=True
        Use all vectors equally often, which lowers the variance if p < g t k. Otherwise each
        feature draws its vectors independently of the others.
    random_state : int, Generator, RandomState or None, default=None
        Seed of the vectors.

    Attributes
    ----------
    kernel_ : Polynomial
        Kernel with numeric parameters.
    vectors_ : array or CSR matrix of shape (d, n_vectors)
        Pool of vectors, multiplied by the square root of gamma.
    factors_ : array of shape (n_terms, degree, n_components)
        Indices of the vectors that each feature multiplies.

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
            wording = f"at least degree * n_terms = {g * t}, the number of vectors per feature"
            raise broken(type(self).__name__, "n_vectors", wording, self.n_vectors)
        if self.distribution == "gaussian":
            pool = rng.standard_normal((len(stretch), p))
        else:
            pool = draw_signs(len(stretch), p, self.sparsity, rng)
        factors = (
            draw_subsets(p, k, g * t, rng, spread=self.spread).reshape(k, t, g).transpose(1, 2, 0)
        )
        scale = np.full(k, 1 / np.sqrt(k * t))
        offset = stretch[-1] * dense(pool[[-1]], DOUBLE).ravel()
        products = Products.of(stretched(pool[:-1], stretch[:-1]), offset, factors, scale, dtype)
        self.vectors_, self.factors_ = products.vectors, products.factors
        return products
