import re
import threading
from itertools import product

import numpy as np
import pytest
from scipy import sparse

from skimp._params._errors import UnsupportedError
from skimp.data import open_rows
from skimp.kernels import (
    ArcCosine,
    Cauchy,
    Chi2,
    FunctionKernel,
    Gaussian,
    Laplacian,
    Linear,
    Matern,
    PairKernel,
    Polynomial,
    Tanh,
    require,
)
from tests.pairs import in_turn
from tests.strategies import BAD

KERNELS = [
    Gaussian(0.3),
    Laplacian(0.3),
    Linear(),
    Polynomial(2, 0.3, 0.5),
    Chi2(0.3),
    ArcCosine(),
    Gaussian(0.3).on([0, 2]) + Linear() * Matern(0.8, 0.2),
]


class Unfinished(PairKernel):
    def profile(self, s): ...

    def slope(self, s): ...


@pytest.mark.parametrize("use", [Unfinished(), Unfinished().diag], ids=["values", "diagonal"])
def test_a_pair_kernel_needs_a_statistic(use):
    with pytest.raises(TypeError, match=r"Unfinished: statistic must be a class .*got None"):
        use(np.ones((2, 2)))


def pair(dtype=np.float64):
    rng = np.random.default_rng(0)
    return rng.random((9, 4)).astype(dtype), rng.random((5, 4)).astype(dtype)


@in_turn(kernel=KERNELS, dtypes=list(product([np.float32, np.float64, np.uint8], repeat=2)))
def test_dtype_is_that_of_the_first_argument(kernel, dtypes):
    X, Y = (np.floor(9 * A).astype(dtype) for A, dtype in zip(pair(), dtypes, strict=True))
    expected = np.float32 if dtypes[0] == np.float32 else np.float64
    assert kernel(X, Y).dtype == kernel.gradient(X, Y).dtype == expected
    assert kernel.expansion_gradient(X, Y, np.ones(5)).dtype == expected
    assert kernel.diag(X).dtype == np.float64
    assert np.array_equal(kernel(X), kernel(X, X))
    assert np.array_equal(kernel.gradient(X), kernel.gradient(X, X))


@in_turn(n_jobs=[1, 2, None], kernel=KERNELS)
def test_the_diagonal_has_the_same_bits_for_any_number_of_threads(kernel, n_jobs):
    X = np.abs(np.random.default_rng(0).normal(size=(5000, 4)))
    whole = kernel.diag(X, n_jobs=n_jobs)
    assert np.array_equal(whole, kernel.diag(X))
    assert np.array_equal(whole[4990:], kernel.diag(X[4990:]))
    assert np.array_equal(kernel.diag(sparse.csr_matrix(X), n_jobs=n_jobs), whole)


def test_one_thread_is_that_of_the_caller():
    seen = set()

    def one(X, Y):
        seen.add(threading.get_ident())
        return np.ones((len(X), len(Y)))

    diagonal = FunctionKernel(one, batch=True).diag(np.ones((3000, 1)), n_jobs=1)
    assert diagonal.tolist() == [1.0] * 3000
    assert seen == {threading.get_ident()}


@in_turn(kernel=KERNELS, bad=BAD)
def test_bad_arguments_are_refused(kernel, bad):
    X, message = BAD[bad]
    for refused in (
        lambda: kernel(X),
        lambda: kernel(np.ones((4, 3)), X),
        lambda: kernel.diag(X),
        lambda: kernel.gradient(X),
        lambda: kernel.expansion_gradient(np.ones((4, 3)), X, np.ones(6)),
    ):
        with pytest.raises((ValueError, TypeError), match=message):
            refused()


@pytest.mark.parametrize(
    ("coef", "message"),
    [
        (np.ones(4), r"coef must have a row for each of the 5 rows of B, found shape \(4,\)"),
        (np.ones((2, 5)), r"a row for each of the 5 rows of B, found shape \(2, 5\)"),
        (np.ones((5, 1, 1)), "dim 3"),
        (np.full(5, np.nan), "coef contains NaN"),
        (["a"] * 5, "could not convert"),
        (sparse.csr_matrix(np.ones((5, 1))), "[Ss]parse"),
        (1.0, "at least 1 dimension"),
    ],
)
def test_coefficients_that_do_not_fit_are_refused(coef, message):
    X, B = pair()
    with pytest.raises((ValueError, TypeError), match=message):
        Gaussian(1.0).expansion_gradient(X, B, coef)


HEURISTICS = [
    Gaussian(),
    Laplacian("median"),
    Matern(gamma="dim"),
    Cauchy(),
    Polynomial(),
    Tanh(),
    Chi2(),
    Gaussian(1.0) + Cauchy(),
    2.0 * (Gaussian(1.0) * Laplacian()),
    Matern().on([0]),
]


@pytest.mark.parametrize("kernel", HEURISTICS)
def test_a_heuristic_needs_rows_to_be_resolved(kernel):
    X = pair()[0]
    before = repr(kernel)
    for refused in (
        lambda: kernel(X),
        lambda: kernel.diag(X),
        lambda: kernel.gradient(X),
        lambda: kernel.expansion_gradient(X, X, np.ones(9)),
        lambda: kernel.sample_frequencies(4, 3, np.random.default_rng(0)),
    ):
        message = "gamma must be a number"
        with pytest.raises(ValueError, match=message):
            refused()
    resolved = kernel.resolve(open_rows(X), 0)
    assert resolved(X).shape == (9, 9)
    assert resolved.diag(X).shape == (9,)
    assert repr(kernel) == before


def test_a_missing_flag_is_refused_with_both_sides_named():
    message = "Map: kernel must be rotation invariant (it turns rows), got Laplacian(gamma=1.0)."
    with pytest.raises(ValueError, match=re.escape(message)):
        require(Laplacian(1.0), "rotation_invariant", owner="Map", advice="it turns rows")
    require(Gaussian(1.0), "rotation_invariant", owner="Map", advice="it turns rows")


@pytest.mark.parametrize("kernel", [Linear(), Tanh(1.0), ArcCosine(), Gaussian(1.0) + Linear()])
def test_kernels_without_a_spectrum_have_no_frequencies(kernel):
    message = (
        f"sample_frequencies: kernel must be stationary (others have no spectrum), got {kernel!r}"
    )
    with pytest.raises(ValueError, match=re.escape(message)):
        kernel.sample_frequencies(2, 3, np.random.default_rng(0))


STATIONARY = [
    Gaussian(0.5),
    Matern(1.5, [0.5, 0.0, 1.0]),
    Cauchy(0.5),
    Gaussian(0.5) + 2.0 * Cauchy(1.0),
    Matern(2.5, 0.5).on([0, 2]) * Gaussian(0.5),
]


@in_turn(
    kernel=[*STATIONARY, Laplacian(0.5), Laplacian(0.5) + Gaussian(1.0)],
    sampling=["iid", "orthogonal", "qmc"],
)
def test_frequencies_are_finite_and_the_same_for_a_seed(kernel, sampling):
    def draw(seed):
        return kernel.sample_frequencies(3, 7, np.random.default_rng(seed), sampling)

    if sampling == "orthogonal" and kernel not in STATIONARY:
        with pytest.raises(ValueError, match="L1 distance"):
            draw(0)
        return
    assert draw(0).shape == (3, 7)
    assert np.isfinite(draw(0)).all()
    assert np.array_equal(draw(0), draw(0))
    assert not np.array_equal(draw(0), draw(1))


@pytest.mark.parametrize("sampling", ["sobol", "structured", "fastfood", "", None, 1, ["iid"]])
def test_unknown_kinds_of_sampling_are_refused(sampling):
    message = (
        f"sample_frequencies: sampling must be 'iid' or 'orthogonal' or 'qmc', got {sampling!r}."
    )
    for kernel in STATIONARY:
        with pytest.raises(ValueError, match=re.escape(message)):
            kernel.sample_frequencies(3, 2, np.random.default_rng(0), sampling)


def test_a_stationary_kernel_says_how_to_make_frequencies():
    class Flat(FunctionKernel):
        stationary = True

    kernel = Flat(np.dot)
    with pytest.raises(UnsupportedError, match="kernel must be one that has a spectrum, got"):
        kernel.sample_frequencies(1, 2, np.random.default_rng(0))
