import re

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from skimp.data import open_rows
from skimp.kernels import Chi2, Gaussian, Laplacian, Linear, Polynomial, as_kernel
from skimp.kernels._base import Columns
from tests.strategies import BAD

KERNELS = [Gaussian(0.3), Laplacian(0.3), Linear(), Polynomial(2, 0.3, 0.5), Chi2(0.3)]
NAMES = [
    ("rbf", Gaussian),
    ("gaussian", Gaussian),
    ("laplacian", Laplacian),
    ("linear", Linear),
    ("poly", Polynomial),
    ("polynomial", Polynomial),
    ("chi2", Chi2),
]


def pair(dtype=np.float64):
    rng = np.random.default_rng(0)
    return rng.random((9, 4)).astype(dtype), rng.random((5, 4)).astype(dtype)


@pytest.mark.parametrize(("name", "kind"), NAMES)
def test_names(name, kind):
    assert type(as_kernel(name, owner="Model")) is kind


def test_an_object_passes_through():
    kernel = Gaussian(2.0)
    assert as_kernel(kernel, owner="Model") is kernel


@pytest.mark.parametrize("kernel", ["sigmoid", Gaussian, None, 3])
def test_what_is_no_kernel(kernel):
    message = r"Model: kernel must be a kernel object or one of 'rbf', 'gaussian', .*'chi2'.*, got "
    with pytest.raises(ValueError, match=message + re.escape(f"{kernel!r}.")):
        as_kernel(kernel, owner="Model")


@pytest.mark.parametrize("kind", [Gaussian, Laplacian, Chi2])
@pytest.mark.parametrize("gamma", ["scale", "median"])
def test_heuristics_follow_the_scale_of_the_rows(kind, gamma):
    X = np.random.default_rng(0).random((50, 3))
    one, other = (kind(gamma).resolve(open_rows(s * X), 0)(s * X) for s in (1.0, 100.0))
    np.testing.assert_allclose(other, one, atol=1e-7)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize(
    ("X_dtype", "Y_dtype", "expected"),
    [
        (np.float32, np.float32, np.float32),
        (np.float32, np.float64, np.float32),
        (np.float64, np.float32, np.float64),
        (np.uint8, np.uint8, np.float64),
    ],
)
def test_dtype_is_that_of_the_first_argument(kernel, X_dtype, Y_dtype, expected):
    X, Y = pair()
    assert kernel((9 * X).astype(X_dtype), (9 * Y).astype(Y_dtype)).dtype == expected


@pytest.mark.parametrize("kernel", KERNELS)
def test_one_argument_stands_for_two(kernel):
    X, _ = pair()
    K = kernel(X)
    assert np.array_equal(K, kernel(X, X))
    np.testing.assert_allclose(K, K.T, rtol=1e-12)
    np.testing.assert_allclose(kernel.diag(X), np.diag(K), rtol=1e-12)
    np.testing.assert_allclose(kernel.diag(sparse.csr_matrix(X)), np.diag(K), rtol=1e-12)


@pytest.mark.parametrize("kernel", KERNELS)
def test_sparse_rows_give_what_dense_rows_give(kernel):
    X, Y = pair()
    X[X < 0.5], Y[Y < 0.5] = 0, 0
    expected = kernel(X, Y)
    for given_X in (X, sparse.csr_matrix(X), sparse.csc_array(X)):
        for given_Y in (Y, sparse.csr_array(Y)):
            np.testing.assert_allclose(kernel(given_X, given_Y), expected, rtol=1e-12)


@pytest.mark.parametrize("kernel", KERNELS)
def test_many_rows_are_filled_strip_by_strip(kernel):
    X = np.random.default_rng(0).random((10_000, 4))
    K = kernel(X, X[:3])
    parts = np.vstack([kernel(X[start : start + 999], X[:3]) for start in range(0, 10_000, 999)])
    np.testing.assert_allclose(K, parts, rtol=1e-12)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("bad", BAD)
def test_bad_arguments_are_refused(kernel, bad):
    X, message = BAD[bad]
    with pytest.raises((ValueError, TypeError), match=message):
        kernel(X)
    with pytest.raises((ValueError, TypeError), match=message):
        kernel(np.ones((4, 3)), X)


@pytest.mark.parametrize("kernel", KERNELS)
def test_columns_must_agree(kernel):
    with pytest.raises(ValueError, match=r"Y must have 3 columns as X has, found 2\."):
        kernel(np.ones((4, 3)), np.ones((4, 2)))


@pytest.mark.parametrize("kind", [Gaussian, Laplacian, Polynomial, Chi2])
@pytest.mark.parametrize("gamma", [0, -1.0, np.nan, np.inf, "auto", None, True])
def test_gamma_must_be_positive_or_a_heuristic(kind, gamma):
    message = (
        f"{kind.__name__}: gamma must be a number > 0 or 'scale' or 'median' or 'dim', "
        f"got {gamma!r}."
    )
    with pytest.raises(ValueError, match=re.escape(message)):
        kind(gamma=gamma)(np.ones((2, 2)))
    with pytest.raises(ValueError, match=re.escape(message)):
        kind(gamma=gamma).resolve(open_rows(np.ones((2, 2))), 0)


@pytest.mark.parametrize("kind", [Gaussian, Laplacian, Polynomial, Chi2])
def test_a_heuristic_needs_rows_to_be_resolved(kind):
    X = np.random.default_rng(0).random((20, 2))
    kernel = kind(gamma="scale")
    with pytest.raises(ValueError, match="gamma must be a number where the kernel is used on its"):
        kernel(X)
    resolved = kernel.resolve(open_rows(X), 0)
    assert kernel.gamma == "scale"
    spread = X.std() if kind in (Laplacian, Chi2) else X.var()
    assert resolved.gamma == pytest.approx(1 / (2 * spread))
    assert resolved(X).shape == (20, 20)


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_kernel_is_its_parameters(kernel):
    copy = clone(kernel)
    X, Y = pair()
    assert copy is not kernel
    assert copy.get_params() == kernel.get_params()
    assert np.array_equal(copy(X, Y), kernel(X, Y))
    assert repr(kernel).startswith(type(kernel).__name__)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_columns_are_the_kernel_matrix(kernel, dtype):
    X, Y = pair(dtype)
    out = np.empty((9, 5), dtype)
    Columns(kernel, Y, np.dtype(dtype)).fill(X, out)
    np.testing.assert_allclose(out, kernel(X, Y), rtol=1e-6)
