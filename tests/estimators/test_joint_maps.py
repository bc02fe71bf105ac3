import numpy as np
import pytest
from scipy.optimize import check_grad

from skimp.estimators import JointMap, MulticlassMap
from skimp.losses import multiclass_hinge, softmax
from tests.catalog import COST
from tests.chain import Chain, sequences
from tests.pairs import pairwise
from tests.reference.structured import all_sequences, loss_and_slope

LOSSES = ["margin", "log"]


def started(joint, X, y, seed=1):
    """Return coefficients for a map that has seen the data."""
    return np.random.default_rng(seed).normal(size=joint.start(X, y))


def rows(n=20, d=4, k=3):
    rng = np.random.default_rng(0)
    return rng.normal(size=(n, d)), np.arange(n) % k


def sum_loss(joint, loss):
    return joint.margin_loss if loss == "margin" else joint.log_loss


@pytest.mark.parametrize("seed", range(3))
def test_viterbi_is_the_best_of_all_sequences(seed):
    X, y = sequences(8, seed=seed)
    joint = Chain()
    w = started(joint, X, y, seed)
    for x, labels in zip(X, y, strict=True):
        every = all_sequences(len(x), 3)
        scores = np.array([joint.features(x, r) @ w for r in every])
        costs = np.array([joint.cost(labels, r) for r in every])
        assert joint.best(x, w).tolist() == every[scores.argmax()].tolist()
        assert joint.best(x, w, labels).tolist() == every[(scores + costs).argmax()].tolist()


@pairwise(loss=LOSSES, costs=[None, COST], seed=[0, 1])
def test_sums_over_items(loss, costs, seed):
    for joint, (X, y), outputs in (
        (MulticlassMap(costs), rows(), lambda x: range(3)),
        (Chain(), sequences(6), lambda x: all_sequences(len(x), 3)),
    ):
        w = started(joint, X, y, seed)
        weight = np.random.default_rng(seed).random(len(y))
        value, slope = sum_loss(joint, loss)(X, y, weight, w)
        each = [loss_and_slope(joint, loss, outputs(x), x, r, w) for x, r in zip(X, y, strict=True)]
        assert value == pytest.approx(sum(s * v for s, (v, _) in zip(weight, each, strict=True)))
        expected = sum(s * g for s, (_, g) in zip(weight, each, strict=True))
        np.testing.assert_allclose(slope, expected, atol=1e-12)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("joint", [MulticlassMap(), Chain()], ids=repr)
def test_gradient(joint, loss):
    X, y = rows() if joint.classes else sequences(5)
    w, weight, sums = started(joint, X, y), np.ones(len(y)), sum_loss(joint, loss)
    error = check_grad(lambda v: sums(X, y, weight, v)[0], lambda v: sums(X, y, weight, v)[1], w)
    assert error < 1e-5


def test_batches_of_classes_equal_single_items():
    X, y = rows()
    joint = MulticlassMap(COST)
    w, weight = started(joint, X, y), np.random.default_rng(0).random(len(y))
    for fast, slow in (
        (joint.margin_loss, JointMap.margin_loss),
        (joint.log_loss, JointMap.log_loss),
    ):
        found, expected = fast(X, y, weight, w), slow(joint, X, y, weight, w)
        assert found[0] == pytest.approx(expected[0])
        np.testing.assert_allclose(found[1], expected[1], atol=1e-13)
    assert joint.scores(X, w).argmax(axis=1).tolist() == joint.predict(X, w)


def test_losses_of_classes_are_those_of_the_losses_folder():
    X, y = rows()
    joint = MulticlassMap()
    w, Y = started(joint, X, y), np.where(y[:, None] == np.arange(3), 1.0, -1.0)
    F = joint.scores(X, w)
    for loss, name in ((multiclass_hinge, "margin"), (softmax, "log")):
        value, _ = sum_loss(joint, name)(X, y, np.ones(20), w)
        assert value == pytest.approx(loss.value(Y, F).sum())


def test_margin_loss_bounds_the_cost():
    X, y = sequences(30)
    joint = Chain()
    w = started(joint, X, y)
    cost = sum(joint.cost(r, joint.best(x, w)) for x, r in zip(X, y, strict=True))
    assert joint.margin_loss(X, y, np.ones(30), w)[0] >= cost
