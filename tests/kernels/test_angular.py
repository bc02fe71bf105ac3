import numpy as np
import pytest
from hypothesis import given, settings
from scipy import sparse

from skimp.kernels import ArcCosine, Cosine, NeuralTangent
from skimp.kernels._angular import inverse_sines
from tests.pairs import in_turn
from tests.reference import naive
from tests.strategies import FLOATS, pairs_of_matrices

# a kernel, the power of the lengths, its twin, and its value for rows of length one in parallel
KERNELS = [
    pytest.param(Cosine(), 0, naive.cosine, 1.0, id="cosine"),
    pytest.param(ArcCosine(0), 0, lambda X, Y: naive.arc_cosine(X, Y, 0), 1.0, id="steps"),
    pytest.param(ArcCosine(1), 1, lambda X, Y: naive.arc_cosine(X, Y, 1), 1.0, id="rectifiers"),
    pytest.param(ArcCosine(2), 2, lambda X, Y: naive.arc_cosine(X, Y, 2), 3.0, id="squares"),
    pytest.param(NeuralTangent(), 1, naive.neural_tangent, 2.0, id="tangent"),
]
every_kernel = pytest.mark.parametrize(("kernel", "power", "twin", "top"), KERNELS)


def pair():
    rng = np.random.default_rng(0)
    return rng.normal(size=(12, 3)), rng.normal(size=(9, 3))


@every_kernel
@settings(max_examples=20, deadline=None)
@given(pair=pairs_of_matrices())
def test_equals_its_naive_twin(kernel, power, twin, top, pair):
    X, Y = pair
    K, eps = kernel(X, Y), np.finfo(kernel(X, Y).dtype).eps
    lengths = [np.sqrt((naive.as_float64(A) ** 2).sum(axis=1)) ** power for A in (X, Y)]
    # directions are rounded, and so are chords, from which angles near pi follow to a root of eps
    angles = np.pi * (1 - naive.arc_cosine(naive.as_float64(X), naive.as_float64(Y), 0))
    lost = np.minimum(np.sqrt(eps), eps / np.maximum(np.pi - angles, eps))
    bound = top * (40 * eps + 4 * lost) * np.outer(*lengths)
    assert (np.abs(K - twin(X, Y)) <= bound).all()


@every_kernel
def test_rows_of_zeros_have_a_right_angle_with_every_row(kernel, power, twin, top):
    X = np.array([[0.0, 0.0], [3.0, 4.0]])
    right = kernel([[1.0, 0.0]], [[0.0, 1.0]]).item()
    expected = right if power == 0 else 0.0
    for rows in (X, sparse.csr_matrix(X)):
        K = kernel(rows)
        np.testing.assert_allclose([K[0, 0], K[0, 1], K[1, 0]], expected, atol=1e-15)
        np.testing.assert_allclose(kernel.diag(rows), K.diagonal(), rtol=1e-12)
    np.testing.assert_allclose(kernel.gradient(X)[[0, 0, 1], [0, 1, 0]], 0, atol=1e-15)


@every_kernel
@pytest.mark.parametrize("dtype", FLOATS)
def test_parallel_and_antiparallel_rows(kernel, power, twin, top, dtype):
    X = np.random.default_rng(1).normal(size=(50, 7)).astype(dtype)
    eps = np.finfo(dtype).eps
    lengths = np.linalg.norm(X.astype(np.float64), axis=1)
    for factor in (1, 4, 3, 1e-3):
        scale = np.outer(lengths, factor * lengths).diagonal() ** power
        same = kernel(X, (factor * X).astype(dtype)).diagonal() / scale
        assert np.abs(same - top).max() <= 50 * eps
        # an angle of pi is right to the root of the rounding of its chord only
        opposite = kernel(X, (-factor * X).astype(dtype)).diagonal() / scale
        bottom = -1.0 if isinstance(kernel, Cosine) else 0.0
        assert np.abs(opposite - bottom).max() <= 4 * np.sqrt(eps)


@every_kernel
@pytest.mark.parametrize("dtype", FLOATS)
def test_gradients_are_finite_where_directions_agree(kernel, power, twin, top, dtype):
    X = np.random.default_rng(1).normal(size=(50, 7)).astype(dtype)
    Y = np.vstack([X, 3 * X, -X, X + dtype(1e-6) * X[::-1]]).astype(dtype)
    G = kernel.gradient(X, Y)
    assert np.isfinite(G).all()
    # where x = y both one-sided derivatives along the sphere cancel: what is left is along x
    lengths = np.linalg.norm(X, axis=1)
    expected = power * top * lengths[:, None] ** (2 * power - 2) * X
    error = np.abs(G[np.arange(50), np.arange(50)] - expected)
    assert error.max() <= 1e3 * np.finfo(dtype).eps * (1 + np.abs(expected).max())


@every_kernel
def test_powers_of_the_lengths_come_out(kernel, power, twin, top):
    X, Y = pair()
    K = kernel(X, Y)
    np.testing.assert_allclose(kernel(3 * X, Y), 3**power * K, rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(kernel(X, 1e-3 * Y), 1e-3**power * K, rtol=1e-11, atol=1e-12)
    # Euler: the derivative along x of a function of degree p is p times the function
    along = np.einsum("ijk,ik->ij", kernel.gradient(X, Y), X)
    np.testing.assert_allclose(along, power * K, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(kernel.diag(X), top * (X**2).sum(axis=1) ** power, rtol=1e-12)


def test_small_angles_keep_their_digits_in_single_precision():
    eps = np.finfo(np.float32).eps
    angles = np.logspace(-6, -1, 200)
    base = np.array([[1.0, 2.0, -1.0, 0.5, 3.0]])
    u = base / np.linalg.norm(base)
    v = np.array([[2.0, -1.0, 0.0, 0.0, 0.0]]) / np.sqrt(5)
    rows = (7 * (np.cos(angles)[:, None] * u + np.sin(angles)[:, None] * v)).astype(np.float32)
    base = base.astype(np.float32)
    exact = np.array([naive.angle(np.float64(row), np.float64(base[0])) for row in rows])
    # two directions rounded by half an eps, a difference of them, and a rounded result
    error = np.abs(ArcCosine(0)(rows, base)[:, 0] - (1 - exact / np.pi))
    assert error.max() <= 2 * eps
    # an angle from its cosine is wrong by the root of eps: the bound above is no matter of course
    cosines = (rows @ base[0]) / np.linalg.norm(rows, axis=1) / np.linalg.norm(base)
    assert np.abs(np.arccos(np.clip(cosines, -1, 1)) - exact).max() > 100 * eps


def test_inverse_sines():
    S = np.array([[0.0, 1e-40, 2.0, 4.0, 4.0 + 1e-15, 1.0]])
    # a squared chord of 1 is an angle of 60 degrees
    np.testing.assert_allclose(inverse_sines(S), [[0, 0, 0.5, 0, 0, 1 / np.sqrt(3)]], rtol=1e-12)


@in_turn(
    kernel=[Cosine(), ArcCosine(0), ArcCosine(1), NeuralTangent()],
    size=[1e-310, 1e-200, 1e-20, 1e100],
)
def test_the_diagonal_is_that_of_the_matrix_at_any_size(kernel, size):
    X = size * np.array([[1.0, 2.0], [0.0, 0.0], [3.0, -4.0]])
    np.testing.assert_allclose(kernel.diag(X), kernel(X).diagonal(), rtol=1e-12)


@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.int64])
def test_the_least_of_the_integers(dtype):
    X = np.array([[np.iinfo(dtype).min, 0], [3, 4]], dtype)
    np.testing.assert_allclose(ArcCosine()(X), ArcCosine()(X.astype(float)), rtol=1e-12)
