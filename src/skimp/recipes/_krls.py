"""Kernel regularized least squares with the conventions of its papers."""

from typing import Any

import numpy as np

from skimp.effects import KRLS
from skimp.recipes._configure import choose, configure

POWERS = tuple(float(power) for power in 2.0 ** np.arange(-5, 6))
"""Grid for lambda and sigma in the thesis on data reduction for KRLS."""


def krls(task: str = "regression", **overrides: Any) -> KRLS:
    r"""Return kernel regularized least squares as R's package KRLS computes it.

    ``summary()`` prints the numbers of R's ``summary(krls(X, y))``, so that you can check a
    published table [1]_. The conventions are:

    - The kernel is Gaussian, :math:`\exp(-\|x - y\|^2 / d)` for d columns, each centred and divided
      by its standard deviation (with n - 1). R's version 1.7 chooses :math:`\sigma` by another rule
      and prints it; pass ``kernel=Gaussian(1 / sigma)`` to reproduce it.
    - y is centred and there is no intercept. R's search over leave-one-out errors, which stops
      early, chooses :math:`\lambda = n \alpha`. Pass ``alpha=lam / n`` for a published lambda.
    - Average effects are plain means of derivatives, or of differences for columns with two values.
    - The error variance is the sum of squared residuals over n, which is too small if the surface
      follows single rows. Standard errors of differences are multiplied by :math:`\sqrt 2`. t has
      n - d degrees of freedom.

    The default `KRLS` differs in all of these points to get intervals with better coverage. Its
    error variance divides by the trace of :math:`(I - H)^2`, where H maps y to fitted values. R has
    no categories, weights or approximations; here they work with the same formulas.

    The thesis on data reduction [2]_ takes :math:`\sigma^2 = d` in a kernel with
    :math:`2 \sigma^2`, which is the default of `KRLS`. It chooses :math:`\lambda` from
    ``recipes.POWERS`` by five-fold cross-validation: ``KRLS(lams=POWERS, alpha="kfold")``. Its
    simulations choose the bandwidth in the same way: ``sigmas=POWERS``.

    Parameters
    ----------
    task : "regression"
        The only task. A binary outcome is regressed as 0 and 1.
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
    choose("krls", task, regression=None)
    return configure("krls", KRLS(convention="R"), overrides)
