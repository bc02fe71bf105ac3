"""Projections from the feature space of any kernel, in the span of some rows."""

from dataclasses import KW_ONLY, dataclass, replace
from typing import ClassVar, final

import numpy as np

from skimp._core._draws import OrthogonalDraws
from skimp._core._linalg import centred, check_finite, eigenpairs
from skimp._core._random import draw_seed
from skimp._core._types import Array, Matrix, RandomState
from skimp._core._work import DOUBLE, MapCost, Size, Stage, calls, factor, gemm
from skimp._params._rules import Rule, integer, one_of
from skimp.budgets import Selector, random_pairs
from skimp.data import Context, Rows
from skimp.features._base import SIZED, FeatureMap
from skimp.features._landmarks import Landmarks
from skimp.features._pool import hands
from skimp.kernels import Kernel

_EPS64 = float(np.finfo(np.float64).eps)
_TOLERANCE = 1e-3
_SAMPLE = 10_000


@final
@dataclass(eq=False, repr=False)
class KernelProjection(FeatureMap):
    r"""Random projection from the feature space of any kernel (KG-RP, KORP, KPCA-RP).

    Directions lie in the space that p rows B span around their mean, whose coordinates are
    :math:`u(x) = \Lambda^{-1/2} V^T \bar k(B, x)`, with :math:`\bar k` the centred kernel and
    :math:`V \Lambda V^T` that of the rows. Features are :math:`z(x) = M^T u(x) / \sqrt k` with a
    random M. The mean of their inner products is the centred Nystroem kernel :math:`\langle u(x),
    u(y) \rangle`: *distances* are those of feature space, as far as the rows span it, while
    inner products are those of rows around their mean.

    Fitting takes O(p^2 d + p^3 + p^2 k), mapping n rows 2 n p (d + k) operations.

    Parameters
    ----------
    kernel : Kernel, str or None, default=None
        The kernel; None for the estimator's own, or Gaussian if the map is used alone.
    method : "gaussian", "orthonormal" or "pca", default="gaussian"
        - "gaussian": each direction is the whitened sum of t of the rows, normal for large t by
          the central limit theorem (Kulis and Grauman); its mean is :math:`1 - t / p` of the above;
        - "orthonormal": directions are orthonormal to each other, in groups as large as the space
          has dimensions: a lower variance, none if k is a multiple of these;
        - "pca": directions are normal in kernel principal components.
    n_components : int, default=1000
        Number of features k; more than the rows lower the error within their span only.
    budget : int, default=1000
        Number of rows p; all are taken if there are fewer. Distances outside of their span are
        lost, however many features there are.
    n_terms : int, default=30
        Rows t in the sum of a direction, for "gaussian"; at most half of the budget.
    selector : Selector or str, default="uniform"
        How the rows are chosen.
    random_state : int, Generator, RandomState or None, default=None
        Seed of the rows and directions.

    Attributes
    ----------
    kernel_ : Kernel
        The kernel with numbers for parameters.
    landmarks_ : Landmarks
        The kernel columns of the rows.
    directions_ : array of shape (p, n_components)
        Coefficients of these columns in each feature.
    offset_ : array of shape (n_components,)
        What is added to each feature.

    References
    ----------
    Kulis and Grauman (2012), Kernelized locality-sensitive hashing.

    Zhao, Alavi, Wiliem and Lovell (2016), Efficient clustering on Riemannian manifolds: a
    kernelised random projection approach.

    Examples
    --------
    >>> import numpy as np
    >>> from skimp.diagnostics import distance_distortion
    >>> from skimp.features import KernelProjection
    >>> from skimp.kernels import Gaussian
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> Z = KernelProjection(Gaussian(0.1), n_components=5000, random_state=0).fit_transform(X)
    >>> bool(distance_distortion(X, Z, Gaussian(0.1)) < 0.2)
    True
    """

    kernel: Kernel | str | None = None
    _: KW_ONLY
    method: str = "gaussian"
    n_components: int = 1000
    budget: int = 1000
    n_terms: int = 30
    selector: Selector | str = "uniform"
    random_state: RandomState = None

    size_name = "n_components"
    centred = True
    needs_flag = ("positive_definite", "its features need a root")
    rules: ClassVar[dict[str, Rule]] = {
        **SIZED,
        "method": one_of("gaussian", "orthonormal", "pca"),
        "budget": integer(at_least=1),
        "n_terms": integer(at_least=1),
    }

    def cost(self, size: Size, kernel: Kernel | None = None) -> MapCost:
        n, d, dtype, k = size.n_rows, size.n_features, size.dtype, int(self.n_components)
        p, chosen = min(int(self.budget), n), self.chosen_kernel(kernel)
        points = p * d * dtype.itemsize
        select = self.chosen_selector().cost(p, chosen, size)
        work = chosen.work(p, p, size, DOUBLE) + factor(7 * p**3) + gemm(2 * p * p * k, DOUBLE)
        held = int(40 * p**2 + 24 * p * k + points + 24 * p * d)
        mapping = chosen.work(n, p, size, dtype) + calls(n)
        mapping += gemm(2 * n * p * k, dtype if size.conditioned else DOUBLE)
        return MapCost(
            (replace(select, bytes=int(select.bytes + points)), Stage("factor", work, held)),
            width=k,
            dtype=dtype,
            mapping=mapping,
            held=16 * p**2 + 8 * p * k + 4 * points,
            scratch=1024 * 12 * (p + k),
        )

    def draw(self, rows: Rows, rng: np.random.Generator, context: Context) -> None:
        selector, kernel, n_jobs = self.chosen_selector(), self.kernel_, context.n_jobs
        points = selector.select(rows, self.budget, kernel, rng, context=context).points
        self.landmarks_ = Landmarks(kernel, points, rows.dtype, n_jobs=n_jobs)
        K, eps = self.landmarks_.penalty, float(np.finfo(rows.dtype).eps)
        means, V, roots = _principal(K)
        if _noise(K, roots, eps) > _TOLERANCE:
            # large coefficients cancel, and with them the digits that float32 has
            self.landmarks_ = Landmarks(kernel, points, DOUBLE, n_jobs=n_jobs)
        M = self._draw_directions(V, rng)
        W = V @ np.divide(M, roots[:, None], out=np.zeros_like(M), where=roots[:, None] > 0)
        W /= np.sqrt(self.n_components)
        # rows of the kernel are centred by directions that sum to zero
        W -= W.mean(axis=0)
        dtype = self.landmarks_.dtype
        self.directions_, self.offset_ = W.astype(dtype), -(means @ W).astype(dtype)

    def _draw_directions(self, V: Array, rng: np.random.Generator) -> Array:
        """Draw coefficients of the eigenvectors V in each direction."""
        (p, rank), size = V.shape, int(self.n_components)
        M = rng.standard_normal((rank, size)) if self.method == "pca" else np.empty((rank, size))
        if self.method == "orthonormal":
            M[:] = np.sqrt(rank) * OrthogonalDraws(size, rng).directions(rank)
        elif self.method == "gaussian":
            t = max(1, min(int(self.n_terms), p // 2))
            for c, chosen in enumerate(hands(p, size, t, rng, spread=False)):
                M[:, c] = V[chosen].sum(axis=0)
            M *= np.sqrt((p - 1) / t)
        return M

    @property
    def width(self) -> int:
        return len(self.offset_)

    def map_block(self, X: Matrix, out: Array) -> None:
        for strip, K in self.landmarks_.strips(X, out, self.width):
            strip[...] = K @ self.directions_ + self.offset_
            check_finite(strip)


@final
@dataclass(eq=False, repr=False)
class PairProjection(FeatureMap):
    """Where rows lie between the two of a pair, from the median on: distance-based hashing.

    Features are k(x, a) - k(x, b) less the median of that among the rows (10,000 of them). Their
    signs are bits; inner products of the features do not approximate the kernel. Kernel values, of
    which differences are taken, are in float64.
    """

    kernel: Kernel | str | None = None
    _: KW_ONLY
    n_components: int = 1000
    random_state: RandomState = None

    size_name = "n_components"
    rules: ClassVar[dict[str, Rule]] = SIZED

    def draw(self, rows: Rows, rng: np.random.Generator, context: Context) -> None:
        size = int(self.n_components)
        points = random_pairs(rows, size, rng, context)
        self.landmarks_ = Landmarks(self.kernel_, points, DOUBLE, n_jobs=context.n_jobs)
        sample = rows.sample(_SAMPLE, draw_seed(rng), context).X
        K = self.landmarks_.block(sample)
        self.medians_ = np.median(K[:, :size] - K[:, size:], axis=0)

    @property
    def width(self) -> int:
        return len(self.medians_)

    def map_block(self, X: Matrix, out: Array) -> None:
        k = self.width
        for strip, K in self.landmarks_.strips(X, out, k):
            strip[...] = K[:, :k] - K[:, k:] - self.medians_


def _principal(K: Array) -> tuple[Array, Array, Array]:
    """Return means of K's columns, and eigenvectors of K around them with roots of eigenvalues."""
    values, vectors = eigenpairs(centred(K))
    # eigenvalues that are rounding are left out, all but the largest
    rounding = len(K) * _EPS64 * np.abs(K).max()
    values = np.where(values > rounding, values, 0.0)
    first = min(np.count_nonzero(values == 0), len(K) - 1)
    return K.mean(axis=0), vectors[:, first:], np.sqrt(values[first:])


def _noise(K: Array, roots: Array, eps: float) -> float:
    """Return how large coordinates are that kernel values have by rounding, over those of rows."""
    kept = roots[roots > 0]
    errors = np.linalg.norm(eps * np.abs(K).max() / kept)
    return float(errors / np.sqrt(np.mean(kept**2) * len(kept) / len(K))) if len(kept) else 0.0
