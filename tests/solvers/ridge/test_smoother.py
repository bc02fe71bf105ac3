from functools import partial

import numpy as np
import pytest

from skimp.data import open_rows
from skimp.features import Landmarks
from skimp.kernels import Gaussian
from skimp.solvers.ridge import ExactSmoother, ReducedSmoother, best_alpha
from tests.pairs import pairwise
from tests.problems import regression
from tests.reference import krls

KERNEL, ALPHA = Gaussian(0.5), 1e-2
GROUPS = np.repeat(np.arange(20), 3)


def problem(n=60):
    X, y, weight = regression(n, 2)
    return X, np.column_stack([y, X[:, 0] ** 2]), weight + 0.5


def exact(X, Y, weight, fit_intercept=True):
    K, weight = KERNEL(X), np.ones(len(X)) if weight is None else weight
    return ExactSmoother(K, Y - Y.mean(axis=0), weight, fit_intercept=fit_intercept)


def reduced(X, Y, weight, fit_intercept=True, points=None):
    basis = Landmarks(KERNEL, X if points is None else points)
    rows = open_rows(X, target=Y - Y.mean(axis=0), weight=weight, block_rows=16).mapped(basis)
    return ReducedSmoother(rows, basis.penalty, fit_intercept=fit_intercept)


@pytest.mark.parametrize("smoother", [exact, reduced])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_sums_of_squares_and_eigenvalues(smoother, fit_intercept):
    X, Y, weight = problem()
    found = smoother(X, Y, weight, fit_intercept)
    model, w = found.at(ALPHA), weight / weight.mean()
    assert np.isclose(found.weight, weight.sum())
    centred = Y - Y.mean(axis=0)
    about = w @ centred / len(X) if fit_intercept else 0.0
    assert np.allclose(model.total, w @ (centred - about) ** 2)
    residuals = centred - KERNEL(X) @ model.coef - model.intercept
    assert np.allclose(model.squares, w @ residuals**2, rtol=1e-6)
    if not fit_intercept:
        R = np.sqrt(w)
        expected = np.linalg.eigvalsh(R[:, None] * KERNEL(X) * R)[::-1]
        assert np.allclose(found.eigenvalues[:20], expected[:20], rtol=1e-6)
        dimension = np.sum(found.eigenvalues / (found.eigenvalues + len(X) * ALPHA))
        assert np.isclose(dimension, model.dimension)


@pytest.mark.parametrize("weighted", [False, True])
def test_exact_models_are_their_naive_twins(weighted):
    X, Y, weight = problem()
    weight = weight if weighted else None
    model = exact(X, Y, weight).at(ALPHA)
    K, lam, centred = KERNEL(X), len(X) * ALPHA, Y - Y.mean(axis=0)
    for output, y in enumerate(centred.T):
        c, b = krls.fit(K, y, lam, weight)
        assert np.abs(model.coef[:, output] - c).max() < 1e-10
        assert abs(model.intercept[output] - b) < 1e-10
        errors = krls.left_out(K, y, lam, weight)
        assert np.abs(model.left_out[:, output] - errors).max() < 1e-10
    C, H = krls.smoother(K, lam, weight)
    assert np.isclose(model.dimension, H.trace(), rtol=1e-10)
    w = np.ones(len(X)) if weight is None else weight / weight.mean()
    squares = w @ (centred - H @ centred) ** 2
    M = np.linalg.matrix_power(np.eye(len(X)) - H, 2)
    assert np.isclose(model.freedom, M.trace() ** 2 / np.trace(M @ M), rtol=1e-10)
    assert np.allclose(model.noise, squares / M.trace(), rtol=1e-10)
    L = np.random.default_rng(0).normal(size=(len(X), 3))
    h = C.T @ L
    found = model.covariances(model.coordinates(L), "classical")
    for output in range(2):
        expected = model.noise[output] * h.T @ (h / w[:, None])
        assert np.allclose(found[output], expected, rtol=1e-8)


@pairwise(smoother=[exact, reduced], fit_intercept=[True, False], weighted=[False, True])
def test_functionals_are_linear_in_the_targets(smoother, fit_intercept, weighted):
    X, Y, weight = problem()
    weight = weight if weighted else None
    model = smoother(X, Y, weight, fit_intercept).at(ALPHA)
    L = KERNEL(X, X[:4] + 0.1)
    for constant in (0.0, 1.0):
        q = model.coordinates(L, constant)
        expected = L.T @ model.coef + constant * model.intercept
        assert np.allclose(model.estimates(q), expected, rtol=1e-8, atol=1e-8)
        root = np.ones(len(X)) if weight is None else np.sqrt(weight / weight.mean())
        y = root[:, None] * (Y - Y.mean(axis=0))
        assert np.allclose(model.influence(q).T @ y, expected, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("weighted", [False, True])
def test_errors_are_their_naive_twins(weighted):
    X, Y, weight = problem()
    weight = weight if weighted else None
    model = exact(X, Y, weight).at(ALPHA)
    C, H = krls.smoother(KERNEL(X), len(X) * ALPHA, weight)
    L = np.random.default_rng(0).normal(size=(len(X), 2))
    h, residuals = C.T @ L, Y - H @ Y
    q = model.coordinates(L)
    robust = model.covariances(q, "robust")
    clustered = model.covariances(q, "clustered", GROUPS)
    factor = 20 / 19 * 59 / (60 - H.trace())
    for output, e in enumerate(residuals.T):
        scores = h * (e / (1 - H.diagonal()))[:, None]
        assert np.allclose(robust[output], scores.T @ scores, rtol=1e-8)
        sums = [(h * e[:, None])[g == GROUPS].sum(axis=0) for g in range(20)]
        assert np.allclose(clustered[output], factor * np.transpose(sums) @ sums, rtol=1e-8)


@pytest.mark.parametrize("smoother", [exact, reduced])
def test_correction_fits_residuals_again_twice(smoother):
    X, Y, _ = problem()
    model = smoother(X, Y, None).at(ALPHA)
    _, H = krls.smoother(KERNEL(X), len(X) * ALPHA)
    L = KERNEL(X, X[:3] + 0.2)
    q = model.coordinates(L)
    left = np.eye(len(X)) - H
    expected = (np.eye(len(X)) + left + left @ left) @ model.influence(q)
    assert np.allclose(model.influence(model.corrected(q)), expected, atol=1e-7)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("weighted", [False, True])
def test_all_points_are_the_exact_model(fit_intercept, weighted):
    X, Y, weight = problem()
    weight = weight if weighted else None
    one, other = (make(X, Y, weight, fit_intercept) for make in (exact, reduced))
    alphas = np.array([1e-4, 1e-2, 1.0])
    for criterion in ("loo", "gcv"):
        expected = one.scores(alphas, criterion)
        assert np.allclose(other.scores(alphas, criterion), expected, rtol=1e-4)
    a, b = one.at(ALPHA), other.at(ALPHA)
    assert np.abs(KERNEL(X) @ (a.coef - b.coef)).max() < 1e-8
    assert np.isclose(a.dimension, b.dimension, rtol=1e-5)
    assert np.allclose(a.noise, b.noise, rtol=1e-5)
    assert np.abs(a.left_out - b.left_out).max() < 1e-8
    L = KERNEL(X, X[:3] + 0.2)
    for errors in (("classical",), ("robust",), ("clustered", GROUPS)):
        found = b.covariances(b.coordinates(L, 1.0), *errors)
        assert np.allclose(found, a.covariances(a.coordinates(L, 1.0), *errors), rtol=1e-5)


def test_few_points_are_equation_3_1():
    X, Y, _ = problem()
    points, y = X[:12] + 0.3, Y[:, :1] - Y[:, :1].mean()
    model = reduced(X, Y, None, fit_intercept=False, points=points).at(ALPHA)
    K, P, lam = KERNEL(X, points), KERNEL(points), len(X) * ALPHA
    inverse = np.linalg.inv(K.T @ K + lam * P)
    assert np.allclose(K @ model.coef[:, :1], K @ inverse @ K.T @ y, atol=1e-9)
    C = inverse @ K.T
    q = model.coordinates(np.eye(12))
    found = model.covariances(q, "classical")[0]
    expected = model.noise[0] * C @ C.T
    assert np.abs(found - expected).max() < 1e-6 * np.abs(expected).max()
    H = K @ C
    assert np.isclose(model.dimension, H.trace(), rtol=1e-8)
    M = np.linalg.matrix_power(np.eye(len(X)) - H, 2)
    assert np.isclose(model.freedom, M.trace() ** 2 / np.trace(M @ M), rtol=1e-8)
    assert np.isclose(model.noise[0], np.sum((y - H @ y) ** 2) / M.trace(), rtol=1e-8)
    e = y[:, 0] - H @ y[:, 0]
    assert np.allclose(model.left_out[:, 0], e / (1 - H.diagonal()), atol=1e-9)


@pytest.mark.parametrize("make", [exact, reduced])
def test_scores_are_means_of_left_out_errors(make):
    X, Y, _ = problem()
    smoother = make(X, Y, None)
    model = smoother.at(ALPHA)
    variance = np.var(Y, axis=0)
    expected = np.mean(np.mean(model.left_out**2, axis=0) / variance)
    assert np.isclose(smoother.scores(np.array([ALPHA]), "loo")[0], expected, rtol=1e-8)
    errors = model.residuals[0]
    left = 1 - model.dimension / len(X)
    expected = np.mean(np.mean(errors**2, axis=0) / variance) / left**2
    assert np.isclose(smoother.scores(np.array([ALPHA]), "gcv")[0], expected, rtol=1e-8)


def test_best_alpha_is_the_vertex_of_a_parabola():
    alphas = np.logspace(-4, 0, 9)
    scores = (np.log10(alphas) + 2.3) ** 2
    assert np.isclose(best_alpha(alphas, scores), 10**-2.3)
    assert best_alpha(alphas, alphas) == alphas[0]
    assert best_alpha(alphas, -alphas) == alphas[-1]
    assert best_alpha(alphas, np.zeros(9)) == alphas[-1]


def test_best_alpha_next_to_infinite_scores_is_one_of_the_grid():
    alphas = np.logspace(-4, 0, 9)
    scores = np.array([np.inf] * 3 + [1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    assert best_alpha(alphas, scores) == alphas[3]
    assert best_alpha(alphas, np.full(9, np.inf)) == alphas[-1]


@pytest.mark.parametrize("make", [exact, reduced])
def test_noise_of_a_rough_model_is_that_of_the_errors(make):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 10))
    Y = rng.normal(size=(200, 1))
    # the surface goes through nearly every row: residuals are next to nothing, their ratio is not
    model = make(X, Y, None).at(1e-4)
    assert model.dimension > 0.95 * 200
    assert 0.7 < model.noise[0] < 1.4


def test_penalties_below_rounding_are_refused():
    X, Y, _ = problem()
    X, Y = np.tile(X, (2, 1)), np.tile(Y, (2, 1))
    for make in (exact, reduced):
        with pytest.raises(ValueError, match="alpha must be at least"):
            make(X, Y, None).at(1e-30)
        with pytest.raises(ValueError, match="alpha must be at least"):
            make(X, Y, None).models(np.array([1e-30, 1.0]))


def test_close_fits_have_the_noise_of_their_residuals():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    Y = np.sin(X).sum(axis=1, keepdims=True) + 1e-3 * rng.normal(size=(300, 1))
    smoother = reduced(X, Y, None, points=X[:200])
    alphas = smoother.grid()
    model = smoother.at(best_alpha(alphas, smoother.scores(alphas, "gcv")))
    errors = model.residuals[0]
    taken = 1 - smoother.principal.values / (smoother.principal.values + model.alpha)
    trace = 300 - 1 - len(taken) + np.sum(taken**2)
    assert np.isclose(model.noise[0], np.sum(errors**2) / trace, rtol=1e-3)
    assert 0.5e-3 < np.sqrt(model.noise[0]) < 2e-3


@pytest.mark.parametrize("smoother", [exact, partial(reduced, points=problem()[0])])
def test_copies_are_left_out_as_their_sum_of_weights(smoother):
    X, Y, _ = problem()
    count = np.arange(len(X)) % 3 + 1
    alphas = np.array([1e-5, 1e-3, 1e-1])
    middle = np.average(Y, axis=0, weights=count) - Y.mean(axis=0)
    merged = smoother(X, Y - middle, count.astype(float))
    repeated = smoother(np.repeat(X, count, axis=0), np.repeat(Y, count, axis=0), None)
    copies = np.repeat(count, count).astype(float)
    expected, found = merged.scores(alphas, "loo"), repeated.scores(alphas, "loo", copies)
    assert np.allclose(found, expected, rtol=1e-6)
