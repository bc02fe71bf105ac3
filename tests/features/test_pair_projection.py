import numpy as np
import pytest

from skimp.data import open_rows
from skimp.features import _kernel_projection
from skimp.features._kernel_projection import PairProjection
from skimp.kernels import FunctionKernel, Gaussian, Laplacian, Linear, Polynomial, Tanh
from tests.problems import regression
from tests.words import shared_letters, words

KERNELS = [Gaussian(0.3), Laplacian(0.5), Linear(), Tanh(0.5)]


def naive(kernel, X, fitted):
    """Return k(x, a) - k(x, b) of each pair of landmarks."""
    points, size = fitted.landmarks_.points, fitted.width
    return np.column_stack(
        [
            kernel(X, points[c : c + 1]) - kernel(X, points[size + c : size + c + 1])
            for c in range(size)
        ]
    )


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize("n", [1030, 101])
def test_equals_its_naive_twin(kernel, n):
    X, other = regression(n)[0], regression(1500, seed=1)[0]
    fitted = PairProjection(kernel, n_components=7, random_state=0).fit(X)
    medians = np.median(naive(kernel, X, fitted), axis=0)
    np.testing.assert_allclose(fitted.medians_, medians, atol=1e-12)
    for rows in (X, other):
        Z = fitted.transform(rows)
        np.testing.assert_allclose(Z, naive(kernel, rows, fitted) - medians, atol=1e-12)


@pytest.mark.parametrize("kernel", [Linear(), Polynomial(2, 1.0, 0.0)], ids=repr)
def test_signs_of_rows_far_from_the_origin_are_those_of_float64(kernel):
    X = (regression(500)[0] + 3000).astype(np.float32)
    fitted = PairProjection(kernel, n_components=50, random_state=0)
    single, double = (fitted.fit_transform(X.astype(dtype)) for dtype in ("float32", "float64"))
    assert single.dtype == np.float32
    assert np.array_equal(single > 0, double > 0)


@pytest.mark.parametrize("n", [2, 50, 400])
def test_half_of_the_rows_are_above_the_median(n):
    X = regression(n)[0]
    Z = PairProjection(Gaussian(0.3), n_components=40, random_state=0).fit_transform(X)
    assert (np.count_nonzero(Z > 0, axis=0) == n // 2).all()


def test_a_pair_is_of_two_rows():
    X = regression(3)[0]
    points = PairProjection(n_components=60, random_state=0).fit(X).landmarks_.points
    numbers = [np.flatnonzero((point == X).all(axis=1)).item() for point in points]
    pairs = set(zip(numbers[:60], numbers[60:], strict=True))
    assert pairs == {(i, j) for i in range(3) for j in range(3) if i != j}


@pytest.mark.parametrize("X", [np.ones((9, 2)), np.ones((1, 2))], ids=["equal", "one"])
def test_equal_rows_have_features_that_are_zero(X):
    Z = PairProjection(Gaussian(0.3), n_components=5, random_state=0).fit_transform(X)
    assert np.array_equal(Z, np.zeros((len(X), 5)))


def test_medians_of_a_sample_of_many_rows(monkeypatch):
    X, sample = regression(4000)[0], 1000
    monkeypatch.setattr(_kernel_projection, "_SAMPLE", sample)
    Z = PairProjection(Gaussian(0.3), n_components=20, random_state=0).fit_transform(X)
    above = np.count_nonzero(Z > 0, axis=0) / len(X)
    # the share of rows above a sample's median has a deviation of 1 / sqrt(4 sample)
    assert (np.abs(above - 0.5) <= 5 / np.sqrt(4 * sample)).all()
    assert (above != 0.5).any()


def test_objects():
    found = words()[0]
    W = np.array(found, dtype=object)[:, None]
    kernel = FunctionKernel(shared_letters)
    fitted = PairProjection(kernel, n_components=6, random_state=0).fit(found)
    expected = naive(kernel, W, fitted)
    np.testing.assert_allclose(fitted.transform(found), expected - np.median(expected, axis=0))


def test_a_kernel_of_the_estimators_stands_in():
    X = regression(30)[0]
    rows, rng = open_rows(X), np.random.default_rng(0)
    fitted = PairProjection(n_components=4).fit_rows(rows, rng, Laplacian(2.0))
    assert repr(fitted.kernel_) == repr(Laplacian(2.0))
    own = PairProjection(Linear(), n_components=4).fit_rows(rows, rng, Laplacian(2.0))
    assert isinstance(own.kernel_, Linear)
