"""Loops of kernel gradient steps on few points (BSGD), and of kernelized Pegasos.

A model is ``f(x) = sum_s A_s k(p_s, x) / (lam (t + shift))`` after t steps: all coefficients shrink
together, so a step only changes the coefficient of one point. From step ``window`` on, t stays the
same and A shrinks instead, so that old rows are forgotten.
"""

import numpy as np
from numba import njit

from skimp._core.loops._gradients import row_gradient
from skimp._core.loops._math import FAST

_HALVINGS = 50
"""How often the interval of a merged point is halved."""
REMOVAL, PROJECTION, MERGING = range(3)


@njit(nogil=True, cache=True, fastmath=FAST)
def budgeted_steps(X, rows, Y, factor, K, own, loss, rule, gamma, table, slots, t, size, state):
    """Take a step on each row of a chunk, and return the numbers of steps and of points.

    Parameters
    ----------
    X, rows, Y, factor
        Rows of the chunk as a dense array, their numbers, their targets of shape (r, k), and
        factors of their gradients.
    K, own : arrays of shape (r, budget + 1) and (r, r)
        Kernel values of the rows with the points, and with each other. K is changed.
    loss : tuple
        As in `row_gradient`.
    rule : tuple
        (kind, ridge, lam, shift, window, curvature): how to keep the budget, a ridge relative to
        the diagonal of the kernel matrix, the penalty, shift and window of the step size
        ``1 / (lam (min(t, window) + shift))``, and the largest curvature of the loss, or 0 if it
        has kinks.
    gamma, table
        Weights of the columns in the Gaussian kernel, and the best weights of `merge_table`; used
        for merging only.
    slots : array of int
        The point of each row number, or -1. A row that is a point only changes its coefficient.
    t, size : int
        Number of steps and of points before this call.
    state : tuple
        P, A, G, Q and owners: points of shape (budget + 1, d), their coefficients, stored output by
        output, their kernel matrix, its inverse with a small ridge (for projection only), and the
        row number of each point, or -1.
    """
    kind, ridge, lam, shift, window, curvature = rule
    sizes = lam, shift, window, curvature
    P, A, G, Q, owners = state
    k, r, budget = A.shape[1], len(X), len(A) - 1
    f, g = np.empty(k), np.empty(k)
    for i in range(r):
        _outputs(K[i], size, A, _scale(t, lam, shift, window), f)
        t += 1
        if not _step(loss, sizes, t, size, Y[i], factor[i], own[i, i], f, g, A):
            continue
        known = slots[rows[i]]
        if known >= 0:
            for j in range(k):
                A[known, j] -= g[j]
            continue
        for j in range(k):
            A[size, j] = -g[j]
        P[size] = X[i]
        owners[size], slots[rows[i]] = rows[i], size
        for s in range(size):
            G[size, s] = G[s, size] = K[i, s]
        G[size, size] = own[i, i]
        for later in range(i + 1, r):
            K[later, size] = own[later, i]
        if kind == PROJECTION:
            _border(ridge, G, Q, size)
        size += 1
        if size > budget:
            if kind == MERGING:
                s = _merge(X, i + 1, gamma, table, K, slots, t, size, state)
            elif kind == PROJECTION:
                s = _project(size, A, Q)
            else:
                s = _smallest(t, size, A, G)
            _drop(s, i + 1, K, slots, size, state)
            size -= 1
    return t, size


@njit(nogil=True, cache=True, fastmath=FAST)
def inverse_step(t, lam, shift, window):
    """Return the number by which step t divides a gradient."""
    return lam * (min(t, window) + shift)


@njit(nogil=True, cache=True, fastmath=FAST)
def _scale(t, lam, shift, window):
    """Return the common factor of the coefficients after t steps."""
    return 1.0 / inverse_step(t, lam, shift, window) if t > 0 else 0.0


@njit(nogil=True, cache=True, fastmath=FAST)
def _fade(t, shift, window, size, A):
    """Shrink the coefficients in steps after the window."""
    if t > window:
        factor = 1.0 - 1.0 / (window + shift)
        for j in range(A.shape[1]):
            for s in range(size):
                A[s, j] *= factor


@njit(nogil=True, cache=True, fastmath=FAST)
def _outputs(values, size, A, scale, f):
    """Fill f with the outputs at a row with these kernel values."""
    for j in range(len(f)):
        total = 0.0
        for s in range(size):
            total += A[s, j] * np.float64(values[s])
        f[j] = scale * total


@njit(nogil=True, cache=True, fastmath=FAST)
def _step(loss, sizes, t, size, y, factor, diagonal, f, g, A):
    """Shrink A, fill g with the gradient at a row, and return whether it changes the model.

    A step that would overshoot on its own row is shortened. A row with k(x, x) = 0 has no part in
    any model.
    """
    lam, shift, window, curvature = sizes
    _fade(t, shift, window, size, A)
    row_gradient(loss, y, f, g)
    steepest = curvature * diagonal
    if steepest > 0:
        factor = min(factor, inverse_step(t, lam, shift, window) / steepest)
    moved = False
    for j in range(len(g)):
        g[j] *= factor
        moved |= g[j] != 0
    return moved and diagonal > 0


@njit(nogil=True, cache=True, fastmath=FAST)
def _smallest(t, size, A, G):
    """Return the point with the smallest ``|A_s|^2 k(p_s, p_s)``.

    Many points have equal coefficients. The search starts at another point in each step, so that
    no place is preferred.
    """
    least, found = np.inf, 0
    for q in range(size):
        s = (t + q) % size
        norm = _product(A, s, s) * G[s, s]
        if norm < least:
            least, found = norm, s
    return found


@njit(nogil=True, cache=True, fastmath=FAST)
def _product(A, s, p):
    total = 0.0
    for j in range(A.shape[1]):
        total += A[s, j] * A[p, j]
    return total


@njit(nogil=True, cache=True, fastmath=FAST)
def _drop(s, first, K, slots, size, state):
    """Put the last point into the place of point s; rows from ``first`` on are still to come."""
    P, A, G, Q, owners = state
    last = size - 1
    _forget(s, slots, owners)
    if s == last:
        return
    P[s] = P[last]
    A[s] = A[last]
    _move(s, last, G)
    if len(Q):
        _move(s, last, Q)
    owners[s] = owners[last]
    if owners[s] >= 0:
        slots[owners[s]] = s
    for later in range(first, len(K)):
        K[later, s] = K[later, last]


@njit(nogil=True, cache=True, fastmath=FAST)
def _move(s, last, M):
    """Replace row and column s of a symmetric matrix by the last ones."""
    for q in range(last):
        M[s, q] = M[q, s] = M[last, q]
    M[s, s] = M[last, last]


@njit(nogil=True, cache=True, fastmath=FAST)
def _forget(s, slots, owners):
    """Note that point s is not a row any more."""
    if owners[s] >= 0:
        slots[owners[s]] = -1
        owners[s] = -1


@njit(nogil=True, cache=True, fastmath=FAST)
def _merge(X, first, gamma, table, K, slots, t, size, state):
    """Replace the best partner of the smallest point by a point between both.

    Partners are compared at the places in the table, which is for coefficients in one direction.
    The place for the chosen one is searched. Return the smallest point, which is no longer needed.
    If no other point has a coefficient of the same sign, it has no partner.
    """
    P, A, G, _, owners = state
    s = _smallest(t, size, A, G)
    own, least, partner = _product(A, s, s), np.inf, -1
    for p in range(size):
        shared, other, kappa = _product(A, s, p), _product(A, p, p), G[s, p]
        # squares of huge coefficients are infinite
        if p == s or not (shared > 0 and own + other < np.inf):
            continue
        h = best_weight(table, kappa, np.sqrt(own), np.sqrt(other))
        # the squared norm of the error
        lost = own + other + 2 * shared * kappa - _kept(kappa, own, other, shared, h)
        if lost < least:
            least, partner = lost, p
    if partner >= 0:
        kappa = G[s, partner]
        h = _search(kappa, own, _product(A, partner, partner), _product(A, s, partner))
        u, v = _powers(kappa, h)
        for j in range(A.shape[1]):
            A[partner, j] = A[s, j] * u + A[partner, j] * v
        for c in range(P.shape[1]):
            P[partner, c] = h * P[s, c] + (1 - h) * P[partner, c]
        for q in range(size):
            G[partner, q] = G[q, partner] = gaussian(gamma, P[partner], P[q])
        for later in range(first, len(K)):
            K[later, partner] = gaussian(gamma, X[later], P[partner])
        _forget(partner, slots, owners)
    return s


@njit(nogil=True, cache=True, fastmath=FAST)
def gaussian(gamma, x, y):
    """Return the Gaussian kernel of two points."""
    total = 0.0
    for c in range(len(gamma)):
        difference = np.float64(x[c]) - np.float64(y[c])
        total += gamma[c] * difference * difference
    return np.exp(-total)


@njit(nogil=True, cache=True, fastmath=FAST)
def _powers(kappa, h):
    """Return the kernel values of the point between a pair with both of its ends."""
    return kappa ** ((1 - h) * (1 - h)), kappa ** (h * h)


@njit(nogil=True, cache=True, fastmath=FAST)
def _kept(kappa, own, other, shared, h):
    """Return the squared norm of the merged point, of coefficients with these inner products."""
    u, v = _powers(kappa, h)
    return own * u * u + other * v * v + 2 * shared * u * v


@njit(nogil=True, cache=True, fastmath=FAST)
def _search(kappa, own, other, shared):
    """Return the best h, where the derivative of `_kept` changes its sign.

    This happens once, on the side of the larger coefficients, or at the border of that side.
    """
    large, small = max(own, other), min(own, other)
    low, high = 0.5, 1.0
    for _ in range(_HALVINGS):
        h = (low + high) / 2
        u, v = _powers(kappa, h)
        if h * small * v * v + (2 * h - 1) * shared * u * v > (1 - h) * large * u * u:
            high = h
        else:
            low = h
    h = (low + high) / 2
    return h if own >= other else 1 - h


@njit(nogil=True, cache=True, fastmath=FAST)
def best_weight(table, kappa, a, b):
    """Return h of the merged point ``h x + (1 - h) y`` of x and y with coefficients a and b > 0.

    Interpolated in a table of `merge_table`, which has the larger coefficient first.
    """
    n, m = table.shape
    row = min(max(kappa, 0.0), 1.0) * (n - 1)
    column = (2 * max(a, b) / (a + b) - 1) * (m - 1)
    i, j = min(int(row), n - 2), min(int(column), m - 2)
    u, v = row - i, column - j
    low = table[i, j] * (1 - v) + table[i, j + 1] * v
    high = table[i + 1, j] * (1 - v) + table[i + 1, j + 1] * v
    h = low * (1 - u) + high * u
    return h if a >= b else 1 - h


@njit(nogil=True, cache=True, fastmath=FAST)
def _border(ridge, G, Q, size):
    """Extend the inverse Q by the last row and column of G, whose diagonal includes the ridge."""
    product = np.zeros(size)
    for q in range(size):
        for p in range(size):
            product[q] += Q[q, p] * G[size, p]
    rest = G[size, size] * (1 + ridge)
    for q in range(size):
        rest -= product[q] * G[size, q]
    rest = max(rest, ridge * G[size, size])
    for q in range(size):
        scaled = product[q] / rest
        for p in range(size):
            Q[q, p] += scaled * product[p]
        Q[q, size] = Q[size, q] = -scaled
    Q[size, size] = 1.0 / rest


@njit(nogil=True, cache=True, fastmath=FAST)
def _project(size, A, Q):
    """Project the point that loses least onto the others, and return it.

    Point s is replaced by ``-sum_q Q_qs / Q_ss p_q``, and the squared norm of the error is
    ``|A_s|^2 / Q_ss``. Q becomes the inverse of the kernel matrix without this point.
    """
    least, s = np.inf, 0
    for p in range(size):
        lost = _product(A, p, p) / Q[p, p]
        if lost < least:
            least, s = lost, p
    for q in range(size):
        if q != s:
            share = -Q[q, s] / Q[s, s]
            for j in range(A.shape[1]):
                A[q, j] += share * A[s, j]
    column = Q[:size, s].copy()
    for q in range(size):
        scaled = column[q] / column[s]
        for p in range(size):
            Q[q, p] -= scaled * column[p]
    return s


@njit(nogil=True, cache=True, fastmath=FAST)
def pegasos_steps(rows, Y, factor, K, own, loss, rule, t, size, slots, A):
    """Take a step on each row of a chunk of kernelized Pegasos; return the numbers as above.

    ``rows`` are row numbers, and ``slots`` the point of each row number, or -1. The points of a
    chunk that are new are counted from ``size`` on.
    """
    lam, shift, window, _ = rule
    k, before = A.shape[1], size
    f, g = np.empty(k), np.empty(k)
    added = np.empty(len(rows), np.int64)
    for i in range(len(rows)):
        scale = _scale(t, lam, shift, window)
        _outputs(K[i], before, A, 1.0, f)
        for s in range(before, size):
            for j in range(k):
                f[j] += A[s, j] * own[i, added[s - before]]
        for j in range(k):
            f[j] *= scale
        t += 1
        if not _step(loss, rule, t, size, Y[i], factor[i], own[i, i], f, g, A):
            continue
        s = slots[rows[i]]
        if s < 0:
            s = slots[rows[i]] = size
            added[size - before] = i
            size += 1
        for j in range(k):
            A[s, j] -= g[j]
    return t, size
