"""Conversion of penalties."""

from skimp._params._rules import check_values, number

_RULES = {"C": number(above=0), "n": number(above=0)}


def alpha_from_C(C: float, n: float, *, halved: bool = True) -> float:
    r"""Return the penalty alpha that equals the parameter C of an SVM.

    An SVM minimizes :math:`\frac12 \|f\|^2 + C \sum_i \ell(y_i, f(x_i))`. Estimators of skimp
    minimize :math:`\alpha \|f\|^2 + \frac1n \sum_i \ell(y_i, f(x_i))`, so that

    .. math:: \alpha = \frac{1}{2 n C}

    Parameters
    ----------
    C : float
        The parameter of `sklearn.svm.SVC`, `sklearn.svm.SVR` or LIBSVM.
    n : float
        Number of training rows, or the sum of their weights if they have any.
    halved : bool, default=True
        Whether the publication halves :math:`\|f\|^2` but not the losses. If it halves neither or
        both, as for budgeted SVMs [1]_ and least-squares SVMs, alpha is 1 / (n C).

    Returns
    -------
    float

    References
    ----------
    .. [1] I. Castellanos, "Scalable kernel methods using randomized numerical linear algebra",
       thesis, Universidad Nacional de Colombia (2021), equations 4-2 and 4-8.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from sklearn.svm import SVC
    >>> from skimp import recipes
    >>> X, y = make_moons(500, noise=0.2, random_state=0)
    >>> alpha = recipes.alpha_from_C(1.0, n=500)
    >>> model = recipes.budgeted_svm(kernel="rbf", budget=500, alpha=alpha).fit(X, y)
    >>> bool((model.predict(X) == SVC(C=1.0).fit(X, y).predict(X)).mean() > 0.99)
    True
    """
    check_values("alpha_from_C", _RULES, C=C, n=n)
    return 1 / ((2 if halved else 1) * n * C)
