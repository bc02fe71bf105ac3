"""Random Fourier features."""

from dataclasses import KW_ONLY, dataclass
from typing import ClassVar, final

import numpy as np

from skimp._core._types import Array, Matrix, RandomState
from skimp._core._work import Size, Work, values
from skimp._params._rules import Rule, one_of
from skimp.data import Context, Rows
from skimp.features._base import SIZED, FeatureMap
from skimp.features._frequencies import FAST, draw_frequencies, transform_blocks, transform_work
from skimp.features._strips import strips
from skimp.kernels import Kernel


@final
@dataclass(eq=False, repr=False)
class RandomFourier(FeatureMap):
    r"""Random Fourier features of a stationary kernel with spectrum :math:`p(w)`.

    The pair form draws D / 2 frequencies :math:`w_j \sim p`:

    .. math:: z(x) = \sqrt{2 / D} \, [\cos(w_j^T x), \sin(w_j^T x)]_j

    The phase form draws D frequencies, and phases :math:`b_j` uniform on :math:`[0, 2 \pi]`:

    .. math:: z(x) = \sqrt{2 / D} \, [\cos(w_j^T x + b_j)]_j

    Both are unbiased, :math:`E \langle z(x), z(y) \rangle = k(x, y)`; the pair form has the lower
    variance. If D is odd, the pair form has one frequency in phase form.

    The map depends only on the number of columns and the kernel's bandwidth: if that is a number
    or "dim", `fit_width` draws the map before any data. Mapping n rows takes 2 n d D operations in
    the phase form, n d D in the pair form, and n D cosines or sines. "structured" and "fastfood"
    take O(n D log d) operations instead. The frequencies take O(d D) memory, or O(D) for
    "structured" and "fastfood".

    Parameters
    ----------
    kernel : Kernel, str or None, default=None
        A stationary kernel with ``sample_frequencies``. None uses the estimator's kernel, or
        `Gaussian` outside an estimator.
    n_components : int, default=1000
        Number of features D.
    sampling : str, default="iid"
        Joint distribution of the frequencies. Each single frequency has the same distribution,
        approximately so for "structured".

        - "iid": independent frequencies.
        - "orthogonal": orthogonal directions in groups of d, with independent lengths. Lower
          variance at the same D. For kernels of the Euclidean distance.
        - "structured": approximates "orthogonal" by Walsh-Hadamard transforms and random signs, in
          groups of a power of two, at least 64. Faster if d and D are at least a few hundred. The
          bias is below 0.001 for rows up to ten bandwidths apart. Beyond that it can reach 0.1 for
          rows that differ in a single column.
        - "fastfood": two Walsh-Hadamard transforms around a vector of normal numbers. Exactly
          unbiased; the variance is usually higher than for "iid".
        - "qmc": scrambled Sobol points, or shifted Halton points beyond 21,201 columns. Lower
          variance, in particular if d is small.
    form : "pair" or "phase", default="pair"
        Cosines and sines, or cosines with random phases.
    random_state : int, Generator, RandomState or None, default=None
        Seed of the frequencies.

    Attributes
    ----------
    kernel_ : Kernel
        Kernel with numeric parameters.
    frequencies_ : array of shape (d, number of frequencies)
        Frequencies divided by :math:`2 \pi`.
    offset_ : array of shape (number of frequencies,)
        Phases divided by :math:`2 \pi`.

    References
    ----------
    Rahimi and Recht (2007), Random features for large-scale kernel machines.

    Yu, Suresh, Choromanski, Holtmann-Rice and Kumar (2016), Orthogonal random features.

    Le, Sarlos and Smola (2013), Fastfood: approximating kernel expansions in loglinear time.

    Avron, Sindhwani, Yang and Mahoney (2016), Quasi-Monte Carlo feature maps for shift-invariant
    kernels.

    Examples
    --------
    >>> import numpy as np
    >>> from skimp.features import RandomFourier
    >>> from skimp.kernels import Gaussian
    >>> X = np.random.default_rng(0).normal(size=(50, 3))
    >>> Z = RandomFourier(Gaussian(0.2), n_components=20_000, random_state=0).fit_transform(X)
    >>> bool(np.abs(Z @ Z.T - Gaussian(0.2)(X)).max() < 0.05)
    True

    Before any data, from the number of columns:

    >>> drawn = RandomFourier(Gaussian(0.2), n_components=20_000, random_state=0).fit_width(3)
    >>> bool((drawn.transform(X) == Z).all())
    True
    """

    kernel: Kernel | str | None = None
    _: KW_ONLY
    n_components: int = 1000
    sampling: str = "iid"
    form: str = "pair"
    random_state: RandomState = None

    size_name = "n_components"
    depends_on = None
    needs_flag = ("stationary", "its spectrum is sampled; for example Gaussian or Laplacian")
    rules: ClassVar[dict[str, Rule]] = {
        **SIZED,
        "sampling": one_of("iid", "orthogonal", "structured", "fastfood", "qmc"),
        "form": one_of("pair", "phase"),
    }

    def count(self, size: Size) -> tuple[float, Work]:
        n, d, dtype = size.n_rows, size.n_features, size.dtype
        work = values(n * self.n_components, dtype)
        if self.sampling in FAST:
            length, n_blocks = transform_blocks(d, self.n_components // (1 + self.paired))
            return 4 * length * n_blocks, work + transform_work(n, length, n_blocks, dtype)
        numbers = d * self.n_components // (1 + self.paired)
        return numbers, work + size.rows_times(n, numbers / d, dtype)

    def draw(self, rows: Rows, rng: np.random.Generator, context: Context) -> None:
        d, width = rows.n_features, int(self.n_components)
        size = (width + 1) // 2 if self.paired else width
        self._width, self._paired = width, self.paired
        self._amplitude = np.sqrt(self.kernel_.diag(np.zeros((1, d))).item())
        self._frequencies = draw_frequencies(self.kernel_, self.sampling, d, size, rng, rows.dtype)
        self._alone = slice(size - width % 2 if self.paired else 0, size)
        offset = np.zeros(size)
        offset[self._alone] = rng.random(len(offset[self._alone]))
        self.offset_ = offset.astype(rows.dtype)

    @property
    def paired(self) -> bool:
        return self.form == "pair"

    @property
    def frequencies_(self) -> Array:
        """Frequencies divided by 2 pi, of shape (d, number of frequencies)."""
        return self._frequencies.matrix()

    @property
    def width(self) -> int:
        return self._width

    def map_block(self, X: Matrix, out: Array) -> None:
        from skimp._core.loops._features import cosine_pairs, cosines

        size, dtype = self._frequencies.size, self.dtype_
        scale = self._amplitude * np.sqrt(1 / size)
        if not self._paired:
            for rows, strip, _ in strips(X, out, self.width):
                self._frequencies.turns(rows, strip)
                cosines(strip, self.offset_, dtype.type(np.sqrt(2) * scale))
            return
        for rows, strip, turns in strips(X, out, self.width, columns=size, dtype=dtype):
            self._frequencies.turns(rows, turns)
            cosine_pairs(turns, self.offset_, dtype.type(scale), strip)
        out[:, self._alone] *= dtype.type(np.sqrt(2))
