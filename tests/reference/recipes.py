"""Naive twins of the classes behind recipes, straight from their formulas."""

import numpy as np


def normalized_similarities(Z):
    """Return the matrix D^-1/2 K D^-1/2 of spectral clustering for K = Z Z^T."""
    K = Z @ Z.T
    root = np.sqrt(K.sum(axis=1))
    return K / np.outer(root, root)


def coverage_and_error(confidence, wrong, threshold, weight=None):
    """Return the share of accepted rows, and the share of wrong ones among them."""
    weight = np.ones(len(confidence)) if weight is None else weight
    accepted = confidence >= threshold
    total = weight[accepted].sum()
    return total / weight.sum(), (weight * wrong)[accepted].sum() / total


def ls_svm(K, y, gamma):
    """Solve the system of least-squares SVMs; return coefficients and intercept."""
    n = len(K)
    system = np.zeros((n + 1, n + 1))
    system[:n, :n] = K + np.eye(n) / gamma
    system[:n, n] = system[n, :n] = 1
    solution = np.linalg.solve(system, np.append(y, 0.0))
    return solution[:n], solution[n]
