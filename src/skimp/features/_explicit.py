"""Exact features of a polynomial kernel."""

from dataclasses import dataclass
from math import comb
from typing import Any, ClassVar, final

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from skimp._core._linalg import check_representable
from skimp._core._types import Array, DType
from skimp._core._work import Size, Work
from skimp._params._memory import MEMORY_LIMIT, require_memory
from skimp._params._rules import Rule, one_of
from skimp.data import Rows, open_rows
from skimp.features._polynomial import POLYNOMIAL, PolynomialMap, Products, product_work

_COUNTLESS = 10**18


@final
@dataclass(eq=False, repr=False, kw_only=True)
class ExplicitPolynomial(PolynomialMap):
    r"""Exact features of a polynomial kernel: all monomials of degree g.

    .. math::

        \phi(x) = \left[\sqrt{\frac{g!}{n_1! \cdots n_d!}} \; x_1^{n_1} \cdots x_d^{n_d}
        \right]_{n_1 + \cdots + n_d = g} \quad \text{or} \quad \phi(x) = x \otimes \cdots \otimes x

    The D features satisfy :math:`\langle \phi(x), \phi(y) \rangle = \langle x, y \rangle^g` up
    to rounding. D is :math:`\binom{d + g - 1}{g}` for monomials and :math:`d^g` for the Kronecker
    power. If ``coef0`` is c > 0, a column :math:`\sqrt c` is appended to the rows.

    Mapping n rows takes n D g operations; the features take n D numbers of memory. If gamma is a
    number or "dim", `fit_width` needs no rows.

    Parameters
    ----------
    degree, gamma, coef0 : default=2, 1.0 and 0.0
        As in `~skimp.kernels.Polynomial`: the degree g, the factor gamma (a number, one number per
        column, "scale", "median" or "dim") and the constant c >= 0.
    form : "monomials" or "kronecker", default="monomials"
        Each monomial once, or all entries of the Kronecker power, which are nearly g! times as
        many.
    memory_limit : int, str or None, default=None
        Maximum memory for the features, such as ``"2GB"``. None allows half of the machine's
        memory. Beyond it, a `MemoryError` is raised.

    Attributes
    ----------
    kernel_ : Polynomial
        Kernel with numeric parameters.

    Examples
    --------
    >>> import numpy as np
    >>> from skimp.features import ExplicitPolynomial
    >>> ExplicitPolynomial().fit_transform(np.array([[1.0, 2.0]])).round(3).tolist()
    [[1.0, 2.828, 4.0]]
    """

    form: str = "monomials"
    memory_limit: int | str | None = None

    rules: ClassVar[dict[str, Rule]] = {
        **POLYNOMIAL,
        "form": one_of("monomials", "kronecker"),
        "memory_limit": MEMORY_LIMIT,
    }

    def transform(self, X: Any) -> Array:
        check_is_fitted(self)
        self._require_memory(open_rows(X).n_rows, self.width, self.dtype_)
        return super().transform(X)

    def planned_width(self, size: Size | Rows) -> int:
        return self._n_monomials(size.n_features)

    def _n_monomials(self, n_features: int) -> int:
        d, g = n_features + (self.coef0 > 0), int(self.degree)
        return comb(d + g - 1, g) if self.form == "monomials" else d**g

    def count(self, size: Size) -> tuple[float, Work]:
        factors = self.degree * self.planned_width(size)
        return factors, product_work(size, 0, factors)

    def draw_functions(self, stretch: Array, dtype: DType, rng: np.random.Generator) -> Products:
        d, g = len(stretch) - (self.coef0 == 0), int(self.degree)
        self._require_memory(1, self._n_monomials(len(stretch) - 1), dtype)
        with np.errstate(over="ignore"):
            factors, scale = _monomials(d, g) if self.form == "monomials" else _entries(d, g)
        check_representable(scale)
        vectors = sparse.diags(stretch[:-1]).tocsr()
        vectors.resize(len(stretch) - 1, d)
        offset = np.append(np.zeros(len(stretch) - 1), stretch[-1])[:d]
        return Products.of(vectors, offset, factors[None], scale, dtype)

    def _require_memory(self, n_rows: int, width: int, dtype: DType) -> None:
        # features of each row, and two copies of the factors while they are computed
        needed = width * (dtype.itemsize * n_rows + 16 * int(self.degree) + 40)
        shown = f"{width:,}" if width < _COUNTLESS else "more than 10^18"
        what = f"ExplicitPolynomial: {n_rows} row{'s' * (n_rows > 1)} of {shown} features"
        remedy = "use PolynomialProjection or TensorSketch, which approximate them with fewer"
        require_memory(min(needed, _COUNTLESS), self.memory_limit, what, remedy)


def _monomials(d: int, degree: int) -> tuple[Array, Array]:
    """Return the columns of each monomial, (degree, width), and the roots of the coefficients."""
    factors, repeated, count = np.arange(d)[None], np.ones(d, np.int64), np.ones(d)
    for g in range(2, degree + 1):
        # extend each monomial by its last column or a later one
        choices = d - factors[-1]
        parent = np.repeat(np.arange(factors.shape[1]), choices)
        behind = np.arange(len(parent)) - np.repeat(np.cumsum(choices) - choices, choices)
        factors = np.vstack([factors[:, parent], factors[-1, parent] + behind])
        repeated = np.where(behind == 0, repeated[parent] + 1, 1)
        count = count[parent] * g / repeated
    return factors, np.sqrt(count)


def _entries(d: int, degree: int) -> tuple[Array, Array]:
    """Return the columns of each entry of a Kronecker power, and coefficients of one."""
    entries = np.arange(d**degree)
    factors = np.array([entries // d**place % d for place in reversed(range(degree))])
    return factors, np.ones(len(entries))
