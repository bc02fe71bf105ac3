"""Doubly stochastic steps with stored features, straight from their formulas."""

import numpy as np


def features(X, W):
    """Return all cosines, then all sines, of frequencies that are divided by 2 pi."""
    turns = 2 * np.pi * X @ W
    return np.hstack([np.cos(turns), np.sin(turns)])


def steps(X, Y, factor, W, loss, alpha, batches, size, rule):
    """Return the coefficients of the cosines and sines of W, of shape (2, frequencies, k).

    Each batch of rows takes the next ``size`` frequencies, and the first ones again after the last.
    ``rule`` returns new coefficients and the factors of earlier ones.
    """
    coef = np.zeros((2, W.shape[1], Y.shape[1]))
    for t, rows in enumerate(batches, start=1):
        used = np.arange((t - 1) * size, t * size) % W.shape[1]
        F = features(X[rows], W) @ coef.reshape(-1, Y.shape[1])
        Z = features(X[rows], W[:, used]) / np.sqrt(size)
        new, shrink = rule(Z, Y[rows], F, factor[rows], loss, alpha, t)
        coef *= shrink
        coef[:, used] += new.reshape(2, size, -1) / np.sqrt(size)
    return coef


def gradient_step(theta):
    """Return the rule of the paper, with the step size theta / (1 + 2 alpha theta t)."""

    def rule(Z, Y, F, factor, loss, alpha, t):
        size = theta / (1 + 2 * alpha * theta * t)
        slopes = factor[:, None] * loss.gradient(Y, F)
        return -size * Z.T @ slopes / len(Z), 1 - 2 * alpha * size

    return rule


def implicit_step(noise=0.25):
    """Return the rule that solves for the new coefficients, for a loss of bounded curvature."""

    def rule(Z, Y, F, factor, loss, alpha, t):
        n, width = Z.shape
        c, diagonal = loss.max_curvature, np.sum(Z[0] ** 2)
        inverse_size = c * max(
            noise * np.sqrt(t) * diagonal * (2 / width + 1 / n), 2 * alpha * t / c
        )
        shrink = np.full(Y.shape[1], 1 - 2 * alpha / inverse_size)
        worse = factor @ loss.value(Y, F) > factor @ loss.value(Y, 0 * F)
        shrink[np.broadcast_to(worse, shrink.shape)] /= 2
        A = inverse_size * np.eye(width) + c * Z.T @ (factor[:, None] * Z) / n
        slopes = factor[:, None] * loss.gradient(Y, shrink * F)
        return -np.linalg.solve(A, Z.T @ slopes / n), shrink

    return rule
