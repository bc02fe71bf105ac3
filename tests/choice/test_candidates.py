"""Models that are offered to a search, and what columns are scaled by."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from skimp import KernelRegressor
from skimp.choice._candidates import Candidate, free_bandwidths, list_candidates
from skimp.choice._columns import measure_columns
from skimp.data import ArrayRows
from skimp.features import Nystroem, RandomBinning, RandomFourier, RandomLayer, Transformer
from skimp.kernels import FunctionKernel, Gaussian, Laplacian, Linear, Matern
from tests.choice.tasks import as_task
from tests.problems import regression
from tests.words import shared_letters

RNG = np.random.default_rng(0)
X = RNG.normal(size=(500, 2))


def columns_of(X):
    return measure_columns(X, np.ones(X.shape[0]))


def offered(kernel=None, approximation=None, X=X, *, small=False):
    task = as_task(ArrayRows(X), kernel=kernel, approximation=approximation)
    return list_candidates(task, columns_of(X), 0, small=small)


def families(kernel=None, **options):
    return [type(c.approximation) for c in offered(kernel, **options)]


def test_many_rows_are_offered_each_family_and_a_linear_model_last():
    assert families() == [Nystroem, RandomFourier, RandomBinning, Transformer]
    kernels = [type(c.kernel) for c in offered()[:3]]
    assert kernels == [Gaussian, Gaussian, Laplacian]
    assert offered()[-1].kernel is None


def test_few_rows_are_offered_landmarks_of_either_kernel():
    assert families(small=True) == [Nystroem, Nystroem, Transformer]
    assert [type(c.kernel) for c in offered(small=True)[:2]] == [Gaussian, Laplacian]
    assert families(Gaussian(0.5), small=True) == [Nystroem]
    assert families(Gaussian("auto"), small=True) == [Nystroem]


@pytest.mark.parametrize("stored", [np.asarray, sparse.csr_matrix])
def test_linear_model_of_very_many_columns_has_landmarks(stored):
    narrow, wide = (stored(RNG.normal(size=(5, d))) for d in (1024, 1025))
    assert isinstance(offered(X=narrow, small=True)[-1].approximation, Transformer)
    assert offered(X=wide, small=True)[-1].kernel == Linear()


@pytest.mark.parametrize(
    ("kernel", "expected"),
    [
        (Laplacian(0.5), [Nystroem, RandomFourier, RandomBinning]),
        (Gaussian(0.5), [Nystroem, RandomFourier]),
        (Linear(), [Nystroem]),
        (Gaussian(0.5) + Linear(), [Nystroem]),
        (Laplacian(0.5) * Laplacian(2.0), [Nystroem, RandomFourier]),
        (
            Laplacian(0.5).on([0]) * Laplacian(2.0).on([1]),
            [Nystroem, RandomFourier, RandomBinning],
        ),
        (FunctionKernel(shared_letters), [Nystroem]),
    ],
    ids=repr,
)
def test_given_kernel_is_offered_what_has_a_way_to_it(kernel, expected):
    assert families(kernel) == expected


def test_given_kernel_is_that_of_every_candidate():
    assert {repr(c.kernel) for c in offered(Laplacian(0.5))} == {"Laplacian(gamma=0.5)"}
    assert all(c.free == {} and c.factor == 1 for c in offered(Laplacian(0.5)))


def test_rows_of_many_columns_have_no_grids():
    wide = RNG.normal(size=(20, 257))
    assert RandomBinning not in families(X=wide)
    assert RandomBinning in families(X=wide[:, :256])


def test_bandwidths_start_from_the_scale_and_narrower_for_grids():
    scale = 1 / (2 * X.var())
    assert offered()[0].free["gamma"] == pytest.approx(scale)
    assert [c.factor for c in offered()] == [1, 1, 4, 1]
    assert offered()[2].sized(8).kernel.gamma == pytest.approx(4 / (2 * X.std()))
    assert offered(Laplacian(0.5))[2].factor == 1


@pytest.mark.parametrize(
    ("approximation", "kernel"),
    [
        (Nystroem(budget=7), Gaussian),
        (RandomFourier(n_components=7), Gaussian),
        (RandomBinning(n_grids=7), Laplacian),
        (Nystroem(Matern(gamma="auto"), budget=7), Matern),
    ],
    ids=repr,
)
def test_given_map_is_the_only_candidate(approximation, kernel):
    (found,) = offered(None, approximation)
    assert found.approximation is approximation
    assert type(found.kernel) is kernel
    assert list(found.free) == ["gamma"]


def test_map_without_a_kernel_is_taken_as_it_is():
    (found,) = offered(None, RandomLayer(7))
    assert found.kernel is None
    assert repr(found.sized(None)) == repr(RandomLayer(7))
    assert found.sized(3).n_components == 3


def test_size_and_bandwidth_are_set_in_a_copy():
    candidate = Candidate(Nystroem(), Gaussian(2.0), {"gamma": 2.0}, 0.25)
    sized = candidate.sized(5)
    assert (sized.budget, sized.kernel) == (5, Gaussian(0.5))
    assert candidate.kernel == Gaussian(2.0)
    assert candidate.approximation.budget == 1000
    assert candidate.sized(None).budget == 1000


def test_one_factor_widens_all_that_is_free():
    kernel = Gaussian("auto") * Laplacian("auto") + 2 * Gaussian(3.0)
    (found, *_) = offered(kernel)
    before, after = (Candidate(Nystroem(), found.kernel, found.free, f).sized(1) for f in (1, 2))
    names = free_bandwidths(kernel)
    assert len(names) == 2
    values = [part.kernel.get_params(deep=True) for part in (before, after)]
    assert all(values[1][name] == 2 * values[0][name] for name in names)
    fixed = [name for name in values[0] if name.endswith("gamma") and name not in names]
    assert [values[1][name] for name in fixed] == [3.0]


@pytest.mark.parametrize(
    ("kernel", "expected"),
    [
        (Gaussian("auto"), ["gamma"]),
        (Gaussian("scale"), []),
        (Gaussian([0.5, 1.0]), []),
        (Linear() + Gaussian("auto"), ["k2__gamma"]),
        (Gaussian("auto").on([0]), ["kernel__gamma"]),
        (FunctionKernel(shared_letters), []),
    ],
    ids=repr,
)
def test_free_bandwidths_are_found_inside(kernel, expected):
    assert free_bandwidths(kernel) == expected


# columns


def unequal(n=500):
    """Columns of which the first has large units."""
    return RNG.normal(size=(n, 3)) * [1000.0, 1.0, 2.5]


def test_columns_of_like_units_are_taken_as_they_are():
    assert {c.scaling for c in offered()[:3]} == {""}
    assert columns_of(X * [1.0, 1.5]).scalings == {}


@pytest.mark.parametrize(
    ("kernel", "degree"), [(Gaussian("auto"), 2), (Laplacian("auto"), 1), (None, 2)], ids=repr
)
def test_columns_of_different_units_are_standardized_as_well(kernel, degree):
    X = unequal()
    plain, scaled, *_ = offered(kernel, X=X, small=True)
    assert (plain.scaling, scaled.scaling) == ("", "standardized")
    assert np.ndim(plain.free["gamma"]) == 0
    expected = 1 / (3 * X.std(axis=0) ** degree)
    np.testing.assert_allclose(scaled.free["gamma"], expected, rtol=1e-8)
    assert type(scaled.kernel) is type(plain.kernel)


@pytest.mark.parametrize("kernel", [Gaussian("scale"), Gaussian("auto") + Linear()], ids=repr)
def test_bandwidths_that_were_given_scale_no_columns(kernel):
    assert {c.scaling for c in offered(kernel, X=unequal())} == {""}


def test_columns_with_heavy_tails_are_scaled_by_their_middle():
    X = unequal()
    X[::50, 1] = -99999.0
    found = columns_of(X).scalings
    assert list(found) == ["standardized", "scaled by quantiles"]
    # about one for a normal column, whatever its outliers
    assert 0.7 < found["scaled by quantiles"][1] < 1.3
    assert found["standardized"][1] > 1000


def test_constant_columns_count_for_nothing():
    X = unequal()
    X[:, 2] = 1e8 / 3
    scaled = offered(X=X, small=True)[1]
    assert scaled.free["gamma"][2] == 0
    np.testing.assert_allclose(scaled.free["gamma"][:2], 1 / (2 * X[:, :2].var(axis=0)), rtol=1e-8)


@pytest.mark.parametrize("stored", [np.asarray, sparse.csr_matrix])
def test_deviations_are_weighted(stored):
    X, times = unequal(40), RNG.integers(0, 4, 40)
    found = measure_columns(stored(X), times.astype(float))
    expected = np.repeat(X, times, axis=0).std(axis=0)
    np.testing.assert_allclose(found.scalings["standardized"], expected)


@pytest.mark.parametrize(("scale", "expected"), [(13.9, ""), (15.0, "column 1")], ids=str)
def test_dominant_column_holds_99_percent_of_the_variance(scale, expected):
    Z = RNG.normal(size=(300, 3))
    Z = (Z - Z.mean(axis=0)) / Z.std(axis=0)
    assert columns_of(Z * [1.0, scale, 1.0]).dominant == expected


def test_a_single_column_dominates_nothing():
    assert columns_of(X[:, :1]).dominant == ""
    assert columns_of(np.column_stack([X[:, 0], np.ones(len(X))])).dominant == ""


@pytest.mark.parametrize("named", [False, True])
def test_a_kernel_that_sees_one_column_alone_warns_once(named):
    X, y, _ = regression(80)
    X = X * [1, 1e4, 1]
    data = pd.DataFrame(X, columns=["a", "income", "b"]) if named else X
    model = KernelRegressor(Gaussian(0.5), approximation=10, random_state=0)
    with pytest.warns(UserWarning, match="'income' holds" if named else "column 1 holds") as caught:
        model.fit(data, y)
    assert [warning.filename for warning in caught] == [__file__]
    assert ("'income' holds" if named else "column 1 holds") in model.certificate_.columns


@pytest.mark.parametrize("kernel", [Linear(), Gaussian("auto"), Gaussian([1, 1e-8, 1])])
def test_kernels_that_see_all_columns_do_not_warn(kernel):
    X, y, _ = regression(80)
    KernelRegressor(kernel, approximation=10, random_state=0).fit(X * [1, 1e4, 1], y)


@pytest.mark.parametrize("scale", [[1.0, 1e200], [1e-200, 1.0], [0.0, 0.0]])
def test_means_whose_squares_are_not_numbers_are_ignored(scale):
    assert columns_of(np.array([[1.0, 1.0], [-1.0, 1.0]]) * scale).excess == 1


def test_excess_is_the_ratio_of_variances():
    rows = RNG.normal([0.0, 3.0, -5.0, 100.0], size=(50, 4))
    expected = np.var(rows) / np.var(rows, axis=0).mean()
    assert columns_of(rows).excess == pytest.approx(expected)
    assert columns_of(sparse.csr_matrix(rows)).excess == pytest.approx(expected)
