import numpy as np
import pandas as pd
import pytest

from skimp import KRLS
from skimp.choice._rates import NOMINAL
from skimp.data import open_rows
from skimp.diagnostics import plan


def planned(shape=(10_000, 10), **params):
    return plan(KRLS(**params), shape, rates=NOMINAL)


def names(made):
    return [phase.name for phase in made.phases]


def test_phases():
    assert names(planned()) == ["read", "factor"]
    assert names(planned(approximation="sample")) == ["read", "factor"]
    assert names(planned(approximation="kmeans")) == ["read", "select", "solve"]
    assert names(planned(approximation=500)) == ["read", "select", "solve"]
    assert names(planned(approximation="gaussian")) == ["read", "draw", "solve"]


def test_exact_models_take_the_cube_of_the_rows_and_one_matrix():
    small, large = (planned((n, 10)) for n in (5_000, 10_000))
    assert 6 < large.seconds / small.seconds < 8.5
    assert 8 * 10_000**2 <= large.bytes < 10 * 10_000**2
    # 48 s were measured
    assert 30 < planned((8_000, 10)).seconds < 70


def test_reductions_take_the_square_of_the_points():
    few, many = (planned((10**6, 10), approximation=m) for m in (500, 1000))
    assert 2 < many.seconds / few.seconds < 4.5
    # 55 s were measured
    assert 35 < many.seconds < 80
    assert many.bytes < 1e9


@pytest.mark.parametrize(
    ("approximation", "seconds"),
    [(None, 95.67), ("sample", 0.0995), (2000, 8.2), ("gaussian", 4.514)],
)
def test_seconds_are_those_that_were_recorded(approximation, seconds):
    made = planned(approximation=approximation, memory_limit="16GB", n_jobs=2)
    assert made.phases[-1].seconds == pytest.approx(seconds, rel=0.01)


def test_criteria_differ():
    for approximation in (None, 500):
        given = planned(alpha=1.0, approximation=approximation).seconds
        loo = planned(alpha="loo", approximation=approximation).seconds
        folds = planned(alpha="kfold", approximation=approximation).seconds
        assert given <= loo < folds
    grid = planned(sigmas=[1.0, 2.0, 4.0]).seconds
    assert np.isclose(grid, 4 * planned().seconds, rtol=0.01)


def test_plan_takes_data_of_any_kind():
    X = np.zeros((300, 4))
    expected = planned((300, 4), approximation=50)
    frame = pd.DataFrame(X, columns=list("abcd")).assign(d="text")
    for given in (X, frame, open_rows(X), X.tolist()):
        assert plan(KRLS(approximation=50), given, rates=NOMINAL) == expected


@pytest.mark.parametrize("X", [(3,), np.zeros(3)], ids=str)
def test_other_shapes_are_refused(X):
    with pytest.raises(ValueError, match="X must be data"):
        planned(X)
