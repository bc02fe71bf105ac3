"""Coordinate descent on a quadratic function plus an L1 norm."""

from numba import njit

from skimp._core.loops._math import FAST


@njit(nogil=True, cache=True, fastmath=FAST)
def coordinate_steps(order, H, threshold, c, g):
    """Minimize ``g . d + d . H d / 2 + threshold |c + d|_1`` over one d_j after another.

    Updates the coefficients c to c + d and the gradient g to g + H d, and returns the decrease. A
    coefficient that does not move costs a few operations, and one that moves a row of H.
    """
    decrease = 0.0
    for j in order:
        h, old = H[j, j], c[j]
        target = h * old - g[j]
        new = 0.0
        if target > threshold:
            new = (target - threshold) / h
        elif target < -threshold:
            new = (target + threshold) / h
        d = new - old
        if d != 0.0:
            decrease -= d * (g[j] + 0.5 * h * d) + threshold * (abs(new) - abs(old))
            c[j] = new
            for i in range(len(g)):
                g[i] += d * H[j, i]
    return decrease
