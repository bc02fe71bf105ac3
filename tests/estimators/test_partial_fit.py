import copy
import pickle

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import MultiOutputRegressor

from skimp import KernelClassifier, KernelRegressor
from skimp.budgets import Fixed
from skimp.data import Rows
from skimp.features import Nystroem, RandomBinning, RandomFourier, RandomLayer
from skimp.kernels import Gaussian, Laplacian
from skimp.solvers import Learner, Solution, Solver, Status
from tests.sources import ChunkedRows

rng = np.random.default_rng(0)
X = rng.normal(size=(600, 3))
NUMBERS = np.sin(2 * X[:, 0]) + X[:, 1] + 5
LABELS = np.array(["a", "b", "c"])[np.digitize(X[:, 0] + X[:, 1] ** 2, [0.3, 1.2])]
WEIGHT = rng.integers(0, 3, 600).astype(float)
LANDMARKS = Nystroem(Gaussian(0.3), budget=40, selector=Fixed(X[:40]))
FOURIER = RandomFourier(Gaussian(0.3), n_components=50)


def regressor(approximation=LANDMARKS, **options):
    options = {"alpha": 1e-4, "solver": "direct", "random_state": 0, **options}
    return KernelRegressor(approximation=approximation, **options)


def classifier(approximation=LANDMARKS, **options):
    options = {"alpha": 1e-4, "solver": "direct", "random_state": 0, **options}
    return KernelClassifier(approximation=approximation, loss="squared", **options)


def stream(model, X, y, *, blocks, weight=None, **first):
    """Return the model after partial_fit of that many blocks."""
    for part in np.array_split(np.arange(X.shape[0]), blocks):
        w = None if weight is None else weight[part]
        model.partial_fit(X[part], y[part], sample_weight=w, **first)
    return model


OPTIONS = [
    {},
    {"approximation": FOURIER},
    {"approximation": RandomLayer(30, gamma=0.2)},
    {"fit_intercept": False},
    {"memory_limit": "10MB"},
]


@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["equal", "weighted"])
@pytest.mark.parametrize("options", OPTIONS, ids=repr)
def test_blocks_equal_one_fit(options, weight):
    found = stream(regressor(**options), X, NUMBERS, blocks=100, weight=weight)
    expected = regressor(**options).fit(X, NUMBERS, weight)
    np.testing.assert_allclose(found.predict(X), expected.predict(X), rtol=1e-8)
    found = stream(
        classifier(**options), X, LABELS, blocks=100, weight=weight, classes=["c", "b", "a"]
    )
    expected = classifier(**options).fit(X, LABELS, weight)
    assert np.array_equal(found.classes_, expected.classes_)
    scores = expected.decision_function(X)
    np.testing.assert_allclose(found.decision_function(X), scores, rtol=1e-8, atol=1e-9)


def test_binned_rows_equal_one_fit():
    # bins are those of the first rows, here of all distinct rows
    y = np.tile(NUMBERS, 4)
    model = regressor(RandomBinning(Laplacian(0.3), n_grids=10))
    found = clone(model).partial_fit(np.tile(X, (2, 1)), y[:1200])
    found.partial_fit(np.tile(X, (2, 1)), y[1200:])
    expected = model.fit(np.tile(X, (4, 1)), y).predict(X)
    np.testing.assert_allclose(found.predict(X), expected, rtol=1e-8)


@pytest.mark.parametrize(
    "form",
    [
        sparse.csr_matrix,
        lambda X: pd.DataFrame(X, columns=["a", "b", "c"]),
        np.asfortranarray,
        lambda X: X.astype(np.float32),
    ],
    ids=["sparse", "frame", "fortran", "float32"],
)
def test_forms_of_rows(form):
    model = regressor(FOURIER)
    for part in np.array_split(np.arange(600), 4):
        model.partial_fit(form(X[part]), NUMBERS[part])
    expected = regressor(FOURIER).fit(X, NUMBERS).predict(X)
    found = model.predict(form(X))
    single = found.dtype == np.float32
    np.testing.assert_allclose(found, expected, rtol=1e-4 if single else 1e-8)


def test_rows_hold_their_own_targets_and_weights():
    model = classifier()
    for part in np.array_split(np.arange(600), 3):
        model.partial_fit(ChunkedRows(X[part], LABELS[part], WEIGHT[part]), classes=list("abc"))
    expected = classifier().fit(X, LABELS, WEIGHT).decision_function(X)
    np.testing.assert_allclose(model.decision_function(X), expected, rtol=1e-8, atol=1e-9)


def test_class_weights_multiply_sample_weights():
    factors = {"a": 0.5, "b": 3.0, "c": 1.0}
    model = classifier(class_weight=factors)
    found = stream(model, X, LABELS, blocks=7, weight=WEIGHT, classes=list("abc"))
    expected = classifier().fit(X, LABELS, WEIGHT * [factors[label] for label in LABELS])
    scores = expected.decision_function(X)
    np.testing.assert_allclose(found.decision_function(X), scores, rtol=1e-8, atol=1e-9)


def test_several_outputs():
    Y = np.column_stack([NUMBERS, X[:, 2]])
    found = stream(regressor(), X, Y, blocks=9)
    expected = regressor().fit(X, Y).predict(X)
    np.testing.assert_allclose(found.predict(X), expected, rtol=1e-8, atol=1e-9)


def test_the_first_block_decides():
    first, y = X[:100], NUMBERS[:100]
    model = KernelRegressor(solver="direct", random_state=0).partial_fit(first, y)
    expected = KernelRegressor(solver="direct", random_state=0).fit(first, y)
    np.testing.assert_allclose(model.predict(X), expected.predict(X), rtol=1e-7)
    assert (repr(model.kernel_), model.alpha_) == (repr(expected.kernel_), expected.alpha_)
    known = repr(model.kernel_), model.alpha_, model.approximation_
    before = model.certificate_
    model.partial_fit(X[100:], NUMBERS[100:])
    assert known == (repr(model.kernel_), model.alpha_, model.approximation_)
    after = model.certificate_
    assert "learnt from 600 rows, with the choices of the first 100" in after.solver
    assert before.trials == after.trials != ()
    assert after.kernel_evaluations > before.kernel_evaluations
    assert model.score(X, NUMBERS) > expected.score(X, NUMBERS)
    given = KernelRegressor(
        model.kernel_,
        approximation=Nystroem(budget=1000, selector=Fixed(model.approximation_.budget_.points)),
        alpha=model.alpha_,
    )
    np.testing.assert_allclose(given.fit(X, NUMBERS).predict(X), model.predict(X), rtol=1e-5)


SMALL = [
    (KernelRegressor(solver="direct"), 9, "at least 10 rows to choose what is 'auto', found 9"),
    (regressor(alpha="auto"), 9, "at least 10 rows to choose"),
    (regressor(Nystroem(Gaussian(1.0), budget=30)), 29, r"30 rows for Nystroem\(.*\), found 29"),
    (regressor(30, kernel=Gaussian(0.3)), 29, "at least 30 rows"),
    (regressor(RandomBinning()), 600, "at least 1000 rows for RandomBinning"),
    (regressor("fourier", kernel="rbf"), 1, "at least 2 rows for gamma='scale'"),
    (regressor(RandomFourier(Gaussian("median").on([0]))), 1, "rows for gamma='median'"),
    (regressor(RandomLayer(9)), 1, "at least 2 rows for gamma='scale'"),
]


@pytest.mark.parametrize(("model", "n", "message"), SMALL)
def test_too_small_a_first_block(model, n, message):
    model = clone(model)
    with pytest.raises(ValueError, match=message):
        model.partial_fit(X[:n], NUMBERS[:n])
    assert set(vars(model)) == set(model.get_params(deep=False))
    # rows of weight zero do not count
    with pytest.raises(ValueError, match=message):
        model.partial_fit(X, NUMBERS, np.arange(600) < n)


@pytest.mark.parametrize(
    "approximation",
    [FOURIER, LANDMARKS, RandomFourier(Gaussian("dim")), RandomLayer(20, gamma=1.0)],
    ids=repr,
)
def test_a_first_block_of_one_row(approximation):
    model = regressor(approximation).partial_fit(X[:1], NUMBERS[:1])
    np.testing.assert_allclose(model.predict(X), NUMBERS[0])
    model = classifier(approximation).partial_fit(X[:1], LABELS[:1], classes=list("abc"))
    assert set(model.predict(X)) == {LABELS[0]}


def test_choices_need_two_classes():
    same = LABELS == "b"
    with pytest.raises(ValueError, match=r"rows of at least two classes to choose .* only 'b'"):
        classifier(alpha="auto").partial_fit(X[same], LABELS[same], classes=["a", "b"])


REFUSED = [
    ({"X": ChunkedRows(X[:5, :2], LABELS[:5])}, "X has 2 features, but .* is expecting 3"),
    ({"X": pd.DataFrame(np.full((5, 3), np.nan), columns=list("xyz"))}, "NaN"),
    ({"X": pd.DataFrame(X[:5], columns=list("xzy"))}, "feature names"),
    ({"y": ["a", "b", "e", "d", "a"]}, r"from the classes \['a', 'b', 'c'\] .* found 'd', 'e'"),
    ({"y": [1, 2, 3, 1, 2]}, "found 1, 2, 3"),
    ({"y": LABELS[:4]}, "inconsistent"),
    ({"classes": ["a", "b"]}, r"those of the first call, \['a', 'b', 'c'\], found \['a', 'b'\]"),
    ({"sample_weight": np.zeros(5)}, "zero for every row"),
    ({"X": ChunkedRows(X[:5], LABELS[:5], np.zeros(5))}, "at least one row of positive weight"),
]


@pytest.mark.parametrize(("given", "message"), REFUSED)
def test_a_failed_call_leaves_the_model_unchanged(given, message):
    frame = pd.DataFrame(X, columns=list("xyz"))
    model = classifier().partial_fit(frame[:300], LABELS[:300], classes=list("abc"))
    before, expected = pickle.dumps(model), copy.deepcopy(model)
    given = {"X": frame[:5], "y": LABELS[:5], **given}
    if isinstance(given["X"], Rows):
        del given["y"]
    with pytest.raises(ValueError, match=message):
        model.partial_fit(**given)
    assert pickle.dumps(model) == before
    for part in (model, expected):
        part.partial_fit(frame[300:], LABELS[300:])
    assert np.array_equal(model.coef_, expected.coef_)


class Interrupted(Rows):
    """Rows that cannot be read to the end, the second time."""

    def __init__(self, source):
        self.describe(source)
        self.source, self.passes = source, 0

    def read(self, block_rows):
        self.passes += 1
        for block in self.source.read(block_rows):
            if self.passes > 1 and block.start:
                raise OSError("the disk is gone")
            yield block


@pytest.mark.parametrize("solver", ["direct", "sgd"])
def test_rows_that_cannot_be_read_leave_the_model_unchanged(solver):
    model = stream(regressor(solver=solver), X, NUMBERS, blocks=2)
    before = pickle.dumps(model)
    with pytest.raises(OSError, match="disk is gone"):
        model.partial_fit(Interrupted(ChunkedRows(X, NUMBERS)))
    assert pickle.dumps(model) == before


@pytest.mark.parametrize("y", [NUMBERS[:, None], np.column_stack([NUMBERS, NUMBERS])])
def test_outputs_must_stay_the_same(y):
    model = regressor().partial_fit(X, NUMBERS)
    with pytest.raises(ValueError, match="one dimension as in the first call, found two"):
        model.partial_fit(X, y)


LACKING = [
    (KernelRegressor(solver="newton"), "needs a solver among .*'direct'.*, got 'newton'"),
    (KernelRegressor(solver="what"), "solver must be"),
    (regressor(approximation=None), "needs an approximation, got None"),
    (regressor(early_stopping=True), "early_stopping=False"),
    (classifier(class_weight="balanced"), "got 'balanced', which depends on all rows"),
]


@pytest.mark.parametrize(("model", "message"), LACKING)
def test_models_without_partial_fit(model, message):
    assert not hasattr(model, "partial_fit")
    with pytest.raises(AttributeError, match=message):
        model.partial_fit(X, NUMBERS)


def test_classes_are_required_once():
    for given in (None, ["a"]):
        with pytest.raises(ValueError, match=r"classes must list all labels .* in the first call"):
            classifier().partial_fit(X, LABELS, classes=given)
    model = classifier().partial_fit(X, LABELS, classes=list("abcd")).partial_fit(X, LABELS)
    assert model.classes_.tolist() == list("abcd")
    assert set(model.predict(X)) <= set("abc")


def test_fit_starts_anew_and_cannot_be_continued():
    model = stream(regressor(), X, NUMBERS, blocks=3).fit(X[:100], NUMBERS[:100])
    expected = regressor().fit(X[:100], NUMBERS[:100])
    assert np.array_equal(model.predict(X), expected.predict(X))
    assert not hasattr(model, "partial_fit")
    with pytest.raises(AttributeError, match=r"cannot continue a model of fit.*clone\(model\)"):
        model.partial_fit(X, NUMBERS)
    assert clone(model).partial_fit(X, NUMBERS).score(X, NUMBERS) > 0.9


SOLVERS = ["auto", "direct", "sgd", "pegasos"]


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("copied", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
def test_a_copy_goes_on_alike(copied, solver):
    model = stream(regressor(solver=solver), X[:300], NUMBERS[:300], blocks=3)
    other = copied(model)
    for part in (model, other):
        stream(part, X[300:], NUMBERS[300:], blocks=3)
    assert np.array_equal(model.predict(X), other.predict(X))
    assert not hasattr(clone(model), "fitted_")


@pytest.mark.parametrize("solver", SOLVERS)
def test_memory_does_not_grow(solver):
    model = regressor(FOURIER, solver=solver).partial_fit(X, NUMBERS)
    few = len(pickle.dumps(model))
    stream(model, np.tile(X, (20, 1)), np.tile(NUMBERS, 20), blocks=20)
    assert abs(len(pickle.dumps(model)) - few) < 100


def test_other_estimators_pass_it_on():
    one = OneVsRestClassifier(classifier(LANDMARKS))
    many = MultiOutputRegressor(regressor(LANDMARKS))
    Y = np.column_stack([NUMBERS, X[:, 2]])
    for part in np.array_split(np.arange(600), 3):
        one.partial_fit(X[part], LABELS[part], classes=list("abc"))
        many.partial_fit(X[part], Y[part])
    assert np.array_equal(one.predict(X), classifier().fit(X, LABELS).predict(X))
    np.testing.assert_allclose(many.predict(X), regressor().fit(X, Y).predict(X), rtol=1e-8)


def test_river_learns_one_row_at_a_time():
    compat = pytest.importorskip("river.compat")
    records = [dict(zip("xyz", row, strict=True)) for row in X[:50].tolist()]
    number = compat.convert_sklearn_to_river(regressor(FOURIER))
    label = compat.convert_sklearn_to_river(classifier(FOURIER), classes=["a", "b", "c"])
    assert (number.predict_one(records[0]), label.predict_one(records[0])) == (0, "a")
    for record, y, name in zip(records, NUMBERS.tolist(), LABELS.tolist(), strict=False):
        number.learn_one(record, y)
        label.learn_one(record, name)
    found = [number.predict_one(record) for record in records]
    expected = regressor(FOURIER).fit(X[:50], NUMBERS[:50]).predict(X[:50])
    np.testing.assert_allclose(found, expected, rtol=1e-8)
    known = classifier(FOURIER).fit(X[:50], LABELS[:50])
    assert [label.predict_one(record) for record in records] == known.predict(X[:50]).tolist()


def test_river_learns_probabilities():
    compat = pytest.importorskip("river.compat")
    model = KernelClassifier(approximation=FOURIER, loss="log", alpha=1e-3)
    online = compat.convert_sklearn_to_river(model, classes=["a", "b", "c"])
    records = [dict(zip("xyz", row, strict=True)) for row in X[:200].tolist()]
    assert online.predict_proba_one(records[0]) == dict.fromkeys("abc", 1 / 3)
    for record, label in zip(records, LABELS.tolist(), strict=False):
        online.learn_one(record, label)
    found = [online.predict_proba_one(record) for record in records]
    np.testing.assert_allclose([sum(row.values()) for row in found], 1)
    own = [row[label] for row, label in zip(found, LABELS, strict=False)]
    frequencies = np.unique(LABELS[:200], return_counts=True)[1] / 200
    assert np.log(own).mean() > frequencies @ np.log(frequencies)


def test_few_first_rows_give_a_warning_if_something_is_chosen():
    with pytest.warns(UserWarning, match="only 20 rows to choose what is 'auto'"):
        KernelRegressor(random_state=0).partial_fit(X[:20], X[:20, 0])


@pytest.mark.filterwarnings("ignore:.*has only 15 rows:UserWarning")
@pytest.mark.parametrize("model", [KernelClassifier(), KernelRegressor()], ids=repr)
def test_scikit_learn_checks_of_later_calls(model):
    # scikit-learn looks for partial_fit after fit, and skips the second half of two checks
    first, y = np.random.RandomState(0).normal(size=(15, 4)), np.repeat(np.arange(3), 5)
    known = {"classes": np.unique(y)} if isinstance(model, KernelClassifier) else {}
    model = clone(model).set_params(random_state=0).partial_fit(first, y, **known)
    assert model.n_features_in_ == 4
    message = f"X has 1 features, but {type(model).__name__} is expecting 4 features as input"
    with pytest.raises(ValueError, match=message):
        model.partial_fit(first[:, [1]], y)
    model = clone(model).partial_fit(pd.DataFrame(first, columns=list("abcd")), y, **known)
    with pytest.raises(ValueError, match="feature names should match"):
        model.partial_fit(pd.DataFrame(first, columns=list("dcba")), y)


@pytest.mark.parametrize(
    ("model", "chosen"),
    [
        (KernelRegressor(approximation=FOURIER), "auto chose direct, since the loss is squared"),
        (KernelClassifier(approximation=FOURIER), "auto chose sgd, since Newton would need all"),
        (
            KernelRegressor(approximation=FOURIER, memory_limit="2MB", alpha=1e-3),
            "auto chose sgd, since PCG would need all rows at once; sgd: 600 steps",
        ),
    ],
)
def test_auto_explains_its_choice(model, chosen):
    known = {"classes": [False, True]} if isinstance(model, KernelClassifier) else {}
    y = NUMBERS > 5 if known else NUMBERS
    assert clone(model).partial_fit(X, y, **known).solution_.message.startswith(chosen)


class Mean(Learner):
    """Predicts the mean of the targets."""

    def __init__(self, width, total=0.0, count=0):
        self.width, self.total, self.count = width, total, count

    def learn(self, rows, context=None):
        Y = rows.collect().y
        return Mean(self.width, self.total + Y.sum(axis=0), self.count + len(Y))

    def solution(self):
        coef = np.zeros((self.width, len(self.total)))
        return Solution(coef, self.total / self.count, self.count, Status.LEARNING, "mean")


class Means(Solver):
    incremental = True

    def solve(self, problem, context=None):
        return self.learner(problem).learn(problem.rows).solution()

    def learner(self, problem):
        return Mean(problem.rows.n_features)


def test_any_solver_with_a_learner():
    model = stream(regressor(solver=Means(), loss="huber"), X, NUMBERS, blocks=5)
    np.testing.assert_allclose(model.predict(X), NUMBERS.mean())
    assert (model.n_iter_, model.certificate_.status) == (600, "learning")
