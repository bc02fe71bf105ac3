import numpy as np
import pytest

from skimp.data import ArrayRows, Codes, open_rows
from skimp.solvers.ridge import covariance
from tests.pairs import pairwise
from tests.problems import regression
from tests.sources import ChunkedRows

DOUBLE = np.dtype(np.float64)


def data(n=150, width=5, *, dtype=np.float64):
    X, y, weight = regression(n, width, dtype=dtype)
    return X + np.arange(width, dtype=dtype), np.column_stack([y, X[:, 0] ** 2]), weight


def summed(rows, *, intercept=True, dtype=DOUBLE):
    return covariance(rows, intercept, dtype)


def expected(Z, Y, weight, intercept):
    """Covariances by numpy, or second moments, of features and targets side by side."""
    w = np.ones(len(Z)) if weight is None else weight
    both = np.hstack([Z, Y]).astype(np.float64)
    if intercept:
        return np.cov(both.T, aweights=w, ddof=0), np.average(both, axis=0, weights=w)
    return both.T @ np.diag(w / w.sum()) @ both, np.zeros(both.shape[1])


@pairwise(intercept=[False, True], weighted=[False, True], source=[ChunkedRows, open_rows])
def test_equal_to_numpy(intercept, weighted, source):
    Z, Y, weight = data()
    weight = weight if weighted else None
    names = ("target", "weight") if source is open_rows else ("y", "weight")
    S = summed(source(Z, **dict(zip(names, (Y, weight), strict=True))), intercept=intercept)
    C, mean = expected(Z, Y, weight, intercept)
    np.testing.assert_allclose(S.within, C[:5, :5], atol=1e-12)
    np.testing.assert_allclose(S.across, C[:5, 5:], atol=1e-12)
    np.testing.assert_allclose(S.target, np.trace(C[5:, 5:]), rtol=1e-12)
    np.testing.assert_allclose(S.mean, mean[:5], atol=1e-12)
    np.testing.assert_allclose(S.target_mean, mean[5:], atol=1e-12)
    assert S.n_rows == 150
    assert S.weight == (150 if weight is None else weight.sum())


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_codes_equal_their_matrix(intercept, weighted):
    _, Y, weight = data()
    weight = weight if weighted else None
    codes = np.random.default_rng(0).integers(0, 5, (150, 3)).astype(np.uint8)
    Z = Codes(codes, np.array([0, 5, 10]), np.float64(0.4), 15, first=1)
    S = summed(ArrayRows(Z, Y, weight, block_rows=64), intercept=intercept)
    C, mean = expected(Z.tocsr().toarray(), Y, weight, intercept)
    np.testing.assert_allclose(S.within, C[:15, :15], atol=1e-12)
    np.testing.assert_allclose(S.across, C[:15, 15:], atol=1e-12)
    np.testing.assert_allclose(S.target, np.trace(C[15:, 15:]), rtol=1e-12)
    np.testing.assert_allclose(S.mean, mean[:15], atol=1e-12)
    worth = 150 if weight is None else weight.sum() ** 2 / (weight**2).sum()
    assert S.size == pytest.approx(worth, rel=1e-14)


def test_a_common_shift_of_the_features_is_not_lost_in_rounding():
    Z, Y, weight = data()
    near, far = (summed(open_rows(X, target=Y, weight=weight)) for X in (Z, Z + 1e6))
    # a b and a' b' where a and b are rounded as numbers of that size are
    rounding = np.spacing(1e6 + np.abs(Z).max())
    bound = rounding * (2 * np.abs(Z - Z.mean(axis=0)).max() + rounding)
    np.testing.assert_allclose(far.within, near.within, atol=bound, rtol=0)
    np.testing.assert_allclose(far.mean, near.mean + 1e6, rtol=1e-14)


@pytest.mark.parametrize(
    ("weight", "size"),
    [
        (None, 4.0),
        ([0.25, 0.25, 0.25, 0.25], 4.0),
        ([3, 0, 0, 1], 1.6),
        ([1000.0, 1000.0, 0.001, 0.0], 2.000002),
    ],
)
def test_rows_count_for_what_their_weights_are_worth(weight, size):
    Z, Y, _ = data(4)
    given = None if weight is None else np.array(weight, float)
    S = summed(open_rows(Z, target=Y, weight=given))
    assert S.size == pytest.approx(size, rel=1e-9)
    assert S.weight == pytest.approx(4 if weight is None else sum(weight), rel=1e-15)
    assert S.n_rows == 4


@pytest.mark.parametrize("intercept", [False, True])
def test_another_order_is_that_of_the_columns(intercept):
    Z, Y, weight = data()
    order = np.array([3, 0, 4, 1])
    found = summed(open_rows(Z, target=Y, weight=weight), intercept=intercept).ordered(order)
    other = summed(open_rows(Z[:, order], target=Y, weight=weight), intercept=intercept)
    for name in ("within", "across", "target", "mean", "target_mean"):
        np.testing.assert_allclose(getattr(found, name), getattr(other, name), atol=1e-13)
    assert (found.n_rows, found.weight, found.size) == (other.n_rows, other.weight, other.size)


def test_single_precision_within_blocks_and_double_across_them():
    Z, Y, _ = data(4000, dtype=np.float32)
    rows = open_rows(Z, target=Y, block_rows=64)
    single, double = (summed(rows, dtype=np.dtype(d)) for d in (np.float32, np.float64))
    C, _ = expected(Z, Y, None, True)
    np.testing.assert_allclose(double.within, C[:5, :5], atol=1e-12)
    # sums of 64 products, whose absolute values are at most the mean squares of their columns
    squares = ((Z - Z[:256].mean(axis=0)) ** 2).mean(axis=0).max()
    bound = 2 * (64 + 4) * np.finfo(np.float32).eps * squares
    assert single.within.dtype == np.float64
    assert 0 < np.abs(single.within - double.within).max() <= bound
