"""Nystroem approximation of a kernel."""

from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, ClassVar, final

import numpy as np

from skimp._core._linalg import inverse_lower, inverse_root, pivoted_cholesky
from skimp._core._threads import single_threaded_blas
from skimp._core._types import Array, Matrix, RandomState
from skimp._core._work import DOUBLE, MapCost, Size, Stage, calls, factor, gemm, stream
from skimp._params._rules import NONE, RANDOM_STATE, Rule, integer
from skimp.budgets import Budget, Selector
from skimp.data import Context, Rows
from skimp.features._base import Basis, Combination, FeatureMap
from skimp.features._landmarks import Landmarks, WhitenedLandmarks
from skimp.kernels import Kernel

_EPS64 = float(np.finfo(np.float64).eps)


@final
@dataclass(eq=False, repr=False)
class Nystroem(FeatureMap):
    r"""Nystroem features: the kernel projected on the span of m landmarks B.

    .. math:: z(x) = W^T k(B, x), \qquad W W^T = K_{mm}^+

    The approximation is :math:`\langle z(x), z(y) \rangle = k(x, B) K_{mm}^+ k(B, y)`. It equals
    k(x, y) if x or y is a landmark.

    W is the inverse Cholesky factor of K_mm. If K_mm is nearly singular, landmarks that depend on
    others up to rounding are dropped; a few hundred remain for smooth kernels on few columns. If
    ``rank`` is given, W consists of the eigenvectors of the largest eigenvalues.

    Fitting takes O(m^2 d + m^3) time and O(m^2) memory, in addition to the selector. Mapping n rows
    takes 2 n m (d + m) operations. With `~skimp.budgets.Fixed` landmarks and a numeric bandwidth,
    `fit_width` needs no rows.

    Parameters
    ----------
    kernel : Kernel, str or None, default=None
        The kernel. None uses the estimator's kernel, or `Gaussian` outside an estimator.
    budget : int, default=1000
        Number of landmarks m. If there are fewer rows, all rows are used.
    selector : Selector or str, default="auto"
        How to choose the landmarks. The default, `skimp.budgets.Auto`, uses the class labels y.
    rank : int or None, default=None
        Number of eigenvalues to keep, the largest ones. None keeps all.
    random_state : int, Generator, RandomState or None, default=None
        Seed of the selection.

    Attributes
    ----------
    kernel_ : Kernel
        Kernel with numeric parameters.
    budget_ : Budget
        The chosen landmarks, with their row numbers.
    landmarks_ : Landmarks
        Kernel columns of the landmarks, without those that depend on others.
    normalization_ : array of shape (m, r)
        Matrix W, with one row per landmark in ``landmarks_``.

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

    kernel: Kernel | str | None = None
    _: KW_ONLY
    budget: int = 1000
    selector: Selector | str = "auto"
    rank: int | None = None
    random_state: RandomState = None

    size_name = "budget"
    unit = "landmarks"
    nested = True
    projects = True
    needs_flag = ("positive_definite", "its matrix is factorized")
    rules: ClassVar[dict[str, Rule]] = {
        "budget": integer(at_least=1),
        "rank": NONE | integer(at_least=1),
        "random_state": RANDOM_STATE,
    }

    @property
    def depends_on(self) -> str | None:
        return None if self.fixed else "landmarks that are chosen from rows"

    def draw(self, rows: Rows, rng: np.random.Generator, context: Context) -> None:
        kernel, dtype, n_jobs = self.kernel_, rows.dtype, context.n_jobs
        selector, eps = self.chosen_selector(), float(np.finfo(dtype).eps)

        def select() -> dict[str, Any]:
            return vars(selector.select(rows, self.budget, kernel, rng, context=context))

        self.budget_ = Budget(**context.once("landmarks", select, rng))
        landmarks = Landmarks(kernel, self.budget_.points, dtype, n_jobs=n_jobs)
        root, resolved = None, slice(None)
        if self.rank is not None:
            # weights cancel unless the rank is truncated
            K, weights = landmarks.penalty, self.budget_.weights
            scale = np.ones(len(K)) if weights is None else weights
            W, values = inverse_root(K * np.outer(scale, scale), rank=self.rank, eps=eps**1.5)
            assert values is not None, "inverse_root returns eigenvalues if a rank is given"
            root, resolved = W * scale[:, None], slice(np.count_nonzero(values >= eps * values[0]))
        elif landmarks.factor is None:
            # drop landmarks that depend on others
            pivots, R = pivoted_cholesky(landmarks.penalty, tol=max(eps**1.5, _EPS64))
            smallest = eps * landmarks.width
            landmarks = Landmarks(kernel, landmarks.points[pivots], dtype, n_jobs=n_jobs)
            if landmarks.factor is None:
                root, resolved = _invert(R, smallest)
        self.landmarks_ = landmarks
        self._basis: Basis = landmarks if root is None else WhitenedLandmarks(landmarks, root)
        self._root = None if root is None else root[:, resolved].astype(dtype)

    @property
    def normalization_(self) -> Array:
        """Matrix W in the dtype of the data, without columns that this dtype cannot resolve."""
        return self.landmarks_.whitening if self._root is None else self._root

    def planned_width(self, size: Size | Rows) -> int:
        return min(self.budget, size.n_rows)

    def cost(self, size: Size, kernel: Kernel | None = None) -> MapCost:
        n, d, dtype = size.n_rows, size.n_features, size.dtype
        m, chosen = self.planned_width(size), self.chosen_kernel(kernel)
        points = m * d * dtype.itemsize
        select = self.chosen_selector().cost(m, chosen, size)
        conditioned = size.conditioned and self.rank is None
        # divide and conquer takes about 9 m^3 operations, half of them in matrix products
        work = chosen.work(m, m, size, DOUBLE) + stream(16 * m**2)
        work += factor(m**3 / 3 if conditioned else 7 * m**3)
        # K_mm, its factor or eigenvectors, and workspace; float64 copies of the landmarks
        held = int((17 if conditioned else 40) * m**2 + points + 24 * m * d)
        mapping = chosen.work(n, m, size, dtype) + calls(n)
        width = m if self.rank is None else min(m, self.rank)
        scratch = 512 * d * 8
        if not conditioned:
            mapping += gemm(2 * n * m * width, DOUBLE)
            scratch += 1024 * m * 12
        if size.density < 1:
            # two strips of the product with sparse rows
            scratch += 1024 * m * dtype.itemsize
        return MapCost(
            (replace(select, bytes=int(select.bytes + points)), Stage("factor", work, held)),
            width=width,
            dtype=dtype if conditioned else DOUBLE,
            mapping=mapping,
            # the matrix before landmarks were dropped, too
            held=(24 if conditioned else 16 + dtype.itemsize) * m**2 + 4 * points,
            scratch=scratch,
            landmarks=conditioned,
        )

    @property
    def width(self) -> int:
        """Number of features: the numerical rank of K_mm in the dtype of the data."""
        return int(self.normalization_.shape[1])

    def map_block(self, X: Matrix, out: Array) -> None:
        WhitenedLandmarks(self.landmarks_, self.normalization_).map_block(X, out)

    def combine(self, coef: Array) -> Combination:
        root = (self.normalization_.astype(DOUBLE) @ coef).astype(self.dtype_)
        return WhitenedLandmarks(self.landmarks_, root)

    def basis(self) -> Basis:
        """Return the landmarks' kernel columns if K_mm is well conditioned, else whitened features.

        Kernel columns save the product with W. Whitened features use a W in float64, which resolves
        more directions than float32.
        """
        return self._basis


def _invert(R: Array, smallest: float) -> tuple[Array, slice]:
    """Return the inverse of a pivoted factor, and the slice of columns above ``smallest``."""
    if not R[0, 0]:
        # a kernel that is zero everywhere gives a single zero feature
        return np.zeros((1, 1)), slice(1)
    with single_threaded_blas():
        root = np.ascontiguousarray(inverse_lower(R.T).T)
    left = R.diagonal() ** 2
    return root, slice(max(1, np.count_nonzero(left >= smallest * left[0])))
