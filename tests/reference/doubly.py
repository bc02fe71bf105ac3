"""Doubly stochastic steps with stored features, straight from their formulas."""

import numpy as np


def features(X, W):
    """Return all cosines, then all sines, of frequencies that are divided by 2 pi."""
    turns = 2 * np.pi * X @ W
    return np.hstack([np.cos(turns), np.sin(turns)])


def steps(X, Y, W, loss, alpha, batches, size, rule):
    """Return the coefficients of all cosines and sines, of shape (2, frequencies, k).

    Each batch of rows takes the next ``size`` frequencies. ``rule`` returns new coefficients and
    the factors of earlier ones.
    """
    coef = np.zeros((2, 0, Y.shape[1]))
    for t, rows in enumerate(batches, start=1):
        first = coef.shape[1]
        F = features(X[rows], W[:, :first]) @ coef.reshape(2 * first, Y.shape[1])
        Z = features(X[rows], W[:, first : first + size]) / np.sqrt(size)
        new, shrink = rule(Z, Y[rows], F, loss, alpha, t)
        coef = np.concatenate([coef * shrink, new.reshape(2, size, -1) / np.sqrt(size)], axis=1)
    return coef


def gradient_step(theta):
    """Return the rule of the paper, with the step size theta / (1 + 2 alpha theta t)."""

    def rule(Z, Y, F, loss, alpha, t):
        size = theta / (1 + 2 * alpha * theta * t)
        return -size * Z.T @ loss.gradient(Y, F) / len(Z), 1 - 2 * alpha * size

    return rule


def implicit_step(noise=0.25):
    """Return the rule that solves for the new coefficients, for a loss of bounded curvature."""

    def rule(Z, Y, F, loss, alpha, t):
        n, width = Z.shape
        c, diagonal = loss.max_curvature, np.sum(Z[0] ** 2)
        inverse_size = c * max(
            noise * np.sqrt(t) * diagonal * (2 / width + 1 / n), 2 * alpha * t / c
        )
        shrink = np.full(Y.shape[1], 1 - 2 * alpha / inverse_size)
        worse = loss.value(Y, F).sum(axis=0) > loss.value(Y, 0 * F).sum(axis=0)
        shrink[np.broadcast_to(worse, shrink.shape)] /= 2
        A = inverse_size * np.eye(width) + c * Z.T @ Z / n
        return -np.linalg.solve(A, Z.T @ loss.gradient(Y, shrink * F) / n), shrink

    return rule
