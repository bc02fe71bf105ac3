"""Trials on samples of the rows."""

from dataclasses import replace
from functools import cache
from time import monotonic

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.kernel_approximation import RBFSampler

from skimp import KernelRegressor
from skimp._core._rates import NOMINAL
from skimp.data import ArrayRows
from skimp.estimators import _judging, _limits, _search
from skimp.estimators._candidates import Candidate, candidates
from skimp.estimators._judging import ALPHAS
from skimp.estimators._limits import Limits
from skimp.estimators._search import Search
from skimp.features import Nystroem, RandomBinning, RandomFourier
from skimp.features._transformer import Transformer
from skimp.kernels import Gaussian, Laplacian, Linear
from skimp.losses import squared
from skimp.solvers import Auto
from skimp.solvers._path import _CAUTION
from tests.problems import regression
from tests.reference import naive

N, JUDGING = 1500, 300


@pytest.fixture(autouse=True)
def _small_trials(monkeypatch):
    small = {"FIRST_ROWS": 400, "FIRST_SIZE": 64, "FIRST_GRIDS": 16, "LARGEST_SIZE": 256}
    for name, value in small.items():
        monkeypatch.setattr(_search, name, value)
    monkeypatch.setattr(_limits, "measured_rates", lambda n_jobs: NOMINAL)


def problem(n=N, weight=None):
    X, y, _ = regression(n)
    return ArrayRows(X, (y - y.mean())[:, None], weight)


def searcher(rows=None, *, alpha=None, seed=0, fit_intercept=True, **allowed):
    rows = problem() if rows is None else rows
    limits = Limits(rows, 1, squared, Auto(), labelled=False, **allowed)
    return Search(rows, alpha=alpha, fit_intercept=fit_intercept, limits=limits, seed=seed)


def chosen(rows=None, kernel="auto", approximation=None, **options):
    rows = problem() if rows is None else rows
    found = candidates(kernel, approximation, rows, 0, owner="Model")
    return searcher(rows, **options).choose(found, grow=approximation is None)


@cache
def trials_of_all_families():
    return chosen().trials


def free(factor=1.0, approximation=None):
    return Candidate(approximation or Nystroem(), Gaussian(0.3), {"gamma": 0.3}, factor)


def test_each_family_is_tried():
    maps = [type(trial.approximation) for trial in trials_of_all_families()]
    assert set(maps) == {Nystroem, RandomFourier, RandomBinning}
    assert maps[0] is Nystroem


def test_features_keep_the_bandwidth_of_landmarks():
    trials = trials_of_all_families()
    landmarks = [t for t in trials if isinstance(t.approximation, Nystroem) and t.n_rows == 400]
    features = next(t for t in trials if isinstance(t.approximation, RandomFourier))
    best = min(landmarks, key=lambda trial: trial.error)
    assert features.candidate.factor == best.candidate.factor


@pytest.mark.parametrize("factor", [4.0**3, 4.0**-6])
def test_bandwidth_climbs_away_from_a_wrong_start(factor):
    search = searcher()
    first = search._try(free(factor), 64, 400)
    best = search._climb(first)
    assert best.error < first.error
    assert (best.candidate.factor < factor) is (factor > 1)
    assert best.error == min(trial.error for trial in search._trials)


def test_bandwidth_stops_between_two_that_are_worse():
    search = searcher()
    best = search._climb(search._try(free(), 64, 400))
    errors = {trial.candidate.factor: trial.error for trial in search._trials}
    for step in (4.0, 0.25):
        assert errors[step * best.candidate.factor] >= best.error


def test_given_bandwidths_are_tried_once():
    search = searcher()
    first = search._try(Candidate(Nystroem(), Gaussian(0.3)), 64, 400)
    assert search._climb(first) is first
    assert len(search._trials) == 1


def test_hopeless_families_are_tried_once():
    trials = trials_of_all_families()
    best = min(trial.error for trial in trials if isinstance(trial.approximation, Nystroem))
    binned = [trial for trial in trials if isinstance(trial.approximation, RandomBinning)]
    assert (len(binned) == 1) is (binned[0].error > 1.5 * best)


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_error_of_a_trial_is_that_of_a_refit(fit_intercept):
    rows = problem()
    search = searcher(rows, seed=3, fit_intercept=fit_intercept)
    candidate = Candidate(Nystroem(), Laplacian(0.5))
    trial = search._try(candidate, 30, 400)
    drawn = rows.sample(400 + JUDGING, 3)
    judging, training = slice(0, JUDGING), slice(JUDGING, None)
    fitted = clone(candidate.sized(30)).set_params(selector="uniform")
    fitted.fit_rows(ArrayRows(drawn.X[training]), np.random.default_rng(3))
    B = fitted.budget_.points

    def error(alpha, size):
        Z, P = (naive.laplacian(X, B[:size], 0.5) for X in (drawn.X, B[:size]))
        options = {"alpha": alpha, "penalty": P, "fit_intercept": fit_intercept}
        coef, intercept = naive.ridge(Z[training], drawn.y[training], **options)
        return np.mean((drawn.y[judging] - Z[judging] @ coef - intercept) ** 2)

    assert trial.n_rows == 400
    assert trial.error == pytest.approx(error(trial.alpha, 30), rel=1e-6)
    halves = [error(alpha, 15) for alpha in ALPHAS[::2]]
    assert np.isclose(trial.half_error, halves, rtol=1e-6).any()


def cautious(Z, P, Y, alphas):
    """Return errors by cross-validation, each direction counted 1.4 times."""
    n, Z, Y = len(Z), Z - Z.mean(axis=0), Y - Y.mean(axis=0)
    errors = []
    for alpha in alphas:
        hat = Z @ np.linalg.solve(Z.T @ Z / n + alpha * P, Z.T / n)
        free = 1 - _CAUTION * (np.trace(hat) + 1) / n
        error = np.sum((Y - hat @ Y) ** 2) / n
        errors.append(error / free**2 if free > 0 else np.inf)
    return np.array(errors)


def test_few_rows_are_judged_by_cross_validation():
    rows = problem(60)
    X, Y = rows.collect().X, rows.collect().y
    choice = chosen(rows, Laplacian(0.5))
    (trial,) = choice.trials
    K = naive.laplacian(X, X, 0.5)
    errors = cautious(K, K, Y, ALPHAS[::2])
    assert trial.alpha == ALPHAS[::2][np.argmin(errors)]
    assert trial.error == pytest.approx(min(errors), rel=1e-6)
    assert choice.reason == "rows are so few that each is a landmark"


@pytest.mark.parametrize("n_outputs", [1, 2])
def test_equations_take_the_best_penalty_of_all_rows(n_outputs):
    X, y, _ = regression(1100)
    Y = np.column_stack([y, X[:, 0] ** 2])[:, :n_outputs]
    landmarks = Nystroem(budget=20, selector="uniform")
    model = KernelRegressor(Laplacian(0.5), approximation=landmarks, random_state=0).fit(X, Y)
    B = model.approximation_.budget_.points
    Z, P = naive.laplacian(X, B, 0.5), naive.laplacian(B, B, 0.5)
    assert model.alpha_ == ALPHAS[np.argmin(cautious(Z, P, Y, ALPHAS))]


def test_growth_ends_with_the_rows(monkeypatch):
    for name, value in {"FIRST_SIZE": 900, "FIRST_ROWS": 900, "LARGEST_SIZE": 2**14}.items():
        monkeypatch.setattr(_search, name, value)
    choice = chosen(kernel=Linear())
    assert choice.reason == "there are no more rows, or it is the largest size"
    assert choice.approximation.size == 900


def test_growth_ends_at_the_largest_size(monkeypatch):
    monkeypatch.setattr(_search, "LARGEST_SIZE", 80)
    choice = chosen(kernel=Gaussian(0.3))
    assert choice.reason == "there are no more rows, or it is the largest size"
    assert choice.approximation.size <= 80


def test_growth_ends_where_it_does_not_help():
    noise = np.random.default_rng(0).normal(size=(N, 1))
    choice = chosen(ArrayRows(problem().collect().X, noise), Gaussian(0.3))
    assert choice.reason == "64 were no better"
    assert choice.approximation.size == 32


def test_growth_goes_on_where_it_helps():
    choice = chosen(kernel=Gaussian(0.3))
    sizes = [trial.approximation.size for trial in choice.trials]
    assert choice.approximation.size > 64
    assert choice.approximation.size in sizes


def test_growth_ends_where_the_time_would_be_over():
    choice = chosen(kernel=Gaussian(0.3), deadline=monotonic() - 1)
    assert choice.reason == "128 would exceed time_limit"
    assert choice.approximation.size == 64


def test_a_memory_limit_makes_the_first_size_smaller():
    choice = chosen(kernel=Gaussian(0.3), memory_limit=1000)
    assert choice.reason == "2 would exceed memory_limit"
    assert choice.approximation.size == 1


@pytest.mark.parametrize("kernel", ["auto", Laplacian(0.5)])
@pytest.mark.parametrize("size", [7, 100])
def test_given_size_is_kept_and_tried_with_fewer(kernel, size):
    choice = chosen(kernel=kernel, approximation=Nystroem(budget=size))
    assert choice.reason == "its size was given"
    assert choice.approximation.budget == size
    assert {trial.approximation.size for trial in choice.trials} == {min(size, 64)}


def test_selector_and_seed_of_a_given_map_are_kept():
    given = Nystroem(budget=7, selector="rpcholesky", random_state=5)
    found = chosen(approximation=given).approximation
    assert (found.selector, found.random_state) == ("rpcholesky", 5)


def test_given_penalty_is_that_of_every_trial():
    choice = chosen(kernel=Gaussian("auto"), alpha=0.01)
    assert choice.alpha == 0.01
    assert {trial.alpha for trial in choice.trials} == {0.01}


def test_penalty_shrinks_as_rows_become_more():
    choice = chosen(approximation=Nystroem(budget=20))
    best = min(choice.trials, key=lambda trial: trial.error)
    assert choice.alpha == pytest.approx(best.alpha * 400 / N)


def test_the_seed_decides_and_threads_do_not():
    one, same, other = (
        [(repr(t.approximation), t.n_rows, t.alpha, t.error) for t in choice.trials]
        for choice in (
            chosen(kernel=Gaussian("auto"), seed=0),
            chosen(problem().copy_with(n_jobs=1), Gaussian("auto"), seed=0),
            chosen(kernel=Gaussian("auto"), seed=1),
        )
    )
    assert [trial[:3] for trial in one] == [trial[:3] for trial in same]
    assert [trial[3] for trial in one] == pytest.approx([trial[3] for trial in same], rel=1e-6)
    assert one[0][3] != other[0][3]


def test_trial_is_told_in_names_and_numbers():
    search = searcher()
    trial = replace(search._try(free(2.0), 64, 400), seconds=0.5)
    assert trial.to_dict() == {
        "map": "Nystroem",
        "kernel": "Gaussian(gamma=0.6)",
        "size": 64,
        "rows": 400,
        "alpha": trial.alpha,
        "error": trial.error,
        "seconds": 0.5,
    }


@pytest.mark.parametrize("share", [2, 10])
def test_absent_rows_do_not_keep_grids_from_an_end(share, monkeypatch):
    rows, tried = problem(weight=(np.arange(N) % share > 0).astype(float)), Search._try

    def counted(search, *args):
        assert len(search._trials) < 40, "trials without an end"
        return tried(search, *args)

    monkeypatch.setattr(Search, "_try", counted)
    grids = candidates("auto", None, rows, 0, owner="Model")[-1:]
    assert isinstance(searcher(rows).choose(grids, grow=True).approximation, RandomBinning)


@pytest.mark.parametrize("stored", [np.asarray, sparse.csr_matrix])
def test_equal_rows_count_as_one(stored):
    X, times = np.eye(5), np.array([1, 2, 3, 1, 1])
    weighted = ArrayRows(stored(X), None, times.astype(float))
    repeated = ArrayRows(stored(np.repeat(X, times, axis=0)))
    expected = times.sum() ** 2 / np.sum(times**2)
    assert _judging.distinct_size(weighted) == pytest.approx(expected)
    assert _judging.distinct_size(repeated) == pytest.approx(expected)


def test_few_rows_of_very_many_columns_are_told_apart_as_they_are_stored():
    rows = np.arange(500)
    X = sparse.csr_matrix((np.ones(500), (rows, 10**4 * rows)), shape=(500, 10**7))
    assert _judging.distinct_size(ArrayRows(X)) == pytest.approx(500)


@pytest.mark.parametrize("n", [60, 1500])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_more_features_than_rows_are_narrowed_to_the_same_errors(n, fit_intercept, monkeypatch):
    monkeypatch.setattr(_search, "FIRST_ROWS", 100)
    candidate = Candidate(Transformer(RBFSampler(gamma=0.1, n_components=140, random_state=0)))
    weight = np.random.default_rng(0).uniform(0.5, 2, n)

    def tried():
        search = searcher(problem(n, weight), fit_intercept=fit_intercept)
        return search.choose([candidate], grow=False).trials[0]

    narrowed = tried()
    monkeypatch.setattr(_search, "narrowed", lambda problem, judging: (problem, judging))
    wide = tried()
    assert narrowed.alpha == wide.alpha
    assert narrowed.error == pytest.approx(wide.error, rel=1e-9)


def test_the_penalty_is_the_one_that_judging_rows_prefer():
    search = searcher()
    trial = search._try(free(), 64, 400)
    errors = {}
    for alpha in ALPHAS[::2]:
        errors[alpha] = search._try(free(), 64, 400, np.array([alpha])).error
    flat = [
        alpha for alpha, error in errors.items() if error <= _judging._EQUAL * min(errors.values())
    ]
    assert trial.alpha == pytest.approx(max(flat))
    assert trial.error == pytest.approx(errors[max(flat)])


def test_rows_of_a_size_are_drawn_once():
    search = searcher()
    assert search._parts(400) is search._parts(400)
    assert search._parts(400)[0].n_rows == 400
    assert search._parts(300)[0].n_rows == 300


def test_half_of_the_grids_are_not_tried_again():
    search = searcher()
    grids = replace(free(4.0, RandomBinning()), kernel=Laplacian(0.3))
    half, whole = (search._try(grids, size, 400, np.array([1e-3])) for size in (16, 32))
    assert search._half_error(whole) == half.error
    assert len(search._trials) == 2
    quarter = search._half_error(half)
    assert len(search._trials) == 3
    assert search._trials[-1].approximation.size == 8
    assert search._trials[-1].error == quarter


def test_trying_has_its_price():
    search = searcher()
    trial = search._try(free(), 64, 400)
    assert search._price(trial) < search._price(trial, trying=0.5)


def test_kernel_columns_that_depend_on_each_other_have_their_price():
    search = searcher()
    narrow, wide = (search._try(free(factor), 64, 400) for factor in (1.0, 1e-6))
    assert narrow.traits.conditioned
    assert not wide.traits.conditioned
    assert search._price(replace(wide, traits=narrow.traits)) < search._price(wide)
