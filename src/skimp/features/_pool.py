"""Random vectors of projections, and their assignment to features."""

import numpy as np
from scipy import sparse

from skimp._core._types import Array, Matrix


def draw_signs(n_features: int, size: int, sparsity: float, rng: np.random.Generator) -> Matrix:
    r"""Draw Achlioptas' vectors as columns, as a sparse matrix if ``sparsity`` is 10 or more.

    Entries are :math:`\sqrt s` times 1, 0 and -1, with probabilities :math:`1 / 2s`,
    :math:`1 - 1 / s` and :math:`1 / 2s`.
    """
    root = np.sqrt(sparsity)
    if sparsity < _SPARSE:
        uniform = rng.random((n_features, size))
        return root * ((uniform < 0.5 / sparsity) - 1.0 * (uniform >= 1 - 0.5 / sparsity))
    filled = _successes(n_features * size, 1 / sparsity, rng)
    places = np.divmod(filled, size)
    entries = root * rng.choice([-1.0, 1.0], len(filled))
    return sparse.coo_array((entries, places), shape=(n_features, size)).tocsr()


def _successes(trials: int, probability: float, rng: np.random.Generator) -> Array:
    """Draw the numbers of the successful trials, from the gaps between them."""
    expected = trials * probability
    step = int(expected + 5 * np.sqrt(expected)) + 10
    found = np.cumsum(rng.geometric(probability, step)) - 1
    while found[-1] < trials:
        found = np.append(found, found[-1] + np.cumsum(rng.geometric(probability, step)))
    return found[: np.searchsorted(found, trials)]


def stretched(vectors: Matrix, factors: Array) -> Matrix:
    """Multiply each row of ``vectors`` by its factor; dense arrays in place."""
    if sparse.issparse(vectors):
        return (sparse.diags(factors) @ vectors).tocsr()
    vectors *= factors[:, None]
    return vectors


def draw_subsets(
    n_items: int, n_subsets: int, size: int, rng: np.random.Generator, *, spread: bool
) -> Array:
    """Draw subsets of ``range(n_items)`` as an array of shape (n_subsets, size).

    With ``spread``, the subsets are consecutive parts of random permutations, so that all items are
    used equally often, up to one. Otherwise the subsets are independent.
    """
    if not spread:
        return np.array([rng.choice(n_items, size, replace=False) for _ in range(n_subsets)])
    total = n_subsets * size
    items = np.concatenate([rng.permutation(n_items) for _ in range(-(-total // n_items))])
    for seam in range(n_items, total, n_items):
        held = items[seam - seam % size : seam]
        following = items[seam : seam + n_items]
        # a subset that spans two permutations must not repeat an item
        lacking = (size - len(held)) % size
        free = following[~np.isin(following, held)][:lacking]
        following[:] = np.append(free, rng.permutation(np.setdiff1d(following, free)))
    return items[:total].reshape(n_subsets, size)


_SPARSE = 10
"""Sparsity from which a sparse matrix of vectors is faster for sparse rows."""
