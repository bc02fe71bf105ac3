"""Maps of kernels with a width for each column, of restrictions to columns, and of functions."""

import numpy as np
import pandas as pd
import pytest

from skimp.budgets import Fixed
from skimp.features import Landmarks, Nystroem, RandomFourier
from skimp.kernels import (
    ArcCosine,
    Cauchy,
    Cosine,
    FunctionKernel,
    Gaussian,
    Laplacian,
    Matern,
    NeuralTangent,
    Polynomial,
    Precomputed,
)
from tests.pairs import in_turn
from tests.problems import regression
from tests.reference import naive
from tests.words import letter_indicators, shared_letters, words

WIDTHS = [0.3, 0.1, 0.7, 0.0, 0.2]
COLUMNS = [1, 4]
SPECTRA = [
    (Matern(nu=0.8, gamma=0.3), 1.0),
    (Matern(nu=1.5, gamma=WIDTHS), 1.0),
    (Cauchy(gamma=WIDTHS), 1.0),
    (Gaussian(gamma=WIDTHS), 1.0),
    (Laplacian(gamma=WIDTHS), 1.0),
    (4.0 * Gaussian(gamma=0.3), 4.0),
    (Gaussian(gamma=0.3) + Cauchy().on(COLUMNS), 2.0),
    (3.0 * Gaussian("median").on([0, 2]) + 0.25 * Laplacian(), 3.25),
    (Gaussian(gamma=WIDTHS) * Matern().on(COLUMNS), 1.0),
    (0.5 * (2.0 * Laplacian() * (Cauchy() + Matern().on([3]))), 2.0),
]


@pytest.mark.parametrize("form", ["pair", "phase"])
@pytest.mark.parametrize(("kernel", "origin"), SPECTRA, ids=repr)
def test_random_fourier_is_within_hoeffdings_bound(kernel, origin, form):
    X, n_components = regression(60, 5)[0], 4000
    fitted = RandomFourier(kernel, n_components=n_components, form=form, random_state=0).fit(X)
    assert fitted.kernel_.diag(np.zeros((1, 5))).item() == pytest.approx(origin, rel=1e-12)
    Z = fitted.transform(X)
    # means of terms in k(0, 0) [-1, 1] or [-2, 2]; larger with a probability of at most 1e-6
    terms, width = (n_components // 2, 2) if form == "pair" else (n_components, 4)
    bound = origin * width * np.sqrt(np.log(2 * 60**2 / 1e-6) / (2 * terms))
    assert np.abs(Z @ Z.T - fitted.kernel_(X)).max() <= bound


@pytest.mark.parametrize(("kernel", "origin"), SPECTRA, ids=repr)
def test_pairs_have_the_length_of_the_kernel(kernel, origin):
    X = regression(50, 5)[0]
    Z = RandomFourier(kernel, n_components=10, random_state=0).fit_transform(X)
    np.testing.assert_allclose((Z**2).sum(axis=1), origin, rtol=1e-12)


def test_columns_that_a_restriction_leaves_out_do_not_matter():
    X = regression(50, 5)[0]
    fitted = RandomFourier(Cauchy(0.5).on(COLUMNS), n_components=10, random_state=0).fit(X)
    assert not fitted.frequencies_[[0, 2, 3]].any()
    assert fitted.frequencies_[COLUMNS].all()


@in_turn(
    kernel=[
        Gaussian(gamma=WIDTHS),
        Matern(nu=2.5, gamma=WIDTHS).on([4, 3, 2, 1, 0]),
        Polynomial(degree=2, gamma=WIDTHS) + 0.1 * Laplacian().on(COLUMNS),
        Gaussian("median").on([0, 1]) * ArcCosine().on([2, 3, 4]) + Cosine(),
        NeuralTangent() * Cauchy(gamma="scale"),
        FunctionKernel(naive.one_plus_product) * Gaussian(0.1).on([2]),
    ],
    rank=[None, 5],
)
def test_nystroem_equals_its_naive_twin(kernel, rank):
    X = regression(60, 5)[0]
    nystroem = Nystroem(kernel, budget=20, rank=rank, random_state=0).fit(X)
    k, B, Z = nystroem.kernel_, nystroem.budget_.points, nystroem.transform(X)
    expected = naive.nystroem(k(X, B), k(B), k(B, X), rank=rank)
    np.testing.assert_allclose(Z @ Z.T, expected, atol=1e-6 * np.abs(expected).max())


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_names_are_resolved_in_fit(dtype):
    X = regression(40)[0].astype(dtype)
    table = pd.DataFrame(X, columns=["a", "b", "c"])
    for approximation in (Nystroem(budget=10), RandomFourier(n_components=10)):
        approximation.set_params(random_state=0, kernel=Gaussian().on(["c", "a"]))
        named = approximation.fit(table)
        Z = named.transform(table)
        assert named.kernel_.columns == [2, 0]
        numbered = approximation.set_params(kernel=Gaussian().on([2, 0])).fit(X)
        assert np.array_equal(numbered.transform(X), Z)


def test_strings_have_the_features_of_their_vectors():
    W = words()[0]
    points = W[:4]
    ours = Nystroem(FunctionKernel(shared_letters), selector=Fixed(points)).fit(W)
    theirs = Nystroem("linear", selector=Fixed(letter_indicators(points)))
    expected = theirs.fit_transform(letter_indicators(W))
    Z = ours.transform(W)
    np.testing.assert_allclose(Z @ Z.T, expected @ expected.T, atol=1e-8)
    assert list(ours.get_feature_names_out()) == [f"nystroem{j}" for j in range(4)]


def test_landmarks_of_strings_are_computed_in_the_dtype_that_is_asked_for():
    points = np.array(["ab", "bc", "c"], dtype=object)[:, None]
    landmarks = Landmarks(FunctionKernel(shared_letters), points, np.dtype(np.float32))
    out = np.empty((1, 3), np.float32)
    landmarks.map_block(np.array([["abc"]], dtype=object), out)
    assert out.tolist() == [[2, 2, 1]]
    assert landmarks.penalty.tolist() == [[2, 1, 0], [1, 2, 1], [0, 1, 1]]


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        (np.array([[1.0, 0.2], [0.1, 1.0]]), "kernel must be symmetric"),
        (np.array([[1.0, 2.0], [2.0, 1.0]]), "kernel must be positive definite"),
        (-np.eye(2), "kernel must be positive definite"),
    ],
)
def test_matrices_that_are_no_kernels_are_refused(matrix, message):
    with pytest.raises(ValueError, match=message):
        Nystroem(Precomputed(matrix)).fit(np.arange(2))
