"""Random binning features."""

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, final

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from skimp._core._linalg import check_shape
from skimp._core._random import draw_seed
from skimp._core._types import Array, Matrix, RandomState
from skimp._core._work import DOUBLE, MapCost, Size, Stage, gathers, values
from skimp._params._rules import RANDOM_STATE, Rule, integer
from skimp.data import Codes, Context, Rows, as_rows, split_rows
from skimp.features._base import FeatureMap, fill_rows
from skimp.features._grids import HELD, WAITING, Bins, Grids
from skimp.kernels import Kernel

_LARGEST_SAMPLE = 2**19
_MAJORITY_SAMPLE = 1000
"""Number of rows that determine the most frequent value of each column."""
_SORTED = 0.2
"""Hashes sorted in the time of one function value (measured: 0.1 to 0.3)."""


@final
@dataclass(eq=False, repr=False)
class RandomBinning(FeatureMap):
    r"""Random binning features: the bins of random grids that a row falls into.

    For kernels that are products over columns, such as `Laplacian`. A grid divides column j into
    intervals of random width :math:`h_j \sim h \, k_j''(h)` with a random shift :math:`u_j`. Two
    rows fall into the same bin of a grid with probability k(x, y). With P grids,

    .. math:: z(x) = \sqrt{1 / P} \, [\text{one-hot}(\lfloor (x - u_p) / h_p \rfloor)]_{p=1}^P

    is unbiased, :math:`E \langle z(x), z(y) \rangle = k(x, y)`, with variance
    :math:`k (1 - k) / P`. Models are piecewise constant, like trees.

    Bins are found in the training rows, or in a uniform sample of about m = 524,288 of them, and
    identified by 32-bit hashes. Bins without one of these rows have no feature. The sample misses
    a bin with a share p of the rows with probability :math:`(1 - p)^m`; of a grid with B bins,
    those it misses have an expected share of at most B / (e m) of the rows: 0.2 % for 3,000 bins.
    If a grid has more than ``max_bins`` bins, only the fullest ones have a feature. An inner
    product is therefore unbiased only if one of its rows was seen in ``fit`` and no bin was
    dropped; otherwise it is too small on average. Since features are bins of rows, `fit_width`
    raises an error.

    Each row has P nonzero features of equal value. Solvers and `predict` use integer codes, one per
    grid; `transform` returns a CSR matrix. Binning n rows takes O(n d P) time, less for sparse rows
    and for columns in which most rows are equal. The codes take 1, 2 or 4 bytes each.

    Parameters
    ----------
    kernel : Kernel, str or None, default=None
        A product over columns of convex functions, with ``sample_pitches``: `Laplacian`,
        `Separable`, and sums, multiples and restrictions of them. None uses the estimator's kernel,
        or `Laplacian` outside an estimator. The Gaussian kernel does not qualify: it is concave
        at 0.
    n_grids : int, default=128
        Number of grids P.
    max_bins : int, default=65535
        Maximum number of bins per grid. Codes take one byte up to 255 bins, two up to 65,535.
    random_state : int, Generator, RandomState or None, default=None
        Seed of the grids.

    Attributes
    ----------
    kernel_ : Kernel
        Kernel with numeric parameters.
    n_bins_ : array of shape (n_grids,)
        Number of bins of each grid.

    References
    ----------
    Rahimi and Recht (2007), Random features for large-scale kernel machines, algorithm 2.

    Examples
    --------
    >>> import numpy as np
    >>> from skimp.features import RandomBinning
    >>> from skimp.kernels import Laplacian
    >>> X = np.random.default_rng(0).normal(size=(50, 3))
    >>> Z = RandomBinning(Laplacian(0.5), n_grids=10_000, random_state=0).fit_transform(X)
    >>> bool(abs(Z @ Z.T - Laplacian(0.5)(X)).max() < 0.03)
    True
    """

    kernel: Kernel | str | None = None
    _: KW_ONLY
    n_grids: int = 128
    max_bins: int = 65_535
    random_state: RandomState = None

    size_name = "n_grids"
    unit = "grids"
    codes = True
    narrower = 4.0
    default_kernel = "laplacian"
    depends_on = "the bins that rows fall into"
    rules: ClassVar[dict[str, Rule]] = {
        "n_grids": integer(at_least=1),
        "max_bins": integer(at_least=1, at_most=2**31 - 1),
        "random_state": RANDOM_STATE,
    }

    @property
    def needed_rows(self) -> int:
        """Number of rows to find bins in: other rows share few bins with fewer rows."""
        return _MAJORITY_SAMPLE

    def draw(self, rows: Rows, rng: np.random.Generator, context: Context) -> None:
        size = int(self.n_grids)
        pitches = self.kernel_.sample_pitches(rows.n_features, size, rng)
        self._grids = Grids.draw(
            pitches, rows.sample(_MAJORITY_SAMPLE, draw_seed(rng), context).X, rng
        )
        seed = draw_seed(rng)
        if rows.n_rows > _LARGEST_SAMPLE:
            rows = split_rows(rows, _LARGEST_SAMPLE / rows.n_rows, seed)[1]
        self._bins = Bins.find(self._grids, rows, int(self.max_bins), context)
        self.n_bins_ = self._bins.counts
        squared_norm = self.kernel_.diag(np.zeros((1, rows.n_features))).item()
        self._coded = self._bins.layout(rows.dtype.type(np.sqrt(squared_norm / size)))

    def transform(self, X: Any) -> sparse.csr_matrix:
        """Compute the features of each row.

        Parameters
        ----------
        X : array, CSR matrix, frame or Rows of shape (n, d)
            Rows with the same columns as in ``fit``.

        Returns
        -------
        Z : CSR matrix of shape (n, width)
            Features, in the dtype of the training rows. The first column of each grid stands for
            all bins without a feature and is empty.
        """
        check_is_fitted(self)
        rows = as_rows(self, X, reset=False)
        codes = np.empty((rows.n_rows, len(self.n_bins_)), self.coded.codes.dtype)
        return self.coded.trusted(fill_rows(rows, self.map_codes, codes)).tocsr()

    @property
    def coded(self) -> Codes:
        """Empty `Codes` that describe the columns of the features."""
        return self._coded

    @property
    def width(self) -> int:
        return self.coded.width

    def planned_width(self, size: Size | Rows) -> int:
        # in the worst case, every row of the sample has its own bin
        n_bins = min(int(self.max_bins), size.n_rows, _LARGEST_SAMPLE)
        return int(self.n_grids) * (n_bins + 1)

    def planned_bytes(self, size: Size | Rows) -> int:
        # grids, hashes, their index and the coefficients of one output
        return 32 * self.planned_width(size) + 24 * int(self.n_grids) * size.n_features

    def cost(self, size: Size, kernel: Kernel | None = None) -> MapCost:
        n, d, P = size.n_rows, size.n_features, int(self.n_grids)
        seen = min(n, _LARGEST_SAMPLE)
        guess = 4 * seen**0.5 if size.n_bins is None else size.n_bins
        n_bins = min(int(self.max_bins), seen, guess)
        width = int(P * (n_bins + 1))
        # multiplying, rounding and hashing an entry takes a third of a function value
        binning = values(n * P * (d * size.density / 3 + 1), DOUBLE)
        work = (binning + values(n * P / _SORTED, DOUBLE)) * (seen / n)
        # known hashes with their index, and grids; hashes of rows, and distinct ones with counts
        held = 8 * width + 24 * d * P
        distinct = min(HELD, P * min(seen, guess))
        most = int(held + 8 * min(WAITING, seen * P) + 12 * distinct)
        return MapCost(
            (Stage("draw", work, most),),
            width=width,
            dtype=size.dtype,
            mapping=binning + gathers(n * P / 2, size.threads),
            held=held,
            scratch=size.block_rows * P * 4,
            groups=P,
            n_bins=n_bins,
        )

    def map_codes(self, X: Matrix, out: Array) -> None:
        """Write the bin number of each row in each grid into ``out``; 0 stands for no feature."""
        check_shape(out, (X.shape[0], len(self.n_bins_)))
        if out.dtype != self.coded.codes.dtype:
            raise ValueError(f"out must have dtype {self.coded.codes.dtype}, found {out.dtype}.")
        self._bins.look_up(self._grids.prints(X), out)

    def map_block(self, X: Matrix, out: Array) -> None:
        check_shape(out, (X.shape[0], self.width))
        codes = np.empty((X.shape[0], len(self.n_bins_)), self.coded.codes.dtype)
        self.map_codes(X, codes)
        out[...] = 0
        present = codes >= self.coded.first
        columns = (codes + self.coded.offsets)[present]
        out[np.nonzero(present)[0], columns] = self.coded.value
