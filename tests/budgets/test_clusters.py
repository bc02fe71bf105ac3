import numpy as np
import pytest
from scipy import sparse

from skimp.budgets import _clusters
from skimp.budgets._clusters import Scaling, cluster, means, spread_seeds, vectors
from skimp.kernels import FunctionKernel, Gaussian, Precomputed
from tests.pairs import in_turn, pairwise

STEPS, FEW = 5, 64
GAUSSIAN = Gaussian(gamma=1.0)


def nearest(X, centres):
    """Numbers of the nearest centres, by exact differences."""
    return np.array([np.argmin([((x - c) ** 2).sum() for c in centres]) for x in X])


def averages(X, labels, weight):
    """Weighted means of the rows of each label."""
    groups = [labels == j for j in range(labels.max() + 1)]
    return np.array([np.average(X[group], axis=0, weights=weight[group]) for group in groups])


def lloyd(X, centres, weight=None, *, steps=STEPS):
    """Means of the rows that are nearest to each of the centres of a few steps of k-means."""
    X, weight = np.asarray(X, np.float64), np.ones(len(X)) if weight is None else weight
    enough = 1e-4 * X.var(axis=0).mean()
    for _ in range(steps):
        moved = averages(X, nearest(X, centres), weight)
        shift, centres = ((moved - centres) ** 2).sum(), moved
        if shift <= enough:
            break
    return averages(X, nearest(X, centres), weight)


def data(n=160, *, random_seed=0):
    rng = np.random.default_rng(random_seed)
    return rng.normal(size=(n, 3)) * [3, 1, 1] + 5, rng.integers(1, 5, n).astype(np.float64)


def centres_of(X, n_clusters, weight=None, *, random_seed=1):
    return cluster(X, n_clusters, np.random.default_rng(random_seed), weight)[0]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_clusters", [1, 2, 9, FEW])
def test_few_centres_are_those_of_lloyd_from_seeds_of_kmeans_plusplus(n_clusters, weighted):
    X, weight = data()
    weight = weight if weighted else None
    Z, share = (
        Scaling(X).scale_rows(X),
        np.ones(len(X)) if weight is None else weight / weight.max(),
    )
    seeds = X[spread_seeds(Z, n_clusters, np.random.default_rng(1), share)]
    found = centres_of(X, n_clusters, weight)
    np.testing.assert_allclose(found, lloyd(X, seeds, weight), rtol=1e-10)


def test_seeds_are_drawn_by_weights_and_squared_distances():
    X, weight = np.array([[0.0], [1.0], [3.0]]), np.array([1.0, 4.0, 2.0])
    rng, draws = np.random.default_rng(0), 4000
    pairs = [tuple(spread_seeds(X, 2, rng, weight)) for _ in range(draws)]
    chances = {}
    for i, j in ((i, j) for i in range(3) for j in range(3) if i != j):
        costs = weight * ((X - X[i]) ** 2)[:, 0]
        chances[i, j] = weight[i] / weight.sum() * costs[j] / costs.sum()
    for pair, p in chances.items():
        # five standard deviations of a share
        assert abs(pairs.count(pair) / draws - p) <= 5 * np.sqrt(p * (1 - p) / draws)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_clusters", [FEW + 1, 120])
def test_many_centres_are_those_of_lloyd_from_the_first_rows(n_clusters, weighted):
    X, weight = data()
    weight = weight if weighted else None
    found = centres_of(X, n_clusters, weight)
    np.testing.assert_allclose(found, lloyd(X, X[:n_clusters], weight), rtol=1e-10)


def test_whole_weights_count_as_repeated_rows():
    X, weight = data(200)
    repeated = np.concatenate([X, np.repeat(X, weight.astype(int) - 1, axis=0)])
    # the largest variance differs, and with it when to stop: no step is that small here
    np.testing.assert_allclose(centres_of(X, 80, weight), centres_of(repeated, 80))


@pytest.mark.parametrize("n_clusters", [5, 80])
def test_sparse_rows_have_the_same_centres(n_clusters):
    X = data()[0] * (np.random.default_rng(5).random((160, 3)) < 0.7)
    dense, thin = (centres_of(A, n_clusters) for A in (X, sparse.csr_matrix(X)))
    assert isinstance(thin, np.ndarray)
    np.testing.assert_allclose(thin, dense, atol=1e-10)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_centres_have_the_dtype_of_the_rows(dtype):
    assert centres_of(data()[0].astype(dtype), 4).dtype == dtype


@pytest.mark.parametrize("n_clusters", [1, 3, 10, 70])
@pytest.mark.parametrize("wrap", [np.asarray, sparse.csr_matrix])
def test_equal_rows_have_one_centre(wrap, n_clusters):
    centres = centres_of(wrap(np.full((70, 2), 3.1)), n_clusters)
    assert centres.shape == (1, 2)
    np.testing.assert_allclose(centres, 3.1, rtol=1e-14)


@pytest.mark.parametrize("n_clusters", [5, 9, 70])
@pytest.mark.parametrize("wrap", [np.asarray, sparse.csr_matrix])
def test_no_more_centres_than_rows_that_differ(wrap, n_clusters):
    X = np.repeat(data(5)[0], 20, axis=0)[np.random.default_rng(0).permutation(100)]
    centres = centres_of(wrap(X), n_clusters)
    assert len(centres) <= 5
    if n_clusters > 5:
        np.testing.assert_allclose(np.unique(centres, axis=0), np.unique(X, axis=0), rtol=1e-14)


def test_the_rows_do_not_change():
    X = data()[0]
    before = X.copy()
    cluster(X, 5, np.random.default_rng(0))
    assert np.array_equal(X, before)


@in_turn(scale=[1e-300, 1e-30, 1e-6, 1e6, 1e30, 1e300], wrap=[np.asarray, sparse.csr_matrix])
def test_centres_scale_with_the_rows(wrap, scale):
    X = data()[0]
    found = centres_of(wrap(X * scale), 6) / scale
    np.testing.assert_allclose(found, centres_of(X, 6), rtol=1e-9)


@pytest.mark.parametrize("scale", [1e-37, 1e36])
def test_centres_of_float32_scale_with_the_rows(scale):
    X = data()[0]
    found = centres_of((X * scale).astype(np.float32), 6).astype(np.float64) / scale
    np.testing.assert_allclose(found, centres_of(X, 6), rtol=1e-5)


@pytest.mark.parametrize("offset", [-(2.0**30), 1.0, 2.0**20, 2.0**30])
def test_centres_move_with_the_rows(offset):
    X = np.round(data()[0] * 2**20) / 2**20
    found = centres_of(X + offset, 6) - offset
    np.testing.assert_allclose(found, centres_of(X, 6), atol=1e-6)


def test_a_label_is_the_number_of_the_nearest_centre():
    X = data()[0]
    centres, scaling = cluster(X[:100], 7, np.random.default_rng(0))
    assert np.array_equal(scaling.nearest(X, centres), nearest(X, centres))
    near = np.array([X[9] + 1e-3, X[3] - 1e-3, X[9] - 1e-3])
    assert scaling.nearest(near, X).tolist() == [9, 3, 9]


@pytest.mark.parametrize("scale", [1e-320, 1e-300, 1.0, 1e300])
@pytest.mark.parametrize("offset", [0.0, 1.0])
def test_scaled_rows_are_near_zero(offset, scale):
    X = scale * (data()[0] + offset)
    scaled = Scaling(X).scale_rows(X)
    assert np.array_equal(scaled[0], np.zeros(3))
    assert np.abs(scaled).max() == pytest.approx(1)


@pytest.mark.parametrize("wrap", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("value", [0.0, 7.0])
def test_the_scaling_of_equal_rows(wrap, value):
    X = wrap(np.full((5, 2), value))
    scaled = Scaling(X).scale_rows(X)
    expected = float(value > 0) if sparse.issparse(X) else 0.0
    assert np.array_equal(abs(scaled).max(), expected)


def test_a_scaling_does_not_shift_sparse_rows():
    X = sparse.csr_matrix(np.diag([4.0, 0.0, -8.0]))
    scaled = Scaling(X).scale_rows(X)
    assert sparse.issparse(scaled)
    assert np.array_equal(scaled.toarray(), np.diag([0.5, 0.0, -1.0]))


@pairwise(
    weighted=[False, True],
    dtype=[np.float32, np.float64],
    wrap=[np.asarray, sparse.csr_matrix, sparse.csr_array],
)
def test_means_of_clusters(wrap, dtype, weighted):
    X, weight = data(60)
    labels = np.random.default_rng(0).integers(0, 7, 60)
    found = means(wrap(X.astype(dtype)), labels, weight if weighted else None)
    expected = averages(X, labels, weight if weighted else np.ones(60))
    assert found.dtype == dtype
    np.testing.assert_allclose(found, expected, rtol=16 * np.finfo(dtype).eps)


@pytest.mark.parametrize("value", [0.1, 1e-300, 1.7e308])
def test_the_mean_of_equal_rows_is_exact(value):
    X = np.full((7, 2), value)
    assert np.array_equal(means(X, np.array([0, 1, 0, 1, 0, 0, 0])), X[:2])


@pytest.mark.parametrize("dtype", [np.uint8, np.int8, bool, np.float32])
@pytest.mark.parametrize("wrap", [np.asarray, sparse.csr_matrix])
def test_vectors_are_dense_in_the_dtype_of_the_computation(wrap, dtype):
    X = np.full((256, 2), np.array(100).astype(dtype))
    found = vectors(wrap(X), GAUSSIAN, np.dtype(np.float64), owner="KMeans")
    assert isinstance(found, np.ndarray)
    assert found.dtype == np.float64
    assert np.array_equal(means(found, np.zeros(256, int)), X[:1].astype(float))


def test_many_sparse_vectors_stay_sparse(monkeypatch):
    X = sparse.csr_matrix(np.eye(4, dtype=np.int8))
    monkeypatch.setattr(_clusters, "_DENSE_ENTRIES", 15)
    found = vectors(X, GAUSSIAN, np.dtype(np.float32), owner="KMeans")
    assert sparse.issparse(found)
    assert found.dtype == np.float32
    assert (found != X).nnz == 0


def test_rows_without_means_are_refused():
    wording = "KMeans: kernel must be a kernel on numeric vectors.*got "
    numbers = np.arange(5)[:, None]
    for X, kernel, name in (
        (numbers, Precomputed(np.eye(5)), "Precomputed"),
        (numbers.astype(object), FunctionKernel(max), "FunctionKernel"),
        (numbers.astype(object), GAUSSIAN, "Gaussian"),
    ):
        with pytest.raises(ValueError, match=wording + name):
            vectors(X, kernel, np.dtype(np.float64), owner="KMeans")
