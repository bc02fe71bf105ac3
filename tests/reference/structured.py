"""Structured losses, straight from their formulas: by listing all outputs."""

from itertools import product

import numpy as np
from scipy.special import logsumexp, softmax


def all_sequences(length, k):
    """Return all sequences of labels of a length."""
    return [np.array(labels) for labels in product(range(k), repeat=length)]


def loss_and_slope(joint, loss, outputs, x, y, w):
    """Return the loss of an item and a subgradient, given all outputs."""
    own = joint.features(x, y)
    changes = np.array([joint.features(x, r) - own for r in outputs])
    costs = np.array([joint.cost(y, r) for r in outputs])
    if loss == "margin":
        worst = np.argmax(costs + changes @ w)
        return (costs + changes @ w)[worst], changes[worst]
    return logsumexp(changes @ w), softmax(changes @ w) @ changes


def subgradient(joint, loss, outputs_of, X, y, weight, alpha, seed, n_passes):
    """Return the coefficients after some passes of ``solver="subgradient"``.

    Items are visited in the order that the solver draws.
    """
    share = weight / weight.mean()
    visits = np.ceil(share - 1e-9).astype(int)
    factor = share / visits * visits.sum() / share.sum()
    width = len(joint.features(X[0], y[0]))
    w, total, t = np.zeros(width), np.zeros(width), 0
    for number in range(n_passes):
        rng = np.random.default_rng([seed, number])
        for i in rng.permutation(np.repeat(np.arange(len(X)), visits)):
            t += 1
            slope = loss_and_slope(joint, loss, outputs_of(X[i]), X[i], y[i], w)[1]
            w = w - (2 * alpha * w + factor[i] * slope) / (2 * alpha * t)
            total = total + t * w
    return total / (t * (t + 1) / 2)
