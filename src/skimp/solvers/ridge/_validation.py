"""Errors on rows that a model was not fitted to, in closed form: left-out rows, and GCV."""

import numpy as np

from skimp._core._types import Array


def left_out_errors(
    errors: Array, left: Array, least: float = 0.0, copies: Array | None = None
) -> Array:
    r"""Return the residuals of rows in models of all others, :math:`e_i / (1 - h_i)`.

    ``left`` are the :math:`1 - h_i`, at least ``least``, with an axis less than ``errors`` that has
    outputs last. The penalty n alpha of the models stays the same. If ``copies`` are given, equal
    rows are left out together: the weight of all copies of a row is so many times its own.
    """
    if copies is not None:
        copies = copies.reshape(-1, *(1,) * (left.ndim - 1))
        left, least = 1 - copies * (1 - left), max(least, float(np.finfo(np.float64).eps))
    found: Array = errors / np.maximum(left, least)[..., None]
    return found


def generalized_errors(squares: Array, free: Array) -> Array:
    r"""Return the errors of generalized cross-validation, :math:`\bar{r^2} / (1 - d / n)^2`.

    ``free`` is :math:`1 - d / n` for the effective dimension d; errors are infinite if none is.
    """
    errors = np.full(free.shape, np.inf)
    np.divide(squares, np.square(free), out=errors, where=free > 0)
    return errors
