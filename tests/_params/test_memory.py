import re

import numpy as np
import pytest

from skimp._params import _memory
from skimp._params._memory import MEMORY_LIMIT, parse_bytes, require_memory


@pytest.mark.parametrize(
    ("limit", "expected"),
    [
        (1, 1),
        (10**9, 10**9),
        (np.int64(10**9), 10**9),
        ("100B", 100),
        ("2KB", 2000),
        ("2GB", 2 * 10**9),
        ("2gb", 2 * 10**9),
        (" 1.5 MB ", 1_500_000),
        ("3TB", 3 * 10**12),
    ],
)
def test_sizes(limit, expected):
    assert MEMORY_LIMIT.test(limit)
    assert parse_bytes(limit) == expected


@pytest.mark.parametrize("limit", ["2", "GB", "2 apples", "-1GB", "1,5GB", "2GiBi", "", "nanGB"])
def test_what_is_no_size(limit):
    assert not MEMORY_LIMIT.test(limit)
    with pytest.raises(ValueError, match=re.escape(f"got {limit!r}.")):
        parse_bytes(limit)


@pytest.mark.parametrize("limit", [0, -1, 1.5, 2e9, True, [1], b"2GB"])
def test_what_the_rule_refuses(limit):
    assert not MEMORY_LIMIT.test(limit)


def test_none_is_half_of_the_machine(monkeypatch):
    monkeypatch.setattr(_memory, "_physical_bytes", lambda: 1000)
    assert MEMORY_LIMIT.test(None)
    assert parse_bytes(None) == 500


def test_the_machine_has_memory():
    assert parse_bytes(None) > 10**7


def test_require_memory_allows_what_fits():
    assert require_memory(2000, "2KB", "this", "do that") is None


def test_require_memory_says_what_does_not_fit_and_what_to_do():
    message = (
        "an exact model needs 3.25 GB, more than the memory limit of 2 GB: "
        "take a budget, or raise memory_limit."
    )
    with pytest.raises(MemoryError, match=re.escape(message)):
        require_memory(3_250_000_000, "2GB", "an exact model", "take a budget")


def test_require_memory_has_units_for_small_numbers():
    with pytest.raises(MemoryError, match="needs 3 MB, more than the memory limit of 7 B:"):
        require_memory(3 * 10**6, 7, "an exact model", "take a budget")
