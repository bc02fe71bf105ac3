"""Kernel regularized least squares as its papers describe it."""

from typing import Any

import numpy as np

from skimp._params._rules import broken
from skimp.effects import KRLS

POWERS = tuple(float(power) for power in 2.0 ** np.arange(-5, 6))
"""The values of lambda and of sigma that the thesis on data reduction for KRLS chooses from."""


def krls(task: str = "regression", **overrides: Any) -> KRLS:
    r"""Return kernel regularized least squares as R's package KRLS computes it.

    ``summary()`` gives the numbers of R's ``summary(krls(X, y))``, so that a published table can be
    checked [1]_:

    - the Gaussian kernel :math:`\exp(-\|x - y\|^2 / d)` of d columns, each centred and divided by
      its standard deviation with n - 1. R 1.7 chooses :math:`\sigma` by another rule and prints
      it: ``kernel=Gaussian(1 / sigma)``, then.
    - y centred, no intercept, and :math:`\lambda = n \alpha` by R's search over leave-one-out
      errors, which stops early. A lambda that was published is ``alpha=lam / n``.
    - plain means of derivatives, and of differences for columns of two values.
    - the sum of squared residuals over n as the variance of the errors, which is too small for a
      surface that follows single rows; standard errors of differences times :math:`\sqrt 2`; t with
      n - d degrees of freedom.

    The default `KRLS` departs from all of these, for intervals that cover: it divides by the trace
    of :math:`(I - H)^2`, with H the matrix that turns y into fitted values. Levels of categories,
    weights and approximations are not in R; they work here with the same formulas.

    The thesis on data reduction [2]_ takes :math:`\sigma^2 = d` in a kernel with
    :math:`2 \sigma^2`, which is the default of `KRLS`, and chooses :math:`\lambda` among
    ``recipes.POWERS`` by five folds: ``KRLS(lams=POWERS, alpha="kfold")``; in its simulations the
    bandwidth as well: ``sigmas=POWERS``.

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
    >>> recipes.krls(approximation=500)
    KRLS(approximation=500, convention='R')
    """
    if task != "regression":
        raise broken("krls", "task", "'regression' (0 and 1 are numbers, too)", task)
    return KRLS(**{"convention": "R", **overrides})
