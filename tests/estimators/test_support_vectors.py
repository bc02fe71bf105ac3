"""Solutions that equal those of scikit-learn's linear and kernel machines."""

import numpy as np
import pytest
from sklearn.svm import SVC, SVR, LinearSVC

from skimp.features import RandomFourier
from skimp.kernels import Gaussian
from skimp.losses import EpsilonInsensitive
from skimp.solvers import DualCD
from tests.models import classifier, regressor
from tests.problems import difference, labelled, regression

N, PENALTY = 90, 0.01
C = 1 / (2 * N * PENALTY)
OURS = {"alpha": PENALTY, "tol": 1e-11, "max_iter": 5000, "fit_intercept": False, "n_jobs": 1}
EXACT = {"C": C, "tol": 1e-9, "max_iter": 100_000, "fit_intercept": False}


def features(model, X):
    """Return the features that a model is linear in."""
    return X if model.kernel == "linear" else model.approximation_.transform(X)


def mirrored():
    """Return rows in pairs x and -x, and a target that changes its sign from one to the other.

    The solution is odd: its intercept is zero, whether it is fitted or not.
    """
    X, _, _ = regression(N // 2)
    y = np.sin(2 * X[:, 0]) + X[:, 1] + 0.3 * X[:, 2] ** 2
    return np.vstack([X, -X]), np.r_[y, -y]


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_kernel_support_vectors(fit_intercept):
    X, y = mirrored()
    y = np.sign(y)
    ours = classifier(None, Gaussian(0.5), loss="hinge", **OURS)
    ours.set_params(fit_intercept=fit_intercept).fit(X, y)
    theirs = SVC(C=C, gamma=0.5, tol=1e-8).fit(X, y)
    assert difference(ours.decision_function(X), theirs.decision_function(X)) <= 1e-5
    assert np.array_equal(ours.predict(X), theirs.predict(X))


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_kernel_support_vector_regression(fit_intercept):
    X, y = mirrored()
    ours = regressor(None, Gaussian(0.5), loss=EpsilonInsensitive(0.2), **OURS)
    ours.set_params(fit_intercept=fit_intercept).fit(X, y)
    theirs = SVR(C=C, gamma=0.5, epsilon=0.2, tol=1e-8).fit(X, y)
    assert difference(ours.predict(X), theirs.predict(X)) <= 1e-5


def test_the_intercept_is_that_of_libsvm():
    X, _, _ = labelled(N, n_classes=2)
    y = np.where(X[:, 0] + X[:, 1] ** 2 > 2, 1, -1)
    ours = classifier(None, Gaussian(0.5), loss="hinge", **OURS).set_params(fit_intercept=True)
    theirs = SVC(C=C, gamma=0.5, tol=1e-8).fit(X, y)
    assert difference(ours.fit(X, y).decision_function(X), theirs.decision_function(X)) <= 1e-5
    assert abs(theirs.intercept_.item()) > 0.1


def test_a_penalized_intercept_is_a_constant_feature():
    X, y, _ = labelled(N, n_classes=2)
    ours = classifier(None, "linear", loss="hinge", solver=DualCD(penalize_intercept=True), **OURS)
    ours.set_params(fit_intercept=True)
    theirs = LinearSVC(loss="hinge", dual=True, random_state=0, **EXACT)
    theirs.fit(np.column_stack([X, np.ones(N)]), y)
    assert difference(ours.fit(X, y).intercept_, theirs.coef_[0, -1:]) <= 1e-4
    assert "the intercept is penalized" in ours.solution_.message


def test_two_classes_of_crammer_and_singer_are_a_hinge():
    X, y, _ = labelled(N, n_classes=2)
    # f and -f with half the values of one function have half its penalty
    joint = classifier(None, Gaussian(0.5), loss="multiclass_hinge", **OURS).fit(X, y)
    single = classifier(None, Gaussian(0.5), loss="hinge", **OURS)
    single.set_params(alpha=PENALTY / 2).fit(X, y)
    assert difference(joint.decision_function(X), single.decision_function(X)) <= 1e-4


@pytest.mark.parametrize("kernel", ["linear", Gaussian(0.5)])
def test_crammer_and_singer(kernel):
    X, y, _ = labelled(N, n_classes=3)
    approximation = None if kernel == "linear" else RandomFourier(n_components=20)
    ours = classifier(approximation, kernel, loss="multiclass_hinge", **OURS)
    # sweeps of this dual take thousands for each further digit
    ours.set_params(tol=1e-6).fit(X, y)
    Z = features(ours, X)
    theirs = LinearSVC(multi_class="crammer_singer", random_state=0, **EXACT).fit(Z, y)

    def objective(F, W):
        margins = F + 1 - np.eye(3)[y]
        cost = margins.max(axis=1) - F[np.arange(N), y]
        return cost.mean() + PENALTY * np.sum(W**2)

    W = np.linalg.lstsq(Z, ours.decision_function(X), rcond=None)[0]
    assert ours.solution_.history[-1] == pytest.approx(objective(Z @ W, W), rel=1e-8)
    best = objective(theirs.decision_function(Z), theirs.coef_)
    assert ours.solution_.history[-1] == pytest.approx(best, rel=1e-4)
