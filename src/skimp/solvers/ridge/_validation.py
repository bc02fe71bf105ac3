"""Errors on rows that a model was not fitted to, in closed form: left-out rows, and GCV."""

import numpy as np

from skimp._core._types import Array

CRITERIA = ("loo", "gcv", "kfold")
"""What a penalty can be chosen by."""


def left_out_errors(errors: Array, left: Array, least: float = 0.0) -> Array:
    r"""Return the residuals of rows in models of all others, :math:`e_i / (1 - h_i)`.

    ``left`` are the :math:`1 - h_i`, at least ``least``, with an axis less than ``errors`` that has
    outputs last. The penalty n alpha of the models stays the same.
    """
    found: Array = errors / np.maximum(left, least)[..., None]
    return found


def generalized_errors(squares: Array, free: Array) -> Array:
    r"""Return the errors of generalized cross-validation, :math:`\bar{r^2} / (1 - d / n)^2`.

    ``free`` is :math:`1 - d / n` for the effective dimension d; errors are infinite if none is.
    """
    errors = np.full(free.shape, np.inf)
    np.divide(squares, np.square(free), out=errors, where=free > 0)
    return errors


def best_alpha(alphas: Array, scores: Array) -> float:
    """Return the penalty of the least score, the largest of several.

    If its two neighbours in the grid have scores, too, it is the vertex of their parabola.
    """
    best = len(scores) - 1 - int(np.argmin(scores[::-1]))
    if not (0 < best < len(scores) - 1 and np.isfinite(scores[best - 1 : best + 2]).all()):
        return float(alphas[best])
    logs, (left, least, right) = np.log(alphas[best - 1 : best + 2]), scores[best - 1 : best + 2]
    bend = left - 2 * least + right
    shift = 0.0 if bend <= 0 else 0.5 * (left - right) / bend
    # neighbours of a grid in logarithms are equally far
    return float(np.exp(logs[1] + shift * (logs[1] - logs[0])))
