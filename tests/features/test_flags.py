"""What a map asks of its kernel, and what it says if the kernel has not got it."""

import re

import numpy as np
import pytest

from skimp.features import Nystroem, RandomFourier
from skimp.kernels import (
    Chi2,
    Cosine,
    FunctionKernel,
    Gaussian,
    Laplacian,
    Linear,
    Matern,
    Polynomial,
    Precomputed,
    Tanh,
)
from tests.models import every_estimator
from tests.problems import labelled, regression
from tests.reference import naive

INDEFINITE = [
    Tanh(),
    Gaussian() + Tanh(),
    2.0 * Tanh(),
    Gaussian() * (Linear() + Tanh().on([0])),
    FunctionKernel(naive.one_plus_product, positive_definite=False),
    Precomputed(np.eye(20), positive_definite=False),
]
WITHOUT_SPECTRUM = [
    Linear(),
    Polynomial(),
    Chi2(),
    Cosine(),
    Tanh(),
    Gaussian() + Linear(),
    Gaussian() * Linear().on([0]),
    0.5 * Polynomial(),
    FunctionKernel(naive.one_plus_product),
]


def refusal(owner, flag, advice, kernel):
    return re.escape(f"{owner}: kernel must be {flag} ({advice}), got {kernel!r}.")


@pytest.mark.parametrize("kernel", INDEFINITE, ids=repr)
def test_nystroem_refuses_indefinite_kernels(kernel):
    message = refusal("Nystroem", "positive definite", "its matrix is factorized", kernel)
    with pytest.raises(ValueError, match=message):
        Nystroem(kernel).fit(regression(20)[0])


@every_estimator
@pytest.mark.parametrize("kernel", INDEFINITE, ids=repr)
def test_models_refuse_indefinite_kernels_and_keep_nothing(estimator, kernel):
    X, y, _ = labelled(20, n_classes=2)
    name = estimator.__name__
    for approximation, owner, advice in (
        (None, name, "the exact model needs it"),
        (5, "Nystroem", "its matrix is factorized"),
    ):
        model = estimator(kernel, approximation=approximation)
        with pytest.raises(ValueError, match=refusal(owner, "positive definite", advice, kernel)):
            model.fit(X, y)
        assert not hasattr(model, "kernel_")


@pytest.mark.parametrize("kernel", WITHOUT_SPECTRUM, ids=repr)
def test_random_fourier_refuses_kernels_without_a_spectrum(kernel):
    advice = "its spectrum is sampled; for example Gaussian or Laplacian"
    message = refusal("RandomFourier", "stationary", advice, kernel)
    with pytest.raises(ValueError, match=message):
        RandomFourier(kernel).fit(np.abs(regression(20)[0]))


@every_estimator
def test_the_kernel_of_a_model_is_checked_by_its_map(estimator):
    X, y, _ = labelled(20, n_classes=2)
    with pytest.raises(ValueError, match=r"RandomFourier: kernel must be stationary .* Linear\(\)"):
        estimator("linear", approximation=RandomFourier()).fit(X, y)
    with pytest.raises(ValueError, match=r"Nystroem: kernel must be positive definite .* Tanh\(\)"):
        estimator("sigmoid").fit(X, y)


@every_estimator
def test_the_kernel_of_a_map_replaces_that_of_the_model(estimator):
    X, y, _ = labelled(20, n_classes=2)
    for own in (RandomFourier(Gaussian(), n_components=5), Nystroem(Laplacian(), budget=5)):
        model = estimator(Tanh(), approximation=own, random_state=0).fit(X, y)
        assert type(model.kernel_) is type(own.kernel)


def test_tags_follow_the_flags_of_the_kernel():
    for kernel, nonnegative, objects in (
        (Gaussian(), False, False),
        ("chi2", True, False),
        (Gaussian() + Chi2().on([1]), True, False),
        (FunctionKernel(naive.one_plus_product) * Matern(), False, True),
    ):
        tags = Nystroem(kernel).__sklearn_tags__().input_tags
        assert (tags.positive_only, tags.string) == (nonnegative, objects)


def test_only_the_columns_of_a_restriction_must_not_be_negative():
    X = regression(40)[0]
    X[:, 2] = np.abs(X[:, 2])
    fitted = Nystroem(Chi2().on([2]) * Gaussian(), budget=10).fit(X)
    assert np.isfinite(fitted.transform(X)).all()
    X[:, 2] *= -1
    with pytest.raises(ValueError, match="must not be negative for the Chi2 kernel"):
        fitted.transform(X)
