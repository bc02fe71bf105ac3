"""Whole fits with kernels that are sums, products and multiples, and have a width per column."""

import numpy as np
import pytest
from sklearn.base import clone

from skimp.features import RandomFourier
from skimp.kernels import Cauchy, Gaussian, Laplacian, Linear, Matern
from tests.models import ALPHA, regressor
from tests.pairs import pairwise
from tests.problems import difference, regression
from tests.reference import naive

ARD = Gaussian(gamma=[0.5, 0.1, 0.3])
MODES = [None, 30]

every_mode = pytest.mark.parametrize("approximation", MODES)


@pytest.mark.parametrize("weighted", [False, True])
def test_a_sum_equals_its_naive_twin(weighted):
    X, y, weight = regression(100)
    weight = weight + 1 if weighted else None
    model = regressor(None, 2.0 * ARD + Linear().on([1])).fit(X, y, weight)
    K = 2 * naive.gaussian(X, X, [0.5, 0.1, 0.3]) + np.outer(X[:, 1], X[:, 1])
    coef, intercept = naive.kernel_ridge(K, y[:, None], alpha=ALPHA, weight=weight)
    assert difference(model.predict(X), (K @ coef + intercept)[:, 0]) <= 1e-8


@every_mode
def test_a_factor_is_a_weaker_penalty(approximation):
    X, y, _ = regression(100)
    scaled = regressor(approximation, 4.0 * ARD, alpha=4 * ALPHA).fit(X, y)
    plain = regressor(approximation, ARD, alpha=ALPHA).fit(X, y)
    assert difference(scaled.predict(X), plain.predict(X)) <= 1e-7


@every_mode
def test_widths_of_columns_are_a_rescaling_of_them(approximation):
    X, y, _ = regression(100)
    widths = np.array([0.5, 0.1, 0.3])
    ours = regressor(approximation, Gaussian(widths)).fit(X, y).predict(X)
    rescaled = X * np.sqrt(widths)
    theirs = regressor(approximation, Gaussian(1.0)).fit(rescaled, y).predict(rescaled)
    assert difference(ours, theirs) <= 1e-7


@pytest.mark.parametrize("approximation", [None, 30, RandomFourier(n_components=30)])
def test_heuristics_are_resolved_on_the_columns_that_a_kernel_sees(approximation):
    X, y, _ = regression(100)
    X *= [1, 10, 100]
    kernel = Gaussian("scale").on([0, 1]) + 2.0 * Cauchy("median").on([2]) * Laplacian("dim")
    model = regressor(approximation, kernel).fit(X, y)
    k = model.kernel_
    assert k.k1.kernel.gamma == pytest.approx(1 / (2 * X[:, :2].var()), rel=1e-9)
    assert k.k2.k1.kernel.kernel.gamma == pytest.approx(naive.median_gamma(X[:, [2]]), rel=1e-6)
    assert k.k2.k2.gamma == 1 / 6
    assert model.kernel == kernel == clone(kernel)
    assert kernel.k1.kernel.gamma == "scale"


@pairwise(kernel=[Gaussian(1.0), Matern(gamma=1.0)], approximation=[None, 300], offset=[0, 1e4])
def test_float32_rows_over_ten_thousand_widths_lose_no_digits(kernel, approximation, offset):
    X = np.random.default_rng(0).uniform(offset, offset + 1e4, (600, 1)).astype(np.float32)
    y = np.sin(X[:, 0] / 1000)
    single = regressor(approximation, kernel).fit(X, y).predict(X)
    double = regressor(approximation, kernel).fit(X.astype(float), y).predict(X.astype(float))
    assert difference(single, double) <= 1e-5


@pytest.mark.parametrize("approximation", [None, 300])
def test_far_clusters_in_float32_lose_no_digits(approximation):
    rng = np.random.default_rng(0)
    X = (rng.normal(size=(400, 6)) + rng.choice([0, 1e4], (400, 1))).astype(np.float32)
    y = np.sin(X[:, 0] % 1000)
    single = regressor(approximation, Gaussian(0.2)).fit(X, y).predict(X)
    double = regressor(approximation, Gaussian(0.2)).fit(X.astype(float), y)
    assert difference(single, double.predict(X.astype(float))) <= 1e-3
