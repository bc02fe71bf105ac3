import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from skimp.diagnostics import compare_maps, distance_distortion
from skimp.diagnostics._distortion import pair_errors
from skimp.features import (
    Degree2Projection,
    ExplicitPolynomial,
    Nystroem,
    PolynomialProjection,
    RandomFourier,
)
from skimp.kernels import Gaussian, Laplacian, Linear, Polynomial
from tests.problems import regression
from tests.sources import ChunkedRows

KERNELS = [2.0 * Laplacian([0.3, 0.0, 1.0]), Gaussian(0.3), Polynomial(2, 1.0, 0.0)]
EPS = np.finfo(np.float64).eps


def distortion(X, Z, kernel):
    """Return the mean, and how many pairs were left out."""
    errors = pair_errors(X, Z, kernel)
    return errors.mean, errors.left_out


def naive(X, Z, kernel):
    """The mean over pairs whose rows differ, one after the other."""
    K, found = kernel(X), []
    for i in range(len(X)):
        for j in range(i):
            if not np.array_equal(X[i], X[j]):
                exact = K[i, i] + K[j, j] - 2 * K[i, j]
                found.append(abs(((Z[i] - Z[j]) ** 2).sum() - exact) / exact)
    return np.mean(found)


def features(n=40, width=7, dtype=np.float64):
    return np.random.default_rng(1).normal(size=(n, width)).astype(dtype)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_it_is_the_mean_over_pairs(kernel):
    X, Z = regression(40)[0], features()
    found = distance_distortion(X, Z, kernel)
    assert type(found) is float
    assert found == pytest.approx(naive(X, Z, kernel), rel=1e-10)


def test_rows_and_features_from_any_source():
    kernel = Polynomial(2, 1.0, 0.0)
    X, Z = regression(40)[0] * np.random.default_rng(2).integers(0, 2, (40, 3)), features()
    Z[np.abs(Z) < 1] = 0
    expected = naive(X, Z, kernel)
    for rows in (sparse.csr_matrix(X), sparse.csr_array(X), pd.DataFrame(X), ChunkedRows(X)):
        for mapped in (Z, sparse.csr_matrix(Z), sparse.csr_array(Z), Z.tolist()):
            assert distance_distortion(rows, mapped, kernel) == pytest.approx(expected, rel=1e-10)


def test_float32_is_compared_in_float64():
    kernel = Gaussian(0.3)
    X, Z = regression(40, dtype=np.float32)[0], features(dtype=np.float32)
    expected = naive(X.astype(np.float64), Z.astype(np.float64), kernel)
    assert distance_distortion(X, Z, kernel) == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("n", [1, 256, 600])
def test_more_rows_than_a_block(n):
    rng = np.random.default_rng(n)
    X, Z = rng.normal(size=(n, 3)), rng.normal(size=(n, 4))
    i, j = np.triu_indices(n, 1)
    exact = ((X[i] - X[j]) ** 2).sum(axis=1)
    errors = np.abs(((Z[i] - Z[j]) ** 2).sum(axis=1) - exact) / exact
    expected = errors.mean() if n > 1 else np.nan
    assert distance_distortion(X, Z, Linear()) == pytest.approx(expected, rel=1e-8, nan_ok=True)


@pytest.mark.parametrize(("degree", "form"), [(2, "monomials"), (3, "kronecker")])
def test_exact_features_are_not_distorted(degree, form):
    X = regression(50, d=4)[0]
    phi = ExplicitPolynomial(degree, coef0=0.5, form=form).fit(X)
    Z, kernel = phi.transform(X), phi.kernel_
    K = kernel(X)
    i, j = np.triu_indices(50, 1)
    sums = K[i, i] + K[j, j]
    # inner products, of degree * d factors and of width terms, are right to that many roundings
    rounding = (degree * 5 + Z.shape[1]) * EPS * np.max(2 * sums / (sums - 2 * K[i, j]))
    assert distance_distortion(X, Z, kernel) <= rounding


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_equal_rows_are_left_out(kernel):
    # 3 pairs within the first group, 1 within the second
    X = regression(30)[0][[0, 0, 0, 1, 1, *range(2, 30)]] * 7
    Z = features(33)
    found, left_out = distortion(X, Z, kernel)
    assert left_out == 4
    assert found == distance_distortion(X, Z, kernel)
    assert found == pytest.approx(naive(X, Z, kernel), rel=1e-10)


def test_equal_rows_are_counted_across_blocks():
    X = np.tile(regression(300)[0], (2, 1))
    found, left_out = distortion(X, X, Linear())
    assert left_out == 300
    # the rows are their own features: only rounding is left
    i, j = np.triu_indices(300, 1)
    distances = ((X[i] - X[j]) ** 2).sum(axis=1)
    # two sums of squares, and an inner product of three terms twice, each with five roundings
    assert found <= 20 * EPS * (X**2).sum(axis=1).max() * np.mean(1 / distances)


def test_without_rows_that_differ_there_is_no_distortion():
    kernel = Gaussian(0.3)
    X = np.repeat(regression(1)[0], 5, axis=0)
    found, left_out = distortion(X, features(5), kernel)
    assert np.isnan(found)
    assert left_out == 10
    assert np.isnan(distance_distortion(X, features(5), kernel))


def compare(maps, X, **options):
    return compare_maps(maps, X, **{"sizes": [2, 6], "repeats": 2, **options})


def test_maps_are_compared_by_another_parameter(monkeypatch):
    X, fitted = regression(40)[0], []
    fit_rows = PolynomialProjection.fit_rows
    monkeypatch.setattr(
        PolynomialProjection,
        "fit_rows",
        lambda self, *args: fitted.append(fit_rows(self, *args)) or self,
    )
    feature_map = PolynomialProjection(n_components=9, n_vectors=50)
    comparison = compare(feature_map, X, parameter="n_terms")
    assert comparison.parameter == "n_terms"
    assert [record["size"] for record in comparison.records] == [2, 2, 6, 6]
    assert [(made.n_terms, made.width) for made in fitted] == [(2, 9), (2, 9), (6, 9), (6, 9)]
    assert feature_map.n_terms == 1
    for made, record in zip(fitted, comparison.records, strict=True):
        expected = distance_distortion(X, made.transform(X), made.kernel_)
        assert record["distortion"] == pytest.approx(expected, rel=1e-8)
    assert compare(feature_map, X).parameter is None


def test_a_parameter_that_maps_lack_is_refused():
    X = regression(40)[0]
    maps = {"poly": PolynomialProjection(), "fourier": RandomFourier()}
    with pytest.raises(ValueError, match="'n_terms'"):
        compare(maps, X, parameter="n_terms")
    with pytest.raises(ValueError, match=r"n_terms must be .*got 3"):
        compare(Degree2Projection(), X, parameter="n_terms", sizes=[3])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kernel": "rbf"}, "distance_distortion: kernel must be .*got 'rbf'"),
        ({"kernel": Gaussian}, "distance_distortion: kernel must be"),
        ({"kernel": Gaussian()}, "Gaussian: gamma must be a number"),
        ({"Z": np.eye(4, 2)}, r"\[3, 4\]"),
        ({"Z": np.full((3, 2), np.nan)}, "Z contains NaN"),
        ({"X": np.full((3, 2), np.nan)}, "NaN"),
        ({"Z": Nystroem(budget=2)}, "Z must be the features of X"),
        ({"Z": None}, "Z must be the features of X"),
    ],
    ids=str,
)
def test_rules(options, message):
    given = {"X": np.eye(3), "Z": np.eye(3), "kernel": Gaussian(1.0)}
    with pytest.raises(ValueError, match=message):
        distance_distortion(**{**given, **options})
