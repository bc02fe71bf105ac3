import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score, pairwise_distances

from skimp import KernelKMedoids
from skimp.budgets import Fixed
from skimp.data import LOCAL, open_rows
from skimp.estimators._dissimilarities import KernelDistances, MetricDistances
from skimp.estimators._medoids import Medoids, Points, _repaired, alternate, refine, spread_medoids
from skimp.kernels import FunctionKernel, Gaussian, Linear, Polynomial, Precomputed
from tests.catalog import parts
from tests.machines import CLUSTERINGS
from tests.reference import medoids as naive
from tests.sources import ChunkedRows
from tests.words import shared_letters, words

KERNELS = {
    Linear(): lambda x, y: x @ y,
    Gaussian(0.2): lambda x, y: np.exp(-0.2 * np.sum((x - y) ** 2)),
    Polynomial(2, gamma=0.5, coef0=1.0): lambda x, y: (0.5 * x @ y + 1) ** 2,
}


def blobs(n=300, k=4, *, seed=1):
    return make_blobs(n, centers=k, random_state=seed, n_features=3)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize("squared", [False, True])
def test_distances_of_kernels(kernel, squared):
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(8, 3)), rng.normal(size=(5, 3))
    expected = naive.distances(KERNELS[kernel], X, Y) ** (2 if squared else 1)
    found = KernelDistances(kernel, squared).between(X, Y)
    np.testing.assert_allclose(found, expected, atol=1e-9)
    assert (KernelDistances(kernel, squared).between(X, X).diagonal() == 0).all()


def test_distances_far_from_the_origin():
    X = np.random.default_rng(0).normal(size=(20, 3)).astype(np.float32) + np.float32(1000)
    exact = pairwise_distances(X.astype(float))
    np.testing.assert_allclose(KernelDistances(Linear(), False).between(X, X), exact, atol=1e-3)


def test_distances_of_metrics():
    X = np.random.default_rng(0).normal(size=(20, 3))
    for metric in ("cityblock", "cosine", lambda x, y: float(abs(x - y).max())):
        expected = pairwise_distances(X, X[:4], metric=metric)
        for squared in (False, True):
            found = MetricDistances(metric, squared).between(X, X[:4])
            np.testing.assert_allclose(found, expected ** (2 if squared else 1))


@pytest.mark.parametrize("objective", ["distance", "squared"])
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_full_budget_finds_the_optimum(kernel, objective):
    X, _ = blobs(14, 3)
    D = naive.distances(KERNELS[kernel], X, X) ** (2 if objective == "squared" else 1)
    model = KernelKMedoids(3, kernel=kernel, objective=objective, budget=None, random_state=0)
    model.fit(X)
    assert model.inertia_ == pytest.approx(naive.best(D, 3, np.ones(14)))
    assert model.inertia_ == pytest.approx(naive.cost(D, model.medoid_indices_, np.ones(14)))


@pytest.mark.parametrize("objective", ["distance", "squared"])
def test_full_budget_is_the_algorithm_of_the_thesis(objective):
    X, _ = blobs(60)
    D = pairwise_distances(X) ** (2 if objective == "squared" else 1)
    for seed in range(5):
        start = np.random.default_rng(seed).permutation(60)[:4]
        found, _, done = alternate(D, np.ones(60), start, 100)
        assert done
        assert found.tolist() == naive.algorithm_4(D, range(60), start, np.ones(60))


@pytest.mark.parametrize("objective", ["distance", "squared"])
@pytest.mark.parametrize("block_rows", [1, 7, 100])
def test_passes_over_rows_are_the_algorithm_of_the_thesis(objective, block_rows):
    X, _ = blobs(80)
    squared = objective == "squared"
    D, rng = pairwise_distances(X) ** (1 + squared), np.random.default_rng(0)
    budget, weight = rng.permutation(80)[:20], rng.random(80) + 0.5
    start = budget[[0, 5, 9]]
    points = Points(X[budget], budget, weight[budget])
    with LOCAL.phase("refine") as phase:
        found = refine(
            open_rows(X, block_rows=block_rows),
            points,
            Medoids(X[start], start, 0, True),
            KernelDistances(Linear(), squared),
            100,
            LOCAL,
            phase,
        )
    assert found.converged
    assert found.numbers.tolist() == naive.algorithm_4(D, budget, start, weight)
    np.testing.assert_array_equal(found.X, X[found.numbers])


@pytest.mark.parametrize("model", parts(CLUSTERINGS), ids=repr)
def test_what_a_fit_returns(model):
    X, _ = blobs()
    model = clone(model).set_params(random_state=0, n_clusters=4).fit(X)
    np.testing.assert_array_equal(model.cluster_centers_, X[model.medoid_indices_])
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    D = model.transform(X)
    np.testing.assert_array_equal(D.argmin(axis=1), model.labels_)
    assert model.inertia_ == pytest.approx(D.min(axis=1).sum())
    # each medoid is in its own cluster
    np.testing.assert_array_equal(model.labels_[model.medoid_indices_], np.arange(4))
    again = clone(model).fit(X)
    np.testing.assert_array_equal(again.labels_, model.labels_)


@pytest.mark.parametrize("model", parts(CLUSTERINGS), ids=repr)
@pytest.mark.parametrize("layout", ["float64", "float32", "csr"])
def test_sources_and_threads(model, layout):
    X, _ = blobs()
    X = sparse.csr_matrix(np.round(X)) if layout == "csr" else X.astype(layout)
    model = clone(model).set_params(random_state=0)
    expected = clone(model).fit(X)
    chunked = clone(model).set_params(n_jobs=1).fit(ChunkedRows(X, sizes=(3, 0, 17, 5)))
    np.testing.assert_array_equal(chunked.medoid_indices_, expected.medoid_indices_)
    np.testing.assert_array_equal(chunked.labels_, expected.labels_)


def test_blobs_are_found():
    X, y = blobs(3000)
    for selector in ("uniform", "kmeans", "dbh"):
        model = KernelKMedoids(4, budget=100, selector=selector, random_state=0).fit(X)
        assert adjusted_rand_score(y, model.labels_) > 0.98
        assert (model.medoid_indices_ >= 0).all()


def test_swaps_are_no_worse_than_alternation():
    X = np.random.default_rng(0).normal(size=(2000, 5))
    for seed in range(3):
        given = {"n_clusters": 12, "budget": 300, "random_state": seed}
        swap = KernelKMedoids(**given).fit(X)
        assert swap.inertia_ < KernelKMedoids(method="alternate", **given).fit(X).inertia_


def test_budget_is_close_to_all_distances():
    X = np.random.default_rng(0).normal(size=(1500, 4))
    exact = KernelKMedoids(5, budget=None, random_state=0).fit(X)
    model = KernelKMedoids(5, budget=300, random_state=0).fit(X)
    assert exact.inertia_ <= model.inertia_ < 1.03 * exact.inertia_


def test_points_that_are_not_rows():
    X, _ = blobs(200)
    model = KernelKMedoids(3, selector=Fixed(X[:50] + 0.1), budget=50, random_state=0).fit(X)
    np.testing.assert_array_equal(model.cluster_centers_, X[model.medoid_indices_])


def test_weights():
    X, _ = blobs(30)
    weight = np.random.default_rng(0).integers(0, 4, 30)
    model = KernelKMedoids(3, random_state=0).fit(X, sample_weight=weight)
    repeated = KernelKMedoids(3, random_state=0).fit(np.repeat(X, weight, axis=0))
    assert model.inertia_ == pytest.approx(repeated.inertia_)
    assert weight[model.medoid_indices_].min() > 0
    few = KernelKMedoids(3, budget=10, random_state=0).fit(X, sample_weight=weight)
    assert weight[few.medoid_indices_].min() > 0


def test_one_cluster_and_one_per_row():
    X, _ = blobs(40)
    one = KernelKMedoids(1, budget=None, random_state=0).fit(X)
    assert one.medoid_indices_[0] == pairwise_distances(X).sum(axis=1).argmin()
    every = KernelKMedoids(40, random_state=0).fit(X)
    assert every.inertia_ == 0
    assert sorted(every.medoid_indices_) == list(range(40))


@pytest.mark.parametrize("budget", [None, 10])
def test_rows_that_coincide(budget):
    X = np.repeat(np.eye(3), 10, axis=0)
    for method in ("swap", "alternate"):
        with pytest.warns(ConvergenceWarning, match="found 3 distinct clusters"):
            model = KernelKMedoids(5, budget=budget, method=method, random_state=0).fit(X)
        assert model.inertia_ == 0


def test_empty_clusters_are_repaired():
    D = np.array([[0.0, 2, 9, 1], [0.0, 2, 9, 1]])
    assert _repaired(D, np.ones(4), np.array([0, 0])).tolist() == [0, 2]
    assert _repaired(D, np.array([1.0, 9, 1, 1]), np.array([0, 0])).tolist() == [0, 1]
    assert _repaired(np.zeros((2, 3)), np.ones(3), np.array([0, 1])).tolist() == [0, 1]


def test_starts_are_spread():
    D = pairwise_distances(np.repeat([[0.0], [10.0], [20.0]], 5, axis=0))
    for seed in range(10):
        chosen = spread_medoids(D, np.ones(15), 3, np.random.default_rng(seed))
        assert sorted(chosen // 5) == [0, 1, 2]
    weight = np.r_[np.ones(5), np.zeros(10)]
    chosen = spread_medoids(D, weight, 3, np.random.default_rng(0))
    assert len(set(chosen.tolist())) == 3


def test_words_and_matrices():
    found, _ = words(60)
    kernel = FunctionKernel(shared_letters)
    model = KernelKMedoids(4, kernel=kernel, budget=30, random_state=0).fit(found)
    K = np.array([[shared_letters(a, b) for b in found] for a in found], float)
    numbers = np.arange(60)[:, None]
    same = KernelKMedoids(4, kernel=Precomputed(K), budget=30, random_state=0).fit(numbers)
    np.testing.assert_array_equal(model.labels_, same.labels_)
    assert set(model.cluster_centers_[:, 0]) <= set(found)


def test_frames_and_pipelines():
    X, _ = blobs()
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    model = KernelKMedoids(3, random_state=0).set_output(transform="pandas").fit(frame)
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]
    assert list(model.transform(frame).columns) == [f"kernelkmedoids{j}" for j in range(3)]


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"n_clusters": 301}, "n_samples=300"),
        ({"n_clusters": 20, "budget": 10}, "budget must be at least n_clusters=20, got 10"),
        ({"kernel": "tanh"}, "positive definite"),
        ({"metric": "precomputed"}, "the name of a metric .*Precomputed"),
        ({"metric": "no such"}, "metric"),
        ({"objective": "median"}, "'distance' or 'squared'"),
        ({"n_init": 0}, "n_init"),
        ({"selector": "nearest"}, "selector"),
        ({"kernel": "chi2"}, "[Nn]egative"),
    ],
)
def test_bad_input(params, message):
    X, _ = blobs()
    with pytest.raises(ValueError, match=message):
        KernelKMedoids(**params).fit(X)


def test_distances_do_not_depend_on_the_origin():
    X, _ = blobs()
    expected = KernelKMedoids(4, random_state=0).fit(X).inertia_
    for offset in (1e6, 1e8):
        found = KernelKMedoids(4, random_state=0).fit(X + offset).inertia_
        assert found == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("selector", ["kmeans", Fixed(np.r_[np.eye(3), [[1e3, 0, 0]]])], ids=repr)
def test_medoids_are_always_rows(selector):
    X = np.repeat(np.eye(3), 100, axis=0)
    X[:, 0] += np.arange(300) % 2
    for rows in (X, ChunkedRows(X, sizes=(7, 0, 50))):
        model = KernelKMedoids(4, budget=10, selector=selector, random_state=0).fit(rows)
        assert model.medoid_indices_.min() >= 0
        np.testing.assert_array_equal(model.cluster_centers_, X[model.medoid_indices_])


def test_too_few_points():
    with pytest.raises(ValueError, match="at least n_clusters=3 points, found 2"):
        KernelKMedoids(3, selector=Fixed(np.eye(3)[:2]), budget=5).fit(blobs()[0])


@pytest.mark.parametrize("value", [-1.0, np.nan])
def test_metrics_are_checked(value):
    with pytest.raises(ValueError, match="metric must return finite numbers"):
        KernelKMedoids(3, metric=lambda x, y: value).fit(blobs(30)[0])


def test_many_copies_take_no_time():
    X = np.repeat(np.random.default_rng(0).normal(size=(10, 30)), 50, axis=0)
    with pytest.warns(ConvergenceWarning, match="found 10 distinct clusters"):
        model = KernelKMedoids(12, random_state=0).fit(X)
    assert model.n_iter_ < 10


def test_memory_limit():
    with pytest.raises(MemoryError, match="smaller budget"):
        KernelKMedoids(memory_limit="1MB").fit(blobs(2000)[0])


def test_iterations_are_limited():
    X = np.random.default_rng(0).normal(size=(3000, 5))
    with pytest.warns(ConvergenceWarning, match="medoids still changed"):
        KernelKMedoids(10, budget=500, method="alternate", max_iter=1, random_state=0).fit(X)


def test_single_precision_converges():
    X = np.random.default_rng(0).normal(size=(3000, 30)).astype(np.float32) + np.float32(10)
    for method in ("swap", "alternate"):
        model = KernelKMedoids(10, budget=200, method=method, random_state=0).fit(X)
        assert model.n_iter_ < 30
        assert model.transform(X[:3]).dtype == np.float32
