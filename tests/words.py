"""Strings, their labels, and kernels of them that pickle can find."""

import numpy as np

LETTERS = "abcdef"


def shared_letters(x, y):
    """The number of letters that two words share: an inner product of indicators."""
    return len(set(x) & set(y))


def shared_pairs(x, y):
    """The inner product of counts of letters that follow each other."""
    ours, theirs = ([w[i : i + 2] for i in range(len(w) - 1)] for w in (x, y))
    return sum(ours.count(pair) * theirs.count(pair) for pair in set(ours))


def letter_indicators(words):
    """Rows of zeros and ones, of which `shared_letters` is the linear kernel."""
    return np.array([[float(letter in word) for letter in LETTERS] for word in words])


def words(n=60, *, seed=0):
    """Return a list of words of two to six letters, and whether they have an a or a b."""
    rng = np.random.default_rng(seed)
    found = ["".join(rng.choice(list(LETTERS), rng.integers(2, 7))) for _ in range(n)]
    return found, np.array([int("a" in word or "b" in word) for word in found])
