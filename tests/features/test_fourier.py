import re

import numpy as np
import pytest

from skimp.data import open_rows
from skimp.features import RandomFourier
from skimp.kernels import Gaussian, Laplacian
from tests.problems import regression
from tests.reference import naive

FORMS = ["pair", "phase"]


def draw(n_components, form, rng, kernel, rows):
    return RandomFourier(kernel, n_components=n_components, form=form).fit_rows(rows, rng)


def features(fitted, X):
    Z = np.empty((len(X), fitted.width))
    fitted.map_block(X, Z)
    return Z


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("n_components", [1, 2, 5, 40])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kernel", [Gaussian(0.5), Laplacian(0.5)])
def test_equals_its_naive_twin(form, n_components, dtype, kernel):
    X = regression(600, dtype=dtype)[0]
    fitted = RandomFourier(kernel, n_components=n_components, form=form, random_state=0).fit(X)
    Z = fitted.transform(X)
    W = 2 * np.pi * fitted.frequencies_.astype(np.float64)
    b = 2 * np.pi * fitted.offset_.astype(np.float64)
    expected = (
        naive.fourier_pairs(X, W, b, n_components)
        if form == "pair"
        else naive.fourier_phases(X, W, b)
    )
    largest = np.abs(X).max() * np.abs(W).sum(axis=0).max()
    assert Z.dtype == dtype
    assert Z.shape == (600, n_components)
    assert np.abs(Z - expected).max() <= 10 * np.finfo(dtype).eps * (1 + largest)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("n_components", [1, 2, 5])
@pytest.mark.parametrize("kernel", [Gaussian(0.5), Laplacian(0.3)])
def test_products_are_unbiased(form, n_components, kernel):
    X, draws, z = regression(4)[0], 2500, 5.0
    rows, rng = open_rows(X), np.random.default_rng(0)
    products = np.empty((draws, 4, 4))
    for i in range(draws):
        Z = features(draw(n_components, form, rng, kernel, rows), X)
        products[i] = Z @ Z.T
    standard_error = products.std(axis=0, ddof=1) / np.sqrt(draws)
    assert (np.abs(products.mean(axis=0) - kernel(X)) <= z * standard_error + 1e-12).all()


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kernel", [Gaussian(0.5), Laplacian(0.3)])
def test_products_are_within_hoeffdings_bound(form, kernel):
    X, n_components = regression(60)[0], 4000
    Z = features(draw(n_components, form, np.random.default_rng(0), kernel, open_rows(X)), X)
    # means of terms in [-1, 1] or [-2, 2]; larger with a probability of at most 1e-6
    terms, width = (n_components // 2, 2) if form == "pair" else (n_components, 4)
    bound = width * np.sqrt(np.log(2 * 60**2 / 1e-6) / (2 * terms))
    assert np.abs(Z @ Z.T - kernel(X)).max() <= bound


def test_pairs_have_unit_length():
    X = regression(50)[0]
    Z = RandomFourier(n_components=10, random_state=0).fit_transform(X)
    np.testing.assert_allclose((Z**2).sum(axis=1), 1, rtol=1e-12)


def test_frequencies_are_in_turns():
    X = regression(5)[0]
    fitted = RandomFourier(Gaussian(0.4), n_components=40_000, random_state=0).fit(X)
    n = fitted.frequencies_.size
    variance = 0.8 / (2 * np.pi) ** 2
    assert fitted.frequencies_.shape == (3, 20_000)
    # five standard errors of a variance
    assert abs(fitted.frequencies_.var() - variance) <= 5 * variance * np.sqrt(2 / n)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_frequencies_do_not_depend_on_the_rows(dtype):
    X = regression(50, dtype=dtype)[0]
    first = RandomFourier(Gaussian(1.0), n_components=6, random_state=0).fit(X)
    second = RandomFourier(Gaussian(1.0), n_components=6, random_state=0).fit(X[:1] * 5)
    assert np.array_equal(first.frequencies_, second.frequencies_)
    assert first.frequencies_.dtype == first.offset_.dtype == dtype


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"n_components": 0}, "RandomFourier: n_components must be an integer >= 1, got 0."),
        ({"n_components": 2.0}, "RandomFourier: n_components must be an integer >= 1, got 2.0."),
        ({"form": "sine"}, "RandomFourier: form must be 'pair' or 'phase', got 'sine'."),
        ({"random_state": -1}, "RandomFourier: random_state must be None or an integer >= 0"),
        ({"kernel": "wavelet"}, "RandomFourier: kernel must be a kernel object or one of 'rbf'"),
        ({"kernel": Gaussian(-1)}, "Gaussian: gamma must be a number > 0"),
    ],
)
def test_rules(params, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        RandomFourier(**params).fit(np.ones((5, 2)))


def test_the_default_kernel_is_gaussian_with_the_scale_of_the_rows():
    X = 3 * regression(50)[0]
    fitted = RandomFourier(n_components=4).fit(X)
    assert isinstance(fitted.kernel_, Gaussian)
    assert fitted.kernel_.gamma == pytest.approx(1 / (3 * X.var()), rel=1e-9)
    assert fitted.kernel is None


@pytest.mark.parametrize("params", [{"n_components": 1}, {"n_components": 500}, {"form": "phase"}])
def test_parameters_set_after_fit_change_nothing_until_the_next(params):
    X = np.random.default_rng(0).normal(size=(30, 3))
    fitted = RandomFourier(n_components=20, random_state=0).fit(X)
    before = fitted.transform(X)
    assert np.array_equal(fitted.set_params(**params).transform(X), before)


def test_an_output_of_another_shape_is_refused():
    X = np.random.default_rng(0).normal(size=(30, 3))
    fitted = RandomFourier(n_components=20).fit(X)
    with pytest.raises(ValueError, match=r"out must have shape \(30, 20\), found \(30, 19\)"):
        fitted.map_block(X, np.empty((30, 19)))
