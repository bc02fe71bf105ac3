"""Kernels as their formulas on rows as users have them, and as scikit-learn has them."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from sklearn.gaussian_process.kernels import RationalQuadratic
from sklearn.metrics import pairwise

from skimp.kernels import (
    AdditiveChi2,
    Cauchy,
    Chi2,
    Cosine,
    Gaussian,
    Laplacian,
    Linear,
    Polynomial,
    Tanh,
)
from tests.pairs import named
from tests.reference import naive
from tests.strategies import FLOATS, pairs_of_matrices


def additive_chi2(X, Y):
    """2 x y / (x + y) is (x + y) / 2 less the half that scikit-learn returns."""
    sums = (X.sum(axis=1)[:, None] + Y.sum(axis=1)) / 2
    return sums + pairwise.additive_chi2_kernel(X, Y) / 2


SAME = [
    (Gaussian(0.01), partial(pairwise.rbf_kernel, gamma=0.01)),
    (Gaussian(30.0), partial(pairwise.rbf_kernel, gamma=30.0)),
    (Laplacian(0.3), partial(pairwise.laplacian_kernel, gamma=0.3)),
    (Cauchy(1 / (2 * 0.7**2)), RationalQuadratic(length_scale=0.7, alpha=1.0)),
    (Chi2(0.7), partial(pairwise.chi2_kernel, gamma=0.7)),
    (AdditiveChi2(), additive_chi2),
    (Polynomial(1, 0.3, 0.0), partial(pairwise.polynomial_kernel, degree=1, gamma=0.3, coef0=0)),
    (Polynomial(5, 0.3, 1.5), partial(pairwise.polynomial_kernel, degree=5, gamma=0.3, coef0=1.5)),
    (Tanh(0.3, -1.0), partial(pairwise.sigmoid_kernel, gamma=0.3, coef0=-1.0)),
    (Cosine(), pairwise.cosine_similarity),
]


@pytest.mark.parametrize(("kernel", "other"), SAME, ids=named)
def test_equals_that_of_scikit_learn(kernel, other):
    rng = np.random.default_rng(0)
    X, Y = (rng.normal(size=(n, 5)) for n in (40, 30))
    X[3], Y[4] = 0, 0
    if kernel.needs_nonnegative:
        X, Y = np.maximum(X, 0), np.maximum(Y, 0)
    np.testing.assert_allclose(kernel(X, Y), other(X, Y), rtol=1e-9, atol=1e-14)


def products(X, Y, gamma=1.0):
    """Return sums of absolute products, which rounding is relative to."""
    return naive.inner_products(abs(naive.as_float64(X)), abs(naive.as_float64(Y)), gamma)


# a kernel, its twin, and what rounding may be: roundings of one, and of the value or its terms
FALLING = [
    (Gaussian(0.5), partial(naive.gaussian, gamma=0.5), (200, 0)),
    (Laplacian(0.1), partial(naive.laplacian, gamma=0.1), (50, 2000)),
    (Chi2(0.05), partial(naive.chi2, gamma=0.05), (50, 2000)),
]
GROWING = [
    (Linear(), naive.inner_products, lambda X, Y: 20 * products(X, Y)),
    (
        Tanh(0.1, -0.5),
        partial(naive.tanh, gamma=0.1, coef0=-0.5),
        lambda X, Y: 20 * (1 + products(X, Y, 0.1)),
    ),
    (AdditiveChi2(), naive.additive_chi2, lambda X, Y: 20 * naive.additive_chi2(X, Y)),
    (
        Polynomial(3, 0.2, 0.5),
        partial(naive.polynomial, degree=3, gamma=0.2, coef0=0.5),
        lambda X, Y: 100 * (products(X, Y, 0.2) + 0.5) ** 3,
    ),
]


@pytest.mark.parametrize(("kernel", "twin", "rounding"), FALLING, ids=named)
@settings(max_examples=40, deadline=None)
@given(pair=pairs_of_matrices(nonnegative=True, scales=(1e-3, 1.0, 3.0)))
def test_values_that_fall_are_those_of_the_formula(kernel, twin, rounding, pair):
    K = kernel(*pair)
    assert ((K >= 0) & (K <= 1)).all()
    atol, rtol = (r * np.finfo(K.dtype).eps for r in rounding)
    np.testing.assert_allclose(K, twin(*pair), rtol=rtol, atol=atol)


@pytest.mark.parametrize(("kernel", "twin", "rounding"), GROWING, ids=named)
@settings(max_examples=40, deadline=None)
@given(signed=pairs_of_matrices(scales=(1e-3, 1.0, 1e3)))
def test_values_that_grow_are_those_of_the_formula(kernel, twin, rounding, signed):
    X, Y = (abs(A) for A in signed) if kernel.needs_nonnegative else signed
    K = kernel(X, Y)
    bound = np.finfo(K.dtype).eps * rounding(X, Y) + 1e-30
    assert (np.abs(K - twin(X, Y)) <= bound).all()


@settings(max_examples=40, deadline=None)
@given(pairs_of_matrices(dtypes=FLOATS, scales=(1e-3, 1.0, 1e3)))
def test_long_tails_keep_their_digits(pair):
    X, Y = pair
    K = Cauchy(0.5)(X, Y)
    assert ((K > 0) & (K <= 1)).all()
    # a distance is right to 1e-5 (1e-10 in float64) of itself, and so is the kernel
    rtol = 1e-4 if X.dtype == np.float32 else 1e-9
    np.testing.assert_allclose(K, naive.cauchy(X, Y, 0.5), rtol=rtol)


@pytest.mark.parametrize(
    ("kernel", "expected"),
    [
        (Linear(), [80_000, 0, 65_026]),
        (AdditiveChi2(), [400, 0, 256]),
        (Polynomial(2, 2.0, 1.0), [160_001**2, 1, 130_053**2]),
        (Cosine(), [1, 0, 1]),
    ],
    ids=named,
)
def test_diagonals_of_small_integers(kernel, expected):
    X = np.array([[200, 200], [0, 0], [1, 255]], np.uint8)
    assert kernel.diag(X).tolist() == expected
    np.testing.assert_allclose(kernel(X).diagonal(), expected, rtol=1e-12)


@pytest.mark.parametrize("gamma", [1e40, [1.0, 1e40]])
def test_gamma_that_the_rows_cannot_hold(gamma):
    with pytest.raises(ValueError, match="Gaussian: gamma must be at most"):
        Gaussian(gamma)(np.ones((3, 2), np.float32))


@pytest.mark.parametrize(("dtype", "far"), [(np.float32, 3e37), (np.float64, 1e308)])
def test_rows_far_apart_have_neither_values_nor_slopes(dtype, far):
    X, Y = np.array([[far]], dtype), np.zeros((1, 1), dtype)
    assert Gaussian(1.0)(X, Y).item() == 0
    assert Gaussian(1.0).gradient(X, Y).item() == 0
