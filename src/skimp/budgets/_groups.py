"""Groups of rows: classes, or clusters."""

import numpy as np
from sklearn.utils.multiclass import type_of_target

from skimp._core._blocks import Scratch
from skimp._core._objects import as_real
from skimp._core._random import draw_seed
from skimp._core._types import Array
from skimp.budgets._clusters import cluster, vectors
from skimp.data import Block, Context, Rows
from skimp.kernels import Kernel


def are_classes(y: Array, at_most: int, labelled: bool | None = None) -> bool:
    """Tell whether y are labels, one a row, of a number of classes that is not too large.

    Where nobody has said whether they are, numbers are classes if they are whole and few.
    """
    if labelled is False:
        return False
    if labelled is None and y.dtype.kind in "iuf":
        at_most = min(at_most, _NUMERIC_CLASSES)
    try:
        kind = type_of_target(y[:_SAMPLE])
        return kind in {"binary", "multiclass"} and len(np.unique(y)) <= at_most
    except TypeError:
        return False


def class_codes(rows: Rows, context: Context, *, owner: str) -> Array:
    """Return the number of each row's class."""
    y = rows.targets(context)
    if y is None:
        raise ValueError(f"{owner}: y must be given, one label a row, to choose by class.")
    try:
        kind = type_of_target(y)
        codes: Array = np.unique(y.ravel(), return_inverse=True)[1]
    except TypeError:
        kind = "mixed"
    if kind not in {"binary", "multiclass"}:
        raise ValueError(f"{owner}: y must hold classes, one a row, found {kind} targets.")
    return codes


def cluster_codes(
    rows: Rows,
    n_clusters: int,
    kernel: Kernel,
    rng: np.random.Generator,
    context: Context,
    *,
    owner: str,
) -> Array:
    """Return the number of each row's cluster: that of the nearest centre of k-means."""
    n_clusters = min(n_clusters, rows.n_rows)
    sample = rows.sample(max(_SAMPLE, n_clusters), draw_seed(rng), context)
    X = vectors(sample.X, kernel, rows.dtype, owner=owner)
    clusters = cluster(X, n_clusters, rng, sample.weight)

    def assign(block: Block, _: Scratch) -> Array:
        return clusters.labels(as_real(block.X, rows.dtype))

    codes = context.compute(rows, assign, (), np.int64)
    return np.unique(codes, return_inverse=True)[1]


_SAMPLE = 10_000
_NUMERIC_CLASSES = 30
