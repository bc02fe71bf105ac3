import pytest

from skimp.data import _progress
from skimp.data._progress import LineReport


@pytest.fixture
def clock(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(_progress.time, "monotonic", lambda: now[0])
    return now


def test_a_line_says_how_many_rows_took_how_long(clock, capsys):
    report = LineReport("KernelRegressor")
    clock[0] += 3
    report(8192)
    out, err = capsys.readouterr()
    assert out == ""
    assert err == "KernelRegressor: 8,192 rows in 3 s\n"


def test_at_most_one_line_a_second(clock, capsys):
    report = LineReport("fit")
    for number in range(1, 401):
        clock[0] += 0.01
        report(number)
    assert 3 <= len(capsys.readouterr().err.splitlines()) <= 4


@pytest.mark.parametrize("first", [20, 10])
def test_a_new_pass_has_its_own_time(clock, capsys, first):
    report = LineReport("fit")
    clock[0] += 5
    report(first)
    clock[0] += 1
    report(10)
    clock[0] += 2
    report(20)
    assert capsys.readouterr().err.splitlines()[-1] == "fit: 20 rows in 2 s"


def test_quick_passes_write_nothing(clock, capsys):
    report = LineReport("fit")
    for n_rows in (10, 20, 10, 20, 10, 20):
        clock[0] += 0.001
        report(n_rows)
    assert capsys.readouterr().err == ""
