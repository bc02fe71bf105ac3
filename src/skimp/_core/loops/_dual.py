"""Loops of dual coordinate descent, for any layout of rows (see `_rows`).

Slopes, of shape (n, k), are the dual variables. Row i adds ``C_i slopes_ij x_i`` to the
coefficients ``V_j`` and ``constant C_i slopes_ij`` to the intercept ``b_j``; ``constant`` is the
square of the constant feature, 0 without an intercept. ``Q`` holds the squared norms of the rows
plus ``constant``. Inactive slopes do not change.
"""

import numpy as np
from numba import njit

from skimp._core.loops._math import FAST
from skimp._core.loops._rows import add_outputs, outputs_at

_LARGEST = 1 - np.finfo(np.float64).epsneg
_SMALLEST = np.finfo(np.float64).tiny
_NEWTON_STEPS = 100
_NEWTON_TOL = 1e-9


@njit(nogil=True, cache=True, fastmath=FAST)
def _pulls(f, y, slope, low, high, epsilon, q):
    """Return the gradient of the dual, its one-sided derivatives, and the optimality violation."""
    g = f - y + 0.5 * q * slope
    up = g + epsilon if slope >= 0 else g - epsilon
    down = g - epsilon if slope <= 0 else g + epsilon
    violation = 0.0
    if slope < high and up < 0:
        violation = -up
    elif slope > low and down > 0:
        violation = down
    return g, up, down, violation


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def piecewise_sweep(
    X,
    order,
    outputs,
    Q,
    C,
    Y,
    slopes,
    active,
    constant,
    V,
    b,
    worst,
    largest,
    lows,
    highs,
    epsilon,
    q,
):
    """Minimize over each active slope of a range of outputs, and return the number of steps.

    Rows are visited in the given order. ``outputs`` is the half-open range (first, last), and V
    holds its coefficients. Outputs are independent of each other, so threads can divide them.

    ``lows`` and ``highs`` hold the limits for negative targets and for all others. A slope becomes
    inactive if it is at a limit, or at the kink at 0, and the derivative holds it there by more
    than ``worst_j``. ``largest_j`` becomes the largest violation found.
    """
    steps = 0
    first, last = outputs
    f, t = np.empty((2, last - first))
    for i in order:
        outputs_at(X, i, V, active[i, first:last], f)
        moved = False
        for j in range(first, last):
            t[j - first] = 0
            if not active[i, j]:
                continue
            steps += 1
            y, slope = Y[i, j], slopes[i, j]
            side = 0 if y < 0 else 1
            low, high = lows[side], highs[side]
            g, up, down, violation = _pulls(f[j - first] + b[j], y, slope, low, high, epsilon, q)
            if violation == 0:
                above = slope >= high or up > worst[j]
                below = slope <= low or down < -worst[j]
                active[i, j] = not (above and below)
                continue
            largest[j] = max(largest[j], violation)
            # H is 0 if the row is zero and q = 0: infinities are clipped, and 0/0 compares false
            H = C[i] * Q[i] + 0.5 * q
            raised, lowered = slope - (g + epsilon) / H, slope - (g - epsilon) / H
            new = raised if raised > 0 else (lowered if lowered < 0 else 0.0)
            new = min(max(new, low), high)
            slopes[i, j] = new
            t[j - first] = C[i] * (new - slope)
            b[j] += constant * t[j - first]
            moved = True
        if moved:
            add_outputs(X, i, t, V)
    return steps


@njit(nogil=True, cache=True, fastmath=FAST)
def piecewise_wake(F, Y, slopes, active, lows, highs, epsilon, q):
    """Activate the slopes that violate optimality at the predictions F."""
    for i in range(F.shape[0]):
        for j in range(F.shape[1]):
            side = 0 if Y[i, j] < 0 else 1
            _, _, _, violation = _pulls(
                F[i, j], Y[i, j], slopes[i, j], lows[side], highs[side], epsilon, q
            )
            if violation > 0:
                active[i, j] = True


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def _log_step(p, m, A):
    """Return the minimizer z of ``A/2 (z - p)^2 + m (z - p) + z log z + (1 - z) log(1 - z)``.

    Newton's method on z or 1 - z, whichever is below a half at the minimum. A step that would
    cross 0 goes to a tenth of z instead.
    """
    mirrored = A * (0.5 - p) + m < 0
    if mirrored:
        p, m = 1 - p, -m
    z = 0.1 * p if p > 0.5 else p
    tol = _NEWTON_TOL * max(1.0, abs(m))
    for _ in range(_NEWTON_STEPS):
        slope = A * (z - p) + m + np.log(z / (1 - z))
        if abs(slope) <= tol:
            break
        new = z - slope / (A + 1 / (z * (1 - z)))
        z = max(new if new > 0 else 0.1 * z, _SMALLEST)
    z = 1 - z if mirrored else z
    return min(max(z, _SMALLEST), _LARGEST)


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def log_sweep(X, order, outputs, Q, C, Y, slopes, active, constant, V, b, worst, largest):
    """Run `piecewise_sweep` for the logistic loss, whose slopes never reach a limit."""
    steps = 0
    first, last = outputs
    f, t = np.empty((2, last - first))
    for i in order:
        outputs_at(X, i, V, active[i, first:last], f)
        for j in range(first, last):
            t[j - first] = 0
            if not active[i, j]:
                continue
            steps += 1
            y, p = Y[i, j], Y[i, j] * slopes[i, j]
            m = y * (f[j - first] + b[j])
            largest[j] = max(largest[j], abs(m + np.log(p / (1 - p))))
            new = _log_step(p, m, C[i] * Q[i])
            slopes[i, j] = y * new
            t[j - first] = C[i] * y * (new - p)
            b[j] += constant * t[j - first]
        add_outputs(X, i, t, V)
    return steps


@njit(nogil=True, cache=True)
def log_wake(F, Y, slopes, active):
    """Do nothing: slopes of the logistic loss never become inactive."""


@njit(nogil=True, cache=True, fastmath=FAST)
def _project(p, scores, top, A):
    """Replace p by the distribution p' that maximises ``scores . p' - A/2 |p' - p|^2``.

    ``top`` is the largest score. This projects ``p + scores / A`` onto the simplex: it subtracts a
    shift from the entries and raises it until their positive parts sum to 1 (Michelot 1986).
    """
    A = max(A, _SMALLEST)
    for a in range(len(p)):
        # only differences matter, and have smaller rounding errors; an entry that is 1 below
        # another projects to zero
        p[a] = max(p[a] + (scores[a] - top) / A, -1.0)
    shift, count = -2.0, len(p) + 1
    while True:
        total, above = -1.0, 0
        for a in range(len(p)):
            if p[a] > shift:
                total += p[a]
                above += 1
        # rounding may let an entry return: the count has to fall
        if above == 0 or above >= count:
            break
        shift, count = total / above, above
    for a in range(len(p)):
        p[a] = max(p[a] - shift, 0.0)


@njit(nogil=True, cache=True, fastmath=FAST)
def multiclass_sweep(
    X, order, outputs, Q, C, Y, slopes, active, constant, V, b, worst, largest, cost
):
    """Minimize the multi-class hinge loss over all active slopes of each row at once.

    The slopes of a row are the indicator of its class minus a distribution p over the classes. The
    score of a class is its prediction plus its cost, from the row of the matrix for the true class.
    A class with p = 0 becomes inactive if its score is more than ``worst_0`` below those of all
    classes with p > 0.
    """
    k = Y.shape[1]
    classes, p, scores = np.empty(k, np.int64), np.empty(k), np.empty(k)
    steps = 0
    f, t = np.empty((2, k))
    for i in order:
        outputs_at(X, i, V, active[i], f)
        n_classes, top, support = 0, -np.inf, np.inf
        own = np.argmax(Y[i])
        for j in range(k):
            if active[i, j]:
                score = f[j] + b[j] + cost[own, j]
                classes[n_classes], scores[n_classes] = j, score
                p[n_classes] = (1.0 if j == own else 0.0) - slopes[i, j]
                top = max(top, score)
                if p[n_classes] > 0:
                    support = min(support, score)
                n_classes += 1
        steps += n_classes
        n_active = 0
        for a in range(n_classes):
            stays = p[a] > 0 or scores[a] >= support - worst[0]
            active[i, classes[a]] = stays
            n_active += 1 if stays else 0
        if top <= support:
            if n_active == 1:
                active[i, :] = False
            continue
        largest[0] = max(largest[0], top - support)
        _project(p[:n_classes], scores[:n_classes], top, C[i] * Q[i])
        t[:] = 0
        for a in range(n_classes):
            j = classes[a]
            new = (1.0 if j == own else 0.0) - p[a]
            t[j] = C[i] * (new - slopes[i, j])
            slopes[i, j] = new
            b[j] += constant * t[j]
        add_outputs(X, i, t, V)
    return steps


@njit(nogil=True, cache=True, fastmath=FAST)
def multiclass_wake(F, Y, slopes, active, cost):
    """Activate the classes that violate optimality at F, and those with p > 0 in the same row."""
    k = F.shape[1]
    scores, shares = np.empty(k), np.empty(k, np.bool_)
    for i in range(F.shape[0]):
        top, support = -np.inf, np.inf
        own = np.argmax(Y[i])
        for j in range(k):
            scores[j] = F[i, j] + cost[own, j]
            shares[j] = slopes[i, j] < (1.0 if j == own else 0.0)
            top = max(top, scores[j])
            if shares[j]:
                support = min(support, scores[j])
        if top > support:
            for j in range(k):
                if shares[j] or scores[j] > support:
                    active[i, j] = True
