import numpy as np
import pytest
from scipy.stats import binom

from skimp.data import open_rows
from skimp.diagnostics import (
    binning_bound,
    binning_size,
    fourier_bound,
    fourier_size,
    hoeffding_bound,
    hoeffding_size,
)
from skimp.features import RandomBinning, RandomFourier
from skimp.kernels import Cauchy, Gaussian, Laplacian, Linear, Matern, Separable
from tests.reference import naive

FORMS = ["pair", "phase"]
DRAWS = 200


def steep(t):
    return np.exp(-np.sqrt(t))


def fourier(kernel=None, eps=0.3, size=1000, d=2, diameter=2.0, **options):
    kernel = Gaussian(0.5) if kernel is None else kernel
    return fourier_bound(kernel, eps, size, n_features=d, diameter=diameter, **options)


def binning(kernel=None, eps=0.3, size=1000, d=2, diameter=2.0):
    kernel = Laplacian(0.5) if kernel is None else kernel
    return binning_bound(kernel, eps, size, n_features=d, diameter=diameter)


@pytest.mark.parametrize(("form", "rate"), [("pair", 1 / 4), ("phase", 1 / 8), ("binning", 2)])
def test_hoeffdings_bound_by_its_formulas(form, rate):
    for eps, size in ((0.05, 4000), (0.3, 10), (1.5, 2)):
        expected = min(1, 2 * np.exp(-rate * size * eps**2))
        assert hoeffding_bound(eps, size, form=form) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("size", [1, 3, 11, 1001])
def test_an_odd_number_of_pairs_leaves_one_alone(size):
    # Hoeffding's inequality with ranges of 2, and of 4 for the frequency that is alone
    terms = (size + 1) // 2
    exponent = 2 * (terms * 0.5) ** 2 / ((terms - 1) * 2**2 + 4**2)
    assert hoeffding_bound(0.5, size) == pytest.approx(min(1, 2 * np.exp(-exponent)), rel=1e-12)


def fourier_twin(moment, eps, size, d, diameter, form):
    """The least over shares of the error and radii, of which the bound tries a grid."""
    terms = size / 2 if form == "pair" else size
    rate, growth = (1 / 2, 4) if form == "pair" else (1 / 8, (2 + np.sqrt(2)) ** 2)
    if form == "phase":
        d, diameter = 2 * d, np.sqrt(2) * diameter
    s, log_radius = np.meshgrid(np.linspace(0.002, 0.998, 500), np.linspace(-20, 5, 2000))
    r = s * eps * np.exp(log_radius) / np.sqrt(growth * moment)
    log_anchors = d * np.log1p(2 * diameter / r) - rate * terms * (1 - s) ** 2 * eps**2
    missed = 2 * np.exp(np.minimum(log_anchors, 1)) + growth * moment * r**2 / (s * eps) ** 2
    return min(1.0, missed.min())


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("kernel", "moment"),
    # w is N(0, 2 gamma), over the root of a gamma variable of mean 1 for Matern
    [(Gaussian(0.5), 2.0), (Gaussian([0.2, 0.4]), 1.2), (Matern(nu=2.5, gamma=0.5), 2 / 0.6)],
    ids=repr,
)
def test_the_fourier_bound_by_its_formula(form, kernel, moment):
    assert kernel.spectral_moment(2) == pytest.approx(moment)
    found = fourier(kernel, 0.4, 2000, form=form)
    least = fourier_twin(moment, 0.4, 2000, 2, 2.0, form)
    assert least * (1 - 1e-3) <= found <= 1.05 * least
    assert 0 < found < 1


@pytest.mark.parametrize(
    ("kernel", "diameter", "steps"),
    [
        (Laplacian(0.5), 2.0, [1.0, 1.0]),
        (Laplacian([0.5, 0.0]), 2.0, [1.0, 0.0]),
        (Laplacian(2.0), [0.25, 3.0], [0.5, 6.0]),
        (3.0 * Laplacian(0.5), 2.0, [1.0, 1.0]),
    ],
    ids=repr,
)
def test_the_binning_bound_by_its_formula(kernel, diameter, steps):
    def missed(s):
        d = np.count_nonzero(steps)
        T = np.prod([max(1, np.ceil(2 * d * step / (s * 0.3))) for step in steps])
        return T * (T + 1) * np.exp(-2 * 150 * (1 - s) ** 2 * 0.3**2)

    least = min(missed(s) for s in np.linspace(0.002, 0.998, 2000))
    found = binning(kernel, 0.3, 150, diameter=diameter)
    assert least * (1 - 1e-3) <= found <= 1.05 * least
    assert 0 < found < 1


COLUMN = {"n_features": 1, "diameter": 3.0}
SIZES = [
    (hoeffding_size, hoeffding_bound, (), {}),
    (hoeffding_size, hoeffding_bound, (), {"form": "phase"}),
    (hoeffding_size, hoeffding_bound, (), {"form": "binning"}),
    (fourier_size, fourier_bound, (Gaussian(0.5),), {"n_features": 2, "diameter": 2.0}),
    (fourier_size, fourier_bound, (Cauchy(0.5),), {**COLUMN, "form": "phase"}),
    (binning_size, binning_bound, (Laplacian(0.5),), {"n_features": 2, "diameter": 2.0}),
    (binning_size, binning_bound, (Separable(naive.slow_decay, gamma=1.0),), COLUMN),
]


@pytest.mark.parametrize(("size_of", "bound", "kernel", "known"), SIZES)
def test_sizes_are_the_least(size_of, bound, kernel, known):
    eps, delta = 0.17, 0.01
    size = size_of(*kernel, eps, delta, **known)
    assert bound(*kernel, eps, size, **known) <= delta
    smaller = range(max(1, size - 20), size)
    assert all(bound(*kernel, eps, other, **known) > delta for other in smaller)


@pytest.mark.parametrize(("size_of", "bound", "kernel", "known"), SIZES)
def test_more_features_and_larger_errors_are_less_probable(size_of, bound, kernel, known):
    by_size = [bound(*kernel, 0.3, size, **known) for size in 2 ** np.arange(1, 16)]
    by_eps = [bound(*kernel, eps, 800, **known) for eps in np.linspace(0.01, 2, 30)]
    for found in (by_size, by_eps):
        assert (np.diff(found) <= 1e-15).all()
        assert found[0] == 1
        assert 0 <= found[-1] < 1e-3
    sizes = [size_of(*kernel, eps, 0.1, **known) for eps in (0.1, 0.2, 0.4)]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] > sizes[2]


@pytest.mark.parametrize(("d", "eps", "diameter"), [(1, 0.1, 1.0), (5, 0.3, 10.0), (10, 0.1, 1.0)])
def test_the_fourier_bound_is_below_its_closed_form(d, eps, diameter):
    # Sutherland and Schneider (2015), proposition 1, with 4 sigma^2 for sigma^2. It has 4 l / r
    # for 1 + 2 l / r, which is more by a factor of 4/3 where r <= l: for d <= 30 that outweighs
    # that our r and s come from a grid.
    sigma, compared = np.sqrt(2 * 0.5 * d), 0
    beta = (d / 2) ** (-d / (d + 2)) + (d / 2) ** (2 / (d + 2))
    for size in (10 ** np.linspace(2.5, 5.5, 40)).astype(int) // 2 * 2:
        log_anchors = np.log(2) + d * np.log(4 * diameter) - size * eps**2 / 16
        squares = 16 * sigma**2 / eps**2
        radius = np.exp((np.log(d / 2 / squares) + log_anchors) / (d + 2))
        closed = beta * 2 ** ((6 * d + 2) / (d + 2))
        closed *= (2 * sigma * diameter / eps) ** (2 / (1 + 2 / d))
        closed *= np.exp(-size * eps**2 / (8 * (d + 2)))
        if radius <= diameter and 1e-11 < closed < 1:
            compared += 1
            assert fourier(Gaussian(0.5), eps, size, d, diameter) < closed
    assert compared > 0


@pytest.mark.parametrize(
    ("d", "eps", "gamma", "diameter"), [(1, 0.1, 3.0, 0.5), (5, 0.3, 0.3, 4.0), (10, 0.3, 3.0, 4.0)]
)
def test_the_binning_bound_is_below_that_of_rahimi_and_recht(d, eps, gamma, diameter):
    compared = 0
    for size in (10 ** np.linspace(2, 6, 60)).astype(int):
        theirs = 36 * d * size * gamma * diameter
        theirs *= np.exp(-(size * eps**2 / 8 + np.log(eps / gamma)) / (d + 1))
        if theirs < 1:
            compared += 1
            assert binning(Laplacian(gamma), eps, size, d, diameter) <= theirs
    assert compared > 0


def most_failures(delta, events=1):
    """As many as a probability of delta gives in all draws but with a probability of 1e-6."""
    return binom.isf(1e-6 / events, DRAWS, delta)


def points(d):
    side = np.linspace(0, 1, 16 if d == 1 else 4)
    return np.stack(np.meshgrid(*[side] * d), axis=-1).reshape(-1, d)


def fourier_errors(kernel, size, form, d):
    """The errors of all pairs of points, of each draw."""
    X, rng, errors = points(d), np.random.default_rng(0), []
    Z, K, rows = np.empty((16, size)), kernel(X), open_rows(X)
    for _ in range(DRAWS):
        made = RandomFourier(kernel, n_components=size, form=form).fit_rows(rows, rng)
        made.map_block(X, Z)
        errors.append(np.abs(Z @ Z.T - K))
    return np.array(errors)


def binning_errors(kernel, size, form, d):
    """The same; grids are independent, so that those of all draws are drawn at once."""
    X = points(d)
    made = RandomBinning(kernel, n_grids=size * DRAWS, random_state=0).fit(X)
    codes = np.empty((16, size * DRAWS), made.coded.codes.dtype)
    made.map_codes(X, codes)
    assert codes.all()
    shared = (codes[:, None] == codes).reshape(16, 16, DRAWS, size).mean(axis=3)
    return np.abs(np.moveaxis(shared, 2, 0) - kernel(X))


DRAWN = {
    "pair": (fourier_errors, fourier_size, Gaussian(2.0)),
    "phase": (fourier_errors, fourier_size, Gaussian(2.0)),
    "binning": (binning_errors, binning_size, Laplacian(1.0)),
}


@pytest.mark.parametrize(
    ("form", "d", "eps"),
    [("pair", 1, 0.2), ("pair", 2, 0.3), ("phase", 1, 0.3), ("phase", 2, 0.3), ("binning", 1, 0.3)],
)
def test_features_keep_to_their_bound(form, d, eps):
    errors_of, size_of, kernel = DRAWN[form]
    known = {"diameter": 1.0} if form == "binning" else {"diameter": np.sqrt(d), "form": form}
    size = size_of(kernel, eps, 0.1, n_features=d, **known)

    def failures(size):
        return np.sum(errors_of(kernel, size, form, d).max(axis=(1, 2)) > eps)

    assert failures(size) <= most_failures(0.1)
    assert failures(max(2, size // 80)) > most_failures(0.1)


@pytest.mark.parametrize("form", DRAWN)
def test_single_pairs_keep_to_hoeffdings_bound(form):
    errors_of, _, kernel = DRAWN[form]
    errors = errors_of(kernel, hoeffding_size(0.3, 0.1, form=form), form, 1)
    assert (np.sum(errors > 0.3, axis=0) <= most_failures(0.1, events=16**2)).all()
    assert errors.max() > 0.1


@pytest.mark.parametrize(
    ("bound", "name", "value"),
    [
        (fourier, "kernel", Laplacian(1.0)),
        (fourier, "kernel", Gaussian(1.0) + Laplacian(1.0)),
        (fourier, "kernel", Linear()),
        (fourier, "eps", 0),
        (fourier, "diameter", -1.0),
        (fourier, "diameter", [1.0, 2.0]),
        (fourier, "form", "binning"),
        (binning, "kernel", Separable(steep, gamma=1.0)),
        (binning, "kernel", Linear()),
        (binning, "kernel", Gaussian(1.0)),
        (binning, "eps", np.nan),
        (binning, "diameter", [1.0, 1.0, 1.0]),
    ],
)
def test_refusals(bound, name, value):
    with pytest.raises(ValueError, match=f"{name} must be"):
        bound(**{name: value})


def test_other_refusals():
    with pytest.raises(ValueError, match="n_components must be"):
        hoeffding_bound(0.1, 0)
    with pytest.raises(ValueError, match="features"):
        hoeffding_size(1e-7, 0.1)
    with pytest.raises(ValueError, match="2 columns"):
        fourier(Gaussian([1.0, 2.0, 3.0]))


@pytest.mark.parametrize(("size_of", "bound", "kernel", "known"), SIZES[2:6])
def test_probabilities_are_between_0_and_1(size_of, bound, kernel, known):
    for delta in (0, 1, "0.1"):
        message = f"{size_of.__name__}: delta .*got {delta!r}"
        with pytest.raises(ValueError, match=message):
            size_of(*kernel, 0.1, delta, **known)
