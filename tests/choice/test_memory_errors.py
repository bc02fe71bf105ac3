"""Errors about memory keep their kind, and name the plan of the fit."""

import numpy as np
import pytest

from skimp import KernelRegressor
from skimp._params._errors import MemoryLimitError
from skimp.features import Nystroem
from tests.problems import regression

X, Y, _ = regression()


def exhausted(*_, **__):
    """Raise the error of NumPy, whose arguments are not a message."""
    np.empty(2**59)


def test_an_allocation_that_fails(monkeypatch):
    monkeypatch.setattr("skimp.solvers._direct.Direct.solve", exhausted)
    model = KernelRegressor("rbf", approximation=20, alpha=1e-3, solver="direct")
    with pytest.raises(MemoryError, match=r"(?s)Unable to allocate.*The plan of the fit") as found:
        model.fit(X, Y)
    assert not isinstance(found.value, MemoryLimitError)


@pytest.mark.parametrize("selector", ["kmeans", "rpcholesky", "dbh", "leverage"])
def test_a_selector_above_the_limit_is_refused(selector):
    model = KernelRegressor("rbf", approximation=Nystroem(budget=20, selector=selector), alpha=1e-3)
    rows = np.tile(X, (200, 1))
    with pytest.raises(MemoryLimitError, match=r"choosing 20 landmarks .* selector='uniform'"):
        model.set_params(memory_limit=40_000).fit(rows, np.tile(Y, 200))
    assert not hasattr(model, "fitted_")
