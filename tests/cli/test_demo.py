import io
import os
import re
import subprocess
import sys

from rich.console import Console

from skimp.cli import _demo
from skimp.cli._demo import EXACT, LINEAR, SKIMP, Trial, conclusion, measure
from skimp.report import Measurement, Tradeoff

COMMAND = "from skimp.cli import main; raise SystemExit(main())"
QUICK = [Trial("digits", LINEAR, 1297), Trial("digits", SKIMP, 1297, 50)]


HEADING = r"^ *model +budget +rows +accuracy +fit \(s\) +predict \(s\) +peak memory *$"
RESULT = r" +(\S+) +(\S+) +\d+\.\d% +\d+\.\d{3} +\d+\.\d{3} +(?:\d+ MB|-) *$"


def test_command_in_a_pipe(tmp_path):
    # one test: under xdist each worker would run a shared fixture again
    plot = tmp_path / "plot.png"
    environment = {k: v for k, v in os.environ.items() if k not in ("FORCE_COLOR", "COLUMNS")}
    done = subprocess.run(
        [sys.executable, "-c", COMMAND, "demo", "--rows", "2000", "--output", str(plot)],
        capture_output=True,
        text=True,
        encoding="utf-8",
        env=environment | {"PYTHONIOENCODING": "utf-8"},
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    *lines, last = done.stdout.splitlines()

    assert plot.read_bytes().startswith(b"\x89PNG\r\n\x1a\n")
    assert last == f"Accuracy against fit time: {plot}"
    assert os.listdir(tmp_path) == ["plot.png"]

    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f]", done.stdout), "control characters"
    assert max(map(len, lines)) <= 80
    assert len(re.findall(HEADING, done.stdout, re.M)) == 2
    assert re.findall(rf"\b{LINEAR}{RESULT}", done.stdout, re.M) == [("-", "2,000"), ("-", "1,297")]
    assert re.findall(rf"\b{EXACT}{RESULT}", done.stdout, re.M) == [("-", "2,000"), ("-", "1,297")]
    assert re.findall(rf"\b{SKIMP}{RESULT}", done.stdout, re.M) == [
        *((budget, "2,000") for budget in ("100", "300", "1,000")),
        *((budget, "1,297") for budget in ("100", "200", "400")),
    ]
    assert len(re.findall(rf"^ > +(?:{LINEAR}|{EXACT}|{SKIMP})", done.stdout, re.M)) == 2


def test_terminal_shows_a_table_that_fills_in(monkeypatch):
    monkeypatch.setattr(_demo, "_measure_apart", measure)
    monkeypatch.setenv("TERM", "xterm")
    screen = io.StringIO()
    console = Console(file=screen, force_terminal=True, width=80, highlight=False)
    done = _demo._run(console, "Digits", QUICK)
    assert [model.budget for model in done] == [None, 50]
    assert "\x1b[?25l" in screen.getvalue()
    assert screen.getvalue().count("predict (s)") > 1


def test_a_model_has_a_process_of_its_own():
    model = _demo._measure_apart(QUICK[1])
    assert model.accuracy > 0.85
    assert model.accuracy == measure(QUICK[1]).accuracy


def test_generated_problem_is_not_linear():
    linear, skimp = (
        measure(Trial("generated", *rest)) for rest in ((LINEAR, 5000), (SKIMP, 5000, 300))
    )
    assert linear.accuracy < 0.66 < 0.70 < skimp.accuracy < skimp.ceiling < 0.85


def test_unknown_memory_is_a_dash(monkeypatch):
    monkeypatch.setitem(sys.modules, "resource", None)
    model = measure(QUICK[0])
    assert model.peak_bytes is None
    peaks = _demo._table("Digits", QUICK[:1], [model]).columns[-1]
    assert list(peaks.cells) == ["-"]


def tradeoff(rows, skimp=0.8):
    return Tradeoff(
        "Rows",
        rows,
        [
            Measurement(LINEAR, rows, None, 0.6, 0.1, 0.1),
            Measurement(EXACT, 4_000, None, 0.75, 1.0, 0.1),
            Measurement(EXACT, 16_000, None, 0.77, 16.0, 0.1),
            Measurement(SKIMP, rows, 100, skimp, 2.0, 0.1, ceiling=0.9),
        ],
    )


def test_conclusion_extrapolates_and_says_so():
    text = conclusion(tradeoff(160_000))
    assert "budget of 100 reaches 80.0% in 2.00 s, 20.0 points above the linear model" in text
    assert "(noise in the labels allows 90.0% at most)" in text
    assert "SVC reaches 77.0% in 16.00 s on 16,000 rows" in text
    assert text.endswith("; all 160,000 would take about 27 minutes, by extrapolation.")


def test_conclusion_without_extrapolation():
    text = conclusion(tradeoff(16_000, skimp=0.5))
    assert "10.0 points below the linear model" in text
    assert "extrapolation" not in text
