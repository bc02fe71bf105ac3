"""Losses as their formulas, and as losses that are known."""

from functools import partial

import numpy as np
import pytest
from scipy.special import expit
from scipy.special import huber as scipy_huber
from scipy.special import softmax as probabilities
from sklearn import metrics

from skimp.losses import (
    EpsilonInsensitive,
    Huber,
    Quantile,
    SquaredEpsilonInsensitive,
    hinge,
    log,
    multiclass_hinge,
    quantile,
    softmax,
    squared,
    squared_hinge,
)
from tests.pairs import named
from tests.reference import naive

TWINS = [
    (squared, naive.squared_loss),
    (hinge, naive.hinge_loss),
    (squared_hinge, naive.squared_hinge_loss),
    (log, naive.log_loss),
    *(
        (kind(epsilon), partial(twin, epsilon=epsilon))
        for kind, twin in (
            (EpsilonInsensitive, naive.epsilon_insensitive_loss),
            (SquaredEpsilonInsensitive, naive.squared_epsilon_insensitive_loss),
        )
        for epsilon in (0.0, 0.7, 5.0)
    ),
    *((Huber(delta), partial(naive.huber_loss, delta=delta)) for delta in (0.1, 1.35, 4.0)),
    *((Quantile(tau), partial(naive.quantile_loss, quantile=tau)) for tau in (0.05, 0.5, 0.9)),
]
JOINT_TWINS = [
    (softmax, naive.softmax_loss),
    (multiclass_hinge, naive.multiclass_hinge_loss),
]


def points(loss=squared, k=2):
    """Return targets, labels for some losses, and predictions."""
    rng = np.random.default_rng(0)
    y = rng.choice([-1.0, 1.0], (60, k)) if loss.labels else rng.normal(size=(60, k))
    return y, 2 * rng.normal(size=(60, k))


def classes(k):
    """Return targets, the classes that they stand for, and predictions."""
    rng = np.random.default_rng(k)
    own = rng.integers(k, size=60)
    return np.where(own[:, None] == np.arange(k), 1.0, -1.0), own, 2 * rng.normal(size=(60, k))


@pytest.mark.parametrize(("loss", "twin"), TWINS, ids=named)
def test_value_is_the_formula(loss, twin):
    y, f = points(loss)
    np.testing.assert_allclose(loss.value(y, f), naive.losses(twin, y, f), atol=1e-15)


@pytest.mark.parametrize(("loss", "twin"), JOINT_TWINS, ids=named)
def test_joint_value_is_the_formula(loss, twin):
    for k in (1, 2, 3, 6):
        y, _, f = classes(k)
        np.testing.assert_allclose(loss.value(y, f), naive.losses(twin, y, f), atol=1e-14)


def test_means_are_those_of_scikit_learn():
    (y, f), (labels, scores) = (np.moveaxis(points(loss, 1), 2, 0)[0] for loss in (squared, hinge))
    _, own, F = classes(4)
    one_hot, names = classes(4)[0], np.arange(4)
    for found, expected in (
        (squared.value(y, f), metrics.mean_squared_error(y, f)),
        (Quantile(0.9).value(y, f), metrics.mean_pinball_loss(y, f, alpha=0.9)),
        (Huber(1.35).value(y, f), 2 * scipy_huber(1.35, y - f).mean()),
        (hinge.value(labels, scores), metrics.hinge_loss(labels, scores)),
        (log.value(labels, scores), metrics.log_loss(labels, expit(scores))),
        (softmax.value(one_hot, F), metrics.log_loss(own, probabilities(F, axis=1), labels=names)),
        (multiclass_hinge.value(one_hot, F), metrics.hinge_loss(own, F, labels=names)),
    ):
        assert np.isclose(found.mean(), expected)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (Huber(100.0), squared),
        (SquaredEpsilonInsensitive(0.0), squared),
    ],
    ids=named,
)
def test_limits_of_losses_are_the_squared_loss(one, other):
    y, f = points()
    for method in ("value", "gradient", "curvature", "conjugate"):
        expected = getattr(other, method)(y, f)
        np.testing.assert_allclose(getattr(one, method)(y, f), expected, rtol=1e-12)


def test_limits_of_losses_are_the_absolute_error():
    y, f = points()
    expected = np.abs(y - f)
    np.testing.assert_array_equal(EpsilonInsensitive(0.0).value(y, f), expected)
    np.testing.assert_allclose(2 * quantile.value(y, f), expected)
    np.testing.assert_allclose(Huber(1e-9).value(y, f) / 2e-9, expected, atol=1e-9)
    np.testing.assert_allclose(Quantile(0.2).value(y, f), Quantile(0.8).value(-y, -f))


@pytest.mark.parametrize("tau", [0.1, 0.5, 0.77])
def test_quantile_minimises_the_mean(tau):
    y = np.random.default_rng(0).normal(size=101)
    cost = [Quantile(tau).value(y, np.full_like(y, f)).mean() for f in np.sort(y)]
    assert np.sort(y)[np.argmin(cost)] == np.quantile(y, tau, method="inverted_cdf")


@pytest.mark.parametrize(("joint", "loss"), [(softmax, log), (multiclass_hinge, hinge)], ids=named)
def test_two_classes_are_the_loss_of_the_difference(joint, loss):
    y, _, f = classes(2)
    sign, margin = y[:, [1]], f[:, [1]] - f[:, [0]]
    np.testing.assert_allclose(joint.value(y, f), loss.value(sign, margin))
    slope = loss.gradient(sign, margin)
    u = np.hstack([-slope, slope])
    np.testing.assert_allclose(joint.gradient(y, f), u, atol=1e-14)
    np.testing.assert_allclose(joint.conjugate(y, u), loss.conjugate(sign, slope), atol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_predictions_far_out(dtype):
    far = float(dtype(1e30))
    y, f = np.array([1, 1, -1, -1], dtype), np.array([far, -far, far, -far], dtype)
    assert log.value(y, f).tolist() == [0, far, far, 0]
    assert log.gradient(y, f).tolist() == [0, -1, 1, 0]
    assert log.curvature(y, f).tolist() == [0, 0, 0, 0]
    y, f = np.array([[1, -1, -1]] * 2, dtype), np.array([[far, 0, -far], [-far, 0, far]], dtype)
    assert softmax.value(y, f).tolist() == [[0], [2 * far]]
    assert softmax.gradient(y, f).tolist() == [[0, 0, 0], [-1, 0, 1]]
    assert softmax.curvature(y, f).tolist() == [[0] * 3] * 2


def test_small_losses_are_not_lost():
    value = log.value(np.ones(1, np.float32), np.full(1, 50, np.float32))
    np.testing.assert_allclose(value, np.exp(-50), rtol=1e-5)


@pytest.mark.parametrize(
    ("loss", "dual", "expected"),
    [
        # -u y is the dual variable of support vector machines, from 0 to 1
        (hinge, [0.25, 0.75, 1.25, -0.25], [-0.25, -0.75, np.inf, np.inf]),
        (squared_hinge, [2.0, 2.0, -0.1, -0.1], [-1, -1, np.inf, np.inf]),
        (log, [0, 1, 1.001, -0.001], [0, 0, np.inf, np.inf]),
    ],
    ids=named,
)
def test_conjugates_of_labels_end(loss, dual, expected):
    y = np.array([1.0, -1.0, 1.0, -1.0])
    assert loss.conjugate(y, -np.array(dual) * y).tolist() == expected


def test_conjugates_end_at_the_steepest_slope():
    found = Huber(0.5).conjugate(np.full(4, 3.0), np.array([1.0, -1.0, 1.001, -1.001]))
    assert found.tolist() == [3.25, -2.75, np.inf, np.inf]
    u = np.array([[0.0, 0, 0], [-1, 1, 0], [0.1, -0.1, 0], [-0.5, 0.5, 0.5], [-1.5, 1.5, 0]])
    y = np.tile([1.0, -1, -1], (5, 1))
    assert softmax.conjugate(y, u).ravel().tolist() == [0, 0, np.inf, np.inf, np.inf]
    assert np.isinf(multiclass_hinge.conjugate(y, u)).ravel().tolist() == [False] * 2 + [True] * 3


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("loss", "most"), [(hinge, 1), (squared_hinge, np.inf)], ids=named)
def test_limits_contain_the_slopes(loss, most, dtype):
    low, high = loss.limits(np.array([1.0, -1.0], dtype))
    assert low.tolist() == [0, -most]
    assert high.tolist() == [most, 0]
    assert low.dtype == high.dtype == dtype
