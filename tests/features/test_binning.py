import re

import numpy as np
import pytest
from scipy import sparse

from skimp.data import open_rows
from skimp.features import RandomBinning, _binning
from skimp.kernels import Gaussian, Laplacian, Linear, Matern, Separable
from tests.pairs import in_turn, pairwise
from tests.problems import regression
from tests.reference import naive
from tests.sources import ChunkedRows

HUGE = np.array([[1e300], [-1e300], [1e-300], [0.0], [-1e17], [1e17], [1.0], [-3.0]])
FAR = 2**50


def binning(kernel=None, n_grids=12, **params):
    kernel = Laplacian(0.7) if kernel is None else kernel
    return RandomBinning(kernel, n_grids=n_grids, **{"random_state": 0, **params})


def codes_of(fitted, X):
    codes = np.full((X.shape[0], len(fitted.n_bins_)), 99, fitted.coded.codes.dtype)
    fitted.map_codes(X, codes)
    return codes


def tuples(fitted, X):
    """Return for each grid the bins of each row: floor(x * resolution + shift)."""
    grids = fitted._grids
    every = []
    for p in range(grids.shifts.shape[1]):
        of_grid = []
        for x in np.asarray(X, np.float64):
            t = x * grids.resolutions[:, p] + grids.shifts[:, p]
            of_grid.append(tuple(np.clip(np.floor(t), -FAR, FAR).astype(int).tolist()))
        every.append(of_grid)
    return every


def agreed(n, *, at):
    """Return rows of which most have the same number in the columns but one."""
    X = regression(n, 4)[0]
    X[: 2 * n // 3, 1] = at
    X[n // 4 :, 2] = -at
    X[:, 3] = at
    return X


ROWS = {
    "normal": regression(120)[0],
    "far from zero": regression(60)[0] - 1000,
    "agreed": agreed(90, at=2.5),
    "agreed zeros": agreed(90, at=0.0),
    "huge": HUGE,
    "one row": np.array([[1.0, -2.0]]),
    "one column": regression(50)[0][:, :1],
    "equal rows": np.ones((7, 2)),
}


@pairwise(wrap=[np.asarray, sparse.csr_matrix], dtype=[np.float64, np.float32, np.int32], name=ROWS)
def test_codes_are_equal_exactly_where_bins_are(name, dtype, wrap):
    X = (10 * ROWS[name]) if name != "huge" else HUGE
    X = X[np.abs(X[:, 0]) < np.iinfo(np.int32).max] if dtype == np.int32 else X
    X = np.clip(X, -1e38, 1e38).astype(dtype) if dtype == np.float32 else X.astype(dtype)
    fitted = binning(Laplacian(0.05)).fit(wrap(X))
    codes = codes_of(fitted, wrap(X))
    for p, bins in enumerate(tuples(fitted, X)):
        pairs = set(zip(codes[:, p].tolist(), bins, strict=True))
        assert len(pairs) == len(set(bins)) == fitted.n_bins_[p]
        assert {code for code, _ in pairs} == {*range(1, len(pairs) + 1)}
    assert fitted._grids.origin.any() == (name in ("agreed", "one row", "equal rows"))


def test_huge_numbers_share_the_outermost_bins():
    codes = codes_of(binning(Laplacian(5.0)).fit(HUGE), np.vstack([HUGE, [[1.7e308], [-1e200]]]))
    assert np.array_equal(codes[0], codes[-2])
    assert np.array_equal(codes[1], codes[-1])
    assert (codes[0] != codes[1]).all()
    assert np.array_equal(codes[2], codes[3])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("wrap", [np.asarray, sparse.csr_matrix, ChunkedRows, open_rows])
def test_features_are_one_hot(dtype, wrap):
    X = regression(80, dtype=dtype)[0]
    fitted = binning(max_bins=10).fit(wrap(X))
    Z, codes = fitted.transform(wrap(X)), codes_of(fitted, X)
    expected = np.zeros((80, fitted.n_bins_.sum() + 12))
    offset = 0
    for p, size in enumerate(fitted.n_bins_):
        for i in np.flatnonzero(codes[:, p]):
            expected[i, offset + codes[i, p]] = np.sqrt(1 / 12).astype(dtype)
        offset += size + 1
    assert sparse.issparse(Z)
    assert Z.dtype == dtype
    assert np.array_equal(Z.toarray(), expected)
    assert Z.nnz == np.count_nonzero(codes) < codes.size
    block = np.full(expected.shape, np.nan, dtype)
    fitted.map_block(X, block)
    assert np.array_equal(block, expected)


def test_features_of_a_multiple_are_longer():
    X = regression(30)[0]
    Z = binning(2.5 * Laplacian(1.0) + Laplacian(0.1)).fit_transform(X)
    np.testing.assert_allclose(Z.multiply(Z).sum(axis=1), 3.5, rtol=1e-12)


def squared_root(t):
    return np.exp(-np.sqrt(t))


KERNELS = [
    Laplacian(0.6),
    Laplacian([0.2, 0.0, 1.1]),
    Separable(naive.slow_decay, gamma=0.8),
    Separable(squared_root, gamma=[0.1, 0.5, 0.0]),
    Laplacian(0.2) + Laplacian(1.5),
    2.0 * Laplacian(0.2) + Separable(naive.slow_decay, gamma=0.5).on([1]),
    3.0 * Laplacian(0.5),
    Laplacian(0.5).on([0, 2]) * Matern(nu=0.5, gamma=0.3).on([1]),
]


@in_turn(wrap=[np.asarray, sparse.csr_matrix], kernel=KERNELS)
def test_products_are_unbiased_with_the_variance_of_the_formula(kernel, wrap):
    P, N, z = 8, 400, 5.0
    X = np.array([[0.0, 1.0, 0.0], [0.3, 1.0, -0.2], [0.0, 0.4, 0.7], [1.5, 0.0, 2.0]])
    rows, rng, shared = open_rows(wrap(X)), np.random.default_rng(0), []
    for _ in range(4):
        fitted = RandomBinning(kernel, n_grids=N * P // 4).fit_rows(rows, rng)
        codes = codes_of(fitted, wrap(X))
        shared.append((codes[:, None] == codes) * fitted.coded.value**2 * (N * P // 4))
    # grids are independent: eight of them make a product
    products = np.concatenate(shared, axis=2).reshape(4, 4, N, P).mean(axis=3)
    height = kernel.diag(X[:1]).item()
    k = kernel(X) / height
    # P products are a binomial variable, of which both moments and their errors are known
    variance = k * (1 - k) / P
    fourth = P * k * (1 - k) * (1 + 3 * (P - 2) * k * (1 - k)) / P**4
    error = np.sqrt((fourth - (N - 3) / (N - 1) * variance**2).clip(0) / N)
    products /= height
    assert (np.abs(products.mean(axis=2) - k) <= z * np.sqrt(variance / N) + 1e-12).all()
    assert (np.abs(products.var(axis=2, ddof=1) - variance) <= z * error + 1e-12).all()


def test_grids_are_those_of_the_seed_and_not_of_the_rows():
    X = regression(60)[0]
    first, again, other = (binning(random_state=seed).fit(X) for seed in (0, 0, 1))
    assert np.array_equal(codes_of(first, X), codes_of(again, X))
    assert not np.array_equal(first._grids.shifts, other._grids.shifts)
    elsewhere = binning().fit(5 * X[:7] + 3)
    for name in ("resolutions", "shifts", "factors"):
        assert np.array_equal(getattr(first._grids, name), getattr(elsewhere._grids, name))


@pytest.mark.parametrize("max_bins", [1, 3, 20])
def test_the_fullest_bins_have_features(max_bins):
    X = regression(200)[0]
    fitted = binning(max_bins=max_bins).fit(X)
    assert (fitted.n_bins_ <= max_bins).all()
    assert fitted.n_bins_.max() == max_bins
    for codes, bins in zip(codes_of(fitted, X).T, tuples(fitted, X), strict=True):
        kept = {bin for bin, code in zip(bins, codes, strict=True) if code}
        assert len(kept) == min(max_bins, len(set(bins)))
        dropped = [bins.count(bin) for bin in set(bins) - kept]
        assert min(map(bins.count, kept)) >= max(dropped, default=0)


def test_bins_that_were_not_seen_have_no_feature():
    X = regression(100)[0]
    fitted = binning().fit(X)
    assert fitted.transform(X).getnnz(axis=1).tolist() == [12] * 100
    assert fitted.transform(X + 1e6).nnz == 0


def test_rows_of_weight_zero_have_no_bins_of_their_own():
    X, _, weight = regression(80)
    rows = open_rows(X, weight=weight)
    fitted = binning(Laplacian(1e6)).fit_rows(rows, np.random.default_rng(0))
    assert fitted.n_bins_.tolist() == [np.count_nonzero(weight)] * 12
    assert np.array_equal((codes_of(fitted, X) != 0).all(axis=1), weight > 0)


@pytest.mark.parametrize("wrap", [np.asarray, sparse.csr_matrix])
def test_bins_are_those_of_a_sample_where_rows_are_many(monkeypatch, wrap):
    n, size = 600, 150
    monkeypatch.setattr(_binning, "_LARGEST_SAMPLE", size)
    monkeypatch.setattr(_binning, "_MAJORITY_SAMPLE", 5)
    X, _, weight = regression(n)
    rows = open_rows(wrap(X), weight=weight)
    fitted = binning(Laplacian(1e6)).fit_rows(rows, np.random.default_rng(0))
    in_sample = codes_of(fitted, X) != 0
    assert np.array_equal(in_sample.all(axis=1), in_sample.any(axis=1))
    # five standard deviations of how many of the rows that count are drawn
    counting = np.count_nonzero(weight)
    spread = 5 * np.sqrt(counting * size / n * (1 - size / n))
    assert abs(in_sample[:, 0].sum() - counting * size / n) <= spread
    assert (weight[in_sample[:, 0]] > 0).all()
    assert fitted.planned_width(rows) == 12 * (size + 1)


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (Gaussian(0.5), "a product over columns of convex functions"),
        (2.0 * Gaussian(0.5).on([1]), "h k''(h) of its pitches is negative"),
        (Matern(nu=1.5, gamma=0.5), "a product over columns of convex functions"),
        (Matern(nu=1.5, gamma=0.5).on([0]), "h k''(h) of its pitches is negative"),
        (Linear(), "a product over columns of convex functions"),
        (
            Laplacian(1.0) * Laplacian(0.5).on([1]),
            "that do not share columns, got Lap",
        ),
    ],
    ids=repr,
)
def test_kernels_without_pitches_are_refused(kernel, message):
    with pytest.raises(ValueError, match="RandomBinning: kernel must be .*" + re.escape(message)):
        binning(kernel).fit(regression(20)[0])


def test_the_default_kernel_is_laplacian_with_the_scale_of_the_rows():
    fitted = RandomBinning(n_grids=4).fit(3 * regression(50)[0])
    assert isinstance(fitted.kernel_, Laplacian)
    assert isinstance(fitted.kernel_.gamma, float)
    assert fitted.kernel is None


def test_rows_of_another_width_and_codes_of_another_dtype_are_refused():
    X = regression(20)[0]
    fitted = binning(Laplacian(1.0)).fit(X)
    with pytest.raises(ValueError, match="X must have 3 columns, found 300"):
        fitted.map_codes(np.ones((5, 300)), np.empty((5, 12), np.uint8))
    with pytest.raises(ValueError, match="out must have dtype uint8, found uint16"):
        fitted.map_codes(X, np.empty((20, 12), np.uint16))
