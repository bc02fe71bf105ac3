import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

from skimp import KernelRegressor
from skimp.budgets import Fixed
from skimp.features import (
    KernelHash,
    KernelProjection,
    OrthogonalProjection,
    PolynomialProjection,
    RandomFourier,
)
from skimp.features._kernel_projection import PairProjection
from skimp.kernels import FunctionKernel, Gaussian, Laplacian, Polynomial, Precomputed, Tanh
from tests.pairs import in_turn
from tests.problems import regression
from tests.words import shared_letters, words

SIZES = [1, 7, 8, 9, 63, 64, 65, 100, 128, 200]
PROJECTIONS = ["kernel", "polynomial", "dbh", OrthogonalProjection(), RandomFourier(Gaussian(0.5))]


def fit(X, **params):
    return KernelHash(**{"random_state": 0, **params}).fit(X)


def bits(hashing, X=None):
    codes = hashing.codes_ if X is None else hashing.transform(X)
    return np.unpackbits(codes, axis=1)[:, : hashing.projection_.width]


def naive_neighbors(ours, theirs, size, *, own=False):
    """Sort differing bits, of all pairs; equal numbers of them stay in the order of rows."""
    differing = (ours[:, None] != theirs[None]).sum(axis=2)
    if own:
        np.fill_diagonal(differing, np.iinfo(int).max)
    numbers = np.argsort(differing, axis=1, kind="stable")[:, :size]
    return np.take_along_axis(differing, numbers, axis=1), numbers


@in_turn(projection=PROJECTIONS, n_bits=SIZES)
def test_bits_are_signs_of_features(projection, n_bits):
    X, other = regression(40)[0], regression(9, seed=1)[0]
    hashing = fit(X, n_bits=n_bits, projection=projection)
    for rows, codes in ((X, hashing.codes_), (other, hashing.transform(other))):
        assert codes.dtype == np.uint8
        assert codes.shape == (len(rows), -(-n_bits // 8))
        unpacked = np.unpackbits(codes, axis=1)
        assert np.array_equal(unpacked[:, :n_bits], hashing.projection_.transform(rows) > 0)
        assert not unpacked[:, n_bits:].any()


@pytest.mark.parametrize(
    ("projection", "kind"),
    [
        ("kernel", KernelProjection),
        ("polynomial", PolynomialProjection),
        ("dbh", PairProjection),
        (OrthogonalProjection(3), OrthogonalProjection),
    ],
)
def test_projections(projection, kind):
    hashing = fit(regression(40)[0], n_bits=24, projection=projection)
    assert type(hashing.projection_) is kind
    assert hashing.projection_.width == 24
    assert hashing.projection_ is not projection
    assert getattr(projection, "n_components", 3) == 3


def test_kernels_of_projections():
    X = regression(40)[0]
    assert fit(X).projection_.kernel_.gamma == pytest.approx(1 / (3 * X.var()), rel=1e-9)
    assert repr(fit(X, kernel=Laplacian(2.0)).projection_.kernel_) == repr(Laplacian(2.0))
    given = fit(X, kernel=Laplacian(2.0), projection=KernelProjection(method="pca"))
    assert repr(given.projection_.kernel_) == repr(Laplacian(2.0))
    own = KernelProjection(Laplacian(3.0))
    assert repr(fit(X, projection=own).projection_.kernel_) == repr(Laplacian(3.0))
    default = fit(X, projection="polynomial").projection_
    assert repr(default.kernel_) == repr(Polynomial(2, 1.0, 0.0))
    assert default.n_terms == 30
    other = fit(X, kernel=Polynomial(3, 0.5, 2.0), projection="polynomial").projection_
    assert repr(other.kernel_) == repr(Polynomial(3, 0.5, 2.0))
    # a pool as large as the products of a bit need
    assert fit(X, kernel=Polynomial(100, 0.1), projection="polynomial").projection_.width == 256


@pytest.mark.parametrize("n_bits", [3, 64, 130])
@pytest.mark.parametrize("n_neighbors", [1, 4, 79])
def test_neighbours_equal_those_of_a_naive_search(n_bits, n_neighbors):
    X, queries = regression(80)[0], regression(70, seed=1)[0]
    hashing = fit(X, n_bits=n_bits)
    for given, ours, own in ((queries, bits(hashing, queries), False), (None, bits(hashing), True)):
        found = hashing.kneighbors(given, n_neighbors)
        expected = naive_neighbors(ours, bits(hashing), n_neighbors, own=own)
        for part, theirs in zip(found, expected, strict=True):
            assert np.array_equal(part, theirs)
        alone = hashing.kneighbors(given, n_neighbors, return_distance=False)
        assert np.array_equal(alone, expected[1])


def test_neighbours_among_all_rows():
    X = regression(30)[0]
    hashing = fit(X, n_bits=20)
    found = hashing.kneighbors(X, 30)[1]
    assert np.array_equal(np.sort(found, axis=1), np.tile(np.arange(30), (30, 1)))
    others = hashing.kneighbors(None, 29, return_distance=False)
    assert not (others == np.arange(30)[:, None]).any()
    some = np.array([7, 0, 7])
    for part, whole in zip(hashing.neighbors_of(some, 5), hashing.kneighbors(None), strict=True):
        assert np.array_equal(part, whole[some])


def test_equal_codes_are_found_in_the_order_of_rows():
    X = np.repeat(regression(3)[0], 4, axis=0)
    distances, numbers = fit(X, n_bits=64).kneighbors(None, 3)
    assert not distances.any()
    for i, found in enumerate(numbers):
        group = 4 * (i // 4) + np.arange(4)
        assert found.tolist() == group[group != i].tolist()


@pytest.mark.parametrize("projection", ["polynomial", OrthogonalProjection()], ids=str)
def test_rows_in_parts_are_those_of_one_fit(projection):
    X = regression(90)[0]
    parts = KernelHash(n_bits=70, projection=projection, random_state=0)
    for part in (X[:40], X[40:41], X[41:]):
        assert parts.partial_fit(part) is parts
    whole = fit(X, n_bits=70, projection=projection)
    assert np.array_equal(parts.codes_, whole.codes_)
    for ours, theirs in zip(parts.kneighbors(), whole.kneighbors(), strict=True):
        assert np.array_equal(ours, theirs)


def test_more_rows_leave_the_projection_as_it_is():
    X = regression(90)[0]
    hashing = fit(X[:40], n_bits=50)
    projection = hashing.projection_
    hashing.partial_fit(X[40:])
    assert hashing.projection_ is projection
    assert np.array_equal(hashing.codes_, hashing.transform(X))
    assert len(hashing.fit(X[:5]).codes_) == 5


def agreement(hashing, X):
    """Return in which share of the bits two rows agree."""
    first, second = bits(hashing, X)
    return np.mean(first == second)


def at_angle(theta):
    return np.array([[2.0, 0.0, 0.0], [0.5 * np.cos(theta), 0.5 * np.sin(theta), 0.0]])


@pytest.mark.parametrize("kernel", [Laplacian(0.5), Gaussian(0.3)], ids=repr)
@pytest.mark.parametrize("pair", [(0, 1), (2, 3), (4, 5)])
def test_normal_directions_collide_as_angles_tell(kernel, pair):
    X, B, n_bits = regression(6)[0][list(pair)], regression(20, seed=1)[0], 20_000
    projection = KernelProjection(method="pca", selector=Fixed(B))
    hashing = fit(X, kernel=kernel, n_bits=n_bits, projection=projection)
    H = np.eye(20) - 1 / 20
    K = H @ kernel(B) @ H
    k = (kernel(X, B) - kernel(B).mean(axis=0)) @ H
    products = k @ np.linalg.pinv(K, rcond=1e-10) @ k.T
    cosine = products[0, 1] / np.sqrt(products[0, 0] * products[1, 1])
    expected = 1 - np.arccos(cosine) / np.pi
    standard_error = np.sqrt(expected * (1 - expected) / n_bits)
    assert abs(agreement(hashing, X) - expected) <= 5 * standard_error


@pytest.mark.parametrize("degree", [1, 2, 3])
@pytest.mark.parametrize("theta", [0.3, 1.0, 2.2])
def test_products_of_normal_projections_collide_as_their_factors_do(degree, theta):
    X, n_bits = at_angle(theta), 20_000
    projection = PolynomialProjection(degree, n_vectors=degree * n_bits)
    hashing = fit(X, n_bits=n_bits, projection=projection)
    # a product agrees where an even number of its factors do not
    expected = (1 + (1 - 2 * theta / np.pi) ** degree) / 2
    standard_error = np.sqrt(expected * (1 - expected) / n_bits)
    assert abs(agreement(hashing, X) - expected) <= 5 * standard_error


@pytest.mark.parametrize("degree", [2, 3])
@pytest.mark.parametrize("theta", [0.3, 0.6])
def test_sums_of_products_collide_nearly_as_normal_directions_do(degree, theta):
    X, n_bits, n_terms = at_angle(theta), 10_000, 20
    projection = PolynomialProjection(degree, n_vectors=degree * n_terms * n_bits, n_terms=n_terms)
    hashing = fit(X, n_bits=n_bits, projection=projection)
    normal = 1 - np.arccos(np.cos(theta) ** degree) / np.pi
    alone = (1 + (1 - 2 * theta / np.pi) ** degree) / 2
    standard_error = np.sqrt(normal * (1 - normal) / n_bits)
    # nearer to the limit of many terms than one term is, by more than chance
    assert abs(agreement(hashing, X) - normal) + 5 * standard_error < abs(alone - normal)


def test_bits_of_distance_based_hashing():
    X, kernel = regression(60)[0], Laplacian(0.5)
    hashing = fit(X, kernel=kernel, n_bits=50, projection="dbh")
    points = hashing.projection_.landmarks_.points
    lines = kernel(X, points[:50]) - kernel(X, points[50:])
    assert np.array_equal(bits(hashing), lines > np.median(lines, axis=0))
    assert (bits(hashing).sum(axis=0) == 30).all()


@pytest.mark.parametrize("projection", ["kernel", "dbh"])
def test_objects(projection):
    found, K = words()[0], FunctionKernel(shared_letters)(words()[0])
    by_words = fit(found, kernel=FunctionKernel(shared_letters), n_bits=30, projection=projection)
    by_numbers = fit(np.arange(60), kernel=Precomputed(K), n_bits=30, projection=projection)
    assert np.array_equal(by_words.codes_, by_numbers.codes_)
    assert np.array_equal(by_words.transform(found[:5]), by_words.codes_[:5])
    assert by_words.kneighbors(found[:5], 3)[1].shape == (5, 3)


@pytest.mark.parametrize("projection", ["kernel", "polynomial", "dbh"])
def test_frames(projection):
    X = regression(40)[0]
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    hashing = fit(frame, n_bits=20, projection=projection)
    assert np.array_equal(hashing.codes_, fit(X, n_bits=20, projection=projection).codes_)
    assert hashing.feature_names_in_.tolist() == ["a", "b", "c"]
    assert hashing.get_feature_names_out().tolist() == [f"kernelhash{i}" for i in range(3)]
    with pytest.raises(ValueError, match="feature names"):
        hashing.transform(frame[["b", "a", "c"]])
    with pytest.raises(ValueError, match="feature names"):
        hashing.partial_fit(frame[["b", "a", "c"]])
    assert len(hashing.codes_) == 40


def test_a_kernel_of_named_columns():
    X = regression(40)[0]
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    named = fit(frame, kernel=Gaussian(0.5).on(["c", "a"]), n_bits=40)
    assert np.array_equal(named.codes_, fit(X[:, [2, 0]], kernel=Gaussian(0.5), n_bits=40).codes_)


def test_a_fit_that_fails_leaves_the_codes_as_they_were():
    X = regression(40)[0]
    hashing = fit(X, n_bits=20)
    codes, before = hashing.codes_.copy(), dict(vars(hashing))
    hashing.set_params(kernel=Tanh())
    with pytest.raises(ValueError, match="positive definite"):
        hashing.fit(X[:, :2])
    assert {**vars(hashing), "kernel": None} == before
    with pytest.raises(ValueError, match="2 features"):
        hashing.partial_fit(X[:, :2])
    assert np.array_equal(hashing.codes_, codes)
    assert np.array_equal(hashing.transform(X), codes)


@pytest.mark.parametrize("n_neighbors", [0, -1, 2.0, True, "all", None, 11])
def test_numbers_of_neighbours_that_there_are_not(n_neighbors):
    X = regression(10)[0]
    hashing = fit(X)
    for rows, most in ((X, 10), (None, 9)):
        message = f"n_neighbors must be an integer from 1 to {most} \\(the number of rows to choose"
        with pytest.raises(ValueError, match=message):
            hashing.kneighbors(rows, n_neighbors)
    with pytest.raises(ValueError, match="at least 2 fitted rows, found 1"):
        fit(X[:1]).kneighbors(n_neighbors=1)
    with pytest.raises(
        ValueError, match="KernelHash: return_distance must be True or False, got 0"
    ):
        hashing.kneighbors(X, return_distance=0)


def test_before_a_fit():
    X = regression(10)[0]
    with pytest.raises(NotFittedError):
        KernelHash().transform(X)
    with pytest.raises(NotFittedError):
        KernelHash().kneighbors(X)


def test_the_seed_of_a_projection_wins():
    X = regression(30)[0]
    seeded = KernelHash(n_bits=64, projection=PolynomialProjection(random_state=0))
    np.testing.assert_array_equal(seeded.fit(X).codes_, seeded.fit(X).codes_)


def test_codes_are_not_written_to():
    codes = fit(regression(30)[0]).codes_
    with pytest.raises(ValueError, match="read-only"):
        codes[0] = 0


def test_codes_are_no_features_of_a_model():
    X, y, *_ = regression(30)
    with pytest.raises(ValueError, match="approximation must be"):
        KernelRegressor(approximation=KernelHash()).fit(X, y)
