"""Random vectors of a projection, and who gets which of them."""

import numpy as np
from scipy import sparse

from skimp._core._types import Array, Matrix


def draw_signs(n_features: int, size: int, sparsity: float, rng: np.random.Generator) -> Matrix:
    r"""Return Achlioptas' vectors as columns, a sparse matrix if most entries are zero.

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
    """Return numbers of the trials that succeed, by the gaps between them."""
    expected = trials * probability
    step = int(expected + 5 * np.sqrt(expected)) + 10
    found = np.cumsum(rng.geometric(probability, step)) - 1
    while found[-1] < trials:
        found = np.append(found, found[-1] + np.cumsum(rng.geometric(probability, step)))
    return found[: np.searchsorted(found, trials)]


def stretched(vectors: Matrix, factors: Array) -> Matrix:
    """Multiply entries of vectors by factors, one for each column of rows; an array in place."""
    if sparse.issparse(vectors):
        return (sparse.diags(factors) @ vectors).tocsr()
    vectors *= factors[:, None]
    return vectors


def hands(
    n_cards: int, n_hands: int, hand: int, rng: np.random.Generator, *, spread: bool
) -> Array:
    """Return the cards of each hand, of shape (n_hands, hand), none of them twice in one hand.

    With ``spread``, hands are dealt from shuffled decks, one after the other, so that all cards are
    used equally often, give or take one. Otherwise hands are independent of each other.
    """
    if not spread:
        return np.array([rng.choice(n_cards, hand, replace=False) for _ in range(n_hands)])
    total = n_hands * hand
    cards = np.concatenate([rng.permutation(n_cards) for _ in range(-(-total // n_cards))])
    for seam in range(n_cards, total, n_cards):
        held = cards[seam - seam % hand : seam]
        deck = cards[seam : seam + n_cards]
        # a hand that two decks share takes what it does not hold yet
        lacking = (hand - len(held)) % hand
        free = deck[~np.isin(deck, held)][:lacking]
        deck[:] = np.append(free, rng.permutation(np.setdiff1d(deck, free)))
    return cards[:total].reshape(n_hands, hand)


_SPARSE = 10
"""Sparsity from which products with sparse rows are faster for a sparse matrix."""
