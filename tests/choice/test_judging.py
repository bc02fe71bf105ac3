"""Which penalties are trusted, and what equal rows count for."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from skimp import KernelClassifier, KernelRegressor
from skimp.choice._judging import Judge, judge_held_out, judge_left_out
from skimp.choice._trials import ALPHAS, merge_equal
from skimp.data import LOCAL, ArrayRows, Block
from skimp.features import Nystroem, RandomFourier
from skimp.kernels import Gaussian, Laplacian
from skimp.losses import as_loss, huber, log, squared
from skimp.solvers import Problem
from tests.models import outputs
from tests.problems import difference, labelled, regression
from tests.reference import naive

PENALTIES = np.logspace(-9, 1, 11)


def judge(
    Z, Y, how, *, span=True, alphas=PENALTIES, halved=False, weight=None, P=None, loss=squared
):
    """Return the judgement by leaving rows out, or by the last third of them."""
    judge = Judge.of_targets(loss, Y, True) if span else Judge(loss)
    if how == "left out":
        problem = Problem(ArrayRows(Z, Y, weight), squared, 1.0, penalty=P)
        return judge_left_out(problem, alphas, np.ones(len(Z)), judge, halved, LOCAL)
    cut, weight = 2 * len(Z) // 3, np.ones(len(Z)) if weight is None else weight
    problem = Problem(ArrayRows(Z[:cut], Y[:cut], weight[:cut]), squared, 1.0, penalty=P)
    judging = ArrayRows(Z[cut:], Y[cut:], weight[cut:])
    return judge_held_out(problem, alphas, judging, judge, halved, LOCAL)


def leveraged(n=60):
    """Rows of which one is far from all others, and determines a column by itself."""
    rng = np.random.default_rng(0)
    Z = np.column_stack([rng.normal(size=n), 1e-3 * rng.normal(size=n)])
    Z[-1, 1] = 1.0
    return Z, np.sin(3 * Z[:, :1]) + 0.1 * rng.normal(size=(n, 1))


@pytest.mark.parametrize("how", ["left out", "held out"])
def test_a_penalty_whose_predictions_leave_the_range_is_not_trusted(how):
    Z, Y = leveraged()
    trusted, chosen = [], judge(Z, Y, how)
    for alpha in PENALTIES:
        if how == "left out":
            F, kept = naive.left_out(Z, Y, alpha=alpha), slice(None)
        else:
            kept = slice(0, 40)
            coef, constant = naive.ridge(Z[kept], Y[kept], alpha=alpha)
            F = Z[40:] @ coef + constant
        constant = naive.ridge(Z[kept], Y[kept], alpha=alpha)[1]
        F = np.vstack([F, constant])
        room = 0.5 * np.ptp(Y)
        trusted.append(bool(F.min() >= Y.min() - room and F.max() <= Y.max() + room))
    # both kinds are there, otherwise the test would be of nothing
    assert any(trusted)
    assert not all(trusted)
    assert trusted[list(PENALTIES).index(chosen.alpha)]


@pytest.mark.parametrize("how", ["left out", "held out"])
def test_the_largest_penalty_is_taken_if_none_is_trusted(how):
    Z, Y = leveraged()
    small = np.array([1e-8, 1e-7, 1e-9])
    assert judge(Z, Y, how, alphas=small).alpha == 1e-7


@pytest.mark.parametrize("how", ["left out", "held out"])
def test_penalties_that_rounding_undoes_are_not_taken(how):
    # equal columns, so that equations without a penalty have no solution
    Z, Y = leveraged()
    Z = np.hstack([Z[:, :1]] * 3)
    tiny = np.array([1e-30, 1e-25, 1e-3])
    assert judge(Z, Y, how, alphas=tiny).alpha == 1e-3


def test_a_penalty_below_one_that_is_not_trusted_is_not_trusted_either():
    alphas, costs = np.array([1e-6, 1e-4, 1e-2]), np.array([[0.1], [0.2], [0.9]])
    high = np.array([[0.5], [30.0], [0.7]])  # the smallest penalty is in range by chance
    judge = Judge.of_targets(squared, np.array([[0.0], [1.0]]), True)
    assert judge.judge(alphas, costs, np.zeros((3, 1)), high).alpha == 1e-2


def preferred(Z, Y, alphas, **model):
    """Return the largest penalty of those whose raised errors are nearly the least, and its error.

    Errors are raised by two standard errors times the effective dimension over n.
    """
    n, errors = len(Z), []
    for alpha in alphas:
        F = naive.left_out(Z, Y, alpha=alpha, **model)
        coef, constant = naive.ridge(Z, np.eye(n), alpha=alpha, **model)
        share = np.trace(Z @ coef + constant) / n
        errors.append(np.mean(((Y - F) ** 2).sum(axis=1)) * (1 + 2 * np.sqrt(2 / n) * share))
    flat = np.flatnonzero(np.array(errors) <= 1.003 * min(errors))
    best = max(flat, key=lambda i: alphas[i])
    return alphas[best], errors[best]


@pytest.mark.parametrize("n_outputs", [1, 2])
def test_nearly_equal_errors_take_the_larger_penalty(n_outputs):
    X, y, _ = regression(50, 4)
    Y = np.column_stack([X[:, 0] + 0.1 * y, X[:, 1]])[:, :n_outputs]
    alpha, error = preferred(X, Y, PENALTIES)
    # many smaller ones do as well
    assert 1e-9 < alpha < 1
    found = judge(X, Y, "left out")
    assert found.alpha == alpha
    assert found.error == found.ranking == pytest.approx(error, rel=1e-8)


@pytest.mark.parametrize("how", ["left out", "held out"])
@pytest.mark.parametrize("penalized", [False, True])
def test_half_error_is_that_of_a_model_of_half_the_columns(how, penalized):
    X, y, _ = regression(90, 6)
    P = naive.laplacian(X[:6], X[:6], 0.5) if penalized else None
    whole = judge(X, y[:, None], how, halved=True, P=P)
    half = judge(X[:, :3], y[:, None], how, P=P[:3, :3] if penalized else None)
    assert whole.half_error == pytest.approx(half.error, rel=1e-8)
    assert half.half_error is None


@pytest.mark.parametrize("how", ["left out", "held out"])
def test_more_features_than_rows_are_narrowed_to_the_same_errors(how):
    X, y, _ = regression(45)
    rng = np.random.default_rng(0)
    Z, Y = np.cos(X @ rng.normal(size=(3, 70)) + rng.uniform(0, 6, 70)), y[:, None]
    # a penalty matrix of ones on the diagonal is not narrowed
    alphas = np.logspace(-4, 1, 6)
    narrow, wide = (judge(Z, Y, how, alphas=alphas, P=P) for P in (None, np.eye(70)))
    assert narrow.alpha == wide.alpha
    assert narrow.error == pytest.approx(wide.error, rel=1e-8)


def test_classes_have_no_range_that_scores_could_leave():
    Z, Y = leveraged()
    judgement = judge(Z, np.sign(Y), "left out", span=False)
    assert judgement.alpha in PENALTIES
    assert judgement.ranking != judgement.error


def test_the_penalty_of_a_given_map_comes_from_leaving_rows_out():
    X, y, _ = regression(60)
    landmarks = Nystroem(budget=20, selector="uniform")
    model = KernelRegressor(Laplacian(0.5), approximation=landmarks, random_state=0).fit(X, y)
    B = model.approximation_.budget_.points
    Z, P = naive.laplacian(X, B, 0.5), naive.laplacian(B, B, 0.5)
    best, _ = preferred(Z, y[:, None], ALPHAS, penalty=P)
    assert model.alpha_ == pytest.approx(best, rel=1e-9)
    assert model.certificate_.trials == ()


@pytest.mark.parametrize("loss", [huber, log], ids=repr)
def test_errors_and_rates_are_those_of_rows_that_were_held_out(loss):
    X, y, weight = regression(90, 4)
    Y, weight = y[:, None], weight + 0.5
    Y = np.sign(Y - Y.mean()) if loss.labels else Y
    found = judge(X, Y, "held out", span=not loss.labels, weight=weight, loss=loss)
    coef, constant = naive.ridge(X[:60], Y[:60], alpha=found.alpha, weight=weight[:60])
    F, Y, share = X[60:] @ coef + constant, Y[60:], weight[60:] / weight[60:].sum()
    error = (share @ (Y - F) ** 2).item()
    # log-odds are the scores times a factor, whose square is that of their norm
    costs = {f: (share @ loss.value(Y, f * F)).item() for f in (2.0, 8.0, 32.0)}
    factor = min(costs, key=costs.get) if loss.labels else 1.0
    cost = (share @ loss.value(Y, factor * F)).item()
    assert found.error == pytest.approx(error, rel=1e-8)
    assert found.rate == pytest.approx(cost / error / factor**2, rel=1e-8)


# equal rows


def block(X, Y, weight=None):
    return Block(X, np.asarray(Y, float).reshape(len(Y), -1), weight, 0)


@pytest.mark.parametrize("stored", [np.asarray, sparse.csr_matrix, np.asfortranarray])
def test_equal_rows_become_one_with_their_weights(stored):
    X = np.array([[1.0, 2], [3, 4], [1, 2], [1, 2], [0, 5]])
    merged, counts = merge_equal(block(stored(X), [1, 2, 1, 7, 3], np.array([1.0, 2, 3, 4, 5])))
    dense = merged.X.toarray() if sparse.issparse(merged.X) else merged.X
    # the fourth row has another target
    assert np.array_equal(dense, X[[0, 1, 3, 4]])
    assert merged.y.ravel().tolist() == [1, 2, 7, 3]
    assert merged.weight.tolist() == [4, 2, 4, 5]
    assert counts.tolist() == [1, 1, 1, 1]


def test_equal_strings_become_one():
    words = np.array([["ab"], ["b"], ["ab"]], dtype=object)
    merged, _ = merge_equal(block(words, [1, 2, 1]))
    assert merged.X.ravel().tolist() == ["ab", "b"]
    assert merged.weight.tolist() == [2, 1]


def test_objects_that_cannot_be_compared_stay_apart():
    lists = np.empty((2, 1), object)
    lists[:, 0] = [[1], [1]]
    merged, _ = merge_equal(block(lists, [1, 1]))
    assert merged.size == 2


def test_different_sparse_rows_of_very_many_columns_are_not_merged():
    rows = np.arange(500)
    X = sparse.csr_matrix((np.ones(500), (rows, 10**4 * rows)), shape=(500, 10**7))
    merged, counts = merge_equal(block(X, np.zeros(500)))
    assert merged.size == len(counts) == 500


@pytest.mark.parametrize(
    ("distinct", "times", "together"),
    [(300, 2, True), (300, 5, True), (20, 5, True), (20, 6, False)],
)
def test_rows_given_several_times_are_left_out_together(distinct, times, together):
    X = np.repeat(np.arange(float(distinct))[:, None], times, axis=0)
    merged, counts = merge_equal(block(X, X[:, 0]))
    assert merged.weight.tolist() == [times] * distinct
    assert counts.tolist() == [1 if together else times] * distinct


@pytest.mark.parametrize(("distinct", "together"), [(60, True), (70, False)])
def test_many_rows_with_other_targets_are_left_out_one_by_one(distinct, together):
    X = np.repeat(np.arange(float(distinct))[:, None], 4, axis=0)
    merged, counts = merge_equal(block(X, np.arange(4 * distinct) // 2 % 2))
    assert merged.weight.tolist() == [2] * 2 * distinct
    assert counts.tolist() == [1 if together else 2] * 2 * distinct


@pytest.mark.parametrize(
    ("estimator", "approximation"),
    [
        (KernelClassifier, "auto"),
        (KernelRegressor, None),
        (KernelRegressor, RandomFourier(Gaussian(0.3), n_components=30)),
    ],
)
def test_a_weight_of_two_is_a_row_given_twice(estimator, approximation):
    X, y, weight = labelled(60)
    times = weight.astype(int) + 1
    model = estimator(approximation=approximation, loss="squared", random_state=0)
    weighted = clone(model).fit(X, y, times)
    repeated = clone(model).fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    assert weighted.kernel_ == repeated.kernel_
    assert weighted.alpha_ == pytest.approx(repeated.alpha_, rel=1e-9)
    assert difference(outputs(weighted, X), outputs(repeated, X)) <= 1e-6


@pytest.mark.parametrize("estimator", [KernelRegressor, KernelClassifier])
def test_weight_zero_is_an_absent_row(estimator):
    X, y, weight = labelled(120)
    weighted = estimator(random_state=0).fit(X, y, (weight > 0).astype(float))
    shorter = estimator(random_state=0).fit(X[weight > 0], y[weight > 0])
    assert weighted.kernel_ == shorter.kernel_
    assert weighted.alpha_ == pytest.approx(shorter.alpha_, rel=1e-9)


def test_trials_are_all_on_the_same_rows_if_some_are_equal():
    X, y, _ = regression(100)
    twice = np.repeat(np.arange(100), 2)
    trials = KernelRegressor(random_state=0).fit(X[twice], y[twice]).certificate_.trials
    assert len(trials) > 2
    assert {trial["rows"] for trial in trials} == {200}


def test_weak_signals_have_weaker_penalties_for_the_hinge():
    alphas, bounds = np.array([1.0]), np.zeros((1, 1))
    for name, rate in (("hinge", 0.2), ("multiclass_hinge", 0.2), ("squared_hinge", 1.0)):
        judge = Judge(as_loss(name, owner=""), variance=1.25)
        found = judge.judge(alphas, np.array([[1.0, 0.6, 0.7, 0.8]]), bounds, bounds)
        assert found.rate == pytest.approx(rate)
        # a signal that explains nothing
        found = judge.judge(alphas, np.array([[2.0, 0.6, 0.7, 0.8]]), bounds, bounds)
        assert found.rate == (1.0 if name == "squared_hinge" else 1e-3)
