"""Rows drawn uniformly."""

from typing import Any, final

import numpy as np

from skimp._core._random import draw_seed
from skimp._core._types import Array
from skimp.budgets._base import Budget, Selector
from skimp.data import open_rows
from skimp.kernels import Kernel


@final
class Uniform(Selector):
    """Rows drawn uniformly, without replacement.

    The rows with the smallest hash of seed and row number: the same rows whatever they are read
    from, and the first points of a larger budget with the same generator. One pass over the
    rows, which copies candidates only; rows of weight zero are never drawn.

    Examples
    --------
    >>> import numpy as np
    >>> from skimp.budgets import Uniform
    >>> from skimp.kernels import Linear
    >>> X = np.arange(20.0).reshape(10, 2)
    >>> budget = Uniform().select(X, 3, Linear(), np.random.default_rng(0))
    >>> bool((X[budget.indices] == budget.points).all())
    True
    """

    def select(
        self,
        X: Any,
        size: int,
        kernel: Kernel,
        rng: np.random.Generator,
        y: Array | None = None,
    ) -> Budget:
        """Draw rows; see `Selector.select`."""
        sample = open_rows(X).sample(size, draw_seed(rng))
        return Budget(sample.X, sample.indices)
