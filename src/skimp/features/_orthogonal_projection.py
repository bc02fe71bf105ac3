"""Random orthogonal projections of rows, by fast transforms."""

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
"""Length of the shortest transform that the compiled loop has."""


@final
@dataclass(eq=False, repr=False)
class OrthogonalProjection(FeatureMap):
    r"""Johnson-Lindenstrauss projection onto orthogonal directions, by Walsh-Hadamard transforms.

    Rows, padded with zeros to a power of two n, at least 16, are rotated by three transforms H with
    random signs between them, and k of the coordinates are taken at random, without replacement:

    .. math:: z(x) = \sqrt{n / k} \, S H D_3 H D_2 H D_1 x

    Unbiased, :math:`E \langle z(x), z(y) \rangle = \langle x, y \rangle`, with a variance that is
    about :math:`(n - k) / (n - 1)` of that of independent normal directions, and none if k is
    n. More features than n come from several rotations.

    The map depends on the number of columns only. Mapping a row takes O(n log n) operations for
    every n features. Scikit-learn's ``GaussianRandomProjection`` and ``SparseRandomProjection``
    have independent directions; estimators take them as they are.

    Parameters
    ----------
    n_components : int, default=1000
        Number of features k; those that keep distances within an error of eps with few exceptions
        are in the order of log(n_rows) / eps^2.
    random_state : int, Generator, RandomState or None, default=None
        Seed of the signs and coordinates.

    Attributes
    ----------
    kernel_ : Linear
        The kernel: inner products of rows.
    signs_ : array of shape (rotations, 3, n)
        The random signs.
    chosen_ : array of shape (n_components,)
        The coordinates that are taken of each rotation.

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
        # three transforms multiply lengths by n^(3/2)
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
