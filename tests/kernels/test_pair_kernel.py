import re

import numpy as np
import pytest
from scipy import sparse

from skimp.data import open_rows
from skimp.kernels import Cauchy, Chi2, Gaussian, Laplacian, Matern, Polynomial, Tanh
from tests.pairs import in_turn

WIDTHS = [0.3, 0.0, 2.0]
# kernels by their gamma, and the power of it that columns are multiplied by
KINDS = {
    "Gaussian": (Gaussian, 0.5),
    "Cauchy": (Cauchy, 0.5),
    "Matern": (lambda gamma: Matern(2.5, gamma), 0.5),
    "Bessel": (lambda gamma: Matern(1.2, gamma), 0.5),
    "Polynomial": (lambda gamma: Polynomial(3, gamma, 0.5), 0.5),
    "Tanh": (lambda gamma: Tanh(gamma, -0.5), 0.5),
    "Laplacian": (Laplacian, 1),
    "Chi2": (Chi2, 1),
}
every_kind = pytest.mark.parametrize(("kind", "power"), KINDS.values(), ids=KINDS)


def pair(dtype=np.float64):
    rng = np.random.default_rng(0)
    return rng.random((20, 3)).astype(dtype), rng.random((15, 3)).astype(dtype)


@every_kind
@pytest.mark.parametrize("gamma", [WIDTHS, tuple(WIDTHS), np.array(WIDTHS)], ids=["l", "t", "a"])
def test_a_gamma_for_each_column_scales_the_columns(kind, power, gamma):
    X, Y = pair()
    scales = np.power(WIDTHS, power)
    plain, kernel = kind(1.0), kind(gamma)
    for wrap in (np.asarray, sparse.csr_matrix):
        np.testing.assert_allclose(kernel(wrap(X), Y), plain(X * scales, Y * scales), rtol=1e-9)
        np.testing.assert_allclose(kernel.diag(wrap(X)), plain.diag(X * scales), rtol=1e-12)
        # the chain rule
        expected = plain.gradient(X * scales, Y * scales) * scales
        np.testing.assert_allclose(kernel.gradient(wrap(X), Y), expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("kind", ["Gaussian", "Cauchy", "Matern", "Bessel", "Laplacian"])
def test_frequencies_scale_with_their_columns(kind):
    make, power = KINDS[kind]
    plain, scaled = (
        make(gamma).sample_frequencies(3, 1000, np.random.default_rng(0)) for gamma in (1.0, WIDTHS)
    )
    np.testing.assert_allclose(scaled, plain * np.power(WIDTHS, power)[:, None], rtol=1e-12)
    assert (scaled[1] == 0).all()


def test_a_gamma_for_each_column_is_a_kernel_of_turned_rows_no_more():
    for kind, _ in KINDS.values():
        assert not kind(WIDTHS).rotation_invariant
    assert Gaussian(1.0).rotation_invariant
    assert Polynomial(gamma=1.0).rotation_invariant
    assert not Laplacian(1.0).rotation_invariant


@in_turn(
    kind=[kind for kind, _ in KINDS.values()],
    gamma=[
        *(0, -1.0, np.nan, np.inf, "", None, True, 1j),
        *([], [0.0, 0.0, 0.0], [0.1, -0.1, 1.0], [np.nan, 1.0, 1.0], [np.inf, 1.0, 1.0]),
        *([True, 1.0, 1.0], ["0.1", "0.2", "0.3"], ["scale"] * 3, [None, 1.0, 1.0]),
        *([[0.1, 0.2, 0.3]], [[0.1], [0.2], [0.3]], [[0.1], 0.2, 0.3]),
        *(np.ones((1, 3)), np.array(0.3), np.array([True, True, False]), {"a": 1.0}, {0.1, 0.2}),
    ],
)
def test_gamma_must_be_positive_or_a_heuristic(kind, gamma):
    kernel, X = kind(gamma), np.ones((2, 3))
    message = rf"{type(kernel).__name__}: gamma .*{re.escape(repr(gamma))}"
    for refused in (kernel, kernel.diag, kernel.gradient):
        with pytest.raises(ValueError, match=message):
            refused(X)
    with pytest.raises(ValueError, match=message):
        kernel.resolve(open_rows(X), 0)


@pytest.mark.parametrize("gamma", [np.float32(0.5), np.int64(2), 3, [1, 0, 2], np.arange(3)])
def test_numbers_of_any_kind_are_gammas(gamma):
    X = np.random.default_rng(0).random((4, 3))
    expected = np.exp(-((X[:, None] - X) ** 2 * np.asarray(gamma, float)).sum(axis=2))
    np.testing.assert_allclose(Gaussian(gamma)(X), expected, rtol=1e-9)


@pytest.mark.parametrize(
    ("kernel", "expected"),
    [
        # where entries are equal, the two one-sided derivatives differ in sign alone
        (Laplacian(2.0), [0.0, -2.0 * np.exp(-2)]),
        (Matern(0.5, 1.0), [0.0, -np.sqrt(2) * np.exp(-np.sqrt(2))]),
        (Gaussian(1.0), [0.0, -2 * np.exp(-1)]),
        (Cauchy(1.0), [0.0, -0.5]),
        # chi-square: (x - y)(x + 3 y) / (x + y)^2, which is 5/9 at (2, 1)
        (Chi2(1.0), [0.0, -5 / 9 * np.exp(-1 / 3)]),
    ],
)
def test_gradients_at_ties(kernel, expected):
    G = kernel.gradient(np.array([[1.0, 2.0]]), np.array([[1.0, 1.0], [1.0, 2.0]]))
    np.testing.assert_allclose(G[0, 0], expected, rtol=1e-9, atol=1e-15)
    assert G[0, 1].tolist() == [0, 0]


def test_chi_square_of_two_zeros_has_the_slope_to_the_right():
    # x^2 / x grows with slope one, and there is nothing on the left of zero
    G = Chi2(0.7).gradient(np.zeros((1, 2)), np.array([[0.0, 1.0]]))
    h = 1e-7
    right = [Chi2(0.7)(h * np.eye(2)[[k]], [[0.0, 1.0]]).item() for k in (0, 1)]
    slopes = (np.array(right) - np.exp(-0.7)) / h
    np.testing.assert_allclose(G[0, 0], slopes, rtol=1e-5)


def test_the_diagonal_checks_what_the_matrix_checks():
    with pytest.raises(ValueError, match="Negative values in data"):
        (Chi2(1.0).on([1]) + Gaussian(1.0)).diag(-np.ones((2, 3)))
    with pytest.raises(ValueError, match="one for each of the 3 columns"):
        Gaussian([1.0, 2.0]).diag(np.ones((2, 3)))
