"""Leave-one-out errors in closed form, against a refit without each row."""

import numpy as np
import pytest

from skimp.choice import Judge
from skimp.data import ArrayRows
from skimp.losses import squared
from skimp.solvers import Problem
from skimp.solvers.ridge import leave_one_out, squared_errors
from tests.pairs import pairwise
from tests.problems import regression
from tests.reference import naive

ALPHAS = np.array([1e-6, 1e-3, 0.1, 10.0])
CLOSE = {"rtol": 1e-7, "atol": 1e-10}
N, WIDTH = 40, 9


def data(n=N, width=WIDTH):
    """Features whose mean is not zero, two outputs, and positive weights."""
    X, y, weight = regression(n, width)
    Z = X + np.arange(width) / 3
    return Z, np.column_stack([y, X[:, 0] ** 2 - 3]), weight + 0.5


def penalty(width=WIDTH):
    A = np.random.default_rng(1).normal(size=(width, 2 * width))
    return A @ A.T / width


def judged(
    Z,
    Y,
    sizes=None,
    *,
    weight=None,
    P=None,
    R=None,
    intercept=True,
    block=None,
    counts=None,
    measures=None,
):
    rows = ArrayRows(Z, Y, weight, block_rows=block or len(Z))
    problem = Problem(rows, squared, 1.0, penalty=P, factor=R, fit_intercept=intercept)
    sizes = sizes or (Z.shape[1],)
    measures = measures or (squared_errors,) * len(sizes)
    return leave_one_out(problem, ALPHAS, sizes, measures, counts)


CASES = pytest.mark.parametrize(
    ("intercept", "weighted", "penalized", "counted"),
    [
        (True, False, False, False),
        (False, False, False, False),
        (True, True, False, True),
        (False, True, True, False),
        (True, False, True, True),
        (True, True, True, True),
    ],
)


@CASES
def test_every_row_is_left_out_as_a_refit_leaves_it_out(intercept, weighted, penalized, counted):
    Z, Y, weight = data()
    weight = weight if weighted else None
    P = penalty() if penalized else None
    counts = np.random.default_rng(2).integers(1, 4, N) if counted else None
    share = np.full(N, 1 / N) if weight is None else weight / weight.sum()
    found = judged(Z, Y, (4, WIDTH), weight=weight, P=P, intercept=intercept, counts=counts)
    for size, left in zip((4, WIDTH), found, strict=True):
        part, Q = Z[:, :size], None if P is None else P[:size, :size]
        for j, alpha in enumerate(ALPHAS):
            model = {"alpha": alpha, "penalty": Q, "fit_intercept": intercept}
            F = naive.left_out(part, Y, weight=weight, counts=counts, **model)
            _, constant = naive.ridge(part, Y, weight=weight, **model)
            error = share @ ((Y - F) ** 2).sum(axis=1)
            np.testing.assert_allclose(left.costs[j], [error], **CLOSE)
            # far from all rows a model predicts its constant, which is a prediction as well
            F = np.vstack([F, constant])
            np.testing.assert_allclose(left.lowest[j], F.min(axis=0), **CLOSE)
            np.testing.assert_allclose(left.highest[j], F.max(axis=0), **CLOSE)


@pairwise(intercept=[True, False], weighted=[True, False], penalized=[True, False])
def test_dimensions_are_traces_of_the_matrix_that_fits(intercept, weighted, penalized):
    Z, Y, weight = data()
    weight = weight if weighted else None
    P = penalty() if penalized else None
    (left,) = judged(Z, Y, weight=weight, P=P, intercept=intercept)
    for alpha, dimension in zip(ALPHAS, left.dimensions, strict=True):
        coef, constant = naive.ridge(
            Z, np.eye(N), alpha=alpha, weight=weight, penalty=P, fit_intercept=intercept
        )
        assert dimension == pytest.approx(np.trace(Z @ coef + constant), rel=1e-8)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_classes_are_judged_by_their_own_measures(n_classes):
    Z, Y, weight = data()
    labels = np.digitize(Y[:, 0], np.quantile(Y[:, 0], np.arange(1, n_classes) / n_classes))
    signs = 2.0 * np.eye(n_classes)[labels] - 1
    Y = signs[:, 1:] if n_classes == 2 else signs
    measures = squared_errors, Judge(squared).costs
    half, whole = judged(Z, Y, (4, WIDTH), weight=weight, measures=measures)
    share = weight / weight.sum()
    for left, size, n_measures in ((half, 4, 1), (whole, WIDTH, 4)):
        assert left.costs.shape == (len(ALPHAS), n_measures)
        for j, alpha in enumerate(ALPHAS):
            F = naive.left_out(Z[:, :size], Y, alpha=alpha, weight=weight)
            squares = np.square(Y - F).sum(axis=1)
            assert left.costs[j, 0] == pytest.approx(share @ squares, rel=1e-7)
            loss = naive.log_loss if n_classes == 2 else naive.softmax_loss
            for cost, factor in zip(left.costs[j, 1:], (2.0, 8.0, 32.0), strict=False):
                expected = share @ naive.losses(loss, Y, factor * F)[:, 0]
                assert cost == pytest.approx(expected, rel=1e-7)


def test_rows_of_weight_zero_are_absent():
    Z, Y, weight = data()
    absent = np.arange(N) % 3 == 0
    weight = np.where(absent, 0.0, weight)
    # what such rows hold is not looked at
    strange = np.where(absent[:, None], 1e6, Y)
    (with_zeros,) = judged(Z, strange, weight=weight, block=7)
    (shorter,) = judged(Z[~absent], Y[~absent], weight=weight[~absent])
    for name in ("costs", "dimensions", "lowest", "highest"):
        np.testing.assert_allclose(getattr(with_zeros, name), getattr(shorter, name), **CLOSE)


def test_one_of_many_equal_rows_is_left_out():
    Z, Y, _ = data()
    times = np.random.default_rng(2).integers(1, 4, N)
    (merged,) = judged(Z, Y, weight=times.astype(float), counts=times)
    (repeated,) = judged(np.repeat(Z, times, axis=0), np.repeat(Y, times, axis=0))
    np.testing.assert_allclose(merged.costs, repeated.costs, rtol=1e-9)


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_penalties_that_rounding_undoes_have_an_infinite_error(scale):
    Z, Y, _ = data()
    Z = scale * np.hstack([Z, Z[:, :4]])
    largest = np.linalg.eigvalsh(np.cov(Z.T, bias=True))[-1]
    alphas = np.array([1e-18, 1e-17, 1e-10, 1e-6, 1.0]) * largest
    problem = Problem(ArrayRows(Z, Y), squared, 1.0)
    (left,) = leave_one_out(problem, alphas, (Z.shape[1],), (squared_errors,))
    assert np.isinf(left.costs[:, 0]).tolist() == [True, True, False, False, False]


def test_a_row_that_alone_determines_a_coefficient_has_a_large_error():
    # without its row nothing is known of the last column: the prediction is the mean
    Z, Y, _ = data()
    alone = np.zeros((N, 1))
    alone[0] = 1.0
    Y = np.zeros((N, 1))
    Y[0] = 10.0
    problem = Problem(ArrayRows(np.hstack([Z[:, :2], alone]), Y), squared, 1.0)
    (left,) = leave_one_out(problem, np.array([1e-8]), (3,), (squared_errors,))
    assert left.costs[0, 0] == pytest.approx(100 / N, rel=1e-6)
