"""Recall of nearest neighbours found by binary codes."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from skimp._core._blocks import Scratch
from skimp._core._lines import Lines, cut
from skimp._core._objects import as_real
from skimp._core._random import as_generator, draw_seed
from skimp._core._types import Array, RandomState
from skimp._params._rules import RANDOM_STATE, broken, check_values, instance
from skimp.data import LOCAL, Block, Rows, as_rows
from skimp.diagnostics._distortion import ROUNDING
from skimp.diagnostics._inputs import KERNEL, POSITIVE, SIZES
from skimp.diagnostics._table import Table
from skimp.features import KernelHash
from skimp.kernels import Kernel

_DOUBLE = np.dtype(np.float64)
_RULES = {
    "hashing": instance(KernelHash, "a fitted KernelHash"),
    "kernel": KERNEL,
    "n_neighbors": POSITIVE,
    "candidates": SIZES,
    "queries": POSITIVE,
    "random_state": RANDOM_STATE,
}


@dataclass(frozen=True, repr=False)
class HashRecall(Table):
    """Share of the nearest rows that are among the rows with the nearest codes.

    Attributes
    ----------
    candidates : tuple of int
        Numbers of candidates, the rows with the nearest codes.
    recall : array of shape (n_candidates,)
        Share of the nearest rows in feature space that are among the candidates, averaged over
        queries.
    standard_error : array of shape (n_candidates,)
        Standard error of ``recall``.
    n_neighbors : int
        Number of nearest rows to find.
    n_rows : int
        Number of rows that were searched.
    """

    candidates: tuple[int, ...]
    recall: Array
    standard_error: Array
    n_neighbors: int
    n_rows: int

    def _lines(self) -> Lines:
        meaning = f"share of the {self.n_neighbors} nearest of {self.n_rows:,} rows that is found"
        found = zip(self.candidates, self.recall, self.standard_error, strict=True)
        lines = [
            (f"{size:,} candidates", f"{share:.3f} +- {error:.3f}") for size, share, error in found
        ]
        return [("recall", meaning), *cut(lines, "to_frame()")]

    def _table(self) -> Any:
        columns = {"candidates": self.candidates, "recall": self.recall}
        return {**columns, "standard_error": self.standard_error}


def hash_recall(
    hashing: KernelHash,
    X: Any,
    *,
    kernel: Kernel | None = None,
    n_neighbors: int = 10,
    candidates: Sequence[int] = (10, 20, 50, 100, 200, 500, 1000),
    queries: int = 500,
    random_state: RandomState = 0,
) -> HashRecall:
    """Compare neighbours by code with neighbours in feature space, among the same rows.

    Some rows are drawn as queries, and the nearest of all other rows are found for each in float64.
    Rows at equal distance count as equally good. The result is the recall of a search that takes
    candidates by their codes and then compares them exactly.

    Parameters
    ----------
    hashing : KernelHash
        The fitted hashing.
    X : array, CSR matrix, frame or Rows of shape (n, d)
        The rows that the hashing was fitted to.
    kernel : Kernel, optional
        The kernel that defines distances. By default the kernel of the hashing.
    n_neighbors : int, default=10
        Number of nearest rows to find.
    candidates : sequence of int
        Numbers of candidates to take by their codes.
    queries : int, default=500
        Number of queries.
    random_state : int, Generator, RandomState or None, default=0
        Seed of the queries.

    Returns
    -------
    HashRecall

    Examples
    --------
    >>> import numpy as np
    >>> from skimp.diagnostics import hash_recall
    >>> from skimp.features import KernelHash
    >>> X = np.random.default_rng(0).normal(size=(2000, 3))
    >>> hashing = KernelHash(n_bits=512, random_state=0).fit(X)
    >>> found = hash_recall(hashing, X, candidates=[10, 100])
    >>> bool(found.recall[1] > 0.95 and found.recall[0] > 0.5)
    True
    """
    owner = "hash_recall"
    given = {"hashing": hashing, "n_neighbors": n_neighbors, "candidates": candidates}
    check_values(owner, _RULES, **given, queries=queries, random_state=random_state)
    check_is_fitted(hashing)
    chosen: Any = hashing.projection_.kernel_ if kernel is None else kernel
    check_values(owner, _RULES, kernel=chosen)
    rows = as_rows(hashing, X, reset=False)
    if rows.n_rows != len(hashing.codes_):
        wording = f"the {len(hashing.codes_)} rows that the hashing was fitted to"
        raise broken(owner, "X", wording, f"{rows.n_rows} rows")
    others = rows.n_rows - 1
    if others < n_neighbors:
        raise broken(owner, "n_neighbors", f"at most the {others} other rows", n_neighbors)
    drawn = rows.sample(int(queries), draw_seed(as_generator(random_state)))
    if rows.feature_names is not None:
        chosen = chosen.with_names(rows.feature_names)
    sizes = np.minimum(candidates, others)
    near = hashing.neighbors_of(drawn.indices, int(sizes.max()))[1]
    found = _near_enough(rows, drawn.X, drawn.indices, chosen, int(n_neighbors), near)
    shares = np.minimum(np.cumsum(found, axis=1)[:, sizes - 1], n_neighbors) / n_neighbors
    return HashRecall(
        candidates=tuple(map(int, candidates)),
        recall=shares.mean(axis=0),
        standard_error=shares.std(axis=0) / np.sqrt(len(shares)),
        n_neighbors=int(n_neighbors),
        n_rows=rows.n_rows,
    )


def _near_enough(
    rows: Rows, queries: Any, own: Array, kernel: Kernel, n_neighbors: int, candidates: Array
) -> Array:
    """Return which candidates are among the nearest rows of each query, ties included."""
    queries = as_real(queries, _DOUBLE)

    def of_block(block: Block, _: Scratch) -> tuple[Array, Array]:
        X = as_real(block.X, _DOUBLE)
        distances = kernel.diag(X, n_jobs=1) - 2 * kernel(queries, X, n_jobs=1)
        places = candidates - block.start
        inside = (places >= 0) & (places < block.size)
        of_candidates = np.take_along_axis(distances, np.where(inside, places, 0), 1)
        distances[own[:, None] == np.arange(block.start, block.start + block.size)] = np.inf
        return _least(distances, n_neighbors), np.where(inside, of_candidates, np.inf)

    def merge(total: tuple[Array, Array], part: tuple[Array, Array]) -> tuple[Array, Array]:
        return _least(np.hstack([total[0], part[0]]), n_neighbors), np.minimum(total[1], part[1])

    none = np.empty((len(candidates), 0)), np.full(candidates.shape, np.inf)
    nearest, found = LOCAL.map_reduce(rows, of_block, merge, none)
    last = nearest.max(axis=1)
    rounding = ROUNDING * (np.abs(last) + kernel.diag(queries, n_jobs=1))
    near_enough: Array = found <= (last + rounding)[:, None]
    return near_enough


def _least(distances: Array, size: int) -> Array:
    last = min(size, distances.shape[1]) - 1
    least: Array = np.partition(distances, last, axis=1)[:, :size]
    return least
