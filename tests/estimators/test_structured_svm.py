import pickle
import re

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone, is_classifier
from sklearn.datasets import load_digits, load_iris
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.preprocessing import scale

from skimp import StructuredSVM
from skimp.data import open_rows
from skimp.estimators import MulticlassMap
from skimp.losses import MulticlassHinge, softmax
from skimp.solvers import DualCD, Newton, Pegasos, Problem
from tests.catalog import COST
from tests.chain import Chain, sequences
from tests.reference.structured import all_sequences, loss_and_slope, subgradient

X, y = load_iris(return_X_y=True)
X = scale(X)
Y = np.where(y[:, None] == np.arange(3), 1.0, -1.0)
CONSTANT = np.hstack([X, np.ones((150, 1))])
WEIGHT = np.random.default_rng(0).random(150)


def problem(loss, alpha, weight=None):
    """Return the problem with the constant as a column, which is penalized."""
    rows = open_rows(CONSTANT, target=Y, weight=weight)
    return Problem(rows, loss, alpha, fit_intercept=False)


@pytest.mark.parametrize("alpha", [0.1, 1e-3])
@pytest.mark.parametrize("costs", [None, COST])
def test_margin_loss_is_the_multiclass_hinge(alpha, costs):
    model = StructuredSVM(MulticlassMap(costs), alpha=alpha, tol=1e-7).fit(X, y, WEIGHT)
    solver = DualCD(tol=1e-8, max_iter=100_000)
    peer = solver.solve(problem(MulticlassHinge(costs), alpha, WEIGHT))
    assert model.solution_.history[-1] == pytest.approx(peer.history[-1], rel=1e-6)
    np.testing.assert_allclose(model.coef_.reshape(3, -1), peer.coef.T, atol=2e-3)


@pytest.mark.parametrize("alpha", [0.1, 1e-3])
def test_log_loss_is_softmax(alpha):
    model = StructuredSVM(loss="log", alpha=alpha, tol=1e-9).fit(X, y, WEIGHT)
    peer = Newton(tol=1e-13).solve(problem(softmax, alpha, WEIGHT))
    assert model.solution_.history[-1] == pytest.approx(peer.history[-1], rel=1e-8)
    np.testing.assert_allclose(model.coef_.reshape(3, -1), peer.coef.T, atol=1e-3)


@pytest.mark.parametrize(("loss", "peer"), [("margin", MulticlassHinge()), ("log", softmax)])
def test_steps_are_those_of_pegasos(loss, peer):
    seed = 5
    options = {"solver": "subgradient", "random_state": np.random.default_rng(seed)}
    model = StructuredSVM(loss=loss, alpha=0.1, max_iter=4, tol=1e3, **options).fit(X, y, WEIGHT)
    drawn = int(np.random.default_rng(seed).integers(np.iinfo(np.int64).max))
    solver = Pegasos(max_iter=model.n_iter_, tol=1e-300, random_state=drawn)
    expected = solver.solve(problem(peer, 0.1, WEIGHT)).coef
    np.testing.assert_allclose(model.coef_.reshape(3, -1), expected.T, atol=1e-10)


@pytest.mark.parametrize("loss", ["margin", "log"])
def test_steps_follow_the_formula(loss):
    inputs, outputs = sequences(12)
    weight = np.random.default_rng(1).random(12)
    generator = np.random.default_rng(3)
    model = StructuredSVM(
        Chain(), loss=loss, solver="subgradient", alpha=0.1, tol=1e-9, max_iter=3
    ).set_params(random_state=generator)
    with pytest.warns(ConvergenceWarning, match=r"3 passes.*Raise max_iter"):
        model.fit(inputs, outputs, weight)
    seed = int(np.random.default_rng(3).integers(np.iinfo(np.int64).max))
    expected = subgradient(
        model.joint_,
        loss,
        lambda x: all_sequences(len(x), 3),
        inputs,
        outputs,
        weight,
        0.1,
        seed,
        3,
    )
    np.testing.assert_allclose(model.coef_, expected, atol=1e-10)


@pytest.mark.parametrize("loss", ["margin", "log"])
def test_solvers_agree_on_sequences(loss):
    inputs, outputs = sequences(40)
    model = StructuredSVM(Chain(), loss=loss, alpha=0.1, tol=1e-6, random_state=0)
    exact = model.fit(inputs, outputs).solution_.history[-1]
    model.set_params(solver="subgradient", tol=2e-3)
    assert exact * (1 - 1e-6) <= model.fit(inputs, outputs).solution_.history[-1] <= exact * 1.01


@pytest.mark.parametrize("loss", ["margin", "log"])
def test_no_direction_decreases_the_objective(loss):
    inputs, outputs = sequences(15)
    model = StructuredSVM(Chain(), loss=loss, alpha=0.05, tol=1e-9).fit(inputs, outputs)

    def objective(w):
        items = zip(inputs, outputs, strict=True)
        every = [
            loss_and_slope(model.joint_, loss, all_sequences(len(x), 3), x, r, w)[0]
            for x, r in items
        ]
        return np.mean(every) + 0.05 * w @ w

    least = objective(model.coef_)
    assert least == pytest.approx(model.solution_.history[-1])
    rng = np.random.default_rng(0)
    for size in (1e-3, 1e-1):
        step = size * rng.normal(size=len(model.coef_))
        assert objective(model.coef_ + step) >= least * (1 - 1e-9)


def test_weights_are_repetitions_of_sequences():
    inputs, outputs = sequences(20)
    count = np.arange(20) % 3
    model = StructuredSVM(Chain(), alpha=0.1, tol=1e-6)
    weighted = model.fit(inputs, outputs, sample_weight=count).coef_
    repeated = np.repeat(np.arange(20), count)
    model.fit([inputs[i] for i in repeated], [outputs[i] for i in repeated])
    np.testing.assert_allclose(weighted, model.coef_, atol=1e-8)


def test_neighbours_help():
    train, test = sequences(200), sequences(100, seed=1)
    model = StructuredSVM(Chain(), alpha=1e-2).fit(*train)
    rows = StructuredSVM(alpha=1e-2).fit(np.vstack(train[0]), np.concatenate(train[1]))
    error = 1 - rows.score(np.vstack(test[0]), np.concatenate(test[1]))
    assert -model.score(*test) / np.mean([len(r) for r in test[1]]) < 0.9 * error


def test_an_approximate_search_still_gives_lower_bounds():
    class Greedy(Chain):
        def best(self, x, w, y=None):
            places, pairs = self.tables(x, w)
            if y is not None:
                places = places + (np.arange(self.k_) != y[:, None])
            path = [int(places[0].argmax())]
            for scores in places[1:]:
                path.append(int((scores + pairs[path[-1]]).argmax()))
            return np.array(path)

    data = sequences(60)
    exact = StructuredSVM(Chain(), alpha=0.1).fit(*data)
    greedy = StructuredSVM(Greedy(), alpha=0.1).fit(*data)
    assert greedy.solution_.history[-1] <= exact.solution_.history[-1] * 1.001
    assert greedy.score(*data) > 1.3 * exact.score(*data)


@pytest.mark.parametrize("solver", ["cutting_plane", "subgradient"])
def test_layouts_and_precision(solver):
    rows, labels = load_digits(return_X_y=True)
    rows, labels = rows[:150] / 16, labels[:150]
    model = StructuredSVM(solver=solver, alpha=0.1, tol=0.1, random_state=0)
    scores = clone(model).fit(rows, labels).decision_function(rows)
    for other in (sparse.csr_array(rows), pd.DataFrame(rows), open_rows(rows, target=labels)):
        target = None if hasattr(other, "blocks") else labels
        found = clone(model).fit(other, target).decision_function(other)
        np.testing.assert_allclose(found, scores, atol=1e-8)
    single = clone(model).fit(rows.astype(np.float32), labels)
    assert single.coef_.dtype == single.decision_function(rows.astype(np.float32)).dtype
    assert single.coef_.dtype == np.float32
    np.testing.assert_allclose(single.decision_function(rows), scores, atol=0.1)
    whole = clone(model).set_params(alpha=25.6).fit((16 * rows).astype(np.int64), labels)
    assert whole.score((16 * rows).astype(np.int64), labels) > 0.9


def test_threads_do_not_change_the_result():
    rows, labels = np.tile(X, (20, 1)), np.tile(y, 20)
    one, two = (StructuredSVM(n_jobs=n).fit(rows, labels).coef_ for n in (1, 2))
    assert np.array_equal(one, two)


def test_labels_probabilities_and_pickles():
    names = np.array(["a", "b", "c"])[y]
    model = StructuredSVM(loss="log", alpha=1e-3).fit(X, names)
    assert model.classes_.tolist() == ["a", "b", "c"]
    P = model.predict_proba(X)
    np.testing.assert_allclose(P.sum(axis=1), 1)
    assert (model.classes_[P.argmax(axis=1)] == model.predict(X)).all()
    again = pickle.loads(pickle.dumps(model))
    assert (again.predict(X) == model.predict(X)).all()
    two = StructuredSVM().fit(X[:100], y[:100])
    assert two.decision_function(X[:100]).shape == (100,)
    assert not hasattr(two, "predict_proba")


def test_costs_move_predictions():
    expensive = np.ones((3, 3)) - np.eye(3)
    expensive[1, 2] = 20
    usual, careful = (
        StructuredSVM(MulticlassMap(costs), alpha=1e-2).fit(X, y).predict(X)
        for costs in (None, expensive)
    )
    assert np.sum((careful == 2) & (y == 1)) < np.sum((usual == 2) & (y == 1))


def test_search_over_parameters():
    search = GridSearchCV(StructuredSVM(Chain()), {"alpha": [1e-2, 1.0]}, cv=3)
    inputs, outputs = sequences(30)
    search.fit(inputs, outputs)
    assert search.best_score_ <= 0
    assert isinstance(search.predict(inputs), list)
    nested = GridSearchCV(StructuredSVM(MulticlassMap()), {"joint__costs": [None, COST]}, cv=2)
    assert nested.fit(X, y).best_score_ > 0.8
    assert is_classifier(nested.estimator)
    assert not is_classifier(search.estimator)


def test_the_map_of_the_user_does_not_change():
    joint = Chain()
    model = StructuredSVM(joint, alpha=1.0).fit(*sequences(5))
    assert vars(joint) == {}
    assert model.joint_ is not joint
    assert not hasattr(model, "decision_function")


def test_another_map_in_a_second_fit():
    model = StructuredSVM(alpha=1.0).fit(X, y)
    model.set_params(joint=Chain()).fit(*sequences(5))
    assert not hasattr(model, "classes_")
    assert not hasattr(model, "n_features_in_")
    model.set_params(joint="multiclass").fit(X, y)
    assert model.decision_function(X).shape == (150, 3)


class Changed(Chain):
    """A chain with other results of ``start`` and ``cost``."""

    def __init__(self, width=None, own=0, wrong=1.0):
        self.width, self.own, self.wrong = width, own, wrong

    def start(self, X, y):
        width = super().start(X, y)
        return width if self.width is None else self.width

    def cost(self, y, other):
        return self.own if np.array_equal(y, other) else self.wrong


class Wide(Chain):
    def start(self, X, y):
        return super().start(X, y) + 1


class NoMeans(Chain):
    def expected(self, x, w):
        return super(Chain, self).expected(x, w)


INPUTS, OUTPUTS = sequences(5)


@pytest.mark.parametrize(
    ("model", "given", "message"),
    [
        (StructuredSVM(Chain()), (INPUTS, OUTPUTS[1:]), "X and y .* found 5 and 4"),
        (StructuredSVM(Chain()), (INPUTS, None), "y must be a sequence .*NoneType"),
        (StructuredSVM(Chain()), (pd.DataFrame(X), y), "X must be a sequence .*DataFrame"),
        (StructuredSVM(Chain()), (INPUTS, OUTPUTS, [-1] * 5), "[Nn]egative"),
        (StructuredSVM(Chain()), (INPUTS, OUTPUTS, [0] * 5), "weight"),
        (StructuredSVM(Chain()), ([], []), "X must have at least one item"),
        (StructuredSVM(Wide()), (INPUTS, OUTPUTS), r"Wide: features .*\(22,\).*found \(21,\)"),
        (StructuredSVM(Changed(wrong=np.nan)), (INPUTS, OUTPUTS), "finite"),
        (StructuredSVM(Changed(width=3.5)), (INPUTS, OUTPUTS), "result of start .*3.5"),
        (StructuredSVM(Changed(own=1)), (INPUTS, OUTPUTS), r"cost\(y, y\) must be 0, got 1"),
        (StructuredSVM(Changed(wrong=-1)), (INPUTS, OUTPUTS), "cost must be a number >= 0, got -1"),
        (StructuredSVM(Chain(), class_weight="balanced"), (INPUTS, OUTPUTS), "class_weight .*None"),
        (StructuredSVM(MulticlassMap([[0, 1], [1, 0]])), (X, y), r"costs .*shape \(3, 3\)"),
        (StructuredSVM(MulticlassMap([[1, 1], [1, 1]])), (X, y), "costs .*diagonal"),
        (StructuredSVM(), (X, np.zeros(150)), "two classes"),
    ],
)
def test_bad_data(model, given, message):
    with pytest.raises(ValueError, match=message):
        model.fit(*given)
    with pytest.raises(NotFittedError):
        model.predict(X)


def test_missing_means_are_named():
    with pytest.raises(NotImplementedError, match=r"NoMeans must implement expected"):
        StructuredSVM(NoMeans(), loss="log").fit(INPUTS, OUTPUTS)


BAD = {
    "joint": ["chain", None, MulticlassMap],
    "loss": ["hinge", None],
    "solver": ["newton", None],
    "alpha": [0, -1.0, "auto"],
    "tol": [0, "small"],
    "max_iter": [0, 2.5],
    "n_jobs": [0],
    "class_weight": ["heavy"],
    "random_state": [-1],
}


@pytest.mark.parametrize(("name", "value"), [(n, v) for n, vs in BAD.items() for v in vs])
def test_bad_parameters(name, value):
    model = StructuredSVM(**{name: value})
    with pytest.raises(ValueError, match=f"StructuredSVM: {name} .*{re.escape(repr(value))}"):
        model.fit(X, y)


def test_progress(capfd):
    StructuredSVM(verbose=1, alpha=0.1).fit(X, y)
    shown = capfd.readouterr().err
    assert "150 items, 15 features" in shown
    assert "relative gap" in shown
