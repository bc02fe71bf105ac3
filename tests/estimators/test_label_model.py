import numpy as np
import pytest
from scipy.special import softmax
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from skimp import KernelFactorization
from skimp.data import open_rows
from skimp.estimators._label_model import discriminate
from skimp.solvers.ridge import covariance, ridge_path
from tests.estimators.test_kernel_factorization import one_hot


def line(n, *, seed=0):
    """Return rows of three classes that lie on a line, the second one between the others."""
    rng = np.random.default_rng(seed)
    y = rng.choice(3, n, p=[0.5, 0.3, 0.2])
    return rng.normal(size=(n, 4)) + 4.0 * np.outer(y, [1, 0.5, 0, 0]), y


def test_log_probabilities_are_those_of_discriminant_analysis():
    X, y = line(500)
    Y = one_hot(y)
    S = covariance(open_rows(X, target=Y), True)
    coef = ridge_path(S, [1e-3]).coefs[0][0]
    found, constants = discriminate(S, coef)
    scores = X @ found + constants
    # two of the three estimates determine the third
    estimates = (X - S.mean) @ coef[:, :2]
    lda = LinearDiscriminantAnalysis(solver="lsqr").fit(estimates, y)
    expected = lda.predict_log_proba(estimates)
    np.testing.assert_allclose(
        scores - scores[:, :1], expected - expected[:, :1], rtol=1e-4, atol=1e-3
    )


def test_a_class_between_others_is_found():
    X, y = line(3000)
    model = KernelFactorization(3, kernel="linear", random_state=0).fit(X, y)
    P = model.predict_proba(X)
    F = model.decision_function(X)
    np.testing.assert_allclose(P, 0.99 * softmax(F, axis=1) + 0.01 / 3)
    assert model.score(X, y) > 0.97
    # the estimates alone miss most of it
    estimates = model.transform(X) @ model.label_weights_.T
    assert np.mean(estimates.argmax(axis=1) == y) < 0.8
    # predicted probabilities are right on average
    assert P.mean(axis=0) == pytest.approx([0.5, 0.3, 0.2], abs=0.03)


def test_a_class_without_labels_is_not_predicted():
    X, y = line(3000)
    model = KernelFactorization(4, kernel="linear", random_state=0)
    model.partial_fit(X[y < 2], y[y < 2], classes=[0, 1, 2])
    assert set(model.predict(X)) == {0, 1}
    assert np.isfinite(model.decision_function(X)).all()
    assert model.predict_proba(X)[:, 2].max() < 0.004


def test_few_labels_give_estimates():
    X, y = line(200)
    model = KernelFactorization(random_state=0).fit(X, np.where(np.arange(200) < 30, y, -1))
    estimates = model.decision_function(X[:30])
    assert np.abs(estimates - one_hot(y[:30])).max() < 1.2
    np.testing.assert_allclose(estimates.sum(axis=1), 1)


def test_indicators_that_are_columns_are_estimated_exactly():
    X = np.random.default_rng(0).integers(0, 2, (200, 3)).astype(float)
    model = KernelFactorization(3, kernel="linear", penalty_codes=2.0, random_state=0).fit(
        X, X[:, :2]
    )
    np.testing.assert_allclose(model.decision_function(X), X[:, :2], atol=1e-3)
