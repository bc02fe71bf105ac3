import numpy as np
import pytest
from sklearn.base import clone

from skimp.kernels import (
    ArcCosine,
    Cosine,
    FunctionKernel,
    Gaussian,
    Laplacian,
    Linear,
    Matern,
    Polynomial,
    Precomputed,
)
from tests.reference import naive

EQUAL = [
    (Gaussian(), Gaussian("scale")),
    (Gaussian(1), Gaussian(1.0)),
    (Gaussian(0.3), Gaussian(np.float64(0.3))),
    (Gaussian([0.1, 0.2]), Gaussian(np.array([0.1, 0.2]))),
    (Gaussian((1, 2)), Gaussian([1.0, 2.0])),
    (Gaussian(1.0).on(["a"]), Gaussian(1.0).on("a")),
    (Gaussian(1.0).on([0, 1]), Gaussian(1.0).on(np.array([0, 1]))),
    (2 * Linear() + Cosine(), Linear() * 2.0 + Cosine()),
    (Precomputed(np.eye(3)), Precomputed(np.eye(3, dtype=int))),
    (Precomputed(np.eye(40)), Precomputed(np.eye(40))),
    (FunctionKernel(naive.one_plus_product), FunctionKernel(naive.one_plus_product, batch=False)),
]
DIFFERENT = [
    Gaussian("median"),
    Gaussian("scale"),
    Gaussian(0.3),
    Gaussian(0.2),
    Gaussian([0.3]),
    Gaussian([0.3, 0.3]),
    Laplacian(0.3),
    Matern(0.5, 0.3),
    Matern(2.5, 0.3),
    ArcCosine(1),
    ArcCosine(2),
    Linear(),
    Cosine(),
    2.0 * Linear(),
    3.0 * Linear(),
    Linear() + Cosine(),
    Cosine() + Linear(),
    Linear() * Cosine(),
    Linear().on(["0"]),
    Linear().on([0]),
    Linear().on([0, 1]),
    Linear().on([1, 0]),
    Precomputed(np.eye(3)),
    Precomputed(2 * np.eye(3)),
    Precomputed(np.eye(3), positive_definite=False),
    FunctionKernel(naive.one_plus_product),
    FunctionKernel(naive.second_argument),
]


@pytest.mark.parametrize(("one", "other"), EQUAL)
def test_equal_parameters_make_equal_kernels(one, other):
    assert one == other
    assert (one != other) is False
    assert hash(one) == hash(other)
    assert {one: "found"}[other] == "found"


def test_other_parameters_make_other_kernels():
    for i, one in enumerate(DIFFERENT):
        for j, other in enumerate(DIFFERENT):
            assert (one == other) == (i == j), (one, other)
    assert len(set(DIFFERENT)) == len(DIFFERENT)
    assert len(set(DIFFERENT + [clone(kernel) for kernel in DIFFERENT])) == len(DIFFERENT)


@pytest.mark.parametrize("other", [None, 0.3, "rbf", Gaussian, {"gamma": 0.3}])
def test_a_kernel_equals_nothing_but_kernels(other):
    assert Gaussian(0.3) != other
    assert other != Gaussian(0.3)


def test_large_matrices_with_equal_hashes_differ():
    one, other = np.eye(50), np.eye(50)
    other[3, 4] = 0.5
    assert hash(Precomputed(one)) == hash(Precomputed(other))
    assert Precomputed(one) != Precomputed(other)


def test_setting_a_parameter_makes_another_kernel():
    kernel = Gaussian(0.3).on([0, 1]) + Polynomial(2, 1.0)
    copy = clone(kernel)
    assert copy == kernel
    copy.set_params(k1__kernel__gamma=0.4)
    assert copy != kernel
    assert kernel.k1.kernel.gamma == 0.3
    assert copy.set_params(k1__kernel__gamma=0.3) == kernel


def test_clones_do_not_share_widths():
    kernel = Gaussian(np.array([0.1, 0.2]))
    copy = clone(kernel)
    copy.gamma[0] = 9.0
    assert kernel.gamma.tolist() == [0.1, 0.2]
