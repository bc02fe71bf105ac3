"""Landmarks drawn with given probabilities."""

from typing import Any, final

import numpy as np
from sklearn.utils.validation import check_array

from skimp._core._types import Array
from skimp._core._work import Size, Work
from skimp._params._rules import broken
from skimp.budgets._base import Budget, Selector
from skimp.data import Context, Rows
from skimp.kernels import Kernel


@final
class Weighted(Selector):
    r"""Rows drawn with given probabilities, with replacement, and weighted accordingly.

    Row i is drawn with probability :math:`p_i` and gets the weight :math:`1 / \sqrt{m p_i}`. These
    weights make sampled matrix products unbiased: let column j of the n x m matrix S hold the
    weight of draw j in the position of the drawn row, and zeros elsewhere. Then for any A and B

    .. math:: E[A S S^T B] = A B, \qquad
        \mathrm{Var}[(A S S^T B)_{ij}] =
            \frac{1}{m} \Bigl(\sum_k \frac{A_{ik}^2 B_{kj}^2}{p_k} - (A B)_{ij}^2\Bigr).

    `Nystroem` uses the weights if its rank is truncated; otherwise they cancel.

    Takes one pass over the rows and O(n) memory.

    Parameters
    ----------
    probabilities : array of shape (n,), or None, default=None
        One nonnegative number per row; scaled to sum to one. None uses the sample weights, or
        equal probabilities if there are none.

    References
    ----------
    Drineas and Mahoney (2017), Lectures on randomized numerical linear algebra.

    Examples
    --------
    >>> import numpy as np
    >>> from skimp.budgets import Weighted
    >>> from skimp.kernels import Linear
    >>> X = np.array([[0.0], [1.0], [2.0]])
    >>> budget = Weighted([0, 1, 3]).select(X, 4, Linear(), np.random.default_rng(0))
    >>> bool(np.allclose(budget.weights, np.where(budget.indices == 1, 1, 3**-0.5)))
    True
    """

    repeats = True

    def __init__(self, probabilities: Any = None):
        self.probabilities = probabilities

    def count(self, m: int, kernel: Kernel, size: Size) -> tuple[Work, float]:
        """Return work and bytes; see `Selector.count`."""
        work, held = super().count(m, kernel, size)
        return work, held + 40 * size.n_rows

    def select_from(
        self, rows: Rows, size: int, kernel: Kernel, rng: np.random.Generator, context: Context
    ) -> Budget:
        """Draw rows; see `Selector.select_from`."""
        weight = rows.weights(context)
        weight = np.ones(rows.n_rows) if weight is None else weight
        given = weight if self.probabilities is None else self.probabilities
        if np.ndim(given) != 1:
            raise broken("Weighted", "probabilities", "None or one number per row", given)
        p: Array = check_array(given, dtype=np.float64, ensure_2d=False, input_name="probabilities")
        if p.shape != weight.shape or p.min() < 0:
            raise ValueError(
                f"Weighted: probabilities must be {len(weight)} nonnegative numbers, one per row, "
                f"found shape {p.shape} with minimum {p.min():g}."
            )
        p = np.where(weight > 0, p, 0.0)
        if not p.any():
            raise ValueError(
                "Weighted: probabilities must be positive for at least one row of positive weight, "
                "found none."
            )
        p /= p.max()
        p /= p.sum()
        indices = rng.choice(len(p), size, p=p)
        return Budget(rows.take(indices, context).X, indices, 1 / np.sqrt(size * p[indices]))
