"""Solvers continue from each state that they kept, with the same bits."""

from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pytest

from skimp.data import ArrayRows, Codes, Context, FileArray, Loop
from skimp.losses import epsilon_insensitive, hinge, log, multiclass_hinge, squared, squared_hinge
from skimp.solvers import L1CD, SARAH, SGD, DualCD, Pegasos, Problem
from tests.duals import Identity, data, least_memory
from tests.pairs import in_turn
from tests.sources import ChunkedRows


class Kept(Loop):
    """A loop that copies all states."""

    def __init__(self, state=None):
        self.state, self.states = state, []

    def keep(self, make_state):
        self.states.append(frozen(make_state()))


def frozen(tree):
    """Copy a tree, as a checkpoint would."""
    if isinstance(tree, dict):
        return {name: frozen(part) for name, part in tree.items()}
    if isinstance(tree, list):
        return [frozen(part) for part in tree]
    if isinstance(tree, np.ndarray | FileArray):
        return np.array(tree)
    assert isinstance(tree, str | float | int | np.number | None), type(tree)
    return tree


@dataclass(frozen=True)
class Resuming(Context):
    """A context with a given loop."""

    loop: Any = field(default_factory=Kept)
    names: list = field(default_factory=list)

    @contextmanager
    def resumable(self, name):
        self.names.append(name)
        yield self.loop


def check(solver, problem, name, n_jobs=1):
    plain = solver.solve(problem, Context(n_jobs))
    whole = Resuming(n_jobs)
    assert np.array_equal(solver.solve(problem, whole).coef, plain.coef)
    states = whole.loop.states
    assert whole.names == [name]
    assert len(states) >= min(3, plain.n_iter)
    for state in states:
        again = frozen(state)
        found = solver.solve(problem, Resuming(n_jobs, loop=Kept(state)))
        for part in ("coef", "intercept", "history"):
            assert np.array_equal(getattr(found, part), getattr(plain, part))
        assert (found.n_iter, found.status, found.message) == (
            plain.n_iter,
            plain.status,
            plain.message,
        )
        # the state that was given stays as it is
        np.testing.assert_equal(state, again)


@pytest.mark.parametrize("loss", [hinge, squared, log, multiclass_hinge], ids=repr)
@pytest.mark.parametrize("penalized", [False, True])
def test_dual_cd(loss, penalized):
    X, Y, weight = data(loss, n=200)
    problem = Problem(ArrayRows(X, Y, weight, block_rows=32), loss, 1e-3)
    check(DualCD(1e-6, penalize_intercept=penalized, max_iter=12), problem, "dual_cd")


@in_turn(loss=[hinge, multiclass_hinge, epsilon_insensitive], room=[0, 4000, 60_000])
def test_dual_cd_of_rows_that_do_not_fit(loss, room):
    X, Y, weight = data(loss, n=900)
    limit = least_memory(Y.shape[1], 4) + room
    for rows in (ChunkedRows(X, Y, weight), ArrayRows(X, Y, weight)):
        problem = Problem(rows.mapped(Identity(4)), loss, 1e-3, memory_limit=limit)
        check(DualCD(1e-4, max_iter=9), problem, "dual_cd")


def test_dual_cd_from_a_start():
    X, Y, weight = data(hinge, n=200)
    start = np.ones((4, 3)), np.ones(3)
    problem = Problem(ArrayRows(X, Y, weight), hinge, 1e-3, start=start)
    check(DualCD(1e-5, max_iter=12), problem, "dual_cd")


@pytest.mark.parametrize(
    ("solver", "name"),
    [
        (SGD(max_iter=6, batch_size=4, tol=1e-6), "sgd"),
        (SGD(max_iter=6, average=False, order="iid", schedule="inverse", delay=2), "sgd"),
        (Pegasos(max_iter=6, project=True), "pegasos"),
        (SARAH(max_iter=8, batch_size=16, tol=1e-9), "sarah"),
    ],
    ids=repr,
)
@pytest.mark.parametrize("limit", [None, 60_000])
@pytest.mark.parametrize("loss", [log, squared], ids=repr)
def test_solvers_with_random_orders(solver, name, limit, loss):
    X, Y, weight = data(loss, n=900)
    rows = ChunkedRows(X, Y, weight).mapped(Identity(4))
    check(solver, Problem(rows, loss, 1e-2, memory_limit=limit), name, n_jobs=2)


def test_codes_in_a_file():
    rng = np.random.default_rng(0)
    codes = Codes(
        rng.integers(0, 5, (900, 6)).astype(np.uint8), np.arange(6) * 5, np.float32(0.4), 30
    )
    Y = np.where(codes.codes[:, :2] + rng.normal(size=(900, 2)) > 2, 1.0, -1.0)
    X = codes.codes.astype(float)
    rows = ChunkedRows(X, Y, block_rows=300).mapped(Same(codes))
    for solver, limit in ((DualCD(1e-6, max_iter=12), 60_000), (Pegasos(max_iter=5), 30_000)):
        problem = Problem(rows, hinge, 1e-3, memory_limit=limit)
        assert "codes kept in a temporary file" in solver.solve(problem).message
        check(solver, problem, "pegasos" if isinstance(solver, Pegasos) else "dual_cd")


@pytest.mark.parametrize("solver", [SARAH(batch_size=8), L1CD(0.5), DualCD()], ids=repr)
def test_codes_in_a_file_have_the_solution_of_codes_in_memory(solver):
    rng = np.random.default_rng(0)
    codes = Codes(
        rng.integers(0, 3, (4000, 40)).astype(np.uint8), np.arange(40) * 3, np.float32(0.2), 120
    )
    Y = np.where(codes.codes[:, :1] + rng.normal(size=(4000, 1)) > 1, 1.0, -1.0)
    rows = ChunkedRows(codes.codes.astype(float), Y, block_rows=256).mapped(Same(codes))
    limits = {DualCD: 160_000, SARAH: 260_000, L1CD: 1_400_000}
    problem = Problem(rows, squared_hinge, 1e-3)
    kept = solver.solve(problem)
    spilled = solver.solve(replace(problem, memory_limit=limits[type(solver)]))
    assert "codes kept in a temporary file" in spilled.message
    assert "temporary file" not in kept.message
    assert spilled.history[-1] == pytest.approx(kept.history[-1], rel=2e-3)


class Same:
    """A map of rows that are codes already."""

    def __init__(self, codes):
        self.coded, self.width, self.dtype = codes[:0], codes.width, codes.dtype

    def map_codes(self, X, out):
        out[...] = X
