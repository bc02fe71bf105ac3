"""Medians by counting equal the middle of the sorted numbers."""

import numpy as np
import pytest

from skimp.data import Context, open_rows
from skimp.estimators import _medians
from skimp.estimators._targets import mean_target, median_target
from tests.sources import ChunkedRows, CountedRows


def expected(y, weight):
    """Return the middle of the numbers, each repeated by its weight."""
    return np.median(np.repeat(y, weight.astype(int), axis=0), axis=0)


def draws(seed, n):
    rng = np.random.default_rng(seed)
    return {
        "normal": rng.normal(size=n),
        "far": 1e9 + rng.normal(size=n),
        "signs": rng.choice([-3.5, -0.0, 0.0, 1e-310, 2.5], n),
        "two": np.repeat([-1.0, 4.0], [n // 2, n - n // 2]),
        "constant": np.full(n, -7.25),
        "tails": rng.standard_cauchy(n) ** 5,
        "sorted": np.sort(rng.exponential(size=n)),
        "neighbours": np.where(rng.random(n) < 0.5, 1.0, np.nextafter(1.0, 2)),
    }


@pytest.mark.parametrize("held", [1, 40, 2**20])
@pytest.mark.parametrize("n", [1, 2, 999, 1000])
def test_medians(held, n, monkeypatch):
    monkeypatch.setattr(_medians, "_HELD", held)
    rng = np.random.default_rng(n)
    for name, y in draws(n, n).items():
        for weight in (np.ones(n), rng.integers(n > 1, 4, n) + (n == 1)):
            rows = ChunkedRows(np.zeros((n, 1)), y, weight.astype(float))
            single, found = median_target(rows, "test")
            assert single
            np.testing.assert_array_equal(found, [expected(y, weight)], err_msg=name)


@pytest.mark.parametrize("held", [30, 2**20])
def test_columns_and_rows_of_weight_zero(held, monkeypatch):
    monkeypatch.setattr(_medians, "_HELD", held)
    Y = np.column_stack(list(draws(0, 500).values()))
    weight = np.random.default_rng(1).integers(0, 3, 500).astype(float)
    single, found = median_target(ChunkedRows(Y[:, :1], Y, weight), "test", Context(2))
    assert not single
    np.testing.assert_array_equal(found, expected(Y, weight))


def test_fractional_weights(monkeypatch):
    y, weight = np.arange(5.0), np.array([0.5, 0.25, 0.125, 0.125, 1.0])
    for held in (1, 2**20):
        monkeypatch.setattr(_medians, "_HELD", held)
        assert median_target(open_rows(y[:, None], target=y, weight=weight), "test")[1] == 3.5


@pytest.mark.parametrize(("held", "most"), [(2**20, 1), (100, 3), (1, 4)])
def test_passes(held, most, monkeypatch):
    monkeypatch.setattr(_medians, "_HELD", held)
    y = np.random.default_rng(0).normal(size=4096)
    rows = CountedRows(open_rows(np.zeros((4096, 1)), target=y))
    assert median_target(rows, "test")[1] == np.median(y)
    assert rows.tally["passes"] <= most


@pytest.mark.parametrize("middle", [mean_target, median_target])
def test_no_weight(middle):
    rows = ChunkedRows(np.zeros((3, 1)), np.ones(3), np.zeros(3))
    with pytest.raises(ValueError, match="at least one row of positive weight"):
        middle(rows, "test")
