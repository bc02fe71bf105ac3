import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.kernel_approximation import RBFSampler

from skimp import KernelRegressor
from skimp.data import open_rows
from skimp.diagnostics import MapComparison, compare_maps, kernel_error
from skimp.features import Nystroem, RandomBinning, RandomFourier, RandomLayer, Transformer
from skimp.kernels import Gaussian, Laplacian, Linear
from tests.problems import regression
from tests.sources import ChunkedRows

KEYS = ["max", "mean", "frobenius", "spectral"]
MAPS = [
    RandomFourier(Gaussian(0.3), n_components=30, random_state=0),
    RandomFourier(2.0 * Gaussian([0.3, 0.0, 1.0]), n_components=31, form="phase", random_state=0),
    RandomBinning(Laplacian(0.3), n_grids=20, random_state=0),
    Nystroem(Gaussian("median"), budget=10, random_state=0),
]


class Recording:
    """Rows as their own features, and the rows that were seen."""

    kernel_ = Linear()

    def transform(self, X):
        self.seen = X
        return X


def naive_errors(Z, K):
    Z = Z.toarray() if sparse.issparse(Z) else Z
    E = Z @ Z.T - K
    return {
        "max": np.abs(E).max(),
        "mean": np.abs(E).mean(),
        "frobenius": np.sqrt((E**2).sum() / (K**2).sum()),
        "spectral": np.linalg.norm(E, 2) / np.linalg.norm(K, 2),
    }


@pytest.mark.parametrize("feature_map", MAPS, ids=repr)
def test_errors_are_norms_of_the_difference(feature_map):
    X = regression(120)[0]
    fitted = clone(feature_map).fit(X)
    found = kernel_error(fitted, X)
    assert list(found) == KEYS
    assert all(type(value) is float for value in found.values())
    assert found == pytest.approx(naive_errors(fitted.transform(X), fitted.kernel_(X)), rel=1e-8)


@pytest.mark.parametrize("feature_map", MAPS[:3], ids=repr)
def test_rows_from_any_source(feature_map):
    X = regression(120)[0]
    fitted = clone(feature_map).fit(X)
    expected = kernel_error(fitted, X, sample=50)
    sources = (sparse.csr_matrix(X), pd.DataFrame(X), ChunkedRows(X), open_rows(X, block_rows=7))
    for source in sources:
        assert kernel_error(fitted, source, sample=50) == pytest.approx(expected, rel=1e-8)


def test_float32_rows_are_compared_in_float64():
    X = regression(120, dtype=np.float32)[0]
    fitted = clone(MAPS[0]).fit(X)
    expected = naive_errors(fitted.transform(X).astype(np.float64), fitted.kernel_(X).astype(float))
    # sums of 30 terms that add up to 1 or less, each off by 1e-7
    assert kernel_error(fitted, X) == pytest.approx(expected, abs=1e-5)


def test_a_full_budget_has_no_error():
    X = regression(60)[0]
    found = kernel_error(Nystroem(Laplacian(0.5), budget=60).fit(X), X)
    assert max(found.values()) <= 1e-10


def test_a_sampler_of_scikit_learn():
    X = regression(120)[0]
    sampler = RBFSampler(gamma=0.4, n_components=200, random_state=0).fit(X)
    kernel = Gaussian(0.4)
    found = kernel_error(sampler, X, kernel=kernel)
    assert found == pytest.approx(naive_errors(sampler.transform(X), kernel(X)), rel=1e-8)
    assert kernel_error(Transformer(sampler).fit(X), X, kernel=kernel) == pytest.approx(found)
    assert kernel_error(sampler, X, kernel=Gaussian(4.0))["max"] > found["max"]


def test_the_given_kernel_goes_before_that_of_the_map():
    X = regression(120)[0]
    fitted = clone(MAPS[0]).fit(X)
    found = kernel_error(fitted, X, kernel=Laplacian(0.5))
    assert found == pytest.approx(naive_errors(fitted.transform(X), Laplacian(0.5)(X)), rel=1e-8)


def seen(X, **options):
    recording = Recording()
    assert max(kernel_error(recording, X, **options).values()) <= 1e-12
    return {tuple(row) for row in recording.seen}


def test_a_sample_of_rows_is_looked_at():
    X = regression(1500)[0]
    rows = {tuple(row) for row in X}
    assert len(seen(X)) == 1000
    assert seen(X[:200]) == {tuple(row) for row in X[:200]}
    few = seen(X, sample=30)
    assert len(few) == 30
    assert few < rows


@pytest.mark.parametrize(
    ("feature_map", "options", "message"),
    [
        (RandomFourier(), {}, "kernel must be given"),
        (RandomLayer(5).fit(np.eye(3)), {}, "kernel must be given"),
        (Recording(), {"kernel": "rbf"}, "kernel must be .*got 'rbf'"),
        (Recording(), {"kernel": Gaussian()}, "gamma must be a number"),
        (Recording(), {"sample": 1}, "kernel_error: sample must be .*got 1"),
        (Recording(), {"random_state": "x"}, "kernel_error: random_state must be"),
    ],
)
def test_rules(feature_map, options, message):
    with pytest.raises(ValueError, match=message):
        kernel_error(feature_map, np.eye(3), **options)


def test_maps_are_fitted_before():
    with pytest.raises(NotFittedError, match="is not fitted yet"):
        kernel_error(RandomFourier(), np.eye(3), kernel=Gaussian(1.0))


def compare(maps, X, **options):
    return compare_maps(maps, X, **{"sizes": [4, 8], "repeats": 2, **options})


def without_seconds(comparison):
    return [{**record, "seconds": None} for record in comparison.records]


def test_a_record_for_each_map_size_and_repeat():
    X = regression(80)[0]
    kinds = {
        "fourier": RandomFourier(Gaussian(0.3)),
        "bins": RandomBinning(Laplacian(0.3)),
        "landmarks": Nystroem(Gaussian(0.3)),
    }
    comparison = compare(kinds, X)
    assert isinstance(comparison, MapComparison)
    keys = [(r["map"], r["size"], r["repeat"]) for r in comparison.records]
    assert keys == [(name, size, i) for name in kinds for size in (4, 8) for i in (0, 1)]
    for record in comparison.records:
        assert list(record) == [
            "map",
            "size",
            "repeat",
            "seconds",
            *KEYS,
            "distortion",
            "equal_pairs",
        ]
        assert record["seconds"] > 0
        assert all(0 < record[key] < 10 for key in KEYS)
    assert [kind.get_params() for kind in kinds.values()] == [
        type(kind)(kind.kernel).get_params() for kind in kinds.values()
    ]


@pytest.mark.parametrize(
    ("feature_map", "parameter"),
    [
        (RandomFourier(Gaussian(0.3)), "n_components"),
        (Nystroem(Gaussian(0.3)), "budget"),
    ],
    ids=repr,
)
def test_sizes_are_set(feature_map, parameter, monkeypatch):
    X, fitted = regression(80)[0], []
    fit_rows = type(feature_map).fit_rows
    monkeypatch.setattr(
        type(feature_map),
        "fit_rows",
        lambda self, *args: fitted.append(fit_rows(self, *args)) or self,
    )
    comparison = compare(feature_map, X, repeats=3)
    assert [getattr(made, parameter) for made in fitted] == [4, 4, 4, 8, 8, 8]
    for made, record in zip(fitted, comparison.records, strict=True):
        expected = naive_errors(made.transform(X), made.kernel_(X))
        assert {key: record[key] for key in KEYS} == pytest.approx(expected, rel=1e-8)
    assert len({record["max"] for record in comparison.records}) == 6


def test_the_seed_decides():
    X = regression(300)[0]
    maps = {"fourier": RandomFourier(), "bins": RandomBinning()}
    options = [{}, {"random_state": 0}, {"random_state": np.random.default_rng(0)}]
    first, *same = (without_seconds(compare(maps, X, sample=50, **given)) for given in options)
    assert all(other == first for other in same)
    assert without_seconds(compare(maps, X, sample=50, random_state=1)) != first


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("maps", []),
        ("maps", None),
        ("maps", [RandomLayer(5)]),
        ("maps", [RBFSampler()]),
        ("sizes", [0]),
        ("sizes", 5),
        ("repeats", 0),
        ("sample", 1),
        ("random_state", -1),
    ],
)
def test_rules_of_comparisons(name, value):
    given = {"maps": [RandomFourier()], "X": regression(20)[0], "sizes": [4], "repeats": 1}
    with pytest.raises(ValueError, match=f"compare_maps: {name} must be"):
        compare_maps(**{**given, name: value})


def test_models_are_no_feature_maps():
    X, y, _ = regression(40)
    model = KernelRegressor("rbf", approximation=5, alpha=1e-3, random_state=0).fit(X, y)
    for wrong in (model, None, "rbf", Nystroem):
        with pytest.raises(ValueError, match="feature_map must be a fitted feature map"):
            kernel_error(wrong, X)
    assert kernel_error(model.approximation_, X)["max"] < 1
