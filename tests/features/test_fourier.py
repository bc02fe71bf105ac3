import numpy as np
import pytest
from scipy import sparse

from skimp.data import open_rows
from skimp.features import RandomFourier
from skimp.kernels import Cauchy, Gaussian, Laplacian, Matern
from tests.pairs import pairwise
from tests.problems import regression
from tests.reference import naive

FORMS = ["pair", "phase"]
SAMPLINGS = ["iid", "orthogonal", "structured", "fastfood", "qmc"]


def draw(n_components, form, rng, kernel, rows):
    return RandomFourier(kernel, n_components=n_components, form=form).fit_rows(rows, rng)


def features(fitted, X):
    Z = np.empty((len(X), fitted.width))
    fitted.map_block(X, Z)
    return Z


@pairwise(
    form=FORMS,
    n_components=[1, 2, 5, 40],
    dtype=[np.float32, np.float64],
    kernel=[Gaussian(0.5), Laplacian(0.5)],
)
def test_equals_its_naive_twin(form, n_components, dtype, kernel):
    X = regression(600, dtype=dtype)[0]
    fitted = RandomFourier(kernel, n_components=n_components, form=form, random_state=0).fit(X)
    Z = fitted.transform(X)
    W = 2 * np.pi * fitted.frequencies_.astype(np.float64)
    b = 2 * np.pi * fitted.offset_.astype(np.float64)
    expected = (
        naive.fourier_pairs(X, W, b, n_components)
        if form == "pair"
        else naive.fourier_phases(X, W, b)
    )
    largest = np.abs(X).max() * np.abs(W).sum(axis=0).max()
    assert Z.dtype == dtype
    assert Z.shape == (600, n_components)
    assert np.abs(Z - expected).max() <= 10 * np.finfo(dtype).eps * (1 + largest)


@pairwise(form=FORMS, n_components=[1, 2, 5], kernel=[Gaussian(0.5), Laplacian(0.3)])
def test_products_are_unbiased(form, n_components, kernel):
    X, draws, z = regression(4)[0], 400, 5.0
    rows, rng = open_rows(X), np.random.default_rng(0)
    products = np.empty((draws, 4, 4))
    for i in range(draws):
        Z = features(draw(n_components, form, rng, kernel, rows), X)
        products[i] = Z @ Z.T
    standard_error = products.std(axis=0, ddof=1) / np.sqrt(draws)
    assert (np.abs(products.mean(axis=0) - kernel(X)) <= z * standard_error + 1e-12).all()


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kernel", [Gaussian(0.5), Laplacian(0.3)])
def test_products_are_within_hoeffdings_bound(form, kernel):
    X, n_components = regression(60)[0], 4000
    Z = features(draw(n_components, form, np.random.default_rng(0), kernel, open_rows(X)), X)
    # means of terms in [-1, 1] or [-2, 2]; larger with a probability of at most 1e-6
    terms, width = (n_components // 2, 2) if form == "pair" else (n_components, 4)
    bound = width * np.sqrt(np.log(2 * 60**2 / 1e-6) / (2 * terms))
    assert np.abs(Z @ Z.T - kernel(X)).max() <= bound


def test_pairs_have_unit_length():
    X = regression(50)[0]
    Z = RandomFourier(n_components=10, random_state=0).fit_transform(X)
    np.testing.assert_allclose((Z**2).sum(axis=1), 1, rtol=1e-12)


def test_frequencies_are_in_turns():
    X = regression(5)[0]
    fitted = RandomFourier(Gaussian(0.4), n_components=40_000, random_state=0).fit(X)
    n = fitted.frequencies_.size
    variance = 0.8 / (2 * np.pi) ** 2
    assert fitted.frequencies_.shape == (3, 20_000)
    # five standard errors of a variance
    assert abs(fitted.frequencies_.var() - variance) <= 5 * variance * np.sqrt(2 / n)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_frequencies_do_not_depend_on_the_rows(dtype):
    X = regression(50, dtype=dtype)[0]
    first = RandomFourier(Gaussian(1.0), n_components=6, random_state=0).fit(X)
    second = RandomFourier(Gaussian(1.0), n_components=6, random_state=0).fit(X[:1] * 5)
    assert np.array_equal(first.frequencies_, second.frequencies_)
    assert first.frequencies_.dtype == first.offset_.dtype == dtype


def test_the_default_kernel_is_gaussian_with_the_scale_of_the_rows():
    X = 3 * regression(50)[0]
    fitted = RandomFourier(n_components=4).fit(X)
    assert isinstance(fitted.kernel_, Gaussian)
    assert fitted.kernel_.gamma == pytest.approx(1 / (3 * X.var()), rel=1e-9)
    assert fitted.kernel is None


@pytest.mark.parametrize("sampling", SAMPLINGS)
@pytest.mark.parametrize(
    ("n_components", "d", "form", "dtype"),
    [
        (1, 1, "pair", np.float64),
        (1, 3, "phase", np.float32),
        (7, 1, "phase", np.float64),
        (75, 5, "pair", np.float32),
        (75, 5, "phase", np.float64),
        (140, 70, "pair", np.float64),
        (141, 70, "pair", np.float32),
    ],
)
def test_features_are_cosines_and_sines_of_turns(sampling, n_components, d, form, dtype):
    X = np.random.default_rng(0).normal(size=(40, d)).astype(dtype)
    X[np.abs(X) < 0.5] = 0
    options = {"sampling": sampling, "form": form, "random_state": 0}
    fitted = RandomFourier(Gaussian(0.1), n_components=n_components, **options).fit(X)
    W, b = (a.astype(np.float64) for a in (fitted.frequencies_, fitted.offset_))
    turns, size = X.astype(np.float64) @ W, W.shape[1]
    assert size == ((n_components + 1) // 2 if form == "pair" else n_components)
    if form == "phase":
        expected = np.sqrt(2 / size) * np.cos(2 * np.pi * (turns + b))
    else:
        expected = np.empty((40, n_components))
        pairs = n_components // 2
        scale = np.where(np.arange(size) < pairs, 1, np.sqrt(2)) / np.sqrt(size)
        expected[:, :size] = scale * np.cos(2 * np.pi * (turns + b))
        expected[:, size:] = np.sin(2 * np.pi * turns[:, :pairs]) / np.sqrt(size)
        assert (b[:pairs] == 0).all()
    # products by transforms of n >= 64 numbers are right relative to vectors as long as n
    n = max(64, 1 << (d - 1).bit_length())
    longest = np.linalg.norm(X, axis=1).max() * np.sqrt(0.2 * 2 * n)
    bound = 3 * (3 * np.log2(n) + 3) * np.finfo(dtype).eps * (1 + longest)
    for rows in (X, sparse.csr_matrix(X)):
        Z = fitted.transform(rows)
        assert Z.dtype == dtype
        assert Z.shape == (40, n_components)
        assert np.abs(Z - expected).max() <= bound


@pytest.mark.parametrize("sampling", SAMPLINGS)
@pytest.mark.parametrize(("form", "n_components"), [("pair", 7), ("phase", 6), ("pair", 2)])
def test_products_are_unbiased_whatever_the_sampling(sampling, form, n_components):
    X, kernel, draws = regression(4)[0], 2.0 * Matern(1.5, 0.3), 120
    rows, rng = open_rows(X), np.random.default_rng(0)
    options = {"n_components": n_components, "form": form, "sampling": sampling}
    products = np.empty((draws, 4, 4))
    for i in range(draws):
        Z = features(RandomFourier(kernel, **options).fit_rows(rows, rng), X)
        products[i] = Z @ Z.T
    standard_error = products.std(axis=0, ddof=1) / np.sqrt(draws)
    bias = 2 * 0.001 if sampling == "structured" else 0
    assert (np.abs(products.mean(axis=0) - kernel(X)) <= 5 * standard_error + bias + 1e-12).all()


@pytest.mark.parametrize(("form", "n_components"), [("pair", 6), ("phase", 3)])
@pytest.mark.parametrize("kernel", [Gaussian(0.5), Laplacian(0.3)])
def test_the_variance_of_products_is_that_of_theory(form, n_components, kernel):
    X, draws, size = np.array([[0.0, 0.0], [0.9, -0.4], [1.8, -0.8]]), 600, 3
    rows, rng = open_rows(X), np.random.default_rng(0)
    products = np.empty(draws)
    for i in range(draws):
        Z = features(draw(n_components, form, rng, kernel, rows), X[:2])
        products[i] = Z[0] @ Z[1]
    k, k_twice = kernel(X)[0, 1:]
    theory = {
        "pair": (1 + k_twice - 2 * k**2) / (2 * size),
        "phase": (1 + k_twice / 2 - k**2) / size,
    }[form]
    squares = (products - k) ** 2
    assert abs(squares.mean() - theory) <= 5 * squares.std(ddof=1) / np.sqrt(draws)


@pytest.mark.parametrize("sampling", SAMPLINGS)
@pytest.mark.parametrize("form", FORMS)
def test_the_same_seed_gives_the_same_map_and_rows_do_not_matter(sampling, form):
    X = regression(30)[0]

    def fit(rows, seed):
        options = {"n_components": 9, "sampling": sampling, "form": form}
        return RandomFourier(Cauchy(0.5), **options, random_state=seed).fit(rows)

    first, other = fit(X, 0), fit(X, 1)
    for again in (fit(X, 0), fit(X[:2] * 9, 0), fit(sparse.csr_matrix(X), 0)):
        assert np.array_equal(again.frequencies_, first.frequencies_)
        assert np.array_equal(again.offset_, first.offset_)
        assert np.array_equal(again.transform(X), first.transform(X))
    assert not np.array_equal(other.frequencies_, first.frequencies_)
    assert not np.array_equal(other.transform(X), first.transform(X))


@pytest.mark.parametrize("sampling", ["orthogonal", "structured"])
@pytest.mark.parametrize("form", FORMS)
def test_widths_of_columns_are_within_hoeffdings_bound(sampling, form):
    X, n_components = regression(40, 5)[0], 4000
    kernel = Gaussian([0.3, 0.0, 1.0, 0.05, 0.2])
    options = {"n_components": n_components, "sampling": sampling, "form": form}
    Z = RandomFourier(kernel, **options, random_state=0).fit_transform(X)
    # for independent terms; these vary less
    terms, width = (n_components // 2, 2) if form == "pair" else (n_components, 4)
    bound = width * np.sqrt(np.log(2 * 40**2 / 1e-6) / (2 * terms))
    assert np.abs(Z @ Z.T - kernel(X)).max() <= bound


@pytest.mark.parametrize("sampling", SAMPLINGS)
def test_pairs_of_a_multiple_have_its_length(sampling):
    X = regression(20)[0]
    fitted = RandomFourier(3.0 * Gaussian(0.5), n_components=10, sampling=sampling, random_state=0)
    np.testing.assert_allclose((fitted.fit_transform(X) ** 2).sum(axis=1), 3, rtol=1e-12)


@pytest.mark.parametrize(
    ("sampling", "kernel", "message"),
    [
        ("orthogonal", Laplacian(1.0), "sampling='orthogonal'"),
        ("orthogonal", Laplacian(1.0) + Gaussian(1.0), "choose sampling='iid' or 'qmc'"),
        *(
            (sampling, kernel, f"'iid' or 'qmc' for.* got '{sampling}'")
            for sampling in ("structured", "fastfood")
            for kernel in (
                Laplacian(),
                Gaussian() + Cauchy(),
                Gaussian() * Cauchy(),
                Cauchy().on(0),
            )
        ),
    ],
)
def test_samplings_that_a_kernel_does_not_have_are_refused(sampling, kernel, message):
    with pytest.raises(ValueError, match=message):
        RandomFourier(kernel, n_components=4, sampling=sampling).fit(regression(9)[0])
