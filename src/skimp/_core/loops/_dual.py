"""Loops of dual coordinate descent: steps of one row after the other, in any layout of rows.

Slopes, of shape (n, k), are the dual variables: row i adds ``C_i slopes_ij x_i`` to the
coefficients ``V_j``, and the same without ``x_i`` to the intercept ``b_j``, where ``constant`` is
1, not 0. Slopes of outputs that are not active stay.
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
    """Return the dual objective's derivatives upwards and downwards, and what they violate."""
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
    """Minimise over each active slope of some outputs, and return how many there were.

    Rows come in this order, and ``outputs`` holds the first of the outputs, whose coefficients are
    V, and the one behind the last: outputs do not touch each other, so that threads can share them
    out.

    ``lows`` and ``highs`` are the limits for negative and for other targets. A slope that sits at
    one of them, or at the kink at 0, pulled there by more than ``worst_j``, becomes inactive;
    ``largest_j`` becomes the largest violation met.
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
            # H is 0 for a row of zeros on lines: the infinities are clipped, 0/0 compares false
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
    """Make slopes that violate their optimality at the predictions F active again."""
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
    """Return the minimiser z of ``A/2 (z - p)^2 + m (z - p) + z log z + (1 - z) log(1 - z)``.

    Newton's method, in whichever of z and 1 - z is below a half at the minimum; a step across 0
    becomes a tenth of the way.
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
    """Do what `piecewise_sweep` does for the logistic loss; its slopes never reach a limit."""
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
    """Do nothing: no slope of the logistic loss becomes inactive."""


@njit(nogil=True, cache=True, fastmath=FAST)
def _project(p, scores, top, A):
    """Replace p by the distribution p' that maximises ``scores . p' - A/2 |p' - p|^2``.

    ``top`` is the largest score. This projects ``p + scores / A`` onto the simplex: what is above
    a shift, which rises until that sums to 1 (Michelot 1986).
    """
    A = max(A, _SMALLEST)
    for a in range(len(p)):
        # only differences count, and they round less; what is 1 below another one gets nothing
        p[a] = max(p[a] + (scores[a] - top) / A, -1.0)
    shift, count = -2.0, 0
    while True:
        total, above = -1.0, 0
        for a in range(len(p)):
            if p[a] > shift:
                total += p[a]
                above += 1
        if above == count:
            break
        shift, count = total / above, above
    for a in range(len(p)):
        p[a] = max(p[a] - shift, 0.0)


@njit(nogil=True, cache=True, fastmath=FAST)
def multiclass_sweep(X, order, outputs, Q, C, Y, slopes, active, constant, V, b, worst, largest):
    """Minimise over the slopes of each row at once, which are its class less a distribution p.

    Of the loss of Crammer and Singer. A class without a share in p becomes inactive where its
    score is less than that of all classes with a share by more than ``worst_0``.
    """
    k = Y.shape[1]
    classes, p, scores = np.empty(k, np.int64), np.empty(k), np.empty(k)
    steps = 0
    f, t = np.empty((2, k))
    for i in order:
        outputs_at(X, i, V, active[i], f)
        n_classes, top, support = 0, -np.inf, np.inf
        for j in range(k):
            if active[i, j]:
                own = Y[i, j] > 0
                score = f[j] + b[j] if own else f[j] + b[j] + 1.0
                classes[n_classes], scores[n_classes] = j, score
                p[n_classes] = (1.0 if own else 0.0) - slopes[i, j]
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
            new = (1.0 if Y[i, j] > 0 else 0.0) - p[a]
            t[j] = C[i] * (new - slopes[i, j])
            slopes[i, j] = new
            b[j] += constant * t[j]
        add_outputs(X, i, t, V)
    return steps


@njit(nogil=True, cache=True, fastmath=FAST)
def multiclass_wake(F, Y, slopes, active):
    """Make the classes of a row active that violate its optimality at F, with those in p."""
    k = F.shape[1]
    scores, shares = np.empty(k), np.empty(k, np.bool_)
    for i in range(F.shape[0]):
        top, support = -np.inf, np.inf
        for j in range(k):
            own = Y[i, j] > 0
            scores[j] = F[i, j] if own else F[i, j] + 1.0
            shares[j] = slopes[i, j] < (1.0 if own else 0.0)
            top = max(top, scores[j])
            if shares[j]:
                support = min(support, scores[j])
        if top > support:
            for j in range(k):
                if shares[j] or scores[j] > support:
                    active[i, j] = True
