import numpy as np
import pytest
from scipy import sparse

from skimp._core._random import draw_seed
from skimp.budgets import Auto, Balanced, KMeans, Uniform
from skimp.data import ArrayRows, open_rows
from skimp.kernels import FunctionKernel, Gaussian, Linear, Precomputed
from tests.pairs import pairwise
from tests.problems import labelled, regression
from tests.reference import naive
from tests.sources import ChunkedRows
from tests.words import shared_letters, words


def select(X, size, y=None, kernel=None, selector=None, seed=0):
    kernel = Gaussian(gamma=1.0) if kernel is None else kernel
    selector = Auto() if selector is None else selector
    return selector.select(X, size, kernel, np.random.default_rng(seed), y)


def in_order_of_keys(X, y, weight=None, seed=0):
    """The rows as a sample of all of them has them, and the generator after that."""
    rng = np.random.default_rng(seed)
    order = naive.sampled_rows(len(X), len(X), draw_seed(rng))
    return ArrayRows(X[order], y[order], None if weight is None else weight[order]), rng


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("as_source", [open_rows, ChunkedRows])
def test_classes_have_as_many_centres_each(weighted, as_source):
    X, y, weight = labelled(100)
    weight = weight + 1 if weighted else None
    names = {"target": y} if as_source is open_rows else {"y": y}
    budget = select(as_source(X, weight=weight, **names), 12)
    rows, rng = in_order_of_keys(X, y, weight)
    expected = Balanced(KMeans()).select(rows, 12, Linear(), rng)
    assert budget.indices is None
    np.testing.assert_allclose(budget.points, expected.points, rtol=1e-12)


@pytest.mark.parametrize("wrap", [lambda y: y.astype(str), lambda y: y[:, None], lambda y: y * 1.0])
def test_labels_of_any_kind_are_classes(wrap):
    X, y, _ = labelled(100)
    assert np.array_equal(select(X, 12, wrap(y)).points, select(X, 12, y).points)


@pytest.mark.parametrize(
    "y",
    [
        None,
        regression(100)[1],
        np.arange(100),
        np.arange(200).reshape(100, 2) % 3,
        np.array(["red", 1] * 50, object),
    ],
)
def test_rows_are_uniform_where_targets_are_no_classes(y):
    X = regression(100)[0]
    budget, uniform = select(X, 12, y), select(X, 12, selector=Uniform())
    assert np.array_equal(budget.indices, uniform.indices)
    assert np.array_equal(budget.points, uniform.points)


@pytest.mark.parametrize(("size", "centres"), [(2, False), (3, True), (7, True)])
def test_a_class_needs_a_point(size, centres):
    X, y, _ = labelled(100)
    assert (select(X, size, y).indices is None) == centres


@pytest.mark.parametrize(("width", "centres"), [(4096, True), (4097, False)])
def test_very_wide_rows_have_no_centres(width, centres):
    X = sparse.random(30, width, 0.01, "csr", random_state=0)
    assert (select(X, 6, np.arange(30) % 2, Linear()).indices is None) == centres


def test_rows_that_are_no_vectors_are_uniform():
    W, y = words()
    W = np.array(W, dtype=object)[:, None]
    numbers = np.arange(60)[:, None]
    cases = [
        (ArrayRows(W, y), FunctionKernel(shared_letters)),
        (open_rows(numbers, target=y), Precomputed(np.eye(60))),
    ]
    for rows, kernel in cases:
        budget = select(rows, 12, kernel=kernel)
        expected = naive.sampled_rows(60, 12, draw_seed(np.random.default_rng(0)))
        assert np.array_equal(budget.indices, expected)
        assert np.array_equal(budget.points, rows.take(expected).X)


def test_centres_come_from_a_sample_of_many_rows():
    X = np.random.default_rng(0).normal(size=(20_500, 1))
    y = (X[:, 0] > 0).astype(int)
    rng = np.random.default_rng(0)
    sample = open_rows(X, target=y).sample(20_000, draw_seed(rng))
    expected = Balanced(KMeans()).select(ArrayRows(sample.X, sample.y), 8, Linear(), rng)
    np.testing.assert_allclose(select(X, 8, y).points, expected.points, rtol=1e-9)


@pairwise(
    y=[np.zeros(60), np.repeat([0, 1], [59, 1]), None],
    size=[1, 2, 30, 59],
    wrap=[np.asarray, sparse.csr_matrix],
)
def test_equal_rows_give_as_many_points(wrap, size, y):
    X = np.full((60, 2), 3.0)
    points = select(wrap(X), size, y).points
    points = points.toarray() if sparse.issparse(points) else points
    assert np.array_equal(points, X[:size])


def test_rows_that_do_not_count_are_absent():
    X, y, weight = labelled(100)
    moved = X + 1e6 * (weight == 0)[:, None]
    budget = select(open_rows(moved, target=y, weight=weight), 12)
    assert budget.indices is None
    assert np.abs(budget.points).max() < 100
    budget = select(open_rows(moved, target=X[:, 0], weight=weight), 12)
    assert weight[budget.indices].all()


@pytest.mark.parametrize("scale", [1.0, 1e-30, 1e30])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_centres_scale_with_the_rows(scale, dtype):
    X, y, _ = labelled(100)
    found = select((X * scale).astype(dtype), 12, y).points / scale
    np.testing.assert_allclose(found, select(X, 12, y).points, rtol=1e-3)
