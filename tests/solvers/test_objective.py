import numpy as np
import pytest

from skimp.losses import huber, log, softmax, squared, squared_hinge
from skimp.solvers import Problem
from skimp.solvers._held_objective import HeldObjective
from skimp.solvers._streamed_objective import StreamedObjective
from tests.pairs import pairwise
from tests.problems import labelled
from tests.sources import ChunkedRows

LOSSES = [squared, squared_hinge, log, huber, softmax]
KINDS = [HeldObjective, StreamedObjective]
ALPHA = 0.3


def case(kind, loss, *, n=60, weighted=True, penalized=True, fit_intercept=True, dtype=np.float64):
    """Return an objective, a point, and the same objective from its formula."""
    X, y, weight = labelled(n, 4)
    Y = np.where(y[:, None] == np.arange(3), 1.0, -1.0)
    X, w = X.astype(dtype), weight if weighted else np.ones(n)
    A = np.random.default_rng(1).normal(size=(4, 8))
    P = A @ A.T if penalized else None
    rows = ChunkedRows(X, Y, weight if weighted else None)
    problem = Problem(rows, loss, ALPHA, P, fit_intercept=fit_intercept)
    rng = np.random.default_rng(2)
    point = rng.normal(size=(4, 3)), rng.normal(size=3) * fit_intercept

    def value(coef, b):
        costs = w @ loss.value(Y, X.astype(np.float64) @ coef + b) / w.sum()
        return costs.sum() + ALPHA * np.trace(coef.T @ (np.eye(4) if P is None else P) @ coef)

    return kind(problem, rows), point, value


def slopes(fn, coef, b, h=1e-6):
    """Return central differences of a function in the coefficients, then in the intercept."""
    whole = np.vstack([coef, b])
    out = np.empty((whole.size, *np.shape(fn(coef, b))))
    for i in range(whole.size):
        step = np.zeros(whole.size)
        step[i] = h
        up, down = (whole + sign * step.reshape(whole.shape) for sign in (1, -1))
        out[i] = (fn(up[:-1], up[-1]) - fn(down[:-1], down[-1])) / (2 * h)
    return out


@pairwise(kind=KINDS, loss=LOSSES, weighted=[False, True], penalized=[False, True])
def test_value_and_gradient(kind, loss, weighted, penalized):
    objective, (coef, b), value = case(kind, loss, weighted=weighted, penalized=penalized)
    point = objective.at(coef, b)
    assert point.value == pytest.approx(value(coef, b), rel=1e-12)
    assert point.values.shape == ((1,) if loss.joint else (3,))
    expected = slopes(value, coef, b).reshape(5, 3)
    np.testing.assert_allclose(point.gradient, expected, atol=1e-7)


@pytest.mark.parametrize("kind", KINDS)
def test_the_values_are_those_of_each_output(kind):
    objective, (coef, b), value = case(kind, squared)
    for c, found in enumerate(objective.at(coef, b).values):
        others = np.arange(3) != c
        without = np.where(others, 0, coef), np.where(others, 0, b)
        zeros = np.zeros((4, 3)), np.zeros(3)
        alone = objective.at(*without).values[c]
        assert found == pytest.approx(alone, rel=1e-14)
        difference = value(*without) - value(*zeros)
        assert found - objective.at(*zeros).values[c] == pytest.approx(difference)


@pytest.mark.parametrize("kind", KINDS)
def test_no_slope_in_an_intercept_that_is_not_there(kind):
    objective, (coef, b), _ = case(kind, log, fit_intercept=False)
    assert not objective.at(coef, b).gradient[-1].any()


@pairwise(kind=KINDS, loss=LOSSES)
def test_products_with_the_curvature(kind, loss):
    objective, (coef, b), _ = case(kind, loss, penalized=False)
    V = np.random.default_rng(3).normal(size=(5, 3))
    # away from the penalty, which the descent adds in its own coordinates
    found = objective.curved(objective.at(coef, b), V, np.arange(3))

    def slope(coef, b):
        gradient = objective.at(coef, b).gradient.copy()
        gradient[:-1] -= 2 * ALPHA * coef
        return gradient.ravel()

    H = slopes(slope, coef, b)
    # curvatures below a thousandth of their mean are left out of products
    np.testing.assert_allclose(found.ravel(), H.T @ V.ravel(), atol=3e-3 * np.abs(H).max())


@pairwise(kind=KINDS, loss=LOSSES)
def test_slopes_along_a_step(kind, loss):
    objective, (coef, b), value = case(kind, loss)
    step = np.random.default_rng(4).normal(size=(5, 3))
    point = objective.at(coef, b)
    line = objective.line(point, step)
    shape = () if loss.joint else (3,)
    T = np.multiply.outer([0.5, 1.0, 2.0], np.ones(shape))
    found = line.slopes(T)
    for t, slope in zip(T, found, strict=True):
        near = [objective.line(point, step).moved(t + h).values for h in (1e-6, -1e-6)]
        np.testing.assert_allclose(slope, ((near[0] - near[1]) / 2e-6).reshape(shape), atol=1e-6)
    np.testing.assert_allclose(line.end, found[1], rtol=1e-12)
    end = line.moved(T[1])
    assert end.value == pytest.approx(value(coef + step[:-1], b + step[-1]), rel=1e-12)


@pairwise(kind=KINDS, loss=LOSSES)
def test_the_value_of_the_zero_model(kind, loss):
    objective, (coef, b), value = case(kind, loss)
    objective.at(coef, b)
    assert objective.at_zero() == pytest.approx(value(0 * coef, 0 * b), rel=1e-12)
