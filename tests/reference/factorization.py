"""Factorization of a kernel and of labels, straight from its formulas, in landmark coordinates."""

import numpy as np


def objective(W, V, H, K, K_mm, diagonal, Y, weight, penalties):
    """Eq. 4-16 of Castellanos (2021), with the norm of the basis in feature space.

    ``K`` is k(X, B), and rows of ``Y`` are NaN if unknown.
    """
    total = 0.0
    unit = np.average(diagonal, weights=weight)
    for i, h in enumerate(H):
        error = (diagonal[i] - 2 * K[i] @ W @ h + h @ W.T @ K_mm @ W @ h) / unit
        total += weight[i] / 2 * (error + penalties["codes"] * h @ h)
        if not np.isnan(Y[i]).any():
            total += weight[i] / 2 * penalties["label"] * np.sum((Y[i] - V @ h) ** 2)
    total += penalties["basis"] / 2 * np.trace(W.T @ K_mm @ W) / unit
    return total + penalties["labels"] / 2 * np.sum(V**2)


def codes(W, V, K, K_mm, Y, unit, penalties):
    """The codes that minimize the objective, row by row."""
    eye = penalties["codes"] * np.eye(W.shape[1])
    H = []
    for k, y in zip(K, Y, strict=True):
        A, b = W.T @ K_mm @ W / unit + eye, W.T @ k / unit
        if not np.isnan(y).any():
            A, b = A + penalties["label"] * V.T @ V, b + penalties["label"] * V.T @ y
        H.append(np.linalg.solve(A, b))
    return np.array(H)


def gradients(W, V, h, k, K_mm, y, penalties, n):
    """Eq. 4-18 and 4-19 with their signs corrected, for one labelled row of n; k(x, x) is 1."""
    of_basis = -np.outer(k, h) + K_mm @ W @ np.outer(h, h) + penalties["basis"] / n * K_mm @ W
    of_labels = penalties["label"] * (V @ np.outer(h, h) - np.outer(y, h))
    return of_basis, of_labels + penalties["labels"] / n * V


def factorize(K, Y, r, penalties, rng, n_iter=3000):
    """Codes and factors in turns, with all rows as landmarks and k(x, x) = 1."""
    n = len(K)
    W, V = rng.normal(size=(n, r)) / n, rng.normal(size=(Y.shape[1], r))
    known, eye = ~np.isnan(Y).any(axis=1), np.eye(r)
    for _ in range(n_iter):
        H = codes(W, V, K, K, Y, 1.0, penalties)
        W = np.linalg.solve(H.T @ H + penalties["basis"] * eye, H.T).T
        A = penalties["label"] * H[known].T @ H[known] + penalties["labels"] * eye
        V = np.linalg.solve(A, penalties["label"] * H[known].T @ Y[known]).T
    return W, V, codes(W, V, K, K, Y, 1.0, penalties)
