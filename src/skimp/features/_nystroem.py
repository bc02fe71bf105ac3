"""The Nystroem approximation of a kernel on a budget of points."""

from dataclasses import replace
from typing import ClassVar, final

import numpy as np

from skimp._core._linalg import inverse_lower, inverse_root, pivoted_cholesky
from skimp._core._threads import single_threaded_blas
from skimp._core._types import Array, Matrix, RandomState
from skimp._core._work import DOUBLE, MapCost, Size, Stage, calls, factor, gemm, stream
from skimp._params._rules import NONE, RANDOM_STATE, Rule, integer
from skimp.budgets import Selector
from skimp.data import Context, Rows
from skimp.features._base import Basis, FeatureMap
from skimp.features._landmarks import Landmarks, WhitenedLandmarks
from skimp.kernels import Kernel

_EPS64 = float(np.finfo(np.float64).eps)


@final
class Nystroem(FeatureMap):
    r"""Nystroem features: coordinates in the space that a budget of m points spans.

    .. math:: z(x) = W^T k(B, x), \qquad W W^T = K_{mm}^+

    so that :math:`\langle z(x), z(y) \rangle = k(x, B) K_{mm}^+ k(B, y)`, which equals k(x, y)
    if x or y is one of the points. W is the inverse Cholesky factor of K_mm. If that is
    nearly singular, points that others determine to rounding are left out: the budget is an upper
    limit then, and for smooth kernels of few columns, a few hundred points are all there is. With
    a rank, W is made of the eigenvectors of the largest eigenvalues.

    Fitting takes O(m^2 d + m^3) time, mapping n rows 2 n m (d + m) operations and O(m^2) memory.

    Parameters
    ----------
    kernel : Kernel, str or None, default=None
        The kernel; None for the estimator's own, or Gaussian if the map is used alone.
    budget : int, default=1000
        Number of points m; all rows are taken if there are fewer.
    selector : Selector or str, default="auto"
        How the points are chosen; see `skimp.budgets.Auto` for the default, which looks at y.
    rank : int or None, default=None
        Keep this many of the largest eigenvalues only.
    random_state : int, Generator, RandomState or None, default=None
        Seed of the selection.

    Attributes
    ----------
    kernel_ : Kernel
        The kernel with numbers for parameters.
    budget_ : Budget
        The chosen points, with their row numbers.
    landmarks_ : Landmarks
        The kernel columns of those points that do not depend on others.
    normalization_ : array of shape (m, r)
        The matrix W, with a row for each of the m points of ``landmarks_``.

    References
    ----------
    Williams and Seeger (2001), Using the Nystroem method to speed up kernel machines.

    Examples
    --------
    >>> import numpy as np
    >>> from skimp.features import Nystroem
    >>> from skimp.kernels import Gaussian
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> Z = Nystroem(Gaussian(gamma=0.1), budget=200, random_state=0).fit_transform(X)
    >>> bool(np.allclose(Z @ Z.T, Gaussian(gamma=0.1)(X), atol=1e-6))
    True
    """

    size_name = "budget"
    unit = "landmarks"
    nested = True
    needs_flag = ("positive_definite", "its features need a root")
    _rules: ClassVar[dict[str, Rule]] = {
        "budget": integer(at_least=1),
        "rank": NONE | integer(at_least=1),
        "random_state": RANDOM_STATE,
    }

    def __init__(
        self,
        kernel: Kernel | str | None = None,
        *,
        budget: int = 1000,
        selector: Selector | str = "auto",
        rank: int | None = None,
        random_state: RandomState = None,
    ):
        self.kernel = kernel
        self.budget = budget
        self.selector = selector
        self.rank = rank
        self.random_state = random_state

    def draw(self, rows: Rows, rng: np.random.Generator, context: Context) -> None:
        selector = self.chosen_selector()
        self.budget_ = selector.select(rows, self.budget, self.kernel_, rng, context=context)
        self.landmarks_ = Landmarks(
            self.kernel_, self.budget_.points, rows.dtype, n_jobs=context.n_jobs
        )
        self._basis: Basis = self.landmarks_
        self._features: WhitenedLandmarks | None = None
        if self.rank is not None:
            self._truncate(self.rank)
        elif self.landmarks_.factor is None:
            self._leave_out_dependent()

    def _whiten(self, root: Array, resolved: Array) -> None:
        """Make functions of a root, and features of the columns that the rows' dtype resolves."""
        self._basis = WhitenedLandmarks(self.landmarks_, root)
        self._features = WhitenedLandmarks(self.landmarks_, resolved.astype(self.dtype_))

    def _truncate(self, rank: int) -> None:
        # weights cancel unless the rank is truncated
        K, weights = self.landmarks_.penalty, self.budget_.weights
        scale = np.ones(len(K)) if weights is None else weights
        eps = float(np.finfo(self.dtype_).eps)
        W, values = inverse_root(K * np.outer(scale, scale), rank=rank, eps=eps**1.5)
        assert values is not None, "a rank asks for eigenvalues"
        root = W * scale[:, None]
        self._whiten(root, root[:, values >= eps * values[0]])

    def _leave_out_dependent(self) -> None:
        """Keep the points that others do not determine, in the order of their pivots."""
        landmarks, eps = self.landmarks_, float(np.finfo(self.dtype_).eps)
        pivots, R = pivoted_cholesky(landmarks.penalty, tol=max(eps**1.5, _EPS64))
        self.landmarks_ = Landmarks(
            self.kernel_, landmarks.points[pivots], landmarks.dtype, n_jobs=landmarks.n_jobs
        )
        if self.landmarks_.factor is not None:
            self._basis = self.landmarks_
            return
        # a kernel that is zero everywhere has one feature, which is zero
        root: Array = np.zeros((1, 1))
        if R[0, 0]:
            with single_threaded_blas():
                root = np.ascontiguousarray(inverse_lower(R.T).T)
        left = R.diagonal() ** 2
        resolved = max(1, np.count_nonzero(left >= eps * landmarks.width * left[0]))
        self._whiten(root, root[:, :resolved])

    @property
    def normalization_(self) -> Array:
        """The matrix W, in the dtype of the rows."""
        return self.landmarks_.whitening if self._features is None else self._features.root

    def planned_width(self, size: Size | Rows) -> int:
        """Return the budget, or the number of rows if that is less."""
        return min(self.budget, size.n_rows)

    def cost(self, size: Size, kernel: Kernel | None = None) -> MapCost:
        """Return what choosing points and factoring K_mm take; see `FeatureMap.cost`."""
        n, d, dtype = size.n_rows, size.n_features, size.dtype
        m, chosen = self.planned_width(size), self.chosen_kernel(kernel)
        points = m * d * dtype.itemsize
        select = self.chosen_selector().cost(m, chosen, size)
        conditioned = size.conditioned and self.rank is None
        # the divide and conquer algorithm takes some 9 m^3 operations, half of them in products
        work = chosen.work(m, m, size, DOUBLE) + stream(16 * m**2)
        work += factor(m**3 / 3 if conditioned else 7 * m**3)
        # K_mm, its factor or eigenvectors and work space; the points in float64, scaled, transposed
        held = int((17 if conditioned else 40) * m**2 + points + 24 * m * d)
        mapping = chosen.work(n, m, size, dtype) + calls(n)
        width = m if self.rank is None else min(m, self.rank)
        scratch = 512 * d * 8
        if not conditioned:
            mapping += gemm(2 * n * m * width, DOUBLE)
            scratch += 1024 * m * 12
        if size.density < 1:
            # a strip of the product of sparse rows, and the one before
            scratch += 1024 * m * dtype.itemsize
        return MapCost(
            (replace(select, bytes=int(select.bytes + points)), Stage("factor", work, held)),
            width=width,
            dtype=dtype if conditioned else DOUBLE,
            mapping=mapping,
            # a matrix of points that others determine was there before
            held=(24 if conditioned else 16 + dtype.itemsize) * m**2 + 4 * points,
            scratch=scratch,
            landmarks=conditioned,
        )

    @property
    def width(self) -> int:
        """Number of features, the rank of K_mm at the data's precision."""
        return int(self.normalization_.shape[1])

    def map_block(self, X: Matrix, out: Array) -> None:
        WhitenedLandmarks(self.landmarks_, self.normalization_).map_block(X, out)

    def basis(self) -> Basis:
        """Return the kernel columns of the points if K_mm is well conditioned, else features.

        Kernel columns need no product with W, neither in fit nor in predict. The features are made
        from kernel columns of the rows' precision by a product in float64, which resolves more
        directions than one in float32 does.
        """
        return self._basis
