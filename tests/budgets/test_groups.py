import numpy as np
import pytest
from scipy import sparse

from skimp._core._random import draw_seed
from skimp.budgets import _clusters, _uniform
from skimp.budgets._clusters import cluster, vectors
from skimp.budgets._groups import are_classes, class_codes
from skimp.budgets._uniform import _cluster_codes
from skimp.data import LOCAL, open_rows
from skimp.kernels import Gaussian, Precomputed
from tests.reference import naive
from tests.sources import ChunkedRows

GAUSSIAN = Gaussian(gamma=1.0)
STRINGS = np.array(["red", "blue", "blue", "green"])


@pytest.mark.parametrize(
    "y",
    [
        np.array([0, 1, 1, 0]),
        np.array([3.0, -1.0, 3.0, 2.0]),
        np.array([[1], [2], [1], [3]]),
        np.array([True, False, True, True]),
        STRINGS,
        STRINGS.astype(object),
        np.zeros(4),
    ],
)
def test_labels_are_classes_unless_there_are_too_many(y):
    n_classes = len(np.unique(y))
    assert are_classes(y, at_most=n_classes)
    assert not are_classes(y, at_most=n_classes - 1)


@pytest.mark.parametrize(
    "y",
    [
        np.array([0.5, 1.0, 1.0, 0.0]),
        np.array([[0, 1], [1, 0], [1, 1], [0, 0]]),
        np.array([[0.5], [1.5], [0.5], [1.5]]),
        np.array(["red", None, "red", "blue"], object),
        np.array(["red", 1, "red", 2], object),
    ],
)
def test_other_targets_are_not_classes(y):
    assert not are_classes(y, at_most=100)


@pytest.mark.parametrize("wrap", [np.asarray, lambda y: y[:, None], lambda y: y.astype(object)])
def test_codes_number_the_classes_in_order(wrap):
    rows = open_rows(np.ones((4, 1)), target=wrap(STRINGS))
    assert class_codes(rows, LOCAL, owner="Balanced").tolist() == [2, 0, 0, 1]
    chunks = ChunkedRows(np.ones((4, 1)), wrap(STRINGS), sizes=(1, 2))
    assert class_codes(chunks, LOCAL, owner="Balanced").tolist() == [2, 0, 0, 1]


def test_one_class_has_the_number_zero():
    rows = open_rows(np.ones((4, 1)), target=np.full(4, 7))
    assert class_codes(rows, LOCAL, owner="Balanced").tolist() == [0] * 4


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (None, "Balanced: y must .*found None"),
        (np.array([0.5, 1.5, 1.5, 2.5]), "Balanced: y must hold one class label.*found continuous"),
        (np.array([[0, 1], [1, 0]] * 2), "Balanced: y must hold one class label.*found multilabel"),
        (np.array([[0, 2], [1, 0]] * 2), "Balanced: y must hold one class label.*multioutput"),
        (
            np.array(["red", None] * 2, object),
            "y contains NaN or other missing values in 2 of 4 rows",
        ),
        (np.array(["red", 1] * 2, object), "Balanced: y must hold one class label"),
    ],
)
def test_what_holds_no_classes_is_refused(y, message):
    with pytest.raises(ValueError, match=message):
        class_codes(open_rows(np.ones((4, 1)), target=y), LOCAL, owner="Balanced")


def codes_of(rows, n_clusters, seed=0, kernel=GAUSSIAN):
    rng = np.random.default_rng(seed)
    return _cluster_codes(rows, n_clusters, kernel, rng, LOCAL)


def nearest(X, centres):
    """Numbers of the nearest centres, without gaps, by exact differences."""
    found = [min(range(len(centres)), key=lambda j: ((x - centres[j]) ** 2).sum()) for x in X]
    return [sorted(set(found)).index(j) for j in found]


def blobs(n=200, offset=0.0):
    rng = np.random.default_rng(0)
    return offset + np.repeat(np.eye(4, 3), n // 4, axis=0) * 8 + rng.normal(size=(n, 3))


@pytest.mark.parametrize("wrap", [np.asarray, sparse.csr_matrix, ChunkedRows, np.float32])
def test_rows_belong_to_the_nearest_centre(wrap):
    X = blobs()
    rows = open_rows(wrap(X))
    found = codes_of(rows, 6, seed=3)
    rng = np.random.default_rng(3)
    order = naive.sampled_rows(len(X), len(X), draw_seed(rng))
    sample = vectors(rows.take(order).X, GAUSSIAN, rows.dtype, owner="Uniform")
    assert found.tolist() == nearest(X, cluster(sample, 6, rng)[0])


def test_centres_are_those_of_weighted_rows():
    X, weight = blobs(), np.random.default_rng(2).integers(1, 1000, 200).astype(np.float64)
    found = codes_of(open_rows(X, weight=weight), 6, seed=3)
    rng = np.random.default_rng(3)
    order = naive.sampled_rows(200, 200, draw_seed(rng))
    assert found.tolist() == nearest(X, cluster(X[order], 6, rng, weight[order])[0])


def test_rows_far_from_the_origin_belong_to_the_nearest_centre():
    X = blobs(offset=1e9)
    found = codes_of(open_rows(X), 4)
    expected = np.repeat(range(4), 50)
    same, exact = (np.equal.outer(codes, codes) for codes in (found, expected))
    assert np.array_equal(same, exact)


def test_blocks_that_stay_sparse_have_the_clusters_of_a_dense_sample(monkeypatch):
    X = sparse.csr_matrix(blobs(offset=20.0))
    monkeypatch.setattr(_uniform, "_SAMPLE", 50)
    expected = codes_of(open_rows(X), 4)
    monkeypatch.setattr(_clusters, "_DENSE_ENTRIES", 50 * 3)
    assert np.array_equal(codes_of(open_rows(X), 4), expected)


def test_clusters_have_numbers_without_gaps_where_few_rows_differ():
    X = np.repeat([[0.0], [5.0]], 20, axis=0)
    codes = codes_of(open_rows(X), 7)
    assert set(codes) == {0, 1}
    assert np.array_equal(np.equal.outer(codes, codes), np.equal.outer(X[:, 0], X[:, 0]))


def test_rows_that_are_no_vectors_have_no_clusters():
    with pytest.raises(ValueError, match="Uniform: kernel must be a kernel on numeric vectors"):
        codes_of(open_rows(np.arange(5)[:, None]), 2, kernel=Precomputed(np.eye(5)))
