"""What `budget_quality` refuses, and scales that it must survive."""

import re
from dataclasses import replace

import numpy as np
import pytest

from skimp.budgets import Budget
from skimp.data import open_rows
from skimp.diagnostics import budget_quality
from skimp.kernels import Gaussian, Laplacian, Linear, Tanh
from tests.problems import regression
from tests.sources import ChunkedRows
from tests.strategies import BAD

KERNEL = Laplacian(0.5)
X = regression(60)[0]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"alpha": 0}, "budget_quality: alpha must be a number > 0, got 0."),
        ({"alpha": "small"}, "budget_quality: alpha must be a number > 0, got 'small'."),
        ({"alpha": np.nan}, "budget_quality: alpha must be a number > 0, got nan."),
        ({"sample": 1}, "budget_quality: sample must be an integer >= 2, got 1."),
        ({"sample": 9.0}, "budget_quality: sample must be an integer >= 2, got 9.0."),
        ({"random_state": "x"}, "budget_quality: random_state must be None or an integer >= 0"),
        ({"kernel": "wavelet"}, "budget_quality: kernel must be a kernel object or one of 'rbf'"),
        ({"kernel": Gaussian(0)}, "Gaussian: gamma must be a number > 0"),
        ({"kernel": Tanh(1.0)}, "budget_quality: kernel must be positive definite (others have"),
        ({"y": np.ones(59)}, "inconsistent numbers of samples: [60, 59]"),
    ],
)
def test_rules(options, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        budget_quality(**{"budget": X[:5], "kernel": KERNEL, "X": X, **options})


def test_columns_must_agree():
    message = "budget_quality: budget must have as many columns as X (3), found 2."
    with pytest.raises(ValueError, match=re.escape(message)):
        budget_quality(X[:5, :2], KERNEL, X)


@pytest.mark.parametrize(("bad", "message"), BAD.values(), ids=BAD)
def test_bad_points_and_rows(bad, message):
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


@pytest.mark.parametrize("indices", [[0, 1, 60], [-1, 0, 1], [0, 1], [0, 1, 2, 3], []])
@pytest.mark.parametrize("y", [None, np.arange(60) % 2], ids=["without y", "with y"])
def test_row_numbers_that_are_none(indices, y):
    message = "budget_quality: budget must have 3 indices of rows of X, one a point."
    with pytest.raises(ValueError, match=re.escape(message)):
        budget_quality(Budget(X[:3], np.array(indices, int)), KERNEL, X, y)


def test_no_row_counts():
    with pytest.raises(ValueError, match="at least one row of positive weight"):
        budget_quality(X[:3], KERNEL, ChunkedRows(X, weight=np.zeros(60)))


def test_rows_bring_their_own_labels():
    with pytest.raises(ValueError, match="must be None for Rows"):
        budget_quality(X[:3], KERNEL, open_rows(X), np.arange(60) % 2)


@pytest.mark.parametrize("points", [1.0, 1e200])
def test_kernel_values_that_overflow(points):
    with pytest.raises(ValueError, match="finite numbers, found infinity or NaN"):
        budget_quality(points * X[:5], Linear(), 1e200 * X)


@pytest.mark.parametrize("scale", [1e-140, 1e-30, 1e30, 1e150])
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
