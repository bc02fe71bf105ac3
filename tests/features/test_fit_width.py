import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from skimp.budgets import Fixed
from skimp.features import (
    FeatureMap,
    KernelHash,
    KernelProjection,
    Nystroem,
    OrthogonalProjection,
    PolynomialProjection,
    RandomBinning,
    RandomFourier,
    RandomLayer,
)
from skimp.kernels import Gaussian, Laplacian, Matern, Polynomial
from tests.catalog import MAPS, parts

X = np.random.default_rng(0).normal(size=(40, 5))
FREE = [
    RandomFourier(Gaussian("dim"), n_components=30),
    RandomFourier(2.0 * Gaussian(0.1) + Matern(gamma=0.2).on([0, 3]), n_components=31),
    RandomFourier(Gaussian([0.1, 0.2, 0, 0.4, 0.5]), n_components=64, sampling="structured"),
    RandomFourier("rbf", n_components=30).set_params(kernel=Laplacian("dim"), sampling="qmc"),
    RandomLayer(30, gamma=0.5),
    PolynomialProjection(3, n_components=30, gamma="dim", coef0=1.0),
    OrthogonalProjection(30),
    Nystroem(Gaussian(0.2), selector=Fixed(X[:20])),
    Nystroem(Gaussian(0.2), selector=Fixed(X[:20]), rank=7),
    KernelProjection(Gaussian(0.2), n_components=9, selector=Fixed(X[:20])),
]


@pytest.mark.parametrize("feature_map", FREE, ids=repr)
@pytest.mark.parametrize("rows", [X, X.astype(np.float32), sparse.csr_matrix(X), X > 0])
def test_equals_fit(feature_map, rows):
    new = clone(feature_map).set_params(random_state=7)
    drawn = clone(new).fit_width(5, dtype=rows.dtype)
    check_is_fitted(drawn)
    expected = clone(new).fit(rows).transform(rows)
    assert drawn.transform(rows).dtype == expected.dtype
    np.testing.assert_array_equal(drawn.transform(rows), expected)


def test_the_contract_covers_both_kinds():
    suffices = []
    for feature_map in parts(MAPS):
        try:
            feature_map.check_width_suffices()
        except ValueError:
            continue
        suffices.append(type(feature_map).__name__)
    assert set(suffices) == {
        "Degree2Projection",
        "ExplicitPolynomial",
        "OrthogonalProjection",
        "PolynomialProjection",
        "RandomFourier",
        "RandomLayer",
        "RandomMaclaurin",
        "TensorSketch",
    }


@pytest.mark.parametrize(
    ("feature_map", "message"),
    [
        (RandomFourier(), r"RandomFourier: fit_width\(\) has no rows for gamma='scale'"),
        (
            RandomFourier(Gaussian(0.1) * Matern(gamma="median")),
            "k2__gamma='median': give a number",
        ),
        (RandomLayer(), "gamma='scale'"),
        (PolynomialProjection(gamma="median"), "gamma='median'"),
        (Nystroem(Gaussian(0.2)), "depends on landmarks that are chosen from rows: use fit"),
        (Nystroem(selector=Fixed(X)), "gamma='scale'"),
        (KernelProjection(Gaussian(0.2)), "landmarks"),
        (RandomBinning(Laplacian(0.2)), "the bins that rows fall into"),
        (KernelHash(), "KernelHash: fit_width.*landmarks"),
        (KernelHash(Gaussian(0.2), projection="dbh"), "pairs of rows"),
        (KernelHash(projection=RandomFourier()), "gamma='scale'"),
        (RandomFourier(Gaussian(0.2).on(["age"])), "names"),
    ],
)
def test_what_needs_rows_is_named(feature_map, message):
    before = dict(vars(feature_map))
    with pytest.raises(ValueError, match=message):
        feature_map.fit_width(5)
    assert vars(feature_map) == before


@pytest.mark.parametrize("part", [OrthogonalProjection(), KernelHash(projection="polynomial")])
@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"n_features": 0}, "n_features must be an integer >= 1, got 0"),
        ({"n_features": 2.0}, "n_features"),
        ({"n_features": X}, "n_features"),
        ({"n_features": 2, "dtype": "complex"}, "dtype must be the dtype of real numbers"),
        ({"n_features": 2, "dtype": "wide"}, "dtype"),
    ],
)
def test_bad_arguments(part, given, message):
    with pytest.raises(ValueError, match=message):
        clone(part).fit_width(**given)


def test_a_gamma_for_each_column_must_match_the_width():
    with pytest.raises(ValueError, match="each of the 4 columns"):
        RandomFourier(Gaussian([0.1, 0.2])).fit_width(4)


def test_a_map_of_a_user_depends_on_rows_unless_it_says_otherwise():
    class Spread(FeatureMap):
        size_name = "n_components"

        def __init__(self, n_components=2):
            self.n_components = n_components

        def draw(self, rows, rng, context):
            self.scale_ = rows.variance(None, context)

        @property
        def width(self):
            return self.n_components

        def map_block(self, X, out):
            out[...] = self.scale_

    with pytest.raises(ValueError, match=r"Spread: fit_width.* depends on rows"):
        Spread().fit_width(3)


def test_names_of_earlier_columns_are_forgotten():
    pandas = pytest.importorskip("pandas")
    fitted = OrthogonalProjection(8).fit(pandas.DataFrame(X, columns=list("abcde")))
    drawn = fitted.fit_width(3).set_output(transform="pandas")
    assert list(drawn.transform(X[:, :3]).columns) == [f"orthogonalprojection{i}" for i in range(8)]


@pytest.mark.parametrize("projection", ["polynomial", RandomFourier(Gaussian(0.1))])
def test_codes_of_rows_that_arrive_later(projection):
    new = KernelHash(n_bits=100, projection=projection, random_state=0)
    drawn = clone(new).fit_width(5)
    np.testing.assert_array_equal(drawn.transform(X), clone(new).fit(X).transform(X))
    assert drawn.codes_.shape == (0, 13)
    for given in (None, X[:2]):
        with pytest.raises(ValueError, match="found 0: add rows with partial_fit"):
            drawn.kneighbors(given, 1)
    for part in np.split(X, [10, 25]):
        drawn.partial_fit(part)
    np.testing.assert_array_equal(drawn.codes_, clone(new).fit(X).codes_)


def test_the_kernel_of_a_hash_counts():
    assert KernelHash(Gaussian(0.1), projection=RandomFourier()).fit_width(5).n_features_in_ == 5
    with pytest.raises(ValueError, match="gamma='scale'"):
        KernelHash(Polynomial(gamma="scale"), projection="polynomial").fit_width(5)
