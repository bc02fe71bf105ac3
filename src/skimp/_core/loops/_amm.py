"""Loops of the adaptive multi-hyperplane machine, for any layout of rows (see `_rows`).

After t steps of size ``1 / (lam t)``, a weight is ``v / (lam t)``, where v is the sum of the rows
that it was moved by, with their signs and factors. Shrinking all weights is a change of t, so that
a step on a sparse row costs as much as its entries. The sum of v over the steps after step
``start`` is ``(t - start) v - u``, where u collects each change of v times the number of these
steps before it.

The first ``used`` rows of V and U belong to weights of the classes ``owner``. Their last entries
belong to a constant feature.
"""

import numpy as np
from numba import njit

from skimp._core.loops._math import FAST
from skimp._core.loops._rows import add_row, dot


@njit(nogil=True, cache=True, fastmath=FAST)
def assign(X, classes, used, V, owner, assigned):
    """Fill the best weight of the class of each row, or -1 if none has a positive product."""
    for i in range(len(assigned)):
        top = 0.0
        assigned[i] = -1
        for j in range(used):
            if owner[j] == classes[i]:
                f = _product(X, i, V[j])
                if f > top:
                    assigned[i], top = j, f


@njit(nogil=True, cache=True, fastmath=FAST)
def steps(X, order, classes, factor, lam, most, start, t, used, V, U, owner, assigned):
    """Take one step per row, and return t and ``used``; stop if there is no room for a new weight.

    Parameters
    ----------
    X, classes, factor
        The rows, their classes, and a factor for the gradient of each.
    order : array of int
        Numbers of the rows to visit.
    lam, most
        Twice the penalty, and the largest number of weights of a class.
    start, t, used, V, U, owner
        The state; see above.
    assigned : array of int
        The weight of its class that each row moves, or -1 to choose the best one.
    """
    for i in order:
        scale, fixed = 1.0 / (lam * max(t, 1)), assigned[i]
        # the weight of the true class, and the best one of other classes if it is positive
        own, top, n_own, rival, wrong = -1, -np.inf, 0, -1, 0.0
        for j in range(used):
            if owner[j] != classes[i]:
                f = scale * _product(X, i, V[j])
                if f > wrong:
                    rival, wrong = j, f
                continue
            n_own += 1
            if fixed in (-1, j):
                f = scale * _product(X, i, V[j])
                if f > top:
                    own, top = j, f
        if fixed < 0 and top <= 0.0 and n_own < most:
            # the zero weight becomes a new one
            if used == len(V):
                break
            own, top = used, 0.0
            owner[own] = classes[i]
            used += 1
        if 1.0 + wrong - top > 0.0:
            _move(X, i, factor[i], t - start, V[own], U[own])
            if rival >= 0:
                _move(X, i, -factor[i], t - start, V[rival], U[rival])
        t += 1
    return t, used


@njit(nogil=True, cache=True, fastmath=FAST)
def _product(X, i, v):
    return dot(X, i, v[:-1]) + v[-1]


@njit(nogil=True, cache=True, fastmath=FAST)
def _move(X, i, size, n_before, v, u):
    """Add a row to v, and the change times the number of earlier steps to u."""
    add_row(X, i, size, v[:-1])
    v[-1] += size
    if n_before > 0:
        add_row(X, i, n_before * size, u[:-1])
        u[-1] += n_before * size
