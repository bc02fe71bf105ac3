import logging
import os
import pickle
import subprocess
import sys

import numpy as np
import pytest

from skimp.data import Context, Listener, Progress, _progress, open_rows, reporting
from tests.sources import ChunkedRows


@pytest.fixture
def clock(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(_progress, "monotonic", lambda: now[0])
    return now


class Heard(Listener):
    def __init__(self):
        self.events = []

    def begin(self, phase):
        self.events.append(("begin", phase.name))

    def advance(self, phase, model):
        self.events.append(("advance", phase.name, phase.done))
        return phase.done == phase.total

    def see_rows(self, phase):
        self.events.append(("rows", phase.name, phase.rows, phase.n_rows))

    def end(self, phase):
        self.events.append(("end", phase.name))


def interrupt(_):
    raise KeyboardInterrupt


def count_rows(rows, context):
    return context.map_reduce(rows, lambda block, _: block.size, lambda a, b: a + b, 0)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_phases_nest_and_blocks_are_counted_in_the_innermost(n_jobs):
    heard = Heard()
    context = Context(n_jobs, Progress(heard))
    rows = open_rows(np.ones((5, 1)), block_rows=3)
    with context.phase("solve", unit="steps", total=2) as solving:
        with context.phase("moments"):
            count_rows(rows, context)
        assert solving.done == 1
        assert solving.advance()
    count_rows(rows, context.quiet)
    assert heard.events == [
        ("begin", "solve"),
        ("begin", "moments"),
        ("rows", "moments", 3, 5),
        ("rows", "moments", 5, 5),
        ("end", "moments"),
        ("advance", "solve", 2),
        ("end", "solve"),
    ]


def test_phase_that_raises_does_not_end_and_leaves_the_next_one_alone():
    heard = Heard()
    progress = Progress(heard)
    with pytest.raises(KeyboardInterrupt), progress.phase("search"):
        raise KeyboardInterrupt
    with progress.phase("solve") as solving:
        assert solving.parent is None
    assert heard.events == [("begin", "search"), ("begin", "solve"), ("end", "solve")]


def test_first_pass_over_a_source_of_unknown_length_counts_its_rows():
    rows, heard = ChunkedRows(np.ones((10, 2)), block_rows=4), Heard()
    context = Context(progress=Progress(heard))
    mapped = rows.with_targets(lambda y, weight: (y, weight))
    with context.phase("read") as reading:
        assert count_rows(mapped, context) == 10
        assert reading.describe() == "10 rows"
        count_rows(mapped, context)
    assert [event[3] for event in heard.events if event[0] == "rows"] == [None] * 3 + [10] * 3
    assert rows.known_n_rows == 10


def test_end_of_a_part_forgets_the_rows_before_it():
    progress = Progress(Heard())
    with progress.phase("penalty", unit="folds", total=5) as penalty:
        progress.see_rows(120, None)
        with progress.phase("fold"):
            pass
        assert penalty.describe() == "1 of at most 5 folds"


def write_report(clock, seconds, verbose=1):
    with reporting("Model", verbose) as progress, progress.phase("solve", unit="steps") as solving:
        for _ in range(100):
            clock[0] += seconds / 100
            solving.advance("objective 0.5")
        solving.see_rows(300, 400)
        with progress.phase("part") as part:
            part.result = "a result"
        solving.result = "converged"


def test_a_line_for_each_phase_with_its_seconds_and_result(clock, capfd):
    write_report(clock, 0.5)
    out, err = capfd.readouterr()
    assert out == ""
    assert [line.split() for line in err.splitlines()] == [
        ["Model", "solve", "0.5", "s", "converged"],
        ["Model", "total", "0.5", "s"],
    ]
    write_report(clock, 0.5, verbose=2)
    assert "part" in capfd.readouterr().err.splitlines()[0]
    write_report(clock, 0.5, verbose=0)
    assert capfd.readouterr() == ("", "")


def test_long_phases_say_now_and_then_how_far_they_are(clock, capfd):
    write_report(clock, 60)
    *lines, _, _ = capfd.readouterr().err.splitlines()
    assert 5 < len(lines) < 30
    assert "96 steps" in lines[-1]
    assert "objective 0.5" in lines[-1]


def test_a_phase_that_is_predicted_to_take_long_is_announced(capfd):
    with reporting("Model", 1) as progress, progress.phase("factorization", expected=50.0):
        assert "factorization" in (announced := capfd.readouterr().err)
        assert "50 s" in announced
    with reporting("Model", 1) as progress, progress.phase("factorization", expected=0.1):
        assert capfd.readouterr().err.count("factorization") == 1


@pytest.fixture
def logger():
    logger = logging.getLogger("skimp")
    level = logger.level
    yield logger
    logger.setLevel(level)


def test_lines_are_records_of_the_logger_if_somebody_listens(clock, capfd, caplog):
    with caplog.at_level(logging.INFO, logger="skimp"):
        write_report(clock, 0.5)
    assert [(record.name, record.levelname) for record in caplog.records] == [("skimp", "INFO")] * 2
    assert capfd.readouterr() == ("", "")


def test_level_of_the_logger_silences_and_that_of_others_does_not(clock, capfd, logger):
    # a root logger with handlers, here those of pytest, that shows warnings only
    write_report(clock, 0.5)
    assert "solve" in capfd.readouterr().err
    logger.setLevel(logging.WARNING)
    write_report(clock, 0.5)
    assert capfd.readouterr() == ("", "")


def test_nothing_is_left_behind(clock, logger):
    before = logger.handlers.copy(), logger.level
    contexts = []
    with pytest.raises(KeyboardInterrupt), reporting("Model", 1) as progress:
        interrupt(contexts.append(Context(progress=progress)))
    assert (logger.handlers, logger.level) == before
    with pickle.loads(pickle.dumps(contexts[0])).phase("solve") as solving:
        assert solving.listeners == ()


BAR = """
from skimp.data import reporting
import time
with reporting("Model", 1) as progress, progress.phase("solve", unit="steps", total=4) as solving:
    for _ in range(3):
        time.sleep(0.3)
        solving.advance()
    solving.result = "converged [all]"
"""


def test_terminal_shows_a_bar_and_keeps_the_lines():
    pty = pytest.importorskip("pty")
    pytest.importorskip("rich")
    ours, theirs = pty.openpty()
    environment = os.environ | {"TERM": "xterm", "COLUMNS": "100"}
    done = subprocess.run(
        [sys.executable, "-c", BAR], stdout=subprocess.PIPE, stderr=theirs, env=environment
    )
    os.close(theirs)
    shown = os.read(ours, 2**16).decode()
    os.close(ours)
    assert (done.returncode, done.stdout) == (0, b"")
    assert "2 of at most 4 steps" in shown
    assert "converged [all]" in shown
    assert "total" in shown
