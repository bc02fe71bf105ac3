"""Kernel columns of landmark points, as basis functions of a model."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, final

import numpy as np

from skimp._core._linalg import (
    as_compute_dtype,
    check_representable,
    check_shape,
    inverse_root,
    well_conditioned_factor,
)
from skimp._core._objects import as_real
from skimp._core._types import Array, DType, Matrix
from skimp._core._work import DOUBLE
from skimp.features._strips import strips
from skimp.kernels import Columns, Kernel, check_gram


@final
class Landmarks:
    r"""The basis functions :math:`k(\cdot, b_j)` of landmarks :math:`b_1, \dots, b_m`.

    A model :math:`f = \sum_j c_j k(\cdot, b_j)` has the squared norm
    :math:`\|f\|^2 = c^T K_{mm} c`.

    The penalty K_mm takes O(m^2 d) time and O(m^2) memory and is computed on first use. Mapping n
    rows takes n m kernel values.

    Parameters
    ----------
    kernel : Kernel
        Kernel with numeric parameters.
    points : array or CSR matrix of shape (m, d), or objects
        The landmarks.
    dtype : float32 or float64, optional
        Dtype of the kernel columns; by default that of the points.
    n_jobs : int or None, default=None
        Number of threads for the kernel matrix of the landmarks; None uses all cores.

    Examples
    --------
    >>> import numpy as np
    >>> from skimp.features import Landmarks
    >>> from skimp.kernels import Linear
    >>> landmarks = Landmarks(Linear(), np.array([[1.0, 0.0], [0.0, 2.0]]))
    >>> K = np.empty((1, 2))
    >>> landmarks.map_block(np.array([[3.0, 4.0]]), K)
    >>> K.tolist()
    [[3.0, 8.0]]
    """

    nested: ClassVar[bool] = True

    def __init__(
        self,
        kernel: Kernel,
        points: Matrix,
        dtype: DType | None = None,
        *,
        n_jobs: int | None = None,
    ):
        self.kernel = kernel
        self.n_jobs = n_jobs
        self.dtype = as_compute_dtype(points.dtype) if dtype is None else dtype
        self.points = as_real(points, self.dtype)

    @property
    def kernel_(self) -> Kernel:
        return self.kernel

    @property
    def landmarks_(self) -> "Landmarks":
        return self

    @property
    def width(self) -> int:
        return int(self.points.shape[0])

    @cached_property
    def penalty(self) -> Array:
        """Kernel matrix K_mm of the landmarks, in float64."""
        with np.errstate(over="ignore", invalid="ignore"):
            K = self.kernel(as_real(self.points, DOUBLE), n_jobs=self.n_jobs)
        check_representable(K)
        check_gram(K, self.kernel)
        return K

    @cached_property
    def factor(self) -> Array | None:
        """Upper factor R with :math:`R^T R = K_{mm}`; None unless K_mm is well conditioned."""
        return well_conditioned_factor(self.penalty)

    @cached_property
    def whitening(self) -> Array:
        """Matrix W with :math:`W W^T = K_{mm}^{-1}`, for a well-conditioned K_mm."""
        eps = float(np.finfo(self.dtype).eps)
        W: Array = inverse_root(self.penalty, rank=None, eps=eps)[0].astype(self.dtype)
        return W

    @cached_property
    def columns(self) -> Columns:
        """The kernel bound to the landmarks."""
        return self.kernel.bind(self.points, self.dtype)

    def map_block(self, X: Matrix, out: Array) -> None:
        """Write the kernel block k(X, B) into ``out``."""
        check_shape(out, (X.shape[0], self.width))
        self.columns.fill(X, out)

    def block(self, X: Matrix) -> Array:
        """Return the kernel block k(X, B)."""
        K = np.empty((X.shape[0], self.width), self.dtype)
        self.map_block(X, K)
        return K

    def strips(self, X: Matrix, out: Array, width: int) -> Iterator[tuple[Array, Array]]:
        """Yield strips of ``out``, of ``width`` columns, with the kernel blocks of their rows."""
        size = self.width
        for rows, strip, K in strips(X, out, width, 1024, columns=size, dtype=self.dtype):
            self.columns.fill(rows, K)
            yield strip, K

    def basis(self) -> "Landmarks":
        return self

    def __getstate__(self) -> dict[str, Any]:
        """Drop what can be recomputed."""
        return {name: vars(self)[name] for name in ("kernel", "points", "dtype", "n_jobs")}


@final
@dataclass(frozen=True, eq=False)
class WhitenedLandmarks:
    """Linear combinations of kernel columns that are orthonormal functions."""

    landmarks_: Landmarks
    root: Array  # (m, r): coefficients of each function; its dtype is that of the features
    penalty: ClassVar[None] = None
    factor: ClassVar[None] = None

    @property
    def kernel_(self) -> Kernel:
        return self.landmarks_.kernel

    @property
    def width(self) -> int:
        return int(self.root.shape[1])

    @property
    def dtype(self) -> DType:
        return self.root.dtype

    def map_block(self, X: Matrix, out: Array) -> None:
        for strip, K in self.landmarks_.strips(X, out, self.width):
            np.matmul(K.astype(self.dtype, copy=False), self.root, out=strip)
