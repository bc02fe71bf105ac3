"""Every selector keeps its promises on rows that are equal, few, huge, tiny or oddly stored."""

from copy import deepcopy

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone

from skimp import KernelClassifier
from skimp._core._linalg import as_compute_dtype
from skimp.budgets import Auto, Balanced, Fixed, RPCholesky, Uniform
from skimp.data import open_rows
from skimp.features import Nystroem
from skimp.kernels import Gaussian, Linear
from tests.catalog import SELECTORS, parts
from tests.contracts.test_budgets_of_kernels import computes_values
from tests.pairs import in_turn
from tests.sources import ChunkedRows
from tests.strategies import matrices

N = 30
X = np.random.default_rng(0).normal(size=(N, 5))
LABELS = np.arange(N) % 3
HALF = np.arange(N) % 2.0

VALUES = {
    "plain": X,
    "all rows equal": np.repeat(X[:1], N, axis=0),
    "ten distinct rows of 300": X[np.random.default_rng(1).integers(0, 10, 300)],
    "constant columns": np.where([True, False, True, True, False], 7.0, X),
    "all zeros": np.zeros((N, 5)),
    "zeros of float32": np.zeros((N, 5), np.float32),
    "one row": X[:1],
    "two rows": X[:2],
    "huge": 1e6 * X,
    "tiny": 1e-6 * X,
    "far from zero": X + 1e6,
    "columns of any scale": X * [1e6, 1.0, 1e-6, 1e3, 0.0],
    "huge float32": (1e6 * X).astype(np.float32),
    "tiny float16": (1e-6 * X).astype(np.float16),
    **{np.dtype(t).name: (40 * np.abs(X)).astype(t) for t in ("f4", "f2", "i1", "u1")},
    "bool": X > 0,
}
SPARSE = sparse.random(N, 5, 0.2, format="csr", random_state=0)
STORED = {
    "csr with empty rows": SPARSE,
    "csr of bool": SPARSE.astype(bool),
    "csr without entries": sparse.csr_matrix((N, 5)),
    "strided": np.asfortranarray(np.repeat(X, 2, axis=0))[::2],
    "pandas": pd.DataFrame(X),
    "polars": pl.DataFrame(X, schema=list("abcde")),
}
DATA = {**VALUES, **STORED}
TARGETS = {
    "one class": np.zeros(N, int),
    "a class of one row": (np.arange(N) == 11).astype(int),
    "as many classes as rows": np.arange(N)[::-1],
    "strings": np.array(["rare", "usual"])[(np.arange(N) > 1).astype(int)],
    "booleans": X[:, 0] > 0,
    "a column": LABELS[:, None],
}
TO_TRAIN_ON = [
    "all rows equal",
    "two rows",
    "tiny float16",
    "bool",
    "csr with empty rows",
    "polars",
]
OF_ANY_SIZE = ["all rows equal", "constant columns", "one row", "two rows", "csr with empty rows"]
WITHOUT_FIXED = [s for s in parts(SELECTORS) if not isinstance(s, Fixed)]


def pairs(items, every):
    """Return selectors with one in ``every`` of the items, other ones for each selector."""
    return [
        pytest.param(selector, item, id=f"{selector!r}-{item}")
        for i, selector in enumerate(parts(SELECTORS))
        for j, item in enumerate(items)
        if (i + j) % every == 0
    ]


def dense(data):
    if sparse.issparse(data):
        return data.toarray()
    return data if isinstance(data, np.ndarray) else data.to_numpy()


def classes(data):
    return np.arange(data.shape[0]) % 3


def check(selector, source, size, kernel, y, rows, present=None):
    """Check a budget of a source whose rows are known, and whose absent ones are, if any."""
    present = np.arange(len(rows)) if present is None else present
    budget = selector.select(source, size, kernel, np.random.default_rng(1), y)
    points = dense(budget.points)
    assert np.isfinite(points).all()
    if isinstance(selector, Fixed):
        assert np.array_equal(points, np.eye(5)[:size])
        return
    assert points.shape == (size if selector.repeats else min(size, len(present)), rows.shape[1])
    if budget.indices is None:
        assert points.dtype == as_compute_dtype(rows.dtype)
        return
    assert points.dtype == rows.dtype
    assert np.array_equal(points, rows[budget.indices])
    assert np.isin(budget.indices, present).all()
    assert selector.repeats or len(np.unique(budget.indices)) == len(points)


@pytest.mark.parametrize(("selector", "data"), pairs(DATA, 5))
def test_size_rows_and_dtype(selector, data):
    source, rows = DATA[data], dense(DATA[data])
    y = classes(rows)
    before, y_before = deepcopy(source), y.copy()
    for kernel in (Gaussian(gamma="dim"), Linear()):
        check(selector, source, 7, kernel, y, rows)
    assert np.array_equal(dense(source), dense(before))
    assert np.array_equal(y, y_before)


@pytest.mark.parametrize(("selector", "data"), pairs(OF_ANY_SIZE, 5))
def test_one_point_and_about_as_many_as_rows(selector, data):
    source, rows = DATA[data], dense(DATA[data])
    n = len(rows)
    for size in sorted({1, n - 1, n, n + 1} - {0}):
        check(selector, source, size, Gaussian(gamma="dim"), classes(rows), rows)


@in_turn(targets=list(TARGETS), selector=[s for s in parts(SELECTORS) if s.needs_targets])
def test_any_classes(selector, targets):
    y = TARGETS[targets].copy()
    for size in (1, 7, N - 1):
        check(selector, X, size, Linear(), y, X)
    assert np.array_equal(y, TARGETS[targets])


@pytest.mark.parametrize("selector", parts(SELECTORS), ids=repr)
def test_rows_of_weight_zero_are_absent(selector):
    only = (np.arange(N) == 4) * 1.0
    for weight, sizes in ((HALF, (1, 14, 15, 16)), (only, (1, 2)), (np.full(N, 1e-300), (7,))):
        sources = open_rows(X, target=LABELS, weight=weight), ChunkedRows(X, LABELS, weight)
        for size in sizes:
            for source in sources:
                check(selector, source, size, Linear(), None, X, np.flatnonzero(weight))


@pytest.mark.parametrize(
    ("selector", "storage"), pairs(["read-only", "memory map", "rows of unknown length"], 3)
)
def test_the_storage_makes_no_difference(selector, storage, tmp_path):
    source, y = X.copy(), LABELS.copy()
    source.flags.writeable = y.flags.writeable = False
    if storage == "memory map":
        np.save(tmp_path / "X.npy", X)
        source = np.load(tmp_path / "X.npy", mmap_mode="r")
    if storage == "rows of unknown length":
        source, y = ChunkedRows(X, LABELS), None
    for size in (7, N):
        expected = selector.select(X, size, Linear(), np.random.default_rng(1), LABELS)
        budget = selector.select(source, size, Linear(), np.random.default_rng(1), y)
        np.testing.assert_array_equal(budget.points, expected.points)
        np.testing.assert_array_equal(budget.indices, expected.indices)


@pytest.mark.parametrize("selector", parts(SELECTORS), ids=repr)
def test_points_do_not_change_with_the_data(selector):
    source = X.copy()
    for size in (1, 7, N, N + 1):
        budget = selector.select(source, size, Linear(), np.random.default_rng(1), LABELS)
        assert not np.shares_memory(budget.points, source)


@pytest.mark.parametrize("selector", WITHOUT_FIXED, ids=repr)
def test_another_seed_chooses_other_points(selector):
    wide = np.random.default_rng(2).normal(size=(100, 5))
    first, second = (
        selector.select(wide, 20, Linear(), np.random.default_rng(seed), np.arange(100) % 2)
        for seed in (1, 2)
    )
    assert not np.array_equal(first.points, second.points)


@pytest.mark.parametrize("selector", WITHOUT_FIXED, ids=repr)
@settings(max_examples=8, deadline=None, derandomize=True)
@given(rows=matrices(max_rows=9), size=st.integers(1, 11))
def test_rows_as_users_have_them(selector, rows, size):
    check(selector, rows, size, Linear(), classes(rows), dense(rows))


@pytest.mark.parametrize(("selector", "data"), pairs(TO_TRAIN_ON, 6))
def test_a_model_trains_on_it(selector, data):
    source, y = DATA[data], classes(DATA[data])
    feature_map = Nystroem(budget=7, selector=clone(selector))
    model = KernelClassifier("rbf", approximation=feature_map, alpha=0.1, random_state=0)
    model.fit(source, y)
    assert np.isfinite(model.decision_function(source)).all()
    assert np.isin(model.predict(source), y).all()


def test_balanced_draws_say_that_they_repeat():
    selector = Balanced(Uniform(replacement=True))
    indices = selector.select(X, 25, Linear(), np.random.default_rng(0), LABELS).indices
    assert selector.repeats or len(np.unique(indices)) == 25


@pytest.mark.parametrize("labels", [["a", None], ["a", 1]], ids=repr)
@pytest.mark.parametrize("selector", [Auto(), Balanced(), Uniform(), Uniform(stratify="class")])
def test_labels_of_mixed_kinds(selector, labels):
    y = np.array(labels * (N // 2), dtype=object)
    if None in labels:
        with pytest.raises(ValueError, match="missing"):
            selector.select(X, 7, Linear(), np.random.default_rng(0), y)
    elif selector.needs_targets and not isinstance(selector, Auto):
        with pytest.raises(ValueError, match="y must hold one class label"):
            selector.select(X, 7, Linear(), np.random.default_rng(0), y)
    else:
        check(selector, X, 7, Linear(), y, X)


@pytest.mark.parametrize("selector", parts(SELECTORS), ids=repr)
def test_squares_out_of_range(selector):
    for scale, dtype in ((1e-160, float), (1e160, float), (1e300, float), (1e25, np.float32)):
        source = (scale * X).astype(dtype)
        if scale > 1 and computes_values(selector):
            with pytest.raises(ValueError, match="rescale"):
                check(selector, source, 7, Linear(), LABELS, source)
        else:
            check(selector, source, 7, Linear(), LABELS, source)


def test_a_tolerance_stops_early_on_equal_rows():
    equal = VALUES["all rows equal"]
    budget = RPCholesky(tol=0.1).select(equal, 20, Linear(), np.random.default_rng(0))
    assert len(budget.points) == 1
