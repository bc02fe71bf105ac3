import json
import math
from dataclasses import asdict, replace

import pytest

from skimp.choice import _rates
from skimp.choice._rates import NOMINAL, calibrate, measured_rates

OTHER = replace(NOMINAL, gemm32=7e9)


@pytest.fixture
def cache_file(tmp_path, monkeypatch):
    """The file of an empty cache folder."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "skimp" / "rates.json"


@pytest.fixture
def calls(monkeypatch):
    """The numbers of threads that speeds were measured with; all of them are `NOMINAL`."""
    found = []

    def fake(n_threads):
        found.append(n_threads)
        return NOMINAL

    monkeypatch.setattr(_rates, "calibrate", fake)
    _rates._known_rates.cache_clear()
    yield found
    _rates._known_rates.cache_clear()


def test_speeds_of_this_machine_are_positive_numbers(monkeypatch):
    monkeypatch.setattr(_rates, "_REPEATS", 1)
    rates = calibrate(1)
    assert all(math.isfinite(value) and value > 0 for value in asdict(rates).values())


def test_speeds_are_measured_once(cache_file, calls):
    assert measured_rates(1) == measured_rates(1) == NOMINAL
    assert calls == [1]


def test_another_process_reads_the_file(cache_file, calls):
    measured_rates(1)
    _rates._known_rates.cache_clear()
    assert measured_rates(1) == NOMINAL
    assert calls == [1]
    assert [file.name for file in cache_file.parent.iterdir()] == ["rates.json"]


def test_other_numbers_of_threads_are_other_machines(cache_file, calls):
    measured_rates(1)
    measured_rates(2)
    assert calls == [1, 2]
    assert len(json.loads(cache_file.read_text())) == 2


def test_file_is_believed_where_it_makes_sense(cache_file, calls):
    cache_file.parent.mkdir()
    cache_file.write_text(json.dumps({_rates._key(1): asdict(OTHER)}))
    assert measured_rates(1) == OTHER
    assert calls == []


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[1]",
        "[" * 100_000,
        json.dumps({_rates._key(1): None}),
        json.dumps({_rates._key(1): {"gemm32": 1e9}}),
        json.dumps({_rates._key(1): {**asdict(OTHER), "more": 1.0}}),
        json.dumps({_rates._key(1): {**asdict(OTHER), "bytes": 0}}),
        json.dumps({_rates._key(1): {**asdict(OTHER), "bytes": True}}),
        json.dumps({_rates._key(1): {**asdict(OTHER), "bytes": "1e9"}}),
        json.dumps({_rates._key(1): {**asdict(OTHER), "bytes": math.inf}}),
    ],
)
def test_file_that_makes_no_sense_is_written_anew(cache_file, calls, text):
    cache_file.parent.mkdir()
    cache_file.write_text(text)
    assert measured_rates(1) == NOMINAL
    assert calls == [1]
    assert json.loads(cache_file.read_text())[_rates._key(1)] == asdict(NOMINAL)


def test_file_of_bytes_that_are_no_text_is_no_error(cache_file, calls):
    cache_file.parent.mkdir()
    cache_file.write_bytes(b"\xff\xfe\xfa")
    assert measured_rates(1) == NOMINAL


def test_records_of_other_machines_are_kept(cache_file, calls):
    cache_file.parent.mkdir()
    cache_file.write_text(json.dumps({"another": asdict(OTHER)}))
    measured_rates(1)
    assert json.loads(cache_file.read_text())["another"] == asdict(OTHER)


def test_folder_that_cannot_be_made_is_no_error(tmp_path, monkeypatch, calls):
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert measured_rates(1) == NOMINAL


def test_file_that_cannot_be_replaced_leaves_nothing_behind(cache_file, calls):
    cache_file.mkdir(parents=True)
    assert measured_rates(1) == NOMINAL
    assert list(cache_file.parent.iterdir()) == [cache_file]
