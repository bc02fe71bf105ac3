"""Models that learn from rows without labels, too."""

from typing import Any

from sklearn.pipeline import Pipeline

from skimp.estimators import KernelFactorization
from skimp.recipes._configure import choose, configure, standardized


def ssokmf(task: str = "classification", **overrides: Any) -> Pipeline:
    r"""Return semi-supervised kernel matrix factorization on a budget (SSOKMF).

    Rows in feature space and the labels of some of them are factorized with common codes [1]_ (eq.
    4-16) [2]_. Rows without a label have the label -1. The differences are:

    - Codes and factors are computed in closed form, in turns. ``solver="sgd"`` takes the stochastic
      steps of the publication, with signs and the scale of the penalties corrected.
    - The penalty of the basis is its norm in feature space instead of that of its coefficients.
    - Labels are predicted by a ridge regression on the codes; with ``solver="sgd"`` by the label
      weights, as published.
    - The columns are standardized first. ``scale="passthrough"`` leaves this out, for columns in
      one unit such as pixels.

    A fit takes O(n m (d + m)) time for n rows, d columns and m landmarks, and O(m^2) memory.

    Parameters
    ----------
    task : "classification"
        The only task.
    **overrides
        Parameters of the steps ``scale`` and ``model`` or of their parts, such as ``n_components``,
        ``kernel``, ``budget`` (the number of landmarks), ``label_weight`` and ``random_state``.
        ``approximation=AnchorGraph()`` needs fewer labels. ``with_mean=False`` is needed for sparse
        rows. Nested names work, too.

    Returns
    -------
    sklearn.pipeline.Pipeline
        With ``predict``, ``predict_proba`` and ``transform``. For ``partial_fit``, use
        `~skimp.KernelFactorization`.

    References
    ----------
    .. [1] I. Castellanos, "Scalable kernel methods using randomized numerical linear algebra",
       thesis, Universidad Nacional de Colombia (2021), section 4.2.
    .. [2] J. Vanegas, H. Escalante and F. Gonzalez, "Scalable kernel-based semi-supervised learning
       with online matrix factorization" (2018).

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_digits
    >>> from skimp import recipes
    >>> X, y = load_digits(return_X_y=True)
    >>> some = np.where(np.arange(len(y)) % 10 == 0, y, -1)  # every tenth label
    >>> model = recipes.ssokmf(scale="passthrough", random_state=0).fit(X, some)
    >>> bool(model.score(X, y) > 0.9)
    True
    """
    choose("ssokmf", task, classification=None)
    model = KernelFactorization(selector="uniform")
    return configure("ssokmf", standardized(("model", model)), overrides)
