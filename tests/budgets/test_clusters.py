import numpy as np
import pytest
from scipy import sparse
from sklearn.cluster import kmeans_plusplus

from skimp.budgets._clusters import check_vectors, cluster, means, seed
from skimp.kernels import FunctionKernel, Gaussian, Precomputed

STEPS, FEW = 5, 64


def lloyd(X, centres, weight=None, *, steps=STEPS):
    """Move every centre to the weighted mean of the rows that it is nearest to, a few times."""
    X, weight = np.asarray(X, np.float64), np.ones(len(X)) if weight is None else weight
    enough = 1e-4 * X.var(axis=0).mean()
    for _ in range(steps):
        labels = np.array([np.argmin([((x - c) ** 2).sum() for c in centres]) for x in X])
        moved = np.array(
            [
                np.average(X[labels == j], axis=0, weights=weight[labels == j])
                for j in range(len(centres))
            ]
        )
        shift, centres = ((moved - centres) ** 2).sum(), moved
        if shift <= enough:
            break
    return centres


def data(n=160, *, random_seed=0):
    rng = np.random.default_rng(random_seed)
    return rng.normal(size=(n, 3)) * [3, 1, 1] + 5, rng.integers(1, 5, n).astype(np.float64)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_clusters", [1, 2, 9, FEW])
def test_few_centres_are_those_of_lloyd_from_seeds_of_kmeans_plusplus(n_clusters, weighted):
    X, weight = data()
    weight = weight if weighted else None
    found = cluster(X, n_clusters, np.random.default_rng(1), weight)
    state = seed(np.random.default_rng(1))
    seeds = kmeans_plusplus(X, n_clusters, sample_weight=weight, random_state=state)[0]
    np.testing.assert_allclose(found, lloyd(X, seeds, weight), rtol=1e-10)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_clusters", [FEW + 1, 120])
def test_many_centres_are_those_of_lloyd_from_the_first_rows(n_clusters, weighted):
    X, weight = data()
    weight = weight if weighted else None
    found = cluster(X, n_clusters, np.random.default_rng(1), weight)
    np.testing.assert_allclose(found, lloyd(X, X[:n_clusters], weight), rtol=1e-10)


def test_whole_weights_count_as_repeated_rows():
    X, weight = data(200)
    repeated = np.concatenate([X, np.repeat(X, weight.astype(int) - 1, axis=0)])
    # the largest variance differs, and with it when to stop: no step is that small here
    weighted = cluster(X, 80, np.random.default_rng(1), weight)
    np.testing.assert_allclose(weighted, cluster(repeated, 80, np.random.default_rng(1)))


@pytest.mark.parametrize("n_clusters", [5, 80])
def test_sparse_rows_have_the_same_centres(n_clusters):
    X = data()[0] * (np.random.default_rng(5).random((160, 3)) < 0.7)
    dense, thin = (
        cluster(A, n_clusters, np.random.default_rng(2)) for A in (X, sparse.csr_matrix(X))
    )
    assert isinstance(thin, np.ndarray)
    np.testing.assert_allclose(thin, dense, atol=1e-10)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_centres_have_the_dtype_of_the_rows(dtype):
    assert cluster(data()[0].astype(dtype), 4, np.random.default_rng(0)).dtype == dtype


@pytest.mark.parametrize("n_clusters", [1, 3, 10, 70])
@pytest.mark.parametrize("wrap", [np.asarray, sparse.csr_matrix])
def test_equal_rows_have_equal_centres(wrap, n_clusters):
    centres = cluster(wrap(np.full((70, 2), 3.0)), n_clusters, np.random.default_rng(0))
    assert np.array_equal(centres, np.full((n_clusters, 2), 3.0))


def test_the_rows_do_not_change():
    X = data()[0]
    before = X.copy()
    cluster(X, 5, np.random.default_rng(0))
    assert np.array_equal(X, before)


@pytest.mark.parametrize("scale", [1e-30, 1e-6, 1e6, 1e30])
def test_centres_scale_with_the_rows(scale):
    X = data()[0]
    found = cluster(X * scale, 6, np.random.default_rng(0)) / scale
    np.testing.assert_allclose(found, cluster(X, 6, np.random.default_rng(0)), rtol=1e-9)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("wrap", [np.asarray, sparse.csr_matrix, sparse.csr_array])
def test_means_of_clusters(wrap, dtype):
    X, labels = data(60)[0], np.random.default_rng(0).integers(0, 7, 60)
    found = means(wrap(X), labels, np.dtype(dtype))
    expected = [X[labels == j].mean(axis=0) for j in range(7)]
    assert found.dtype == dtype
    np.testing.assert_allclose(found, expected, rtol=4 * np.finfo(dtype).eps)


@pytest.mark.parametrize("dtype", [np.uint8, np.int8, bool])
def test_means_of_whole_numbers_do_not_overflow(dtype):
    X = np.full((256, 2), np.array(100).astype(dtype))
    assert np.array_equal(means(X, np.zeros(256, int), np.dtype(float)), X[:1].astype(float))


def test_rows_without_means_are_refused():
    wording = "KMeans: kernel must be one of vectors, whose means are points as well, got "
    numbers = np.arange(5)[:, None]
    check_vectors(numbers, Gaussian(gamma=1.0), owner="KMeans")
    with pytest.raises(ValueError, match=wording + "Precomputed"):
        check_vectors(numbers, Precomputed(np.eye(5)), owner="KMeans")
    with pytest.raises(ValueError, match=wording + "FunctionKernel"):
        check_vectors(numbers.astype(object), FunctionKernel(max), owner="KMeans")
    with pytest.raises(ValueError, match=wording + "Gaussian"):
        check_vectors(numbers.astype(object), Gaussian(gamma=1.0), owner="KMeans")
