"""Leave-one-out and GCV errors in closed form."""

import numpy as np

from skimp._core._types import Array


def left_out_errors(
    errors: Array, left: Array, least: float = 0.0, copies: Array | None = None
) -> Array:
    r"""Return leave-one-out residuals, :math:`e_i / (1 - h_i)`, with the same penalty n alpha.

    ``left`` holds :math:`1 - h_i`, which is raised to ``least``. ``errors`` has the same shape with
    an additional last axis for outputs. If ``copies`` is given, identical rows are left out
    together: the weight of all copies of a row is ``copies`` times its own.
    """
    if copies is not None:
        copies = copies.reshape(-1, *(1,) * (left.ndim - 1))
        left, least = 1 - copies * (1 - left), max(least, float(np.finfo(np.float64).eps))
    found: Array = errors / np.maximum(left, least)[..., None]
    return found


def generalized_errors(squares: Array, free: Array) -> Array:
    r"""Return the errors of generalized cross-validation, :math:`\bar{r^2} / (1 - d / n)^2`.

    ``free`` is :math:`1 - d / n` for the effective dimension d. Errors are infinite unless it is
    positive.
    """
    errors = np.full(free.shape, np.inf)
    np.divide(squares, np.square(free), out=errors, where=free > 0)
    return errors
