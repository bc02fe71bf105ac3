"""What `budget_quality` refuses, and scales that it must survive."""

import re
from dataclasses import replace

import numpy as np
import pytest

from skimp.budgets import Budget, KMeans
from skimp.data import open_rows
from skimp.diagnostics import budget_quality
from skimp.kernels import Laplacian, Linear, Tanh
from tests.problems import regression
from tests.sources import ChunkedRows
from tests.strategies import BAD

KERNEL = Laplacian(0.5)
X = regression(60)[0]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("alpha", 0),
        ("alpha", np.nan),
        ("sample", 1),
        ("sample", 9.0),
        ("random_state", "x"),
        ("kernel", "wavelet"),
        ("kernel", Tanh(1.0)),
        ("budget", "kmeans"),
        ("budget", None),
        ("budget", KMeans()),
    ],
)
def test_rules(name, value):
    message = rf"(?s)budget_quality: {name} must be.*got {re.escape(repr(value))}"
    with pytest.raises(ValueError, match=message):
        budget_quality(**{"budget": X[:5], "kernel": KERNEL, "X": X, name: value})


def test_columns_must_agree():
    message = "columns as X (3), found 2"
    with pytest.raises(ValueError, match=re.escape(message)):
        budget_quality(X[:5, :2], KERNEL, X)


@pytest.mark.parametrize("bad", ["NaN", "no rows", "strings"])
def test_bad_points_and_rows(bad):
    bad, message = BAD[bad]
    with pytest.raises(ValueError, match=message):
        budget_quality(bad, KERNEL, np.ones((6, 3)))
    with pytest.raises(ValueError, match=message):
        budget_quality(np.ones((2, 3)), KERNEL, bad)


@pytest.mark.parametrize(
    "y",
    [
        regression(60)[1],
        np.eye(60),
        np.eye(60, 2, dtype=int),
        np.array(["a", 1] * 30, dtype=object),
    ],
    ids=["continuous", "several columns", "indicators", "words and numbers"],
)
def test_what_holds_no_classes_has_no_shares(y):
    found, expected = budget_quality(X[:5], KERNEL, X, y), budget_quality(X[:5], KERNEL, X)
    assert (found.class_shares, found.class_imbalance) == (None, None)
    assert replace(found, sample_error=None) == expected


@pytest.mark.parametrize("indices", [[0, 1, 60], [-1, 0, 1], [0, 1]])
def test_row_numbers_that_are_none(indices):
    with pytest.raises(ValueError, match="budget must have 3 indices"):
        budget_quality(Budget(X[:3], np.array(indices, int)), KERNEL, X)


def test_no_row_counts():
    with pytest.raises(ValueError, match="at least one row of positive weight"):
        budget_quality(X[:3], KERNEL, ChunkedRows(X, weight=np.zeros(60)))


def test_labels_must_fit_the_rows():
    with pytest.raises(ValueError, match="one entry for each of the 60 rows, found 59"):
        budget_quality(X[:3], KERNEL, open_rows(X), np.arange(59) % 2)


def test_kernel_values_that_overflow():
    with pytest.raises(ValueError, match="finite numbers, found infinity or NaN"):
        budget_quality(X[:5], Linear(), 1e200 * X)


@pytest.mark.parametrize("scale", [1e-140, 1e150])
def test_shares_do_not_depend_on_the_scale(scale):
    expected = budget_quality(X[:2], Linear(), X, sample=40)
    found = budget_quality(scale * X[:2], Linear(), scale * X, sample=40)
    assert found.residual_trace == pytest.approx(expected.residual_trace, rel=1e-9)
    assert found.standard_error == pytest.approx(expected.standard_error, rel=1e-9)
    assert found.mean_distance == pytest.approx(scale * expected.mean_distance, rel=1e-9)


@pytest.mark.parametrize(("apart", "singular"), [(2.0**-48, False), (2.0**-52, True)])
def test_condition_numbers_beyond_precision_are_infinite(apart, singular):
    # of [[1, 1], [1, 1 + apart]] it is 4 / apart, nearly
    points = np.array([[1.0, 0.0], [1.0, np.sqrt(apart)]])
    found = budget_quality(points, Linear(), points).condition_number
    assert found == (np.inf if singular else pytest.approx(4 / apart, rel=1e-5))
