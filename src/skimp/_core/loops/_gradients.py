"""The gradient of a loss at one row, for compiled solvers.

A loss is the tuple (kind, numbers, cost) of `skimp.solvers`. The kinds are:

- ``PIECEWISE``: lines and parabolas. The numbers are the lower limits of the slope for negative
  targets and for others, the same for the upper limits, epsilon, and 1 for parabolas or 0.
- ``LOG``: the logistic loss.
- ``MULTICLASS``: the multi-class hinge loss; ``cost[a, b]`` is the cost of class b for a row of
  class a.
- ``SOFTMAX``: the multinomial logistic loss.
"""

import numpy as np
from numba import njit

from skimp._core.loops._math import FAST

PIECEWISE, LOG, MULTICLASS, SOFTMAX = range(4)


@njit(nogil=True, cache=True, fastmath=FAST)
def row_gradient(loss, y, f, g):
    """Fill g with the gradient of the loss at the targets y and the predictions f of one row."""
    kind, numbers, cost = loss
    if kind == PIECEWISE:
        for j in range(len(f)):
            g[j] = -_piecewise_slope(numbers, y[j], f[j])
    elif kind == LOG:
        for j in range(len(f)):
            # a sigmoid that does not overflow
            e = np.exp(-abs(f[j]))
            g[j] = -y[j] * (e if y[j] * f[j] > 0 else 1.0) / (1.0 + e)
    elif kind == MULTICLASS:
        _multiclass_gradient(cost, y, f, g)
    else:
        top, total = f.max(), 0.0
        for j in range(len(f)):
            g[j] = np.exp(f[j] - top)
            total += g[j]
        for j in range(len(f)):
            g[j] = g[j] / total - (1.0 if y[j] > 0 else 0.0)


@njit(nogil=True, cache=True, fastmath=FAST)
def _piecewise_slope(numbers, y, f):
    side = 0 if y < 0 else 1
    low, high, epsilon = numbers[side], numbers[2 + side], numbers[4]
    excess = y - f
    if epsilon > 0:
        excess = max(excess - epsilon, 0.0) + min(excess + epsilon, 0.0)
    if numbers[5] > 0:
        return min(max(2.0 * excess, low), high)
    return high if excess > 0 else (low if excess < 0 else 0.0)


@njit(nogil=True, cache=True, fastmath=FAST)
def _multiclass_gradient(cost, y, f, g):
    own = 0
    for j in range(len(f)):
        g[j] = 0.0
        if y[j] > 0:
            own = j
    worst, top = 0, -np.inf
    for j in range(len(f)):
        if f[j] + cost[own, j] > top:
            worst, top = j, f[j] + cost[own, j]
    g[worst] += 1.0
    g[own] -= 1.0


@njit(nogil=True, cache=True, fastmath=FAST)
def gradients(loss, Y, F, G):
    """Fill the rows of G with the gradients of the loss at the rows of Y and F."""
    for i in range(len(F)):
        row_gradient(loss, Y[i], F[i], G[i])
