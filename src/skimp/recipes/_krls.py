"""Kernel regularized least squares as its papers describe it."""

from typing import Any

import numpy as np

from skimp._core._rules import broken
from skimp.estimators import KRLS
from skimp.kernels import Gaussian

POWERS = tuple(float(power) for power in 2.0 ** np.arange(-5, 6))
"""The values of lambda and of sigma that the thesis on data reduction for KRLS chooses from."""


def krls(task: str = "regression", **overrides: Any) -> KRLS:
    r"""Return kernel regularized least squares with the choices of Hainmueller and Hazlett.

    A Gaussian kernel :math:`\exp(-\|x - y\|^2 / d)` of d standardized columns, a penalty by leaving
    rows out one by one, derivatives of all columns and first differences of those with two values
    [1]_. We depart from it in three ways: an intercept takes the place of centring y, columns are
    divided by the standard deviation of n and not of n - 1, and the variance of the errors is that
    of residuals over n less the effective number of parameters, and not over n.

    The thesis on data reduction [2]_ takes :math:`\sigma^2 = d` in a kernel with
    :math:`2 \sigma^2`, which is the default of `KRLS`, and chooses the penalty
    :math:`\lambda = n \alpha` among ``recipes.POWERS``: ``krls(kernel=None, lams=POWERS)``; in its
    simulations the width as well: ``sigmas=POWERS, alpha="kfold"``.

    Parameters
    ----------
    task : "regression"
        The only one; a binary outcome is regressed as 0 and 1.
    **overrides
        Parameters of `KRLS`.

    Returns
    -------
    KRLS

    References
    ----------
    .. [1] J. Hainmueller and C. Hazlett, "Kernel regularized least squares", Political Analysis 22
       (2014), sections 3 and 4.
    .. [2] B. M. Straub, "A study of approximations and data reduction techniques for kernel
       regularized least squares", thesis, Pennsylvania State University (2018), sections 4 and 5.

    Examples
    --------
    >>> from skimp import recipes
    >>> recipes.krls(reduction="kmeans", budget=500)
    KRLS(budget=500, kernel=Gaussian(), reduction='kmeans')
    """
    if task != "regression":
        raise broken("krls", "task", "'regression' (0 and 1 are numbers, too)", task)
    return KRLS(**{"kernel": Gaussian(gamma="scale"), **overrides})
