"""Descents that hold nothing of the rows, and those that hold all predictions."""

import tracemalloc
from copy import deepcopy
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import mkdtemp

import numpy as np
import pytest
from scipy import sparse

from skimp.data import ArrayRows, Block, Codes, Context, Journal, Rows
from skimp.losses import huber, log, softmax, squared, squared_hinge
from skimp.solvers import PCG, Newton, Problem
from skimp.solvers._held_objective import HeldObjective
from skimp.solvers._streamed_objective import StreamedObjective
from tests.pairs import pairwise
from tests.problems import difference, labelled, with_gaps

LOSSES = [squared, squared_hinge, log, huber, softmax]
JOURNAL = Journal(Path(mkdtemp()), every=1e9, head={})
"""A journal that stores nothing, and whose presence rules out predictions in memory."""


def features(layout, X):
    """Return features as an array, a CSR matrix or codes."""
    if layout == "dense":
        return X
    if layout == "csr":
        return sparse.csr_matrix(with_gaps(X))
    codes = np.ascontiguousarray(np.digitize(X, [-1, 0, 1]).astype(np.uint8))
    return Codes(codes, 4 * np.arange(X.shape[1]), X.dtype.type(0.5), 4 * X.shape[1])


def problem(loss, layout="dense", *, n=200, d=6, weighted=True, penalized=False, **options):
    dtype = options.pop("dtype", np.float64)
    X, y, weight = labelled(n, d, dtype=dtype)
    Z = features(layout, X)
    Y = np.where(y[:, None] == np.arange(3), 1.0, -1.0)
    width = Z.shape[1]
    A = np.random.default_rng(1).normal(size=(width, 2 * width)) if penalized else None
    P = None if A is None else A @ A.T / width
    rows = ArrayRows(Z, Y, weight if weighted else None, block_rows=64)
    return Problem(rows, loss, options.pop("alpha", 1e-3), P, **options)


@pairwise(
    loss=LOSSES,
    layout=["dense", "csr", "codes"],
    weighted=[False, True],
    penalized=[False, True],
    fit_intercept=[False, True],
    dtype=[np.float32, np.float64],
    size=[0.0, 0.1, 3.0],
)
def test_both_objectives_agree(loss, layout, weighted, penalized, fit_intercept, dtype, size):
    options = {"weighted": weighted, "penalized": penalized, "fit_intercept": fit_intercept}
    given, rng = problem(loss, layout, dtype=dtype, **options), np.random.default_rng(2)
    shape, rtol = (given.rows.n_features, 3), 1e-4 if dtype is np.float32 else 1e-10
    coef, intercept = size * rng.normal(size=shape), size * rng.normal(size=3)
    held, streamed = (kind(given, given.rows) for kind in (HeldObjective, StreamedObjective))
    a, b = held.at(coef, intercept), streamed.at(coef, intercept)
    close = partial(np.testing.assert_allclose, rtol=rtol)
    for points in ((a, b), (held.cautious(a), streamed.cautious(b))):
        (a, b), mean = points, points[0].summary.heights.mean()
        close(b.values, a.values)
        close(b.gradient, a.gradient, atol=rtol * np.abs(a.gradient).max())
        # negligible curvatures are left out of products
        close(b.summary.heights, a.summary.heights, rtol=2e-3, atol=1e-3 * mean)
        V = rng.normal(size=(shape[0] + 1, 3))
        for columns in ([0, 1, 2],) if loss.joint else ([0, 1, 2], [1]):
            numbers = np.array(columns)
            found, expected = (
                of.curved(point, V[:, numbers], numbers) for of, point in ((streamed, b), (held, a))
            )
            assert found.dtype == dtype
            rough = 3e-3 if loss.joint else rtol
            close(found, expected, rtol=0, atol=rough * np.abs(expected).max())
        numbers = np.arange(0, 200, 3)
        part = replace_rows(given.rows, numbers)
        (X, D), (Z, E) = streamed.summands(b, part), held.sampled(a, part)
        assert np.array_equal(X, Z)
        close(E, D, atol=rtol)


def replace_rows(rows, numbers):
    block = rows.take(numbers)
    return ArrayRows(block.X, block.y, block.weight)


def solved(given, journal, *, tol=1e-14):
    solver = PCG(tol=tol) if given.loss is squared else Newton(tol=tol)
    return solver.solve(given, Context(n_jobs=2, journal=journal))


@pairwise(
    loss=LOSSES,
    layout=["dense", "csr", "codes"],
    weighted=[False, True],
    penalized=[False, True],
    fit_intercept=[False, True],
    warm=[False, True],
)
def test_both_descents_have_the_same_minimum(
    loss, layout, weighted, penalized, fit_intercept, warm
):
    options = {"weighted": weighted, "penalized": penalized, "fit_intercept": fit_intercept}
    # more rows than the solver for small problems takes
    given = problem(loss, layout, n=5200, d=4, **options)
    if warm:
        rough = solved(given, None, tol=0.1)
        given = replace(given, start=(rough.coef, rough.intercept))
    held, streamed = solved(given, None), solved(given, JOURNAL)
    for name in ("coef", "intercept"):
        assert difference(getattr(streamed, name), getattr(held, name)) < 1e-8
    assert streamed.history[-1] == pytest.approx(held.history[-1], rel=1e-12)


@pairwise(loss=LOSSES, penalized=[False, True])
def test_both_descents_have_the_same_predictions_in_float32(loss, penalized):
    given = problem(loss, n=5200, penalized=penalized, dtype=np.float32)
    held, streamed = (solved(given, journal, tol=1e-9) for journal in (None, JOURNAL))
    X = given.rows.collect().X.astype(np.float64)
    a, b = (X @ found.coef + found.intercept for found in (held, streamed))
    assert difference(b, a) < 1e-3
    assert streamed.history[-1] == pytest.approx(held.history[-1], rel=1e-6)


@pytest.mark.parametrize("loss", [squared_hinge, log, softmax], ids=repr)
def test_separable_labels_with_a_tiny_penalty(loss):
    given = problem(loss, n=5200, weighted=False, alpha=1e-8)
    whole = given.rows.collect()
    rows = ArrayRows(np.hstack([whole.X, 3 * whole.y]), whole.y, block_rows=64)
    found = solved(replace(given, rows=rows), JOURNAL, tol=1e-3)
    assert found.converged
    assert np.all(np.diff(found.history) <= 1e-7 * found.history[0])
    assert found.history[-1] < 1e-3


class Made(Rows):
    """Rows that are computed from their numbers when they are read; codes if they are wide."""

    def __init__(self, n, wide=False):
        self.n_features, self.dtype, self.block_rows = 20, np.dtype(float), 256
        self._n_rows = n
        if wide:
            offsets, self.n_features = 150 * np.arange(20), 3000
            none = np.empty((0, 20), np.uint8)
            self.coded = Codes(none, offsets, np.float64(0.2), self.n_features)

    def read(self, block_rows):
        for start in range(0, self._n_rows, block_rows):
            size = min(block_rows, self._n_rows - start)
            yield Block(np.arange(start, start + size)[:, None], None, None, start)

    def finish(self, block, scratch):
        X = np.sin(np.multiply.outer(block.X[:, 0] + 1.0, np.sqrt(2 + np.arange(20))))
        y = np.where(X[:, 0] + X[:, 1] * X[:, 2] + 0.5 * X[:, 3] > 0, 1.0, -1.0)
        if self.coded is not None:
            X = self.coded.trusted((75 + 70 * X).astype(np.uint8))
        return Block(X, np.column_stack([y, -y]), 1.0 + (y > 0), block.start)


def peak_of(fit):
    tracemalloc.start()
    fit()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


@pytest.mark.parametrize(
    ("loss", "wide"),
    [
        (log, False),
        (log, True),
        *(pytest.param(loss, False, marks=pytest.mark.thorough) for loss in (squared, softmax)),
    ],
)
def test_memory_does_not_grow_with_the_number_of_rows(loss, wide):
    limit = 1_200_000 if wide else 500_000

    def fit(n):
        given = Problem(Made(n, wide), loss, alpha=1e-4, memory_limit=limit)
        solver = PCG() if loss is squared else Newton()
        found = solver.solve(given, Context(n_jobs=1))
        assert found.converged
        assert "features recomputed" in found.message or "codes kept in a" in found.message

    fit(10_000)
    few, many = (peak_of(partial(fit, n)) for n in (10_000, 80_000))
    # up to a quarter more rows than are drawn are held one by one; a number per row is 0.6 MB
    assert many < 1.3 * few


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("loss", [squared, squared_hinge, softmax], ids=repr)
def test_a_descent_follows_from_the_totals_of_its_passes(loss, wide, monkeypatch):
    given, read, totals = Problem(Made(5000, wide), loss, alpha=1e-4), Context.map_reduce, []

    def record(context, *arguments, **options):
        total = read(context, *arguments, **options)
        if "record" in options:
            totals.append(deepcopy(total))
        return total

    def repeat(context, *arguments, **options):
        return totals.pop(0) if "record" in options else read(context, *arguments)

    monkeypatch.setattr(Context, "map_reduce", record)
    first = solved(given, JOURNAL, tol=1e-8)
    assert len(totals) > first.n_iter
    assert all(type(leaf) in (np.ndarray, float) for leaf in leaves(totals))
    monkeypatch.setattr(Context, "map_reduce", repeat)
    again = solved(given, JOURNAL, tol=1e-8)
    assert not totals
    assert np.array_equal(first.coef, again.coef)
    assert np.array_equal(first.history, again.history)


def leaves(tree):
    """Yield the parts of nested lists and tuples."""
    if type(tree) in (list, tuple):
        for part in tree:
            yield from leaves(part)
    else:
        yield tree


def test_features_may_be_kept_without_predictions():
    given = problem(log, n=5200)
    given = replace(given, rows=given.rows.converted())
    assert "features kept in memory" in solved(given, JOURNAL).message
    # enough for the features, but not for the predictions and curvatures of all rows
    limit = 600_000
    held, streamed = (
        solved(replace(given, memory_limit=limit), journal) for journal in (None, JOURNAL)
    )
    assert "recomputed" in held.message
    assert "kept" in streamed.message
