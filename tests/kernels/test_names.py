import re

import pytest

from skimp.kernels import (
    AdditiveChi2,
    ArcCosine,
    Cauchy,
    Chi2,
    Cosine,
    Gaussian,
    Laplacian,
    Linear,
    Matern,
    NeuralTangent,
    Polynomial,
    Tanh,
    as_kernel,
    has_flag,
)

NAMES = {
    "rbf": Gaussian(),
    "gaussian": Gaussian(),
    "laplacian": Laplacian(),
    "matern": Matern(),
    "cauchy": Cauchy(),
    "linear": Linear(),
    "poly": Polynomial(),
    "polynomial": Polynomial(),
    "chi2": Chi2(),
    "additive_chi2": AdditiveChi2(),
    "tanh": Tanh(),
    "sigmoid": Tanh(),
    "cosine": Cosine(),
    "arc_cosine": ArcCosine(),
    "neural_tangent": NeuralTangent(),
}


@pytest.mark.parametrize("name", NAMES)
def test_a_name_stands_for_default_parameters(name):
    assert as_kernel(name, owner="Model") == NAMES[name]


@pytest.mark.parametrize("kernel", [Gaussian(2.0), 2.0 * Linear().on("a")])
def test_an_object_passes_through(kernel):
    assert as_kernel(kernel, owner="Model") is kernel


@pytest.mark.parametrize("kernel", ["no such", "RBF", "", Gaussian, None, 3, ["rbf"]])
def test_what_is_no_kernel(kernel):
    message = r"Model: kernel must be a kernel object or one of 'rbf', .*'additive_chi2'.*, got "
    with pytest.raises(ValueError, match=message + re.escape(f"{kernel!r}.")):
        as_kernel(kernel, owner="Model")


def test_the_name_precomputed_is_refused_with_advice():
    with pytest.raises(ValueError, match=r"must be an object, Precomputed\(matrix\), with row num"):
        as_kernel("precomputed", owner="Model")


def test_flags_of_names_and_objects():
    for kernel in ("rbf", Gaussian(), Gaussian(1.0) + Cauchy()):
        assert has_flag(kernel, "stationary")
        assert has_flag(kernel, "positive_definite")
    for kernel in ("chi2", "additive_chi2", Linear() * Chi2()):
        assert has_flag(kernel, "needs_nonnegative")
        assert not has_flag(kernel, "stationary")
    for kernel in ("sigmoid", Tanh(), Tanh().on([0])):
        assert not has_flag(kernel, "positive_definite")
    for kernel in ("no such", "precomputed", None, 3, Gaussian):
        assert not has_flag(kernel, "positive_definite")
