"""Kernel gradient steps on a budget, straight from their formulas."""

import numpy as np
from scipy.optimize import minimize_scalar


def visits(seed, n_rows, n_passes, times=1):
    """Return the order in which rows are visited, each a number of times in a pass."""
    rows = np.repeat(np.arange(n_rows), times)
    return np.concatenate(
        [np.random.default_rng([seed, p]).permutation(rows) for p in range(n_passes)]
    )


def pegasos(K, y, lam, order):
    """Return the coefficients of kernelized Pegasos (figure 3 of its paper)."""
    counts = np.zeros(len(y))
    for t, i in enumerate(order, start=1):
        f = (counts * y) @ K[:, i] / (lam * (t - 1)) if t > 1 else 0.0
        if y[i] * f < 1:
            counts[i] += 1
    return counts * y / (lam * len(order))


def budgeted(kernel, X, Y, loss, alpha, shift, order, budget, keep, window=np.inf):
    """Return points and coefficients of BSGD; ``keep`` replaces one point too many."""
    P, A = np.zeros((0, X.shape[1])), np.zeros((0, Y.shape[1]))
    # a row that is a point already only changes its coefficient
    for t, i in enumerate(order, start=1):
        scale = 1 / (2 * alpha * (min(t - 1, window) + shift)) if t > 1 else 0.0
        f = scale * kernel(X[i : i + 1], P) @ A if len(P) else np.zeros((1, Y.shape[1]))
        step = -loss.gradient(Y[i : i + 1], f)
        A *= 1 - 1 / (window + shift) if t > window else 1
        same = np.flatnonzero((X[i] == P).all(axis=1))
        if len(same):
            A[same[0]] += step[0]
        elif step.any():
            P, A = np.vstack([P, X[i]]), np.vstack([A, step])
        if len(P) > budget:
            P, A = keep(kernel, P, A, t)
    return P, A / (2 * alpha * (min(len(order), window) + shift))


def smallest(kernel, P, A, t):
    """Return the point of least norm; of equal ones, the next after number t."""
    norms = np.roll(np.sum(A**2, axis=1) * kernel.diag(P), -(t % len(P)))
    return (int(np.argmin(norms)) + t) % len(P)


def drop(s, *parts):
    """Return arrays without row s, whose place the last row takes."""
    kept = np.arange(len(parts[0]))
    kept[s] = kept[-1]
    return tuple(part[kept[:-1]] for part in parts)


def remove(kernel, P, A, t):
    return drop(smallest(kernel, P, A, t), P, A)


def project(kernel, P, A, t, ridge=1e-6):
    """Project the point onto the others that changes the model least."""
    best, least = None, np.inf
    for s in range(len(P)):
        others, rest = drop(s, P, A)
        G, column = kernel(others), kernel(others, P[s : s + 1])
        share = np.linalg.solve(G + ridge * np.diag(G.diagonal()), column)
        lost = np.sum(A[s] ** 2) * (kernel.diag(P)[s] * (1 + ridge) - column.T @ share).item()
        if lost < least:
            best, least = (others, rest + share * A[s]), lost
    return best


def merge(kernel, P, A, t):
    """Merge the smallest point with the partner, and at the place, that change the model least."""
    s = smallest(kernel, P, A, t)
    best, least = None, np.inf
    for p in range(len(P)):
        if p != s and A[s] @ A[p] > 0:
            h, lost = best_place(kernel, P[[s, p]], A[[s, p]])
            if lost < least:
                best, least = (p, h), lost
    P, A = P.copy(), A.copy()
    if best is not None:
        p, h = best
        point = h * P[s] + (1 - h) * P[p]
        A[p] = kernel(point[None], P[[s, p]]) @ A[[s, p]]
        P[p] = point
    return drop(s, P, A)


def best_place(kernel, ends, A):
    """Return where to put the point between two ends, and the squared norm of the error."""
    whole = np.sum(A * (kernel(ends) @ A))

    def lost(h):
        point = h * ends[:1] + (1 - h) * ends[1:]
        return whole - np.sum((kernel(point, ends) @ A) ** 2)

    # one minimum on each side of the middle
    found = [
        minimize_scalar(lost, bounds=side, method="bounded", options={"xatol": 1e-9})
        for side in ((0, 0.5), (0.5, 1))
    ]
    best = min(found, key=lambda side: side.fun)
    return best.x, best.fun
