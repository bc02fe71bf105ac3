import numpy as np
import pytest

from skimp.data import ArrayRows
from skimp.estimators._candidates import FEW, Candidate, candidates, free_bandwidths
from skimp.features import Nystroem, RandomBinning, RandomFourier, RandomLayer
from skimp.kernels import FunctionKernel, Gaussian, Laplacian, Linear, Matern, Polynomial
from tests.words import shared_letters

X = np.random.default_rng(0).normal(size=(FEW + 1, 2))
MANY, FEWER = ArrayRows(X), ArrayRows(X[:FEW])


def offered(kernel="auto", approximation=None, rows=MANY):
    return candidates(kernel, approximation, rows, 0, owner="Model")


def families(kernel, rows=MANY):
    return [type(c.approximation) for c in offered(kernel, rows=rows)]


def test_many_rows_are_offered_each_family():
    assert families("auto") == [Nystroem, RandomFourier, RandomBinning]
    kernels = [type(c.kernel) for c in offered()]
    assert kernels == [Gaussian, Gaussian, Laplacian]


def test_few_rows_are_offered_landmarks_of_either_kernel():
    assert families("auto", FEWER) == [Nystroem, Nystroem]
    assert [type(c.kernel) for c in offered(rows=FEWER)] == [Gaussian, Laplacian]
    assert families(Gaussian(0.5), FEWER) == [Nystroem]


@pytest.mark.parametrize(
    ("kernel", "expected"),
    [
        (Laplacian(0.5), [Nystroem, RandomFourier, RandomBinning]),
        (Gaussian(0.5), [Nystroem, RandomFourier]),
        (Matern(1.5, gamma=0.5), [Nystroem, RandomFourier]),
        (Polynomial(2), [Nystroem]),
        (Linear(), [Nystroem]),
        (Gaussian(0.5) + Linear(), [Nystroem]),
        (Gaussian(0.5) + Laplacian(0.5), [Nystroem, RandomFourier]),
        (Laplacian(0.5) * Laplacian(2.0), [Nystroem, RandomFourier]),
        (
            Laplacian(0.5).on([0]) * Laplacian(2.0).on([1]),
            [Nystroem, RandomFourier, RandomBinning],
        ),
        (FunctionKernel(shared_letters), [Nystroem]),
        ("laplacian", [Nystroem, RandomFourier, RandomBinning]),
    ],
    ids=repr,
)
def test_given_kernel_is_offered_what_has_a_way_to_it(kernel, expected):
    assert families(kernel) == expected


def test_given_kernel_is_that_of_every_candidate():
    assert {repr(c.kernel) for c in offered(Laplacian(0.5))} == {"Laplacian(gamma=0.5)"}
    assert all(c.free == {} and c.factor == 1 for c in offered(Laplacian(0.5)))


def test_rows_of_many_columns_have_no_grids():
    wide = ArrayRows(np.random.default_rng(0).normal(size=(FEW + 1, 257)))
    assert [type(c.approximation) for c in offered(rows=wide)] == [Nystroem, RandomFourier]
    narrower = ArrayRows(wide.take(np.arange(FEW + 1)).X[:, :256])
    assert RandomBinning in [type(c.approximation) for c in offered(rows=narrower)]


def test_bandwidths_start_from_the_scale_and_narrower_for_grids():
    scale = 1 / (2 * X.var())
    assert offered()[0].free["gamma"] == pytest.approx(scale)
    assert [c.factor for c in offered()] == [1, 1, 4]
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
    (found,) = offered("auto", approximation)
    assert found.approximation is approximation
    assert type(found.kernel) is kernel
    assert list(found.free) == ["gamma"]


def test_map_without_a_kernel_is_taken_as_it_is():
    (found,) = offered("auto", RandomLayer(7))
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


@pytest.mark.parametrize("kernel", ["none", None, 3])
def test_nonsense_names_the_owner(kernel):
    with pytest.raises(ValueError, match="Model: kernel must be a kernel object or one of"):
        offered(kernel)
