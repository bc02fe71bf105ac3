"""Features of a neighbourhood graph through landmarks."""

from dataclasses import KW_ONLY, dataclass, replace
from operator import add
from typing import ClassVar, final

import numpy as np

from skimp._core._blocks import Scratch
from skimp._core._linalg import check_shape
from skimp._core._objects import as_numbers
from skimp._core._types import Array, Matrix, RandomState
from skimp._core._work import MapCost, Size, Stage, calls, stream
from skimp._params._rules import RANDOM_STATE, Rule, integer
from skimp.budgets import Selector
from skimp.data import Block, Context, Rows
from skimp.features._base import FeatureMap
from skimp.features._coordinates import LocalCoordinates
from skimp.kernels import Gaussian, Kernel

_ROWS_PER_LANDMARK = 5


@final
@dataclass(eq=False, repr=False)
class AnchorGraph(FeatureMap):
    r"""Similarities through shared landmarks: a graph of neighbours for many rows.

    .. math:: z_b(x) = \frac{\gamma_b(x)}{\sqrt{\lambda_b}}, \qquad
        \lambda_b = \frac{1}{\sum_i w_i} \sum_i w_i \gamma_b(x_i)

    The coordinates :math:`\gamma_b(x)` of a row are nonzero for its k nearest of m landmarks b, sum
    to 1, and decrease with the distance, see `~skimp.features.LocalProducts`. The kernel
    :math:`\langle z(x), z(y) \rangle` is proportional to the probability of a step from x to one of
    its landmarks, and from there to y. It is zero for rows without a common landmark, so that
    leading components follow clusters and curved surfaces in the data, along chains of neighbours.

    Use it to learn from few labels and many rows without labels, with
    `~skimp.KernelFactorization`, and for spectral clustering. It depends on Euclidean distances:
    scale the columns first.

    Fitting takes one pass over the rows, in addition to the selector. Mapping n rows takes 2 n m d
    operations.

    Parameters
    ----------
    budget : int, default=1000
        Number of landmarks m, at most one for five rows unless you give them, because rows that
        share no landmark are not similar. More landmarks follow finer structure.
    n_neighbors : int, default=4
        Number k of nearest landmarks, at most m.
    selector : Selector or str, default="kmeans"
        How to choose the landmarks. Selectors that use a kernel receive the Gaussian one with
        ``gamma="scale"``.
    random_state : int, Generator, RandomState or None, default=None
        Seed of the selection.

    Attributes
    ----------
    budget_ : Budget
        The chosen landmarks.
    scales_ : array of shape (m,)
        Factors :math:`1 / \sqrt{\lambda_b}`; zero for landmarks that are not near any row.

    References
    ----------
    Liu, He and Chang (2010), Large graph construction for scalable semi-supervised learning. Their
    coordinates are those of a Gaussian kernel, or of the nearest point in the landmarks' hull.

    Examples
    --------
    >>> import numpy as np
    >>> from skimp.features import AnchorGraph
    >>> X = np.repeat([[0.0], [1.0], [9.0]], 5, axis=0) + np.linspace(0, 0.1, 15)[:, None]
    >>> Z = AnchorGraph(budget=3, n_neighbors=2, random_state=0).fit_transform(X)
    >>> bool(np.allclose((Z @ Z.T).mean(axis=1), 1))
    True
    """

    budget: int = 1000
    _: KW_ONLY
    n_neighbors: int = 4
    selector: Selector | str = "kmeans"
    random_state: RandomState = None

    size_name = "budget"
    unit = "landmarks"
    rules: ClassVar[dict[str, Rule]] = {
        "budget": integer(at_least=1),
        "n_neighbors": integer(at_least=1),
        "random_state": RANDOM_STATE,
    }

    def draw(self, rows: Rows, rng: np.random.Generator, context: Context) -> None:
        selector, kernel = self.chosen_selector(), Gaussian("scale")
        most = max(1, rows.count_weighted(context) // _ROWS_PER_LANDMARK)
        size = int(self.budget) if self.fixed else min(int(self.budget), most)
        self.budget_ = selector.select(rows, size, kernel, rng, context=context)
        points = as_numbers(self.budget_.points, rows.dtype).astype(rows.dtype, copy=False)
        m = int(points.shape[0])
        self._local = LocalCoordinates(points, min(int(self.n_neighbors), m), rows.dtype)

        def sums(block: Block, _: Scratch) -> Array:
            weight = block.weights()
            return np.append(self._local.matrix(block.X).T @ weight, weight.sum())

        totals = context.map_reduce(rows, sums, add, np.zeros(m + 1))
        shares, scales = totals[:-1] / totals[-1], np.zeros(m)
        np.divide(1.0, np.sqrt(shares), out=scales, where=shares > 0)
        self.scales_ = scales.astype(rows.dtype)

    @property
    def width(self) -> int:
        return len(self.scales_)

    def map_block(self, X: Matrix, out: Array) -> None:
        check_shape(out, (X.shape[0], self.width))
        numbers, weights = self._local.find(X)
        out[...] = 0
        np.put_along_axis(out, numbers, (weights * self.scales_[numbers]).astype(out.dtype), axis=1)

    def planned_width(self, size: Size | Rows) -> int:
        return min(int(self.budget), max(1, size.n_rows // _ROWS_PER_LANDMARK))

    def cost(self, size: Size, kernel: Kernel | None = None) -> MapCost:
        n, m, dtype = size.n_rows, self.planned_width(size), size.dtype
        points = m * size.n_features * dtype.itemsize
        select = self.chosen_selector().cost(m, Gaussian(1.0), size)
        # the distances, then a pass over them that finds the nearest
        mapping = size.rows_times(n, m, dtype) + stream(4 * n * m * dtype.itemsize) + calls(n)
        chosen = replace(select, bytes=int(select.bytes + points))
        draw = Stage("draw", mapping, 2 * points)
        return MapCost((chosen, draw), m, dtype, mapping, held=3 * points, scratch=2**22)
