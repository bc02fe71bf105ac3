"""The Laplacian kernel."""

from typing import Any, ClassVar, final

import numpy as np

from skimp._core._pairs import ManhattanDistances
from skimp._core._rules import Rule
from skimp._core._types import Array, Matrix
from skimp.kernels._base import Kernel
from skimp.kernels._gamma import GAMMA


@final
class Laplacian(Kernel):
    r"""Laplacian kernel, with the L1 distance.

    .. math:: k(x, y) = \exp(-\gamma \|x - y\|_1)

    A block of n x m values takes 3 n m d operations; sparse rows are made dense a strip at a time.

    Parameters
    ----------
    gamma : float, "scale", "median" or "dim", default="scale"
        Inverse width; a name is resolved in ``fit`` (see :doc:`/guide`).

    Examples
    --------
    >>> import numpy as np
    >>> from skimp.kernels import Laplacian
    >>> K = Laplacian(gamma=0.5)(np.array([[0.0, 0.0], [1.0, 3.0]]))
    >>> bool(np.isclose(K[0, 1], np.exp(-2)))
    True
    """

    _pairs = ManhattanDistances
    _rules: ClassVar[dict[str, Rule]] = {"gamma": GAMMA}

    def __init__(self, gamma: float | str = "scale"):
        self.gamma: Any = gamma

    def diag(self, X: Matrix) -> Array:
        """Return ones."""
        return np.ones(X.shape[0])

    def sample_frequencies(self, n_features: int, size: int, rng: np.random.Generator) -> Array:
        r"""Draw from the spectrum, independent Cauchy entries of scale :math:`\gamma`."""
        W: Array = rng.standard_cauchy((n_features, size)) * self.gamma
        return W

    def _profile(self, S: Array) -> None:
        from skimp._core._pair_loops import scaled_exp

        scaled_exp(S, S.dtype.type(-self.gamma))
