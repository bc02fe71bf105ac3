"""The multi-class hinge loss with a cost matrix."""

import re

import numpy as np
import pytest

from skimp import KernelClassifier
from skimp._params._rules import check_params
from skimp.losses import MulticlassHinge, multiclass_hinge
from skimp.solvers import DualCD, Pegasos
from skimp.solvers._compiled import compiled_loss
from tests.catalog import COST
from tests.duals import data, solved
from tests.reference import naive

ONES = [[0, 1, 1], [1, 0, 1], [1, 1, 0]]


def scores(n=60):
    rng = np.random.default_rng(0)
    own = rng.integers(3, size=n)
    return np.where(own[:, None] == np.arange(3), 1.0, -1.0), own, 2 * rng.normal(size=(n, 3))


def test_value_is_the_formula_and_bounds_the_cost():
    y, own, f = scores()
    found = MulticlassHinge(COST).value(y, f)
    expected = [naive.multiclass_hinge_loss(*row, cost=COST) for row in zip(y, f, strict=True)]
    np.testing.assert_allclose(found[:, 0], expected, atol=1e-14)
    assert (found[:, 0] >= np.array(COST)[own, f.argmax(axis=1)]).all()


def test_none_stands_for_ones():
    y, _, f = scores()
    for method in ("value", "gradient", "conjugate"):
        u = multiclass_hinge.gradient(y, f) if method == "conjugate" else f
        found = getattr(MulticlassHinge(ONES), method)(y, u)
        np.testing.assert_array_equal(found, getattr(multiclass_hinge, method)(y, u))


def test_equality():
    listed, array = MulticlassHinge(COST), MulticlassHinge(np.array(COST))
    assert listed == array
    assert hash(listed) == hash(array)
    assert listed not in (MulticlassHinge(ONES), multiclass_hinge)
    assert MulticlassHinge([[0, 1], [1, 0]]) != MulticlassHinge(ONES)
    assert multiclass_hinge == MulticlassHinge()


@pytest.mark.parametrize(
    "cost",
    [
        "no such",
        1.0,
        [0.0, 1.0],
        [[0, 1, 1], [1, 0, 1]],
        [[0, 1], [1]],
        [[0, -1], [1, 0]],
        [[0, np.inf], [1, 0]],
        [[0, np.nan], [1, 0]],
        [[0.5, 1], [1, 0]],
        [["0", "1"], ["1", "0"]],
        np.zeros((0, 0)),
    ],
    ids=repr,
)
def test_nonsense_is_refused(cost):
    with pytest.raises(ValueError, match=r"MulticlassHinge: cost must be .* square matrix"):
        check_params(MulticlassHinge(cost))


def test_a_matrix_for_other_classes_is_refused():
    wrong = MulticlassHinge([[0, 1], [2, 0]])
    needed = re.escape("MulticlassHinge: cost must have shape (3, 3)")
    found = re.escape("found shape (2, 2)")
    y, own, f = scores()
    X, Y, _ = data(multiclass_hinge)
    for use in (
        lambda: wrong.value(y, f),
        lambda: solved(wrong, X, Y),
        lambda: compiled_loss(wrong, 3, owner="Solver"),
        # before the search for a model
        lambda: KernelClassifier(loss=wrong).fit(f, own),
    ):
        with pytest.raises(ValueError, match=f"{needed}.*{found}"):
            use()


def test_scaled_costs_and_penalty_scale_the_scores():
    X, Y, weight = data(multiclass_hinge)
    options = {"weight": weight, "solver": DualCD(tol=1e-8)}
    one = solved(MulticlassHinge(COST), X, Y, alpha=0.1, **options)
    ten = solved(MulticlassHinge(10 * np.array(COST)), X, Y, alpha=0.01, **options)
    np.testing.assert_allclose(ten.coef, 10 * one.coef, atol=1e-2)
    np.testing.assert_allclose(ten.history[-1], 10 * one.history[-1], rtol=2e-8)


def test_stochastic_steps_know_the_costs():
    X, Y, weight = data(multiclass_hinge)
    options = {"weight": weight, "alpha": 0.1}
    best = solved(MulticlassHinge(COST), X, Y, solver=DualCD(tol=1e-6), **options).history[-1]
    found = solved(MulticlassHinge(COST), X, Y, solver=Pegasos(max_iter=300), **options)
    assert best * (1 - 1e-6) <= found.history[-1] <= 1.02 * best


def two_blobs(n, seed):
    """Return rows of two overlapping classes, 0 and 1."""
    rng = np.random.default_rng(seed)
    y = rng.integers(2, size=n)
    return rng.normal(size=(n, 2)) + 1.2 * y[:, None], y


def fitted(cost, X, y):
    loss = MulticlassHinge(cost)
    return KernelClassifier("linear", approximation=None, loss=loss, alpha=1e-3).fit(X, y)


def test_asymmetric_costs_lower_the_total_cost_on_new_rows():
    cost = np.array([[0, 1], [10, 0]])
    (X, y), (X_test, y_test) = two_blobs(400, 0), two_blobs(2000, 1)
    plain, careful = (fitted(given, X, y) for given in (None, cost))
    totals = [cost[y_test, model.predict(X_test).astype(int)].sum() for model in (plain, careful)]
    assert totals[1] < 0.6 * totals[0]
    # rows are true classes: 1 is taken for 0 less often, and 0 for 1 more often
    for label, fewer in ((1, careful), (0, plain)):
        other = plain if fewer is careful else careful
        missed = [np.mean(m.predict(X_test)[y_test == label] != label) for m in (fewer, other)]
        assert missed[0] < 0.5 * missed[1]


def test_two_classes_have_the_order_of_classes_():
    X, y = two_blobs(200, 2)
    cost = [[0, 1], [10, 0]]
    named = np.array(["a", "b"])[y]
    same, swapped = fitted(cost, X, named), fitted(np.transpose(cost), X, np.array(["b", "a"])[y])
    np.testing.assert_array_equal(same.predict(X) == "b", fitted(cost, X, y).predict(X) == 1)
    np.testing.assert_array_equal(same.predict(X) == "b", swapped.predict(X) == "a")
