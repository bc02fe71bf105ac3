"""Random projections from the feature space of any kernel."""

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
from skimp.features._pool import draw_subsets
from skimp.kernels import Kernel

_EPS64 = float(np.finfo(np.float64).eps)
_TOLERANCE = 1e-3
_SAMPLE = 10_000


@final
@dataclass(eq=False, repr=False)
class KernelProjection(FeatureMap):
    r"""Random projection from the feature space of any kernel (KG-RP, KORP, KPCA-RP).

    The random directions lie in the span of p centred landmarks B. With the centred kernel
    :math:`\bar k` and the eigendecomposition :math:`\bar k(B, B) = V \Lambda V^T`, the
    coordinates in this span and the features are

    .. math:: u(x) = \Lambda^{-1/2} V^T \bar k(B, x), \qquad z(x) = M^T u(x) / \sqrt k

    with a random M. Features preserve *distances* in feature space, as far as the landmarks span
    it. Their inner products are those of centred rows: :math:`E \langle z(x), z(y) \rangle =
    \langle u(x), u(y) \rangle`, the centred Nystroem kernel.

    Fitting takes O(p^2 d + p^3 + p^2 k) time, mapping n rows 2 n p (d + k) operations, and the map
    O(p^2 + p k) memory.

    Parameters
    ----------
    kernel : Kernel, str or None, default=None
        The kernel. None uses the estimator's kernel, or `Gaussian` outside an estimator.
    method : "gaussian", "orthonormal" or "pca", default="gaussian"
        - "gaussian": each direction is the whitened sum of t landmarks, approximately normal for
          large t (Kulis and Grauman). Inner products are smaller by a factor
          :math:`1 - t / p` on average.
        - "orthonormal": directions are orthonormal, in groups as large as the dimension of the
          span. Lower variance; zero if k is a multiple of that dimension.
        - "pca": normal directions in the kernel principal components.
    n_components : int, default=1000
        Number of features k. More features than landmarks only reduce the error within the span.
    budget : int, default=1000
        Number of landmarks p. If there are fewer rows, all rows are used. Distances outside the
        landmarks' span are lost for any number of features.
    n_terms : int, default=30
        Number of landmarks t per direction for "gaussian"; at most half of the budget.
    selector : Selector or str, default="uniform"
        Selector of the landmarks.
    random_state : int, Generator, RandomState or None, default=None
        Seed of the landmarks and directions.

    Attributes
    ----------
    kernel_ : Kernel
        Kernel with numeric parameters.
    landmarks_ : Landmarks
        The landmarks' kernel columns.
    directions_ : array of shape (p, n_components)
        Coefficients of the kernel columns in each feature.
    offset_ : array of shape (n_components,)
        Constant added to each feature.

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
    needs_flag = ("positive_definite", "its matrix is factorized")
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

    @property
    def depends_on(self) -> str | None:
        return None if self.fixed else "landmarks that are chosen from rows"

    def draw(self, rows: Rows, rng: np.random.Generator, context: Context) -> None:
        selector, kernel, n_jobs = self.chosen_selector(), self.kernel_, context.n_jobs
        points = selector.select(rows, self.budget, kernel, rng, context=context).points
        self.landmarks_ = Landmarks(kernel, points, rows.dtype, n_jobs=n_jobs)
        K, eps = self.landmarks_.penalty, float(np.finfo(rows.dtype).eps)
        means, V, roots = _principal(K)
        if _noise(K, roots, eps) > _TOLERANCE:
            # large coefficients cancel and lose the digits of float32
            self.landmarks_ = Landmarks(kernel, points, DOUBLE, n_jobs=n_jobs)
        M = self._draw_directions(V, rng)
        W = V @ np.divide(M, roots[:, None], out=np.zeros_like(M), where=roots[:, None] > 0)
        W /= np.sqrt(self.n_components)
        # coefficients that sum to zero centre the rows of the kernel matrix
        W -= W.mean(axis=0)
        dtype = self.landmarks_.dtype
        self.directions_, self.offset_ = W.astype(dtype), -(means @ W).astype(dtype)

    def _draw_directions(self, V: Array, rng: np.random.Generator) -> Array:
        """Draw the coefficients of the directions in the eigenvectors V."""
        (p, rank), size = V.shape, int(self.n_components)
        M = rng.standard_normal((rank, size)) if self.method == "pca" else np.empty((rank, size))
        if self.method == "orthonormal":
            M[:] = np.sqrt(rank) * OrthogonalDraws(size, rng).directions(rank)
        elif self.method == "gaussian":
            t = max(1, min(int(self.n_terms), p // 2))
            for c, chosen in enumerate(draw_subsets(p, size, t, rng, spread=False)):
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
    """Projections on random pairs of rows, for distance-based hashing.

    Features are k(x, a) - k(x, b) minus the median over at most 10,000 rows. Their signs are bits;
    their inner products do not approximate the kernel. Kernel values are computed in float64
    because of the differences.
    """

    kernel: Kernel | str | None = None
    _: KW_ONLY
    n_components: int = 1000
    random_state: RandomState = None

    size_name = "n_components"
    depends_on = "pairs of rows"
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
    """Return K's column means, and eigenvectors and roots of eigenvalues of the centred K."""
    values, vectors = eigenpairs(centred(K))
    # drop eigenvalues at rounding level, but keep at least the largest
    rounding = len(K) * _EPS64 * np.abs(K).max()
    values = np.where(values > rounding, values, 0.0)
    first = min(np.count_nonzero(values == 0), len(K) - 1)
    return K.mean(axis=0), vectors[:, first:], np.sqrt(values[first:])


def _noise(K: Array, roots: Array, eps: float) -> float:
    """Return the size of rounding errors in the coordinates relative to the coordinates."""
    kept = roots[roots > 0]
    errors = np.linalg.norm(eps * np.abs(K).max() / kept)
    return float(errors / np.sqrt(np.mean(kept**2) * len(kept) / len(K))) if len(kept) else 0.0
