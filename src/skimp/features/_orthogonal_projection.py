"""Random orthogonal projections by Hadamard transforms."""

from dataclasses import KW_ONLY, dataclass
from typing import ClassVar, final

import numpy as np

from skimp._core._linalg import check_finite
from skimp._core._types import Array, Matrix, RandomState
from skimp._core._work import Size, Work
from skimp._params._rules import Rule
from skimp.data import Context, Rows
from skimp.features._base import SIZED, FeatureMap
from skimp.features._frequencies import transform_blocks, transform_work
from skimp.features._strips import dense_strips
from skimp.kernels import Linear

_SMALLEST = 16
"""Minimum transform length of the compiled loop."""


@final
@dataclass(eq=False, repr=False)
class OrthogonalProjection(FeatureMap):
    r"""Johnson-Lindenstrauss projection onto orthogonal directions, by Walsh-Hadamard transforms.

    Rows are padded with zeros to a length n, a power of two >= 16. Three orthonormal Hadamard
    matrices H with diagonal matrices D of random signs rotate them, and S selects k random
    coordinates without replacement:

    .. math:: z(x) = \sqrt{n / k} \, S H D_3 H D_2 H D_1 x

    Inner products are unbiased, :math:`E \langle z(x), z(y) \rangle = \langle x, y \rangle`. Their
    variance is about :math:`(n - k) / (n - 1)` times that of independent normal directions, and
    zero for k = n. If k > n, several rotations are used.

    The map depends only on the number of columns, so that `fit_width` draws it before any data.
    Mapping a row takes O(n log n) operations per rotation; a rotation takes 3 n signs of memory.
    For independent directions, pass scikit-learn's ``GaussianRandomProjection`` or
    ``SparseRandomProjection`` to an estimator.

    Parameters
    ----------
    n_components : int, default=1000
        Number of features k. To preserve most distances up to a relative error eps, k must be of
        the order of log(n_rows) / eps^2.
    random_state : int, Generator, RandomState or None, default=None
        Seed of the signs and coordinates.

    Attributes
    ----------
    kernel_ : Linear
        The approximated kernel.
    signs_ : array of shape (rotations, 3, n)
        The random signs.
    chosen_ : array of shape (n_components,)
        Selected coordinates of each rotation.

    References
    ----------
    Choromanski, Rowland and Weller (2017), The unreasonable effectiveness of structured random
    orthogonal embeddings.

    Examples
    --------
    >>> import numpy as np
    >>> from skimp.features import OrthogonalProjection
    >>> X = np.random.default_rng(0).normal(size=(50, 1000))
    >>> Z = OrthogonalProjection(n_components=500, random_state=0).fit_transform(X)
    >>> lengths = np.linalg.norm(Z, axis=1) / np.linalg.norm(X, axis=1)
    >>> bool(np.abs(lengths - 1).max() < 0.1)
    True
    """

    n_components: int = 1000
    _: KW_ONLY
    random_state: RandomState = None

    size_name = "n_components"
    depends_on = None
    rules: ClassVar[dict[str, Rule]] = SIZED

    def count(self, size: Size) -> tuple[float, Work]:
        length, n_blocks = transform_blocks(size.n_features, self.n_components, _SMALLEST)
        work = transform_work(size.n_rows, length, n_blocks, size.dtype)
        return 3 * n_blocks * length, work

    def draw(self, rows: Rows, rng: np.random.Generator, context: Context) -> None:
        k, d = int(self.n_components), rows.n_features
        self.kernel_ = Linear()
        n, n_blocks = transform_blocks(d, k, _SMALLEST)
        self.signs_ = rng.choice(np.array([-1, 1], rows.dtype), (n_blocks, 3, n))
        orders = [rng.permutation(n) for _ in range(n_blocks)]
        self.chosen_ = np.concatenate(orders)[:k].astype(np.uint32)
        # three unnormalized transforms multiply lengths by n^(3/2)
        self._scale = np.full(d, 1 / (n * np.sqrt(k)), rows.dtype)

    @property
    def width(self) -> int:
        return len(self.chosen_)

    def map_block(self, X: Matrix, out: Array) -> None:
        from skimp._core.loops._hadamard import rotated_parts

        shape = len(self._scale), self.width
        for rows, strip in dense_strips(X, out, shape, self.dtype_):
            rotated_parts(rows, self._scale, self.signs_, self.chosen_, strip)
            check_finite(strip)
