"""Inner loop of SARAH, for any layout of rows (see `_rows`)."""

import numpy as np
from numba import njit

from skimp._core.loops._gradients import row_gradient
from skimp._core.loops._math import FAST
from skimp._core.loops._rows import add_outputs, outputs_at

_RESTART = 1 / 8
"""Fraction of the first squared norm of the gradient estimate at which the loop ends (SARAH+)."""


@njit(nogil=True, cache=True, fastmath=FAST)
def steps(rows, order, batch, n_steps, loss, decay, constant, metric, step, now, last, grad):
    """Take recursive gradient steps in place, and return the number of mini-batches.

    Parameters
    ----------
    rows : tuple
        (X, Y, factor): the rows, their targets of shape (n, k), and a factor for the gradient of
        each row.
    order, batch, n_steps
        Row numbers, of which each ``batch`` makes a step, again from the start after the last one,
        and the maximum number of mini-batches.
    loss : tuple
        As in `row_gradient`.
    decay, constant : float
        Twice the penalty, and 1 with an intercept or 0 without.
    metric : tuple
        (U, u, shrink, 1 / rho): gradients are multiplied by ``I / rho - U^T diag(shrink) U``, where
        U has shape (r, width) and u is its column of the intercept.
    step : float
        Step size.
    now, last, grad : tuples of arrays of shape (k, width) and (k,)
        The coefficients and intercepts, space for the previous ones, and the gradient of all rows,
        which is overwritten by the gradient estimate.
    """
    X, Y, factor = rows
    (V, b), (before, b_before), (G, g) = now, last, grad
    k = len(b)
    every = np.ones(k, np.bool_)
    f, f_before, slope, change = np.empty(k), np.empty(k), np.empty(k), np.empty(k)
    goal, place = _RESTART * _move(metric, step, now, last, grad), 0
    for t in range(n_steps):
        for j in range(k):
            for c in range(V.shape[1]):
                G[j, c] += decay * (V[j, c] - before[j, c])
        for _ in range(batch):
            i = order[place]
            place = (place + 1) % len(order)
            outputs_at(X, i, V, every, f)
            outputs_at(X, i, before, every, f_before)
            for j in range(k):
                f[j] += b[j]
                f_before[j] += b_before[j]
            row_gradient(loss, Y[i], f, change)
            row_gradient(loss, Y[i], f_before, slope)
            for j in range(k):
                change[j] = factor[i] / batch * (change[j] - slope[j])
                g[j] += constant * change[j]
            add_outputs(X, i, change, G)
        if _move(metric, step, now, last, grad) <= goal:
            return t + 1
    return n_steps


@njit(nogil=True, cache=True, fastmath=FAST)
def _move(metric, step, now, last, grad):
    """Take a step, and return the squared norm of the gradient estimate in the metric."""
    (V, b), (before, b_before), (G, g) = now, last, grad
    U, u, shrink, scale = metric
    size = 0.0
    for j in range(len(b)):
        size += scale * g[j] * g[j]
        b_before[j] = b[j]
        b[j] -= step * scale * g[j]
        for c in range(V.shape[1]):
            size += scale * G[j, c] * G[j, c]
            before[j, c] = V[j, c]
            V[j, c] -= step * scale * G[j, c]
        for r in range(len(u)):
            total = u[r] * g[j]
            for c in range(V.shape[1]):
                total += U[r, c] * G[j, c]
            size -= shrink[r] * total * total
            total *= step * shrink[r]
            b[j] += total * u[r]
            for c in range(V.shape[1]):
                V[j, c] += total * U[r, c]
    return size
