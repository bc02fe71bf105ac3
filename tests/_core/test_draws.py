import numpy as np
import pytest
from scipy import special, stats
from scipy.stats import qmc

from skimp._core._draws import (
    KINDS as NAMES,
)
from skimp._core._draws import (
    IndependentDraws,
    OrthogonalDraws,
    QuasiDraws,
)
from tests.pairs import pairwise

KINDS = ["iid", "orthogonal", "qmc"]


def draws(kind, size, seed=0):
    return NAMES[kind](size, np.random.default_rng(seed))


def test_kinds_have_names():
    made = [type(draws(kind, 3)) for kind in KINDS]
    assert made == [IndependentDraws, OrthogonalDraws, QuasiDraws]
    assert set(KINDS) == set(NAMES)


@pairwise(kind=KINDS, size=[1, 2, 5, 16, 33], dimension=[1, 2, 7])
def test_shapes(kind, size, dimension):
    made = draws(kind, size)
    assert made.normals(dimension).shape == (dimension, size)
    assert made.uniforms().shape == (size,)
    if kind != "orthogonal":
        assert made.cauchys(dimension).shape == (dimension, size)


@pytest.mark.parametrize("kind", KINDS)
def test_a_seed_gives_the_same_numbers_and_calls_give_others(kind):
    first, second = draws(kind, 9), draws(kind, 9)
    for _ in range(2):
        assert np.array_equal(first.normals(3), second.normals(3))
        assert np.array_equal(first.uniforms(), second.uniforms())
    assert not np.array_equal(first.normals(3), first.normals(3))
    assert not np.array_equal(first.uniforms(), first.uniforms())


def alone(kind, method, *args):
    """Return one entry of many calls, which are independent of each other."""
    made = draws(kind, 3)
    return np.array([np.ravel(getattr(made, method)(*args))[-1] for _ in range(500)])


@pytest.mark.parametrize(
    ("kind", "method", "args", "distribution"),
    [
        *((kind, "normals", (3,), stats.norm) for kind in KINDS),
        *((kind, "normals", (1,), stats.norm) for kind in KINDS),
        *((kind, "uniforms", (), stats.uniform) for kind in KINDS),
        ("iid", "cauchys", (2,), stats.cauchy),
        ("qmc", "cauchys", (2,), stats.cauchy),
    ],
)
def test_each_entry_alone_has_its_distribution(kind, method, args, distribution):
    x = np.sort(distribution.cdf(alone(kind, method, *args)))
    n = len(x)
    distance = max((np.arange(1, n + 1) / n - x).max(), (x - np.arange(n) / n).max())
    # Dvoretzky, Kiefer, Wolfowitz: larger with a probability of at most 1e-6
    assert distance <= np.sqrt(np.log(2 / 1e-6) / (2 * n))


@pytest.mark.parametrize(("dimension", "size"), [(1, 4), (2, 5), (8, 8), (8, 20), (30, 7)])
def test_normal_vectors_of_a_group_are_orthogonal(dimension, size):
    W = draws("orthogonal", size).normals(dimension)
    for start in range(0, size, dimension):
        group = W[:, start : start + dimension]
        U = group / np.linalg.norm(group, axis=0)
        np.testing.assert_allclose(U.T @ U, np.eye(U.shape[1]), atol=1e-12)


def test_groups_are_independent_of_each_other():
    d, groups = 4, 2000
    W = draws("orthogonal", d * groups).normals(d)
    U = (W / np.linalg.norm(W, axis=0)).T.reshape(groups, d, d)
    # squared cosines of independent directions have the mean 1 / d and are at most 1
    squares = (U[0::2] @ U[1::2].transpose(0, 2, 1))[:, 0, 0] ** 2
    bound = 5 * squares.std(ddof=1) / np.sqrt(len(squares))
    assert abs(squares.mean() - 1 / d) <= bound


@pytest.mark.parametrize(("dimension", "size"), [(1, 4), (2, 5), (8, 8), (8, 20), (30, 7)])
def test_directions_are_orthonormal_within_a_group(dimension, size):
    W = draws("orthogonal", size).directions(dimension)
    assert W.shape == (dimension, size)
    for start in range(0, size, dimension):
        group = W[:, start : start + dimension]
        np.testing.assert_allclose(group.T @ group, np.eye(group.shape[1]), atol=1e-13)


@pytest.mark.parametrize(("dimension", "column"), [(1, 0), (3, 0), (3, 2)])
def test_directions_are_uniform(dimension, column):
    size = 2000
    W = draws("orthogonal", dimension * size).directions(dimension)
    # entries of one column in each group, which are independent of each other
    entries = W[:, column::dimension]
    assert np.abs(entries.mean(axis=1)).max() <= 5 / np.sqrt(dimension * size)
    products = np.einsum("is,js->sij", entries, entries)
    standard_error = products.std(axis=0, ddof=1) / np.sqrt(size)
    error = np.abs(products.mean(axis=0) - np.eye(dimension) / dimension)
    assert (error <= 5 * standard_error + 1e-12).all()


def test_normal_vectors_are_directions_times_lengths():
    first, second = draws("orthogonal", 9), draws("orthogonal", 9)
    U, W = first.directions(4), second.normals(4)
    np.testing.assert_allclose(W / np.linalg.norm(W, axis=0), U, atol=1e-13)


@pytest.mark.parametrize("dimension", [1, 3, 16])
def test_orthogonal_lengths_are_those_of_normal_vectors(dimension):
    size = 4000
    lengths = np.linalg.norm(draws("orthogonal", size).normals(dimension), axis=0)
    chi = stats.chi(dimension)
    assert abs(lengths.mean() - chi.mean()) <= 5 * chi.std() / np.sqrt(size)
    # a squared length has the variance 2 d
    assert abs((lengths**2).mean() - dimension) <= 5 * np.sqrt(2 * dimension / size)
    neighbours = np.corrcoef(lengths[:-1], lengths[1:])[0, 1]
    assert abs(neighbours) <= 5 / np.sqrt(size)


def test_orthogonal_cauchy_vectors_are_refused():
    with pytest.raises(ValueError, match="sampling='orthogonal'"):
        draws("orthogonal", 4).cauchys(2)


def quasi_points(draws, dimension, method):
    cdf = special.ndtr if method == "normals" else stats.cauchy.cdf
    return cdf(getattr(draws, method)(dimension))


@pytest.mark.parametrize("method", ["normals", "cauchys"])
@pytest.mark.parametrize("n", [1, 2, 64, 256])
def test_quasi_random_coordinates_have_one_point_in_each_interval(n, method):
    u = quasi_points(draws("qmc", n), 6, method)
    for row in np.floor(n * u).astype(int):
        assert sorted(row) == list(range(n))


def test_quasi_random_uniforms_have_one_point_in_each_interval():
    assert sorted(np.floor(128 * draws("qmc", 128).uniforms())) == list(range(128))


def test_the_first_two_quasi_random_coordinates_have_one_point_in_each_square():
    u = quasi_points(draws("qmc", 256), 2, "normals")
    squares = np.floor(16 * u).astype(int)
    assert len(set(zip(*squares, strict=True))) == 256


@pytest.mark.parametrize("size", [1, 5, 32, 100])
def test_quasi_random_points_are_those_of_a_scrambled_sobol_sequence(size):
    u = quasi_points(draws("qmc", size), 4, "normals").T
    seed = int(np.random.default_rng(0).integers(2**63))
    power = int(np.ceil(np.log2(size)))
    expected = qmc.Sobol(4, seed=seed).random_base2(power)[:size] + 2.0**-31
    by_first = [points[np.argsort(points[:, 0])] for points in (u, expected)]
    # the probability of a normal number is right to some units of the last place
    np.testing.assert_allclose(*by_first, rtol=1e-9)


def test_quasi_random_calls_are_shuffled_against_each_other():
    made, n = draws("qmc", 1024), 1024
    first, second = made.normals(3), made.normals(3)
    correlations = np.corrcoef(first, second)[:3, 3:]
    assert np.abs(correlations).max() <= 5 / np.sqrt(n)


@pytest.mark.parametrize("end", [0.0, 1 - 2.0**-30])
def test_quasi_random_numbers_are_finite_at_both_ends(monkeypatch, end):
    monkeypatch.setattr(qmc.Sobol, "random_base2", lambda self, m: np.full((2**m, self.d), end))
    made = draws("qmc", 4)
    for values in (made.normals(2), made.cauchys(2), np.log(made.uniforms())):
        assert np.isfinite(values).all()


def test_haltons_sequence_is_for_more_columns_than_sobol_has(monkeypatch):
    monkeypatch.setattr(qmc.Sobol, "MAXDIM", 2)
    u = quasi_points(draws("qmc", 81), 3, "normals")
    # base 2, 3 and 5 in turn: of 81 points, one in each of 81 intervals of the second coordinate
    assert sorted(np.floor(81 * u[1] + 1e-9).astype(int)) == list(range(81))
    assert sorted(np.floor(128 * quasi_points(draws("qmc", 128), 2, "normals")[1])) == list(
        range(128)
    )
