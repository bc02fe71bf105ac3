"""How often a fit reads the rows before its solver starts: each pass over a file takes seconds."""

import numpy as np
import pytest

from skimp import KernelClassifier, KernelRegressor
from skimp.data import open_rows
from skimp.estimators import _fit_machine
from skimp.features import RandomBinning, RandomFourier
from tests.pairs import thorough
from tests.problems import regression
from tests.sources import CountedRows

X, Y, _ = regression(n=9000, dtype=np.float32)

# labels or the mean of y, one pass for all samples, the variance for gamma="scale", then the map
MACHINES = [
    (KernelRegressor(approximation=RandomFourier(n_components=1000)), 3, 1),
    (KernelRegressor(approximation=1000), 4, 3),
    (KernelRegressor("rbf", approximation=300, loss="huber", alpha=1e-5), 4, 3),
    (KernelRegressor(approximation=RandomBinning(n_grids=100)), 5, 1),
    (KernelRegressor(), 4, 4),
    (KernelClassifier(), 5, 2),
    (KernelClassifier(loss="log"), 5, 2),
]


class SolverStarts(Exception):
    """Ends a fit."""


@pytest.mark.parametrize("known", [False, *thorough(True)])
@pytest.mark.parametrize(
    ("machine", "passes", "looks"), MACHINES, ids=[repr(row[0]) for row in MACHINES]
)
def test_passes_before_the_solver(machine, passes, looks, known, monkeypatch):
    y = Y > 2 if machine.classes else Y
    rows = CountedRows(open_rows(X, target=y), known=known)
    found = {}

    def stop(*_, **__):
        found.update(rows.tally)
        raise SolverStarts

    monkeypatch.setattr(_fit_machine, "pose_problem", stop)
    with pytest.raises(SolverStarts):
        machine.set_params(random_state=0).fit(rows)
    assert found["passes"] <= passes
    assert found["looks"] <= looks


def test_a_model_does_not_keep_the_samples_of_its_search():
    rows = CountedRows(open_rows(X, target=Y))
    model = KernelRegressor("rbf", approximation=50, random_state=0).fit(rows)
    sample = model.fitted_.sample.X
    assert sample.base is None or sample.base.nbytes <= 2 * sample.nbytes


@pytest.mark.parametrize("weight", [None, np.arange(9000) % 3])
def test_samples_drawn_together_are_those_drawn_alone(weight):
    rows = CountedRows(open_rows(X, target=Y, weight=weight))
    wanted = [(100, 0), (7, 3), (20_000, 5)]
    together = rows.samples(wanted)
    assert rows.tally["passes"] == 1
    for (size, seed), found in zip(wanted, together, strict=True):
        alone = rows.sample(size, seed)
        for name in ("X", "y", "indices", "keys", "weight"):
            np.testing.assert_array_equal(getattr(found, name), getattr(alone, name))
