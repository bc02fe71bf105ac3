"""Classification with a reject option."""

from typing import Any

from skimp.estimators import KernelClassifier, RejectClassifier
from skimp.features import RandomFourier
from skimp.recipes._configure import choose, configure


def classification_with_reject(task: str = "classification", **overrides: Any) -> RejectClassifier:
    r"""Return logistic regression on random Fourier features that rejects uncertain rows.

    The tenth of the rows with the lowest probability of the predicted class is rejected. The
    lecture [1]_ names learning with rejection as a use of random Fourier features and gives no
    algorithm. The choices here are:

    - The threshold is on the probability of the predicted class (Chow's rule [2]_), and it is
      chosen so that nine in ten rows are accepted: ``coverage=0.9``. If a rejected row costs r and
      a wrong label 1, pass ``coverage=None, threshold=1 - r`` instead.
    - Probabilities are those of multinomial logistic regression. Pass
      ``estimator=CalibratedClassifierCV(budgeted_svm())`` for an SVM with calibrated probabilities.
    - The bandwidth and ``alpha`` are chosen.

    ``coverage_curve(X, y)`` returns the error for every share of accepted rows. A fit takes
    O(n D (d + D k)) time and O(n D) memory for n rows, d columns, D features and k classes; with
    ``coverage``, six times as long.

    Parameters
    ----------
    task : "classification"
        The only task.
    **overrides
        Parameters of `~skimp.RejectClassifier`, such as ``coverage``, of its estimator, such as
        ``kernel``, ``alpha`` and ``random_state``, and of their parts, such as ``n_components``.
        Nested names work, too.

    Returns
    -------
    RejectClassifier

    References
    ----------
    .. [1] F. Minhas, "Large scale learning", lecture, PIEAS, slide "Better kernelized methods".
    .. [2] C. Chow, "On optimum recognition error and reject tradeoff", IEEE Transactions on
       Information Theory 16 (1970).

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from skimp import recipes
    >>> X, y = make_moons(1000, noise=0.3, random_state=0)
    >>> model = recipes.classification_with_reject(n_components=100, random_state=0)
    >>> curve = model.fit(X[:500], y[:500]).coverage_curve(X[500:], y[500:])
    >>> bool(curve.error[curve.coverage <= 0.8].max() < curve.error[-1])
    True
    """
    choose("classification_with_reject", task, classification=None)
    model = KernelClassifier(approximation=RandomFourier(), loss="softmax")
    rejecting = RejectClassifier(model, coverage=0.9)
    return configure("classification_with_reject", rejecting, overrides)
