import numpy as np
import pytest
from scipy import sparse, stats

from skimp.features._frequencies import (
    MatrixFrequencies,
    TransformFrequencies,
    draw_frequencies,
)
from skimp.kernels import Cauchy, Gaussian, Laplacian, Matern
from tests._core.loops.test_hadamard import fastfood_matrix, structured_matrix
from tests.pairs import in_turn

FAST = ["structured", "fastfood"]
SAMPLINGS = ["iid", "orthogonal", *FAST, "qmc"]
BIAS = {"structured": 0.001}
"""What the mean of structured features may be off by, as documented."""


def draw(kernel, sampling, d, size, seed=0, dtype=np.float64):
    return draw_frequencies(kernel, sampling, d, size, np.random.default_rng(seed), np.dtype(dtype))


def radians(*args, **params):
    return 2 * np.pi * draw(*args, **params).matrix().astype(np.float64)


def distances(d, norms, seed=1):
    delta = np.random.default_rng(seed).normal(size=(len(norms), d))
    return delta / np.linalg.norm(delta, axis=1, keepdims=True) * np.reshape(norms, (-1, 1))


@pytest.mark.parametrize("sampling", SAMPLINGS)
@pytest.mark.parametrize(("d", "size"), [(1, 1), (1, 70), (3, 64), (64, 65), (70, 300)])
def test_products_are_those_with_the_matrix(sampling, d, size):
    drawn = draw(Matern(1.5, 0.3), sampling, d, size)
    X = np.random.default_rng(1).normal(size=(20, d))
    W, out = drawn.matrix(), np.empty((20, size))
    drawn.turns(X, out)
    assert drawn.size == size
    assert W.shape == (d, size)
    assert np.isfinite(W).all()
    # three transforms of up to 128 numbers, of which a few only may be columns
    bound = 50 * np.finfo(float).eps * np.linalg.norm(X, axis=1).max() * np.abs(W).max() * 128
    assert np.abs(out - X @ W).max() <= bound
    other = np.empty_like(out)
    drawn.turns(sparse.csr_matrix(X), other)
    assert np.abs(out - other).max() <= bound


@in_turn(sampling=SAMPLINGS, layout=["F", "strided", "int", "read-only"])
def test_rows_may_be_laid_out_in_any_way(sampling, layout):
    X = np.random.default_rng(1).integers(-3, 4, (6, 5)).astype(float)
    given = {
        "F": np.asfortranarray(X),
        "strided": np.repeat(X, 2, axis=0)[::2],
        "int": X.astype(np.int8),
        "read-only": X.copy(),
    }[layout]
    given.flags.writeable = layout != "read-only"
    drawn = draw(Gaussian(0.3), sampling, 5, 80)
    out, expected = np.empty((6, 80)), np.empty((6, 80))
    drawn.turns(X, expected)
    drawn.turns(given, out)
    np.testing.assert_allclose(out, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("sampling", SAMPLINGS)
def test_float32_frequencies_are_those_of_float64_rounded(sampling):
    single = draw(Cauchy(0.3), sampling, 7, 90, dtype=np.float32).matrix()
    double = draw(Cauchy(0.3), sampling, 7, 90).matrix()
    assert single.dtype == np.float32
    assert double.dtype == np.float64
    # three transforms of 64 numbers: their errors are relative to a vector of 64, not of 7
    lengths = np.linalg.norm(double, axis=0).max() * np.sqrt(64 / 7)
    assert np.abs(single - double).max() <= 50 * np.finfo(np.float32).eps * lengths


def test_products_of_transforms_are_products_of_matrices():
    gamma = np.array([0.5, 0.0, 2.0, 0.1, 1.0])
    drawn = draw(Gaussian(gamma), "structured", 5, 100)
    assert isinstance(drawn, TransformFrequencies)
    assert drawn.signs.shape == (2, 3, 64)
    assert np.array_equal(np.abs(drawn.signs), np.ones((2, 3, 64)))
    np.testing.assert_allclose(drawn.scale, np.sqrt(2 * gamma))
    expected = structured_matrix(drawn.scale, drawn.signs, drawn.lengths)
    np.testing.assert_allclose(drawn.matrix(), expected, atol=1e-12)
    drawn = draw(Gaussian(gamma), "fastfood", 5, 100)
    assert isinstance(drawn, TransformFrequencies)
    assert np.array_equal(np.sort(drawn.orders), np.tile(np.arange(64), (2, 1)))
    parts = (drawn.scale, drawn.signs, drawn.orders, drawn.normals, drawn.lengths)
    np.testing.assert_allclose(drawn.matrix(), fastfood_matrix(*parts), atol=1e-12)


@pytest.mark.parametrize("sampling", FAST)
@pytest.mark.parametrize(
    ("d", "size", "n", "blocks"),
    [(1, 1, 64, 1), (64, 64, 64, 1), (65, 64, 128, 1), (3, 65, 64, 2), (200, 513, 256, 3)],
)
def test_columns_are_padded_to_a_power_of_two_from_64_on(sampling, d, size, n, blocks):
    signs = draw(Gaussian(1.0), sampling, d, size).signs
    assert (signs.shape[0], signs.shape[-1]) == (blocks, n)


def test_other_kinds_are_matrices():
    for sampling in ("iid", "orthogonal", "qmc"):
        drawn = draw(Gaussian(1.0), sampling, 3, 8)
        W = Gaussian(1.0).sample_frequencies(3, 8, np.random.default_rng(0), sampling)
        assert isinstance(drawn, MatrixFrequencies)
        assert np.array_equal(drawn.matrix(), W / (2 * np.pi))


COMPOSED = [
    Gaussian(0.2) + 3.0 * Cauchy(0.5),
    Gaussian(0.2) * Matern(2.5, 0.1),
    Cauchy(0.5).on([0, 2]) * Gaussian(0.4).on([1, 4]),
    Gaussian([0.5, 0.0, 0.1, 0.2, 0.3]),
]
RADIAL = [Gaussian(0.3), Matern(1.5, 0.3), Cauchy(0.3), 2.0 * Gaussian([0.5, 0.0, 0.1, 0.2, 0.3])]


@pytest.mark.parametrize(
    ("kernel", "sampling"),
    [
        *((kernel, sampling) for kernel in RADIAL for sampling in SAMPLINGS),
        *((kernel, sampling) for kernel in COMPOSED for sampling in ("iid", "orthogonal", "qmc")),
        *((Laplacian(0.3), sampling) for sampling in ("iid", "qmc")),
        *((Laplacian(0.3) + Gaussian(0.2), sampling) for sampling in ("iid", "qmc")),
    ],
)
def test_each_frequency_has_the_kernel_for_characteristic_function(kernel, sampling):
    d, size, maps = 5, 32, 120
    delta = distances(d, [0.3, 1.0, 2.0, 4.0])
    means = np.array(
        [np.cos(delta @ radians(kernel, sampling, d, size, seed)).mean(1) for seed in range(maps)]
    )
    origin = np.zeros((1, d))
    expected = kernel(delta, origin)[:, 0] / kernel(origin).item()
    standard_errors = means.std(axis=0, ddof=1) / np.sqrt(maps)
    bound = 5 * standard_errors + BIAS.get(sampling, 0)
    assert (np.abs(means.mean(axis=0) - expected) <= bound).all()


@pytest.mark.parametrize("sampling", SAMPLINGS)
def test_lengths_are_those_of_normal_vectors(sampling):
    d, maps = 64, 50
    lengths = [
        np.linalg.norm(radians(Gaussian(0.5), sampling, d, d, seed), axis=0).mean()
        for seed in range(maps)
    ]
    bound = 5 * np.std(lengths, ddof=1) / np.sqrt(maps)
    assert abs(np.mean(lengths) - stats.chi(d).mean()) <= bound


@pytest.mark.parametrize("d", [64, 128])
@pytest.mark.parametrize("sampling", ["orthogonal", "structured"])
def test_frequencies_of_a_group_are_orthogonal(sampling, d):
    W = radians(Matern(2.5, 0.3), sampling, d, 2 * d + 20)
    U = W / np.linalg.norm(W, axis=0)
    for start in (0, d, 2 * d):
        group = U[:, start : start + d]
        np.testing.assert_allclose(group.T @ group, np.eye(group.shape[1]), atol=1e-12)
    between = U[:, :d].T @ U[:, d : 2 * d]
    # an orthogonal matrix, but not a diagonal one: groups differ
    assert np.abs(between).max() < 0.9


def test_fastfood_frequencies_of_a_block_had_one_length():
    drawn = draw(Gaussian(0.5), "fastfood", 64, 100)
    lengths = np.linalg.norm(drawn.matrix(), axis=0) / drawn.lengths
    np.testing.assert_allclose(lengths[:64], lengths[0], rtol=1e-12)
    np.testing.assert_allclose(lengths[64:], lengths[64], rtol=1e-12)
    assert lengths[0] != pytest.approx(lengths[64], rel=1e-6)


def squared_errors(sampling, d, size, seeds):
    gamma, delta = 0.5, distances(d, np.linspace(0.5, 2, 8))
    expected = np.exp(-gamma * (delta**2).sum(axis=1))
    return np.array(
        [
            np.mean((np.cos(delta @ radians(Gaussian(gamma), sampling, d, size, seed)).mean(1)
                     - expected) ** 2)
            for seed in range(seeds)
        ]
    )  # fmt: skip


@pytest.mark.parametrize(
    ("sampling", "d", "size", "sign"),
    [
        ("orthogonal", 64, 64, 1),
        ("structured", 64, 64, 1),
        ("orthogonal", 16, 100, 1),
        ("structured", 128, 200, 1),
        ("qmc", 64, 512, 1),
        ("qmc", 4, 64, 1),
        ("fastfood", 64, 64, -1),
    ],
)
def test_errors_are_below_those_of_independent_frequencies(sampling, d, size, sign):
    seeds = 80
    gains = squared_errors("iid", d, size, seeds) - squared_errors(sampling, d, size, seeds)
    # above them for fastfood, as documented
    assert sign * gains.mean() > 3 * gains.std(ddof=1) / np.sqrt(seeds)


@pytest.mark.parametrize("sampling", FAST)
@pytest.mark.parametrize(
    "kernel",
    [
        Laplacian(1.0),
        2.0 * Laplacian(1.0),
        Gaussian(1.0) + Gaussian(2.0),
        Gaussian(1.0) * Gaussian(2.0),
        Gaussian(1.0).on([0]),
    ],
)
def test_transforms_are_for_kernels_of_euclidean_distances(kernel, sampling):
    message = f"RandomFourier: sampling must be 'iid' or 'qmc' for .*got '{sampling}'"
    with pytest.raises(ValueError, match=message):
        draw(kernel, sampling, 3, 4)


@pytest.mark.parametrize("sampling", SAMPLINGS)
def test_a_column_without_width_has_no_frequency(sampling):
    W = draw(Gaussian([0.5, 0.0, 1.0]), sampling, 3, 70).matrix()
    assert np.array_equal(W[1], np.zeros(70))
    assert (np.abs(W[[0, 2]]).max(axis=1) > 0).all()
