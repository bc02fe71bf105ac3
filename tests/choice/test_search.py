"""What is chosen, and by which trials."""

from functools import cache

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.kernel_approximation import RBFSampler

from skimp import KernelClassifier, KernelRegressor
from skimp.choice._candidates import Candidate, list_candidates
from skimp.choice._columns import measure_columns
from skimp.choice._search import search
from skimp.choice._trials import ALPHAS
from skimp.data import ArrayRows
from skimp.features import Nystroem, RandomBinning, Transformer
from skimp.kernels import Gaussian, Laplacian
from tests.choice.tasks import problem_rows, trials_on
from tests.problems import labelled, regression
from tests.reference import naive


def choose_among(candidates, rows, *, grow=False, **options):
    """Return what is chosen among candidates, of which a single one is a map that was given."""
    given = {} if grow else {"approximation": candidates[0].approximation}
    return search(trials_on(rows, **given, **options), candidates)


def trials_of(X, y, **params):
    return KernelRegressor(**{"random_state": 0, **params}).fit(X, y).certificate_.trials


@cache
def of_many_rows():
    """Return the trials of families that are offered to more rows, on few."""
    rows = problem_rows(1500)
    trials = trials_on(rows, small=False)
    columns = measure_columns(rows.collect().X, np.ones(1500))
    choice = search(trials, list_candidates(trials.limits.task, columns, 0, small=False))
    return [trial.to_dict() for trial in choice.trials]


# the error of a trial


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("weighted", [False, True])
def test_error_of_a_trial_is_that_of_refits_without_each_row(fit_intercept, weighted):
    weight = regression(60)[2] + 1 if weighted else None
    rows = problem_rows(60, weight)
    candidate = Candidate(Nystroem(budget=30), Laplacian(0.5))
    (trial,) = choose_among([candidate], rows, fit_intercept=fit_intercept).trials
    drawn = rows.sample(60, 3)
    points = clone(candidate.sized(30)).set_params(selector="uniform")
    points.fit_rows(ArrayRows(drawn.X, None, drawn.weight), np.random.default_rng(3))
    B, share = points.budget_.points, drawn.weight / drawn.weight.sum()
    Z, P = naive.laplacian(drawn.X, B, 0.5), naive.laplacian(B, B, 0.5)

    def error(alpha):
        model = {"penalty": P, "fit_intercept": fit_intercept, "weight": drawn.weight}
        F = naive.left_out(Z, drawn.y, alpha=alpha, **model)
        coef, constant = naive.ridge(Z, np.eye(60), alpha=alpha, **model)
        followed = np.trace(Z @ coef + constant) / 60
        plain = share @ np.square(drawn.y - F).sum(axis=1)
        return plain * (1 + 2 * np.sqrt(2 / 60) * followed)

    assert trial.error == pytest.approx(error(trial.alpha), rel=1e-6)
    assert trial.error <= 1.003 * min(error(alpha) for alpha in ALPHAS[6::4])


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_error_of_a_trial_is_that_of_a_refit_on_rows_that_were_held_out(fit_intercept):
    rows = problem_rows(250)
    candidate = Candidate(Nystroem(budget=30), Laplacian(0.5))
    options = {"small": False, "fit_intercept": fit_intercept}
    (trial,) = choose_among([candidate], rows, **options).trials
    # a fifth of the rows judges
    drawn, judging, training = rows.sample(250, 3), slice(0, 50), slice(50, None)
    points = clone(candidate.sized(30)).set_params(selector="uniform")
    points.fit_rows(ArrayRows(drawn.X[training]), np.random.default_rng(3))
    B = points.budget_.points

    def error(alpha, size):
        Z, P = (naive.laplacian(X, B[:size], 0.5) for X in (drawn.X, B[:size]))
        options = {"alpha": alpha, "penalty": P, "fit_intercept": fit_intercept}
        coef, constant = naive.ridge(Z[training], drawn.y[training], **options)
        return np.mean((drawn.y[judging] - Z[judging] @ coef - constant) ** 2)

    assert trial.n_rows == 200
    assert trial.error == pytest.approx(error(trial.alpha, 30), rel=1e-6)
    assert trial.error <= 1.003 * min(error(alpha, 30) for alpha in ALPHAS[6::2])
    halves = [error(alpha, 15) for alpha in ALPHAS[::2]]
    assert np.isclose(trial.half_error, halves, rtol=1e-6).any()


@pytest.mark.parametrize(("small", "fit_intercept"), [(True, True), (False, False)])
def test_more_features_than_rows_are_judged_as_they_are(small, fit_intercept):
    rows = problem_rows(60)
    # the same features, and the same with as many that are always zero
    few, wide = (
        Transformer(Padded(RBFSampler(gamma=0.1, n_components=30, random_state=0), width))
        for width in (30, 140)
    )
    trials = []
    for approximation in (few, wide):
        options = {"small": small, "fit_intercept": fit_intercept}
        trials += choose_among([Candidate(approximation)], rows, **options).trials
    assert trials[0].alpha == trials[1].alpha
    assert trials[0].error == pytest.approx(trials[1].error, rel=1e-8)


class Padded(RBFSampler):
    """Random features of another sampler, with columns of zeros up to a width."""

    def __init__(self, inner, width):
        self.inner = inner
        self.width = width

    def fit(self, X, y=None):
        self.inner_ = clone(self.inner).fit(X)
        return self

    def transform(self, X):
        Z = self.inner_.transform(X)
        return np.hstack([Z, np.zeros((len(Z), self.width - Z.shape[1]))])


# bandwidths


@pytest.mark.parametrize("factor", [4.0**3, 4.0**-6])
def test_bandwidth_climbs_away_from_a_wrong_start(factor):
    start = Candidate(Nystroem(budget=64), Gaussian(0.3), {"gamma": 0.3}, factor)
    choice = choose_among([start], problem_rows())
    first, best = choice.trials[0], min(choice.trials, key=lambda trial: trial.error)
    assert best.error < 0.5 * first.error
    assert (best.candidate.factor < factor) is (factor > 1)
    assert choice.approximation.kernel == best.approximation.kernel


def test_bandwidth_stops_between_two_that_are_worse():
    X, y, _ = regression(200)
    trials = trials_of(X, y, kernel=Gaussian("auto"), approximation=64)
    gammas = [float(trial["kernel"].split("=")[1][:-1]) for trial in trials]
    errors = dict(zip(gammas, (trial["error"] for trial in trials), strict=True))
    best = min(errors, key=errors.get)
    for step in (4.0, 0.25):
        (near,) = [gamma for gamma in errors if np.isclose(gamma, step * best)]
        assert errors[near] >= 0.99 * errors[best]


def test_bandwidths_go_on_past_some_that_see_a_constant():
    # hills so close that all but narrow kernels predict the mean
    X, y = hills(1800, 20, 2)
    model = KernelRegressor(Gaussian("auto"), approximation=256, random_state=0)
    model.fit(X[:1500], y[:1500])
    errors = [trial["error"] for trial in model.certificate_.trials]
    assert errors[1] > 0.99 * errors[0] > 0.98 * y.var()
    assert model.score(X[1500:], y[1500:]) > 0.3


def test_bandwidths_of_noise_come_to_an_end():
    X, _, _ = regression(100)
    noise = np.random.default_rng(1).normal(size=100)
    trials = trials_of(X, noise, kernel=Gaussian("auto"))
    assert len(trials) <= 8


def test_given_bandwidths_are_tried_once():
    X, y, _ = regression(100)
    (trial,) = trials_of(X, y, kernel=Gaussian(0.3))
    assert trial["kernel"] == "Gaussian(gamma=0.3)"


# families


def test_each_family_is_tried_on_many_rows():
    trials = of_many_rows()
    maps = [trial["map"] for trial in trials]
    assert maps[0] == "Nystroem"
    assert {"Nystroem", "RandomFourier", "RandomBinning", "Transformer"} == set(maps)


def test_features_keep_the_bandwidth_of_landmarks():
    trials = of_many_rows()
    features = next(i for i, trial in enumerate(trials) if trial["map"] == "RandomFourier")
    landmarks = min(trials[:features], key=lambda trial: trial["error"])
    assert trials[features]["kernel"] == landmarks["kernel"]


def test_hopeless_families_are_tried_once():
    trials = of_many_rows()
    errors = {}
    for trial in trials:
        errors.setdefault(trial["map"], []).append(trial["error"])
    binned, best = errors["RandomBinning"], min(errors["Nystroem"])
    assert (len(binned) == 1) is (binned[0] > 1.5 * best)


@pytest.mark.parametrize(("n", "tried"), [(8192, 8192), (8193, 8193 - 8193 // 5)])
def test_many_rows_are_held_out_and_few_are_left_out_one_by_one(n, tried):
    X, y, _ = regression(n)
    trials = trials_of(X, y, kernel=Gaussian("auto"), approximation=8)
    assert {trial["rows"] for trial in trials} == {tried}


# sizes


@pytest.mark.parametrize(("kernel", "size"), [("auto", 7), (Gaussian("auto"), 300)])
def test_given_size_is_kept_and_tried_with_fewer(kernel, size):
    X, y, _ = regression(400)
    model = KernelRegressor(kernel, approximation=size, random_state=0).fit(X, y)
    assert "given" in model.certificate_.reason
    assert model.approximation_.budget == size
    assert {trial["size"] for trial in model.certificate_.trials} == {min(size, 256)}


def test_selector_and_seed_of_a_given_map_are_kept():
    X, y, _ = regression(100)
    given = Nystroem(budget=7, selector="rpcholesky", random_state=5)
    model = KernelRegressor(approximation=given, random_state=0).fit(X, y)
    assert model.approximation_.selector == "rpcholesky"
    assert model.approximation_.random_state == 5


def test_growth_ends_with_the_rows():
    X, y, _ = regression(300)
    model = KernelRegressor(Laplacian(0.3), random_state=0).fit(X, y)
    assert "rows" in model.certificate_.reason
    assert model.certificate_.trials[0]["size"] == 256


def test_growth_ends_if_it_does_not_help():
    X, _, _ = regression(1000)
    noise = np.random.default_rng(0).normal(size=1000)
    model = KernelRegressor(Gaussian(0.3), random_state=0).fit(X, noise)
    assert model.certificate_.size <= 256
    assert max(trial["size"] for trial in model.certificate_.trials) == 256


def hills(n, width, frequency):
    """Return rows of a square, and a function with many hills of equal height."""
    rng = np.random.default_rng(0)
    X = rng.uniform(0, width, size=(n, 2))
    return X, np.sin(frequency * X).prod(axis=1) + 0.01 * rng.normal(size=n)


def test_growth_goes_on_if_it_helps():
    # more hills than 256 landmarks can follow
    X, y = hills(1000, 9, 3)
    certificate = KernelRegressor(random_state=0).fit(X, y).certificate_
    errors = {}
    for trial in certificate.trials:
        errors.setdefault(trial["size"], []).append(trial["error"])
    assert min(errors[512]) < 0.5 * min(errors[256])
    assert certificate.size > 512


# penalties


def test_given_penalty_is_that_of_every_trial():
    X, y, _ = regression(100)
    model = KernelRegressor(Gaussian("auto"), alpha=0.01, random_state=0).fit(X, y)
    assert model.alpha_ == 0.01
    assert {trial["alpha"] for trial in model.certificate_.trials} == {0.01}


def test_penalty_shrinks_as_rows_become_more():
    # what stays about the same is n alpha
    rows = problem_rows(1000)
    candidate = Candidate(Nystroem(budget=20), Gaussian(0.3))
    choice = choose_among([candidate], rows, small=False)
    (trial,) = choice.trials
    assert choice.alpha == pytest.approx(trial.alpha * 800 / 1000)


# what decides


@pytest.mark.parametrize("estimator", [KernelRegressor, KernelClassifier])
def test_the_seed_decides_and_threads_do_not(estimator):
    X, y, _ = labelled(300)

    def trials(seed, n_jobs):
        model = estimator(random_state=seed, n_jobs=n_jobs).fit(X, y)
        done = model.certificate_.trials
        return [[t["kernel"], t["size"], t["rows"], t["alpha"]] for t in done], done[0]["error"]

    one, same, other = trials(0, 1), trials(0, 2), trials(1, 1)
    assert one[0] == same[0]
    assert one[1] == pytest.approx(same[1], rel=1e-6)
    assert one[1] != other[1]


@pytest.mark.parametrize("share", [2, 10])
def test_absent_rows_do_not_keep_grids_from_an_end(share):
    rows = problem_rows(1500, (np.arange(1500) % share > 0).astype(float))
    grids = [Candidate(RandomBinning(), Laplacian(0.3), {"gamma": 0.3}, 4.0)]
    choice = choose_among(grids, rows, grow=True, small=False)
    assert isinstance(choice.approximation, RandomBinning)
    present = 1500 - 1500 // share
    assert max(trial.n_rows for trial in choice.trials) < present


@pytest.mark.parametrize("small", [True, False])
def test_absent_rows_are_not_tried(small):
    X, y, _ = regression(400)
    absent = np.arange(400) % 4 == 0
    strange = np.where(absent, 1e6, y)
    candidate = Candidate(Nystroem(budget=20), Gaussian(0.3))
    choices = [
        choose_among([candidate], rows, small=small)
        for rows in (
            ArrayRows(X, strange[:, None], (~absent).astype(float)),
            ArrayRows(X[~absent], y[~absent, None]),
        )
    ]
    weighted, shorter = (choice.trials[0] for choice in choices)
    # a fifth of the 400 or 300 rows judges, unless each is left out
    expected = (300, 300) if small else (300 - 80, 300 - 60)
    assert (weighted.n_rows, shorter.n_rows) == expected
    # other rows are held out, but none of those with strange targets
    assert weighted.error < 2 * shorter.error


def test_trials_are_described_by_names_and_numbers():
    X, y, _ = regression(100)
    trial = trials_of(X, y, kernel=Gaussian(0.6))[0]
    numbers = {name: trial.pop(name) for name in ("alpha", "error", "seconds")}
    assert trial == {
        "map": "Nystroem",
        "kernel": "Gaussian(gamma=0.6)",
        "columns": "as given",
        "size": 100,
        "rows": 100,
    }
    assert all(number > 0 for number in numbers.values())
