import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.kernel_ridge import KernelRidge

from skimp import DoublyStochasticClassifier, DoublyStochasticRegressor
from skimp.kernels import Gaussian, Laplacian, Linear
from skimp.losses import as_loss
from skimp.solvers import Visits
from tests.reference import doubly
from tests.reference.budgeted import visits

rng = np.random.default_rng(0)
X = rng.normal(size=(300, 3))
NUMBERS = np.sin(2 * X[:, 0]) + X[:, 1]
LABELS = np.digitize(X[:, 0] + X[:, 1] ** 2, [0.3, 1.2])
KERNEL = Gaussian(0.3)


@pytest.mark.parametrize("loss", ["squared", "squared_hinge", "log", "softmax"])
@pytest.mark.parametrize("step", ["auto", 0.5])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    ("n_rows", "batch_size", "size", "passes"),
    [
        pytest.param(300, 64, 20, 2, id="more rows than features"),
        pytest.param(300, 32, 20, 2, id="more features than rows"),
        # at most 20 frequencies for each row
        pytest.param(30, 30, 40, 20, id="frequencies again"),
    ],
)
def test_steps_are_those_of_the_formula(loss, step, weighted, n_rows, batch_size, size, passes):
    rows, labels = X[:n_rows], LABELS[:n_rows]
    weight = np.linspace(0.5, 1.5, n_rows) if weighted else np.ones(n_rows)
    model = DoublyStochasticClassifier(
        KERNEL, loss=loss, step=step, alpha=1e-3, n_frequencies=size, batch_size=batch_size
    )
    model.set_params(max_iter=passes).fit(rows, labels, weight)
    times, factor = Visits().count(weight)
    orders = np.split(visits(model._learner.seed, n_rows, passes, times), passes)
    n_batches = -(-len(orders[0]) // batch_size)
    assert model.n_frequencies_ == min(size * passes * n_batches, 20 * n_rows)
    W = model.frequencies_.draw(0, model.n_frequencies_)
    coef = doubly.steps(
        rows,
        np.where(labels[:, None] == np.arange(3), 1.0, -1.0),
        factor,
        W,
        as_loss(loss, owner=""),
        1e-3,
        [batch for order in orders for batch in np.array_split(order, n_batches)],
        size,
        doubly.implicit_step() if step == "auto" else doubly.gradient_step(step),
    )
    coef = coef.reshape(-1, 3)
    np.testing.assert_allclose(model.coef_, coef, rtol=1e-7, atol=1e-9 * np.abs(coef).max())
    expected = doubly.features(X, W) @ coef
    np.testing.assert_allclose(model.decision_function(X), expected, atol=1e-8)


@pytest.mark.parametrize("kernel", [KERNEL, Laplacian(0.3)])
def test_frequencies_are_a_sequence(kernel):
    frequencies = DoublyStochasticRegressor(kernel, max_iter=1).fit(X, NUMBERS).frequencies_
    W = frequencies.draw(0, 1000)
    for first, last in ((0, 1), (3, 700), (255, 257), (999, 1000)):
        np.testing.assert_array_equal(frequencies.draw(first, last), W[:, first:last])
    # the bound of Hoeffding for 300^2 values, with a probability of 1e-9
    Z = doubly.features(X, frequencies.draw(0, 4000)) / np.sqrt(4000)
    bound = np.sqrt(2 * np.log(2 * 300**2 / 1e-9) / 4000)
    assert np.abs(Z @ Z.T - kernel(X)).max() < bound


def test_approaches_the_exact_model():
    alpha = 1e-3
    exact = KernelRidge(kernel="rbf", gamma=0.3, alpha=300 * alpha)
    expected = exact.fit(X, NUMBERS - np.median(NUMBERS)).predict(X) + np.median(NUMBERS)
    model = DoublyStochasticRegressor(KERNEL, alpha=alpha, max_iter=100, random_state=0)
    early = clone(model).set_params(max_iter=5).fit(X, NUMBERS).predict(X)
    late = model.fit(X, NUMBERS).predict(X)
    errors = [np.sqrt(np.mean((f - expected) ** 2)) for f in (early, late)]
    assert errors[1] < 0.5 * errors[0]
    assert errors[1] < 0.05


def test_blocks_continue_and_threads_agree():
    model = DoublyStochasticClassifier(KERNEL, random_state=0)
    for part in np.split(np.arange(300), 3):
        model.partial_fit(X[part], LABELS[part], classes=[0, 1, 2])
    copied = pickle.loads(pickle.dumps(model)).set_params(n_jobs=1)
    again = [m.partial_fit(X, LABELS).decision_function(X) for m in (model, copied)]
    np.testing.assert_array_equal(*again)
    with pytest.raises(ValueError, match="labels from the classes"):
        model.partial_fit(X, LABELS + 5)
    np.testing.assert_array_equal(model.decision_function(X), again[0])


def test_a_stream_needs_rows_for_its_bandwidth():
    with pytest.raises(ValueError, match="needs at least 10 rows for gamma='scale', found 9"):
        DoublyStochasticRegressor().partial_fit(X[:9], NUMBERS[:9])
    assert DoublyStochasticRegressor(KERNEL).partial_fit(X[:1], NUMBERS[:1]).n_iter_ == 1


def test_layouts_and_precisions_agree():
    model = DoublyStochasticRegressor(KERNEL, random_state=0, max_iter=3)
    expected = model.fit(X, NUMBERS).predict(X)
    rows = sparse.csr_matrix(X)
    np.testing.assert_allclose(model.fit(rows, NUMBERS).predict(rows), expected, rtol=1e-8)
    single = model.fit(np.float32(X), NUMBERS).predict(np.float32(X))
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, expected, atol=1e-3)


@pytest.mark.parametrize("loss", ["squared", "huber", "epsilon_insensitive", "quantile"])
@pytest.mark.parametrize("unit", [1e-4, 1.0, 1e4])
def test_no_unit_of_y_makes_steps_diverge(loss, unit):
    y = unit * (NUMBERS + 30 * (np.arange(300) == 7))
    model = DoublyStochasticRegressor(loss=loss, random_state=0, max_iter=5).fit(X, y)
    assert np.abs(model.predict(X)).max() < 10 * np.abs(y).max()


def test_memory_holds_coefficients_only():
    model = DoublyStochasticRegressor(KERNEL, n_frequencies=100, random_state=0, max_iter=1)
    sizes = [len(pickle.dumps(model.set_params(max_iter=n).fit(X, NUMBERS))) for n in (1, 11)]
    # two float64 and two copies of them per frequency
    assert sizes[1] - sizes[0] < 1000 * 4 * 8 + 1000


@pytest.mark.parametrize(
    ("params", "found"),
    [
        ({"kernel": Linear()}, "kernel .*Linear"),
        ({"step": 0.0}, "step .*0"),
        ({"alpha": -1.0}, "alpha .*-1"),
        ({"batch_size": 0}, "batch_size .*0"),
        ({"n_frequencies": 0}, "n_frequencies .*0"),
        ({"loss": "hinge"}, "loss .*'hinge'"),
    ],
)
def test_bad_parameters_are_refused(params, found):
    with pytest.raises(ValueError, match=f"DoublyStochasticRegressor: {found}"):
        DoublyStochasticRegressor(**params).fit(X, NUMBERS)
