"""Random sums of kernel columns as basis functions of a model."""

from functools import cached_property
from typing import Any, final

import numpy as np
from scipy import sparse

from skimp._core._blocks import Scratch
from skimp._core._linalg import check_representable, check_shape
from skimp._core._types import Array, DType, Matrix
from skimp._core._work import DOUBLE
from skimp.data import ArrayRows, Block, Context
from skimp.features import Landmarks, draw_signs
from skimp.kernels import Columns, Kernel

_POINTS = 2048
"""Number of kernel columns that are held at once."""

SKETCHES = ("gaussian", "achlioptas", "sign", "very_sparse", "subsampling")
"""Names of the random matrices."""


@final
class RandomSums:
    r"""The functions :math:`\sum_i S_{ji} k(\cdot, x_i)` of all points; ``mixing`` is :math:`S^T`.

    A sum :math:`\sum_j w_j \varphi_j` has the coefficients :math:`a = S^T w` and the norm
    :math:`w^T S K S^T w`. Evaluating all of them on b rows costs a b x n kernel block, of which
    2,048 columns are held at a time, and its product with :math:`S^T`.
    """

    dtype: DType = DOUBLE

    def __init__(self, kernel: Kernel, points: Array, mixing: Matrix, n_jobs: int | None = None):
        self.kernel = kernel
        self.points = points
        self.mixing = mixing
        self.n_jobs = n_jobs

    @property
    def width(self) -> int:
        """Number of functions."""
        return int(self.mixing.shape[1])

    @cached_property
    def landmarks_(self) -> Landmarks:
        """The kernel columns that are summed."""
        return Landmarks(self.kernel, self.points, DOUBLE)

    @cached_property
    def _parts(self) -> list[tuple[Columns, Matrix]]:
        """Kernel columns and rows of the random matrix, for a part of the points each."""
        starts = range(0, len(self.points), _POINTS)
        parts = [slice(start, start + _POINTS) for start in starts]
        return [(self.kernel.bind(self.points[part], DOUBLE), self.mixing[part]) for part in parts]

    def map_block(self, X: Matrix, out: Array) -> None:
        """Write the basis functions at the rows X into ``out``."""
        check_shape(out, (X.shape[0], self.width))
        out[...] = 0
        for columns, mixing in self._parts:
            K = np.empty((X.shape[0], mixing.shape[0]))
            columns.fill(X, K)
            # a sparse matrix multiplies faster from the left
            out += (mixing.T @ K.T).T if sparse.issparse(mixing) else K @ mixing

    @cached_property
    def penalty(self) -> Array:
        """The matrix :math:`S K S^T`, in one pass over the points."""

        def of_block(block: Block, _: Scratch) -> Array:
            part = self.mixing[block.start : block.start + block.size]
            return np.asarray(part.T @ block.X)

        rows, initial = ArrayRows(self.points).mapped(self), np.zeros((self.width, self.width))
        P = Context(self.n_jobs).map_reduce(rows, of_block, lambda a, b: a + b, initial)
        check_representable(P)
        return np.asarray((P + P.T) / 2)

    def __getstate__(self) -> dict[str, Any]:
        """Leave out cached values."""
        return {name: vars(self)[name] for name in ("kernel", "points", "mixing", "n_jobs")}


def random_matrix(name: str, n: int, size: int, rng: np.random.Generator) -> Matrix:
    """Draw :math:`S^T`, of shape (n, size), by name; see `skimp.effects.Sketch`."""
    if name == "subsampling":
        chosen = rng.choice(n, size, replace=False)
        entries = np.full(size, np.sqrt(n / size))
        return sparse.csr_matrix((entries, (chosen, np.arange(size))), shape=(n, size))
    if name == "gaussian":
        return rng.normal(size=(n, size)) / np.sqrt(size)
    sparsity = {"sign": 1.0, "achlioptas": 3.0, "very_sparse": max(1.0, np.sqrt(n))}[name]
    return draw_signs(n, size, sparsity, rng) / np.sqrt(size)
