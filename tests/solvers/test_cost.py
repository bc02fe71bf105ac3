"""Work that solvers count: what they seemed to take on real data, pinned, and how it grows."""

from dataclasses import fields, replace

import numpy as np
import pytest

from skimp._core._work import MapCost, Size, Work
from skimp.losses import hinge, log, squared, squared_hinge
from skimp.solvers import PCG, Auto, Direct, DualCD, Newton
from skimp.solvers.ridge import exact_cost

SINGLE = np.dtype(np.float32)
SPEEDS = Work(150e9, 70e9, 20e9, 5e8, 20e9, 6e7, 1e9, 1e6)
SIZE = Size(100_000, 50, SINGLE, n_outputs=10, threads=2, memory=10**10)
FEATURES = MapCost((), 1000, SINGLE, Work(values=1e8), 2e5, 1e5)
LANDMARKS = replace(FEATURES, landmarks=True)
CODES = MapCost((), 20_000, SINGLE, Work(values=1e7), 2e5, 1e5, groups=64, n_bins=400)


def seconds(work):
    return sum(getattr(work, f.name) / getattr(SPEEDS, f.name) for f in fields(Work))


@pytest.mark.parametrize(
    ("solver", "loss", "mapped", "expected", "held"),
    [
        (Direct(), squared, FEATURES, 0.94608, 4.9168e07),
        (Direct(), squared, LANDMARKS, 1.7129, 7.3552e07),
        (PCG(), squared, LANDMARKS, 3.9421, 5.49e08),
        (Newton(), squared_hinge, LANDMARKS, 9.2238, 6.8654e08),
        (Newton(), log, FEATURES, 5.7092, 5.9454e08),
        (DualCD(), hinge, FEATURES, 12.651, 4.3722e08),
        (DualCD(), hinge, CODES, 17.91, 3.8724e07),
    ],
)
def test_work_and_bytes(solver, loss, mapped, expected, held):
    stage = solver.cost(mapped, SIZE, loss, 1e-6)
    assert stage.name == "solve"
    assert seconds(stage.work) == pytest.approx(expected, rel=1e-3)
    assert stage.bytes == pytest.approx(held, rel=1e-3)


@pytest.mark.parametrize(
    ("loss", "mapped", "chosen"),
    [
        (squared, FEATURES, Direct()),
        (squared, replace(FEATURES, width=4000), PCG()),
        (log, LANDMARKS, Newton()),
        (hinge, FEATURES, DualCD()),
        (log, CODES, DualCD()),
    ],
)
def test_auto_costs_what_it_chooses(loss, mapped, chosen):
    assert Auto().cost(mapped, SIZE, loss, 1e-6) == chosen.cost(mapped, SIZE, loss, 1e-6)


def test_options_of_auto_are_those_of_the_solver_that_it_chooses():
    found = Auto(tol=1e-5, max_iter=3).cost(LANDMARKS, SIZE, log, 1e-6)
    assert found == Newton(tol=1e-5, max_iter=3).cost(LANDMARKS, SIZE, log, 1e-6)
    longer = Newton(tol=1e-5).cost(LANDMARKS, SIZE, log, 1e-6)
    assert seconds(longer.work) > seconds(found.work)


def test_features_that_do_not_fit_are_computed_again():
    tight = replace(SIZE, memory=3 * 10**8)
    for solver, loss in ((Newton(), log), (DualCD(), hinge)):
        kept = solver.cost(FEATURES, SIZE, loss, 1e-6)
        again = solver.cost(FEATURES, tight, loss, 1e-6)
        assert kept.work.values == FEATURES.mapping.values
        assert again.work.values > 5 * kept.work.values
        assert again.bytes < kept.bytes


def test_exact_models_take_the_cube_of_the_rows():
    one, two = (exact_cost(replace(SIZE, n_rows=n)) for n in (1000, 2000))
    assert two.work.factor64 == 8 * one.work.factor64 == 8 * 1000**3 / 3
    assert one.bytes > 16 * 1000**2
