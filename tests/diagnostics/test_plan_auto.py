"""Plans of models that choose their map themselves."""

import numpy as np
import pytest

from skimp import KernelClassifier, KernelRegressor
from skimp.choice import NOMINAL
from skimp.choice._search import FIRST_SIZE, LARGEST_SIZE
from skimp.diagnostics import plan
from skimp.features import Nystroem
from skimp.kernels import Gaussian
from tests.models import every_estimator
from tests.problems import labelled

SHAPE = 20_000, 5


def planned(estimator, X=SHAPE, y=None, **options):
    return plan(estimator, X, y, rates=NOMINAL, **options)


def landmarks(made, estimator, shape=SHAPE):
    """Return the budget whose plan is that of the model without its search."""
    rest = [phase for phase in made.phases if phase.name != "search"]
    for size in [FIRST_SIZE * 2**i for i in range(6)]:
        given = estimator.set_params(approximation=Nystroem(budget=min(size, shape[0])))
        if list(planned(given, shape).phases) == rest:
            return min(size, shape[0])
    raise AssertionError("no budget has this plan")


@every_estimator
def test_search_is_a_separate_phase(estimator):
    made = planned(estimator())
    assert [phase.name for phase in made.phases][:2] == ["read", "search"]
    assert made.phases[-1].name == "solve"
    assert all(phase.seconds > 0 for phase in made.phases)
    assert made.phases[1].bytes > 0


@every_estimator
def test_rest_is_the_plan_of_landmarks(estimator):
    size = landmarks(planned(estimator()), estimator())
    assert FIRST_SIZE <= size <= LARGEST_SIZE


@pytest.mark.parametrize("limit", [{"memory_limit": "60MB"}, {"time_limit": 0.5}], ids=str)
def test_limits_keep_the_budget_small(limit):
    roomy = landmarks(planned(KernelRegressor()), KernelRegressor())
    tight = planned(KernelRegressor(**limit))
    memory = {"memory_limit": limit.get("memory_limit")}
    assert landmarks(tight, KernelRegressor(**memory)) < roomy


@pytest.mark.parametrize("n", [1, 700])
def test_few_rows_are_all_landmarks(n):
    made = planned(KernelRegressor(), (n, 2))
    assert landmarks(made, KernelRegressor(), (n, 2)) <= max(n, 1)
    assert made.seconds < 1


@pytest.mark.parametrize(("n", "seconds"), [(20_000, 26.11), (10**6, 7.35)])
def test_seconds_of_a_search_are_those_that_were_recorded(n, seconds):
    search = planned(KernelRegressor(memory_limit="16GB", n_jobs=2), (n, 10)).phases[1]
    assert search.seconds == pytest.approx(seconds, rel=0.01)


def test_more_rows_take_longer():
    seconds = [planned(KernelRegressor(), (n, 5)).seconds for n in (10**4, 10**5, 10**6)]
    assert seconds == sorted(seconds)
    assert len(set(seconds)) == 3


def test_rows_and_their_shape_have_the_same_search():
    X, y, _ = labelled(1500)
    whole, shape = (
        planned(KernelClassifier("rbf"), data, labels)
        for data, labels in ((X, y), (X.shape, np.arange(3)))
    )
    assert whole.phases[1] == shape.phases[1]


def test_kernel_penalty_and_map_may_all_be_auto():
    chosen = planned(KernelRegressor())
    assert chosen == planned(KernelRegressor(Gaussian(), alpha=1e-6))
