"""The slow, obvious twin of each selector, from its formula, on full kernel matrices in float64."""

from itertools import combinations, permutations

import numpy as np

from tests.reference.naive import row_key


def squared_distance(K, i, j):
    """Squared distance of two rows in feature space."""
    return K[i, i] + K[j, j] - 2 * K[i, j]


def scatter(K, i, members):
    """Sum of squared distances from a row to members of its group."""
    return sum(squared_distance(K, i, j) for j in members)


def medoid(K, members):
    """The member of the least sum of squared distances to the others, the first of equal ones."""
    return min(members, key=lambda i: scatter(K, i, members))


def median_bits(projection):
    """One for the upper half of the rows, for projections that all differ."""
    upper = sorted(range(len(projection)), key=lambda i: projection[i])[len(projection) // 2 :]
    return [int(i in set(upper)) for i in range(len(projection))]


def buckets(codes):
    """Sets of rows with equal codes, one list of codes for each hash."""
    found = {}
    for i, code in enumerate(zip(*codes, strict=True)):
        found.setdefault(code, set()).add(i)
    return list(found.values())


def median_buckets(K, pairs):
    """Buckets of distance-based hashing for given pairs of rows."""
    return buckets([median_bits(K[:, a] - K[:, b]) for a, b in pairs])


def floor_buckets(X, V, shifts):
    """Buckets of integers, floor((v x) / w + c), with w twice the deviation of the projection."""
    projections = [np.array([sum(x * v) for x in X]) for v in V.T]
    cells = zip(projections, shifts, strict=True)
    return buckets([np.floor(p / (2 * np.std(p)) + c) for p, c in cells])


def bucket_medoids(K, groups, given, members, seed):
    """Medoids of as many points as each group is given, of members in the order of their keys."""
    chosen = []
    for group, count in zip(groups, given, strict=True):
        order = sorted(group, key=lambda i: row_key(seed, int(i)))
        chosen += [medoid(K, order[p::count][:members]) for p in range(count)]
    return chosen


def merged(K, size, linkage):
    """Clusters after merging the two nearest ones again and again, down to ``size``."""
    of_all = {"single": min, "complete": max, "average": lambda d: sum(d) / len(d)}[linkage]

    def distance(a, b):
        return of_all([np.sqrt(max(squared_distance(K, i, j), 0)) for i in a for j in b])

    clusters = [{i} for i in range(len(K))]
    while len(clusters) > size:
        a, b = min(combinations(clusters, 2), key=lambda pair: distance(*pair))
        clusters = [c for c in clusters if c is not a and c is not b] + [a | b]
    return clusters


def leverage_penalty(K, rank):
    """What the largest eigenvalues leave of the trace, divided by their number."""
    return np.sort(np.linalg.eigvalsh(K))[:-rank].sum() / rank


def leverage_scores(K, penalty):
    """Diagonal of K (K + penalty I)^-1."""
    return np.diag(K @ np.linalg.inv(K + penalty * np.eye(len(K))))


def leverage_estimates(K, points, weight, penalty):
    """Scores from weighted points: (k_ii - k_iS (K_SS + penalty D^-2)^-1 k_Si) / penalty."""
    inverse = np.linalg.inv(K[np.ix_(points, points)] + penalty * np.diag(weight**-2.0))
    left = [K[i, i] - K[i, points] @ inverse @ K[points, i] for i in range(len(K))]
    return np.array(left) / penalty


def pivoted_columns(V, count):
    """Columns of the largest remainder, one after another, each taken out of all others."""
    V, pivots = np.array(V, dtype=np.float64), []
    for _ in range(count):
        pivots.append(int(np.argmax((V**2).sum(axis=0))))
        q = V[:, pivots[-1]] / np.linalg.norm(V[:, pivots[-1]])
        V -= np.outer(q, q @ V)
    return pivots


def projection_error(A, columns):
    """Frobenius norm of A - C C^+ A."""
    C = A[:, list(columns)]
    return np.linalg.norm(A - C @ np.linalg.pinv(C) @ A)


def least_projection_error(A, count):
    """Least error of all subsets of the columns."""
    return min(projection_error(A, S) for S in combinations(range(A.shape[1]), count))


def residual(K, chosen):
    """Diagonal of K - K_S K_SS^+ K_S^T, one row taken out after another."""
    left = np.array(K, dtype=np.float64)
    for i in chosen:
        if left[i, i] > 1e-14 * np.max(np.diag(K)):
            left = left - np.outer(left[:, i], left[i]) / left[i, i]
    return np.diag(left)


def law_without_replacement(chances, length):
    """Probability of each sequence of draws, one by one, in proportion to what is left."""
    law = {}
    for sequence in permutations(range(len(chances)), length):
        p, left = 1.0, np.sum(chances)
        for i in sequence:
            p *= chances[i] / left
            left -= chances[i]
        law[sequence] = p
    return law


def rpcholesky_law(K, length):
    """Probability of each sequence of pivots, drawn one by one in proportion to the residual."""
    law = {}
    for sequence in permutations(range(len(K)), length):
        p, left = 1.0, np.array(K, dtype=np.float64)
        for i in sequence:
            p *= left[i, i] / np.trace(left)
            left = left - np.outer(left[:, i], left[i]) / left[i, i]
        law[sequence] = p
    return law
