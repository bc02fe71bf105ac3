"""Fits that may take so much time and memory, and no more."""

import re

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from skimp import KernelClassifier, KernelRegressor
from skimp.features import Nystroem, RandomFourier
from skimp.kernels import Gaussian
from skimp.losses import log
from tests.choice.tasks import limits_on
from tests.models import every_estimator
from tests.problems import labelled, regression

MAPS = [Nystroem(Gaussian(1.0), budget=200), RandomFourier(Gaussian(1.0), n_components=200)]


def seconds_of(feature_map):
    return limits_on().plan(feature_map, 0.3).seconds


@pytest.mark.parametrize("approximation", MAPS, ids=repr)
def test_nothing_is_exceeded_if_there_is_room(approximation):
    roomy = limits_on(memory_limit="1GB", seconds=1000)
    assert roomy.exceeded_by(approximation) == ""
    assert roomy.trial_bytes(approximation, 400, left_out=True) <= roomy.size.memory
    assert roomy.shrink(approximation) == (approximation, 5000, "")


@pytest.mark.parametrize("approximation", MAPS, ids=repr)
def test_limits_are_named(approximation):
    tight, late = limits_on(memory_limit=1000), limits_on(seconds=-1)
    assert tight.exceeded_by(approximation) == "memory_limit"
    assert tight.trial_bytes(approximation, 400, left_out=False) > tight.size.memory
    assert late.exceeded_by(approximation) == "time_limit"


def test_trials_count_against_the_time():
    seconds = seconds_of(MAPS[1])
    enough = limits_on(seconds=100 + 2 * seconds)
    assert enough.exceeded_by(MAPS[1], trials=50.0) == ""
    assert enough.exceeded_by(MAPS[1], trials=100.0 + 2 * seconds) == "time_limit"


def test_slow_trials_make_a_fit_slower():
    seconds = seconds_of(MAPS[1])
    timed = limits_on(seconds=5 * seconds)
    assert timed.exceeded_by(MAPS[1]) == ""
    # a trial that should take milliseconds took an hour
    timed.observe(MAPS[1], 400, 3600.0)
    assert timed.exceeded_by(MAPS[1]) == "time_limit"


def test_trials_measure_how_slow_a_machine_is():
    timed = limits_on(seconds=1000)
    # equations of 256 landmarks: 16 ms for products, 7.5 ms for factors and 5 ms for the rest
    timed.observe(Nystroem(Gaussian(1.0), budget=256), 4000, 0.1)
    assert timed.slowness == pytest.approx(0.1 / 0.0283, rel=0.05)


@pytest.mark.parametrize(("memory", "left_out"), [("200KB", True), ("1MB", False), ("10MB", True)])
def test_first_trials_fit_into_the_memory(memory, left_out):
    tight = limits_on(memory_limit=memory)
    size, n_rows = tight.first_trial(256, 4000, left_out=left_out)
    landmarks = Nystroem(Gaussian(1.0), budget=size)
    assert tight.trial_bytes(landmarks, n_rows, left_out=left_out) <= tight.size.memory
    assert size >= 8
    assert n_rows >= 64
    roomy = limits_on(memory_limit="1GB")
    assert roomy.first_trial(256, 4000, left_out=left_out) == (256, 4000)


def test_first_trials_are_small_if_there_is_little_time():
    some = [limits_on(time_limit=seconds) for seconds in (1e-3, 0.5, 1e3)]
    sizes = [limits.first_trial(256, 4000, left_out=True) for limits in some]
    assert sizes == sorted(sizes)
    assert sizes[0] == (8, 64)
    assert sizes[-1] == (256, 4000)


@pytest.mark.parametrize("memory", [100_000, 10**6])
@pytest.mark.parametrize(
    "approximation",
    [*MAPS, Nystroem(Gaussian(1.0), budget=2000, selector="kmeans")],
    ids=["landmarks", "features", "centres"],
)
def test_models_are_shrunk_until_they_fit(approximation, memory):
    tight = limits_on(memory_limit=memory)
    found, n_rows, why = tight.shrink(approximation)
    assert tight.exceeded_by(found, n_rows=n_rows) == ""
    if tight.exceeded_by(approximation):
        assert "memory_limit" in why
    assert (f"{n_rows:,} of 5,000 rows" in why) is (n_rows < 5000)
    # what was given is not changed
    assert approximation.size in (200, 2000)


@pytest.mark.parametrize("approximation", MAPS, ids=repr)
def test_refusal_holds_the_plan(approximation):
    tight = limits_on(loss=log, memory_limit="1KB")
    with (
        pytest.raises(MemoryError, match="200 landmarks") as caught,
        tight.explain(approximation),
    ):
        raise AssertionError("nothing is begun that does not fit")
    lines = str(caught.value).splitlines()
    assert "1 KB" in lines[0]
    assert lines[1].split() == ["phase", "seconds", "memory"]
    assert [line.split()[0] for line in lines[-2:]] == ["solve", "total"]


def test_refusal_by_a_part_of_the_fit_is_explained():
    with (
        pytest.raises(MemoryError, match=r"(?s)no room\..*\nphase"),
        limits_on(memory_limit="1GB").explain(MAPS[0]),
    ):
        raise MemoryError("no room.")


@pytest.mark.parametrize("approximation", MAPS, ids=repr)
def test_room_for_the_map_is_enough_to_begin(approximation):
    needed = approximation.planned_bytes(limits_on().task.rows)
    begun = []
    with limits_on(memory_limit=needed).explain(approximation):
        begun.append(True)
    assert begun
    with pytest.raises(MemoryError), limits_on(memory_limit=needed - 1).explain(approximation):
        begun.append(True)
    assert len(begun) == 1


def test_less_memory_gives_a_smaller_model():
    X, y, _ = regression(1500)
    sizes = []
    for limit in ("1GB", "3MB"):
        model = KernelRegressor(Gaussian(0.3), memory_limit=limit, random_state=0).fit(X, y)
        sizes.append(model.certificate_.size)
    assert sizes[1] < sizes[0]
    assert "memory_limit" in model.certificate_.reason
    assert max(phase.bytes for phase in model.certificate_.phases) <= 3e6


def test_less_time_gives_a_smaller_model():
    X, y, _ = regression(1500)
    sizes = []
    for limit in (None, 1e-9):
        model = KernelRegressor(Gaussian(0.3), time_limit=limit, random_state=0).fit(X, y)
        sizes.append(model.certificate_.size)
    assert sizes[1] < sizes[0]
    assert "time_limit" in model.certificate_.reason


def test_rows_are_left_out_as_the_last_resort():
    X, y, _ = regression(3000)
    model = KernelRegressor(memory_limit="60KB", random_state=0).fit(X, y)
    found = re.search(r"(\d+) of 3,000 rows", model.certificate_.reason)
    assert 64 <= int(found[1]) < 3000
    assert np.isfinite(model.predict(X)).all()


@pytest.mark.parametrize("memory", ["1GB", "3MB"])
def test_a_penalty_is_chosen_even_if_equations_do_not_fit(memory):
    X, y, _ = regression(1500)
    landmarks = Nystroem(budget=100, selector="uniform")
    model = KernelRegressor(Gaussian(1.0), approximation=landmarks, memory_limit=memory, n_jobs=2)
    model.set_params(random_state=0).fit(X, y)
    assert ("pcg" in model.solution_.message) is (memory == "3MB")
    other = KernelRegressor(Gaussian(1.0), approximation=landmarks, random_state=0).fit(X, y)
    # fewer rows may be left out
    assert 0.09 < model.alpha_ / other.alpha_ < 11


@every_estimator
def test_a_given_size_that_takes_too_long_warns_with_its_plan(estimator):
    X, y, _ = labelled(300)
    model = estimator(Gaussian(1.0), approximation=100, loss="squared", time_limit=1e-4)
    with pytest.warns(ConvergenceWarning, match="time_limit=0.0001") as caught:
        model.fit(X, y)
    # the user's line, and not one of the library
    assert caught[0].filename == __file__
    lines = str(caught[0].message).splitlines()
    assert lines[1].split() == ["phase", "seconds", "memory"]
    assert lines[-1].startswith("total")


@pytest.mark.parametrize("loss", ["log", "hinge"])
def test_solvers_stop_where_time_is_over(loss):
    X, y, _ = labelled(200)
    model = KernelClassifier(Gaussian(1.0), approximation=20, loss=loss, alpha=1e-6, tol=1e-12)
    model.set_params(time_limit=1e-9, random_state=0)
    with pytest.warns(ConvergenceWarning) as caught:
        model.fit(X, y)
    assert {warning.filename for warning in caught} == {__file__}
    predicted, stopped = (str(warning.message) for warning in caught)
    assert "time_limit=1e-09" in predicted
    assert "time_limit" in stopped
    assert model.n_iter_ == 1
    assert not model.solution_.converged
    assert "time limit" in model.solution_.message


def test_equations_do_not_watch_the_clock():
    X, y, _ = regression(200)
    model = KernelRegressor(Gaussian(1.0), approximation=20, time_limit=1e-9, random_state=0)
    with pytest.warns(ConvergenceWarning, match="time_limit=1e-09"):
        model.fit(X, y)
    assert model.solution_.converged
    assert "time limit" not in model.solution_.message


def test_early_stopping_and_the_clock_work_together():
    X, y, _ = labelled(200)
    options = {"early_stopping": True, "loss": "log", "random_state": 0}
    model = KernelClassifier(Gaussian(1.0), approximation=20, **options)
    patient = model.fit(X, y).coef_
    assert np.array_equal(model.set_params(time_limit=1e6).fit(X, y).coef_, patient)
    with pytest.warns(ConvergenceWarning) as caught:
        hasty = model.set_params(time_limit=1e-9).fit(X, y)
    assert "time limit" in str(caught[-1].message)
    assert hasty.n_iter_ == 1
    assert "check 1 of 1" in hasty.solution_.message
