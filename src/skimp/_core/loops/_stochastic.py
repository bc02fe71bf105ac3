"""Loop of stochastic (sub)gradient steps, for any layout of rows (see `_rows`).

The coefficients of output j are ``s_j V_j``: shrinking them is a change of ``s_j``, so that a step
on a sparse row costs as much as its entries. With average weights t, the weighted sum of all
coefficients so far is ``C_j V_j - U_j``, where U collects each change of V times C.
"""

import numpy as np
from numba import njit

from skimp._core.loops._gradients import row_gradient
from skimp._core.loops._math import FAST
from skimp._core.loops._rows import add_outputs, outputs_at

_SMALLEST = 1e-5
"""Least s: C V and U cancel, and their rounding errors grow as 1 / s."""


@njit(nogil=True, cache=True, fastmath=FAST)
def steps(X, order, outputs, Y, factor, loss, rule, limits, P, t, V, U, scalars):
    """Take one step for each batch of rows and return the number of all steps.

    Parameters
    ----------
    X, outputs, Y, factor
        The rows, the half-open range of outputs, the targets of shape (n, k), and a factor for the
        gradient of each row.
    order : array of int
        Row numbers; each ``batch`` of them makes a step.
    loss : tuple
        As in `row_gradient`.
    rule : tuple
        (batch, delay, alpha, theta, shift, largest, constant, free, average). The step size is
        ``1 / (2 alpha (t + shift))`` if ``theta`` is 0 and ``theta / sqrt(t)`` otherwise, and at
        most ``largest``. A gradient is applied ``delay`` steps later. ``constant`` is 1 with an
        intercept and 0 without; ``free`` says that it is not penalized.
    limits : array of shape (k,)
        Largest norm of the coefficients of each output, or infinity. For a joint loss, the norm of
        all outputs.
    P : array of shape (width, width) or (0, 0)
        The penalty matrix; none for the identity.
    t : int
        Number of steps before this call.
    V, U : arrays of shape (k, width)
        Coefficients, and their changes.
    scalars : array of shape (4, k)
        The rows are s, C, the intercept and its weighted sum.
    """
    batch, delay, alpha, theta, shift, largest, constant, free, average = rule
    first, last = outputs
    k = last - first
    s, C, b, sums = scalars
    every, f = np.ones(k, np.bool_), np.empty(k)
    waiting, change = np.empty((delay + 1, batch, k)), np.empty(k)
    n_batches = -(-len(order) // batch)
    for number in range(n_batches + delay):
        if number < n_batches:
            G = waiting[number % (delay + 1)]
            rows = order[number * batch : (number + 1) * batch]
            for r in range(len(rows)):
                outputs_at(X, rows[r], V, every, f)
                for j in range(k):
                    f[j] = s[j] * f[j] + b[j]
                row_gradient(loss, Y[rows[r], first:last], f, G[r])
                for j in range(k):
                    G[r, j] *= factor[rows[r]]
        if number < delay:
            continue
        t += 1
        eta = theta / np.sqrt(t) if theta > 0 else 1.0 / (2 * alpha * (t + shift))
        eta = min(eta, largest)
        G = waiting[(number - delay) % (delay + 1)]
        rows = order[(number - delay) * batch : (number - delay + 1) * batch]
        if P.shape[0] > 0:
            _shrink_by(P, 2 * alpha * eta, C, V, U)
        else:
            _shrink(1.0 - 2 * alpha * eta, free, s, C, b, V, U)
        for r in range(len(rows)):
            for j in range(k):
                slope = -eta / len(rows) * G[r, j]
                b[j] += constant * slope
                change[j] = slope / s[j]
            add_outputs(X, rows[r], change, V)
            if average:
                for j in range(k):
                    change[j] *= C[j]
                add_outputs(X, rows[r], change, U)
        if limits[0] < np.inf:
            _project(limits, free, s, b, V)
        if average:
            for j in range(k):
                C[j] += t * s[j]
                sums[j] += t * b[j]
    return t


@njit(nogil=True, cache=True, fastmath=FAST)
def _shrink(factor, free, s, C, b, V, U):
    """Multiply the coefficients by a factor, and the intercepts if they are not free."""
    for j in range(len(s)):
        s[j] *= max(factor, 0.0)
        if s[j] < _SMALLEST:
            # start again from s = 1, with the weighted sum in U
            for c in range(V.shape[1]):
                U[j, c] -= C[j] * V[j, c]
                V[j, c] *= s[j]
            s[j], C[j] = 1.0, 0.0
        if not free:
            b[j] *= max(factor, 0.0)


@njit(nogil=True, cache=True, fastmath=FAST)
def _shrink_by(P, size, C, V, U):
    """Subtract a multiple of P v from the coefficients v of each output, which have s = 1."""
    product = np.empty(V.shape[1])
    for j in range(len(V)):
        for c in range(len(product)):
            total = 0.0
            for e in range(len(product)):
                total += P[c, e] * V[j, e]
            product[c] = size * total
        for c in range(len(product)):
            V[j, c] -= product[c]
            U[j, c] -= C[j] * product[c]


@njit(nogil=True, cache=True, fastmath=FAST)
def _project(limits, free, s, b, V):
    """Shrink the coefficients of each output to their largest norm.

    A single limit bounds the norm of all outputs together.
    """
    joint = len(limits) < len(s)
    total = 0.0
    squares = np.zeros(len(s))
    for j in range(len(s)):
        for c in range(V.shape[1]):
            squares[j] += V[j, c] * V[j, c]
        squares[j] *= s[j] * s[j]
        if not free:
            squares[j] += b[j] * b[j]
        total += squares[j]
    for j in range(len(s)):
        limit = limits[0] if joint else limits[j]
        norm = np.sqrt(total if joint else squares[j])
        if norm > limit:
            s[j] *= limit / norm
            if not free:
                b[j] *= limit / norm
