from dataclasses import replace

import numpy as np
import pytest

from skimp.data import Block, open_rows
from skimp.solvers.ridge import covariance, ridge_path
from tests.problems import regression
from tests.reference import naive

SIZES = (1, 2, 5, 9)
ALPHAS = np.array([1e-6, 1e-3, 0.1, 10.0])
CLOSE = {"rtol": 1e-8, "atol": 1e-10}


def data(n=40, width=9, *, seed=0):
    """Features whose mean is not zero, two outputs, and weights, some of them zero."""
    X, y, weight = regression(n, width, seed=seed)
    return (
        X + np.arange(width) / 3,
        np.column_stack([y, X[:, 0] ** 2 - 3]),
        weight + 0.5 * X[:, 1] ** 2,
    )


def summed(Z, Y, weight=None, *, intercept=True):
    rows = open_rows(Z, target=Y, weight=weight)
    return covariance(rows, intercept)


def penalty(width, seed=1):
    A = np.random.default_rng(seed).normal(size=(width, 2 * width))
    return A @ A.T / width


def factor(P):
    return np.asfortranarray(np.linalg.cholesky(P).T)


def prefix(Z, P, size, averaged):
    """The features of a smaller map, and its penalty."""
    scale = np.sqrt(Z.shape[1] / size) if averaged else 1.0
    return scale * Z[:, :size], None if P is None else P[:size, :size]


def hat(Z, *, weight, **model):
    """The matrix that turns y into fitted values, column by column."""
    coef, constant = naive.ridge(Z, np.eye(len(Z)), weight=weight, **model)
    return Z @ coef + constant


CASES = pytest.mark.parametrize(
    ("intercept", "weighted", "penalized", "averaged"),
    [
        (True, True, True, False),
        (True, False, False, False),
        (False, True, True, False),
        (False, False, True, False),
        (True, True, False, True),
        (False, False, False, True),
    ],
)


def solved(intercept, weighted, penalized, averaged, **options):
    Z, Y, weight = data()
    weight = weight if weighted else None
    P = penalty(Z.shape[1]) if penalized else None
    S = summed(Z, Y, weight, intercept=intercept)
    path = ridge_path(
        S,
        ALPHAS,
        SIZES,
        factor=factor(P) if penalized else None,
        averaged=averaged,
        **options,
    )
    return Z, Y, weight, P, S, path


@CASES
def test_every_size_and_alpha_is_a_refit(intercept, weighted, penalized, averaged):
    Z, Y, weight, P, _, path = solved(intercept, weighted, penalized, averaged)
    assert path.sizes == SIZES
    assert np.array_equal(path.alphas, ALPHAS)
    assert path.left_out is None
    w = np.ones(len(Z)) if weight is None else weight
    for i, size in enumerate(SIZES):
        part, Q = prefix(Z, P, size, averaged)
        assert path.coefs[i].shape == (len(ALPHAS), size, 2)
        for j, alpha in enumerate(ALPHAS):
            model = {"alpha": alpha, "penalty": Q, "fit_intercept": intercept}
            coef, constant = naive.ridge(part, Y, weight=weight, **model)
            # coefficients are those of the columns as they are given
            found = path.coefs[i][j]
            scale = np.sqrt(Z.shape[1] / size) if averaged else 1.0
            np.testing.assert_allclose(found, scale * coef, **CLOSE)
            missed = Y - part @ coef - constant
            residual = w @ (missed**2).sum(axis=1) / w.sum()
            np.testing.assert_allclose(path.residuals[i, j], residual, **CLOSE)
            trace = np.trace(hat(part, weight=weight, **model)) - intercept
            np.testing.assert_allclose(path.dimensions[i, j], trace, **CLOSE)


@CASES
def test_rows_are_left_out_as_refits_leave_them_out(intercept, weighted, penalized, averaged):
    Z, Y, weight = data()
    w = weight if weighted else np.ones(len(Z))
    drawn = [3, 17, 4, 39]
    sample = Block(Z[drawn], Y[drawn], w[drawn], 0)
    *_, P, _, path = solved(intercept, weighted, penalized, averaged, sample=sample)
    assert path.left_out.shape == (len(SIZES), len(ALPHAS), 4, 2)
    for s, row in enumerate(drawn):
        kept = np.arange(len(Z)) != row
        for i, size in enumerate(SIZES):
            part, Q = prefix(Z, P, size, averaged)
            for j, alpha in enumerate(ALPHAS):
                coef, constant = naive.ridge(
                    part[kept],
                    Y[kept],
                    alpha=alpha * w.sum() / w[kept].sum(),
                    weight=w[kept],
                    penalty=Q,
                    fit_intercept=intercept,
                )
                expected = part[row] @ coef + constant
                np.testing.assert_allclose(path.left_out[i, j, s], expected, **CLOSE)


@CASES
def test_generalized_cross_validation_is_its_formula(intercept, weighted, penalized, averaged):
    *_, weight, _, S, path = solved(intercept, weighted, penalized, averaged)
    n = 40 if weight is None else weight.sum() ** 2 / (weight**2).sum()
    assert S.size == pytest.approx(n, rel=1e-14)
    for errors, factor in ((path.gcv, 1.0), (path.cautious, 1.4)):
        expected = path.residuals / (1 - factor * (path.dimensions + intercept) / n) ** 2
        np.testing.assert_allclose(errors, expected, rtol=1e-12)
    for i in range(len(SIZES)):
        assert path.best(i) == path.cautious[i].argmin()
    assert path.best() == path.best(len(SIZES) - 1)


def test_cross_validation_is_the_mean_of_left_out_errors_where_rows_are_alike():
    # the rows of a circulant design have the same leverage, and then the two are equal
    angles = 2 * np.pi * np.arange(24) / 24
    Z = np.column_stack([f(k * angles) for k in (1, 2, 3) for f in (np.cos, np.sin)])
    Y = np.random.default_rng(0).normal(size=(24, 1))
    sample = Block(Z, Y, None, 0)
    path = ridge_path(summed(Z, Y), ALPHAS, (2, 4, 6), sample=sample)
    errors = np.mean((path.left_out - Y) ** 2, axis=(2, 3))
    np.testing.assert_allclose(path.gcv, errors, rtol=1e-10)


@pytest.mark.parametrize("constant", [False, True])
def test_as_many_dimensions_as_rows_have_an_infinite_error(constant):
    rng = np.random.default_rng(0)
    Z, Y = rng.normal(size=(6, 9)), np.ones((6, 1)) if constant else rng.normal(size=(6, 1))
    path = ridge_path(summed(Z, Y), [1e-30, 30.0], (2, 9))
    for errors, factor in ((path.gcv, 1.0), (path.cautious, 1.4)):
        assert np.array_equal(np.isinf(errors), factor * (path.dimensions + 1) >= 6)
        assert np.isinf(errors).tolist() == [[False, False], [True, False]]
    assert path.best() == 1


def test_the_largest_penalty_where_none_leaves_any_freedom():
    rng = np.random.default_rng(0)
    S = summed(rng.normal(size=(6, 9)), rng.normal(size=(6, 1)))
    path = ridge_path(S, [1e-20, 1e-12, 1e-30])
    assert np.isinf(path.cautious).all()
    assert path.best() == 1


@pytest.mark.parametrize("alpha", [0.0, 1e-12])
def test_equal_columns_fit_as_one_does(alpha):
    Z, Y, _ = data()
    twice = np.hstack([Z, Z])
    path = ridge_path(summed(twice, Y), [alpha], (9, 18))
    coef, constant = naive.ridge(Z, Y, alpha=alpha)
    for size, found in zip(path.sizes, path.coefs, strict=True):
        fitted = (twice[:, :size] - twice[:, :size].mean(axis=0)) @ found[0] + Y.mean(axis=0)
        np.testing.assert_allclose(fitted, Z @ coef + constant, atol=1e-6)
    np.testing.assert_allclose(path.residuals[0], path.residuals[1], rtol=1e-6)


def test_penalties_that_rounding_undoes_have_no_residuals():
    S = summed(*data()[:2])
    # not positive semidefinite, as sums that cancel may leave it, but with the second penalty
    lost = replace(S, within=S.within - 2 * np.linalg.eigvalsh(S.within)[0] * np.eye(9))
    sample = Block(data()[0][:3], data()[1][:3], None, 0)
    path = ridge_path(lost, [1e-12, 10.0], (5, 9), sample=sample)
    assert np.isinf(path.residuals[-1]).tolist() == [True, False]
    assert np.isinf(path.gcv[-1]).tolist() == [True, False]
    assert not path.coefs[-1][0].any()
    assert path.dimensions[-1, 0] == 9
    # what is left is the mean of the targets
    mean = np.tile(data()[1].mean(axis=0), (3, 1))
    np.testing.assert_allclose(path.left_out[-1, 0], mean, rtol=1e-12)
    assert path.best() == 1
