import tracemalloc
from contextlib import nullcontext
from itertools import product

import numpy as np
import pytest
from scipy import sparse

from skimp.features import BilinearPooling, TensorSketch
from skimp.features._pooled import chosen_sparsity, share_of_zeros
from tests.pairs import pairwise

SETS = np.random.default_rng(0).normal(size=(3, 4, 10))
METHODS = ["krp", "tensor_sketch", "maclaurin", "full"]


def inputs(x, first):
    """Return the descriptors of each factor at one location."""
    return [x, x] if first is None else [x[:first], x[first:]]


def naive_products(fitted, x):
    """The formula for one descriptor: S2, eq. 5.7, for any degree."""
    vectors = fitted.vectors_.toarray() if sparse.issparse(fitted.vectors_) else fitted.vectors_
    n_terms, degree, k = fitted.factors_.shape
    y = np.zeros(k)
    for c in range(k):
        for i in range(n_terms):
            y[c] += np.prod([x @ vectors[:, fitted.factors_[i, j, c]] for j in range(degree)])
    return y / np.sqrt(k * n_terms)


def naive_sketch(fitted, x):
    """The count sketch of all products of channels: buckets add up, signs multiply."""
    degree, d = fitted.buckets_.shape
    y = np.zeros(fitted.n_components)
    for channels in product(range(d), repeat=degree):
        bucket = sum(int(fitted.buckets_[j, c]) for j, c in enumerate(channels))
        sign = np.prod([fitted.signs_[j, c] for j, c in enumerate(channels)])
        y[bucket % len(y)] += sign * np.prod(x[list(channels)])
    return y


def naive_pooling(fitted, X):
    first, Y = fitted.first_channels, []
    for x in X:
        if fitted.method == "full":
            factors = inputs(x, first) if first or fitted.degree == 2 else [x] * fitted.degree
            y = factors[0]
            for factor in factors[1:]:
                y = np.kron(y, factor)
        else:
            y = (naive_sketch if fitted.method == "tensor_sketch" else naive_products)(fitted, x)
        Y.append(y)
    return np.sum(Y, axis=0)


def kernel(X, U, degree, first):
    """Return the kernel of two sets: all pairs of descriptors."""
    if first is None:
        return ((X @ U.T) ** degree).sum()
    return ((X[:, :first] @ U[:, :first].T) * (X[:, first:] @ U[:, first:].T)).sum()


@pairwise(
    method=METHODS, degree=[2, 3], first=[None, 4], k=[1, 7, 300], t=[1, 3], sparsity=["auto", 1.0]
)
def test_pooling_is_the_sum_of_its_formula(method, degree, first, k, t, sparsity):
    if first is not None:
        degree = 2
    options = {"n_vectors": 20, "n_terms": t, "sparsity": sparsity, "random_state": 0}
    pooling = BilinearPooling(k, method=method, degree=degree, first_channels=first, **options)
    Y = pooling.fit_transform(SETS)
    expected = np.array([naive_pooling(pooling, X) for X in SETS])
    np.testing.assert_allclose(Y, expected, rtol=1e-10, atol=1e-10 * np.abs(expected).max())


@pytest.mark.parametrize("method", ["krp", "tensor_sketch"])
@pytest.mark.parametrize(("d", "first"), [(60, None), (60, 20), (300, None)])
def test_second_moments_and_locations_agree(method, d, first, monkeypatch):
    X = np.random.default_rng(1).normal(size=(2, 9, d))
    pooling = BilinearPooling(50, method=method, first_channels=first, random_state=0)
    found = []
    for moments in (True, False):
        monkeypatch.setattr("skimp.features._second_moments._pays", lambda *_, m=moments: m)
        found.append(pooling.fit_transform(X))
        assert (pooling.weights_ is not None) == moments
    np.testing.assert_allclose(*found, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize(
    ("options", "moments"),
    [
        ({}, True),
        ({"method": "tensor_sketch"}, True),
        ({"first_channels": 256}, True),
        ({"sparsity": 1.0}, False),
        ({"degree": 3}, False),
        ({"method": "maclaurin"}, False),
    ],
)
def test_second_moments_are_used_if_their_weights_are_few(options, moments):
    k = 300 if options.get("method") == "maclaurin" else 5000
    pooling = BilinearPooling(k, random_state=0, **options).fit_width(512, dtype=np.float32)
    assert (pooling.weights_ is not None) == moments


@pytest.mark.parametrize("method", METHODS[:3])
@pytest.mark.parametrize(("degree", "first"), [(2, None), (3, None), (2, 4)])
def test_inner_products_are_unbiased(method, degree, first):
    X, U = SETS[:2]
    draws, values = 400, []
    for seed in range(draws):
        options = {"degree": degree, "first_channels": first, "random_state": seed}
        Y = BilinearPooling(40, method=method, n_vectors=50, **options).fit_transform(SETS)
        values.append([Y[0] @ Y[1], Y[0] @ Y[0]])
    expected = [kernel(X, U, degree, first), kernel(X, X, degree, first)]
    errors = np.std(values, axis=0, ddof=1) / np.sqrt(draws)
    assert (np.abs(np.mean(values, axis=0) - expected) <= 5 * errors).all()


@pytest.mark.parametrize(("degree", "first"), [(2, None), (3, None), (2, 4)])
def test_full_pooling_is_exact(degree, first):
    X, U = SETS[:2]
    Y = BilinearPooling(method="full", degree=degree, first_channels=first).fit_transform(SETS)
    assert Y[0] @ Y[1] == pytest.approx(kernel(X, U, degree, first))


@pytest.mark.parametrize(("t", "p"), [(1, 7), (2, 30), (3, 400)])
def test_vectors_are_used_equally_often(t, p):
    k = 50
    pooling = BilinearPooling(k, n_vectors=p, n_terms=t, random_state=0).fit(SETS)
    assert pooling.vectors_.shape[1] == min(p, 2 * t * k)
    uses = np.bincount(pooling.factors_.ravel())
    assert uses.max() - uses.min() <= 1
    # no vector occurs twice in a feature
    of_features = np.sort(pooling.factors_.reshape(-1, k), axis=0)
    assert (np.diff(of_features.astype(int), axis=0) > 0).all()


def test_entries_have_the_published_distribution():
    d, s = 512, 100
    vectors = BilinearPooling(500, n_vectors=2000, random_state=0).fit_width(d).vectors_
    assert set(np.unique(vectors.data)) == {-np.sqrt(s), np.sqrt(s)}
    size, share = d * 2000, 1 / s
    assert abs(vectors.nnz - size * share) <= 5 * np.sqrt(size * share * (1 - share))
    assert abs(np.sign(vectors.data).sum()) <= 5 * np.sqrt(vectors.nnz)


def test_a_sketch_of_one_descriptor_has_the_error_of_tensor_sketch():
    X, draws, k = SETS[:, 0], 500, 30
    values = {}
    for kind in (BilinearPooling(k, method="tensor_sketch"), TensorSketch(n_components=k)):
        found = [kind.set_params(random_state=seed).fit_transform(X)[:2] for seed in range(draws)]
        values[type(kind)] = np.array([Z[0] @ Z[1] for Z in found])
    ours, theirs = values.values()
    spread = ours.std() + theirs.std()
    assert abs(ours.mean() - theirs.mean()) <= 5 * spread / np.sqrt(draws)
    assert ours.std() == pytest.approx(theirs.std(), rel=0.2)


@pytest.mark.parametrize("method", METHODS)
def test_options_after_pooling(method):
    plain = {"method": method, "random_state": 0}
    Y = BilinearPooling(40, **plain).fit_transform(SETS)
    mean = BilinearPooling(40, **plain, pooling="mean").fit_transform(SETS)
    np.testing.assert_allclose(mean, Y / 4)
    root = BilinearPooling(40, **plain, signed_sqrt=True).fit_transform(SETS)
    np.testing.assert_allclose(root, Y / np.sqrt(np.abs(Y) + 1e-6), rtol=1e-12)
    unit = BilinearPooling(40, **plain, signed_sqrt=True, normalize=True).fit_transform(SETS)
    np.testing.assert_allclose(unit, root / np.linalg.norm(root, axis=1, keepdims=True))


@pytest.mark.parametrize(
    ("n_channels", "sparsity", "t", "warned"),
    [(64, 100.0, 2, True), (64, "auto", 1, False), (512, 200.0, 2, False), (8, 1.0, 1, False)],
)
def test_many_features_without_entries_are_worth_a_warning(n_channels, sparsity, t, warned):
    pooling = BilinearPooling(2000, sparsity=sparsity, n_terms=t, random_state=0)
    with pytest.warns(UserWarning, match="Decrease sparsity") if warned else nullcontext():
        pooling.fit_width(n_channels)
    X = np.random.default_rng(6).normal(size=(20, 3, n_channels))
    zeros = (pooling.transform(X) == 0).all(axis=0).mean()
    expected = share_of_zeros(chosen_sparsity(sparsity, n_channels), n_channels, 2, t)
    # the features of a pool are not independent
    assert abs(zeros - expected) <= 5 * np.sqrt(2 * t * expected / 2000)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("scale", [1e-12, 1e-5, 1e8, 1e14])
def test_small_and_large_features_are_normalized(scale, dtype):
    X = scale * SETS.astype(dtype)
    Y = BilinearPooling(40, normalize=True, random_state=0).fit_transform(X)
    np.testing.assert_allclose(np.linalg.norm(Y, axis=1), 1, rtol=1e-5)
    assert not BilinearPooling(40, normalize=True).fit_transform(0 * X).any()


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("degree", [2, 3])
def test_large_sets_are_summed_in_strips(method, degree):
    X = np.random.default_rng(4).normal(size=(2, 1100, 6))
    pooling = BilinearPooling(10, method=method, degree=degree, random_state=0).fit(X)
    parts = [pooling.transform(X[:, start : start + 400]) for start in (0, 400, 800)]
    np.testing.assert_allclose(pooling.transform(X), sum(parts), rtol=1e-9, atol=1e-9)


def test_large_sets_need_little_memory():
    X = np.random.default_rng(5).normal(size=(1, 20_000, 8))
    pooling = BilinearPooling(1000, degree=3, random_state=0).fit(X)
    pooling.transform(X)
    tracemalloc.start()
    pooling.transform(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # 512 locations with 1,000 functions and 5,000 inner products; all would be 160 MB and more
    assert peak < 3 * 512 * 6000 * 8


@pytest.mark.parametrize("t", [1, 2])
def test_a_single_feature_is_unbiased(t):
    X, draws = SETS[:1], 3000
    values = [
        BilinearPooling(1, n_vectors=2 * t, n_terms=t, random_state=seed).fit_transform(X)[0, 0]
        for seed in range(draws)
    ]
    squares = np.square(values)
    error = squares.std(ddof=1) / np.sqrt(draws)
    assert abs(squares.mean() - kernel(X[0], X[0], 2, None)) <= 5 * error
    with pytest.raises(ValueError, match="n_vectors must be"):
        BilinearPooling(1, n_vectors=2 * t - 1, n_terms=t).fit(X)


@pytest.mark.parametrize("method", METHODS)
def test_single_precision_and_whole_numbers(method):
    pooling = BilinearPooling(40, method=method, random_state=0)
    expected = pooling.fit_transform(SETS)
    Y = pooling.fit_transform(SETS.astype(np.float32))
    assert Y.dtype == np.float32
    np.testing.assert_allclose(Y, expected, rtol=1e-4, atol=1e-4 * np.abs(expected).max())
    counts = np.arange(120).reshape(3, 4, 10)
    whole = pooling.fit_transform(counts)
    np.testing.assert_allclose(whole, pooling.fit_transform(counts.astype(float)))


@pytest.mark.parametrize("method", METHODS)
def test_sets_are_pooled_independently(method):
    X = np.random.default_rng(2).normal(size=(700, 3, 6))
    pooling = BilinearPooling(20, method=method, random_state=0).fit(X)
    Y = pooling.transform(X)
    for part in (slice(0, 1), slice(511, 514)):
        np.testing.assert_allclose(pooling.transform(X[part]), Y[part], rtol=1e-10, atol=1e-12)
    longer = np.concatenate([X, X[::-1]], axis=1)
    np.testing.assert_allclose(pooling.transform(longer), Y + Y[::-1], rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("method", METHODS)
def test_width_alone_draws_the_same(method):
    pooling = BilinearPooling(20, method=method, random_state=3)
    expected = pooling.fit_transform(SETS)
    assert np.array_equal(pooling.fit_width(10).transform(SETS), expected)


@pytest.mark.parametrize(
    ("options", "X", "message"),
    [
        ({"method": "sum"}, SETS, "method must be"),
        ({"degree": 1}, SETS, "degree must be"),
        ({"n_vectors": 4}, SETS, "n_vectors must be more than 4"),
        ({"first_channels": 10}, SETS, "first_channels must be less than 10"),
        ({"first_channels": 3, "degree": 3}, SETS, "degree must be 2 for two inputs"),
        ({}, [SETS[0], SETS[0, :3]], "same number of descriptors"),
        ({}, SETS[None], r"must have shape \(n, locations, channels\), found \(1, 3, 4, 10\)"),
        ({}, np.where(SETS > 2, np.nan, SETS), "NaN"),
        ({}, SETS[:0], "0 sample"),
        ({}, SETS[:, :0], r"at least one location, found an array of shape \(3, 0, 10\)"),
    ],
)
def test_bad_input_is_refused(options, X, message):
    pooling = BilinearPooling(20, **options)
    with pytest.raises(ValueError, match=message):
        pooling.fit(X)
    assert not [name for name in vars(pooling) if name.endswith("_")]


def test_other_channels_are_refused():
    pooling = BilinearPooling(20).fit(SETS)
    with pytest.raises(ValueError, match="X has 9 features, but BilinearPooling is expecting 10"):
        pooling.transform(SETS[:, :, :9])


def test_sums_that_overflow_are_refused():
    pooling = BilinearPooling(20, random_state=0).fit(SETS.astype(np.float32))
    with pytest.raises(ValueError, match="rescale the columns of X"):
        pooling.transform(np.full((2, 3, 10), 1e30, np.float32))
