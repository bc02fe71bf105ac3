import sys

import numpy as np

from skimp.cli import main
from skimp.cli._demo import Run, compare_fits, compare_predictions, count_covered, judge_choice
from skimp.cli._problems import land, noisy_classes, treated_rows
from skimp.cli._screen import Screen

FAST, SLOW = Run("skimp", 0.9, 2.0, 0.1), Run("boosted trees", 0.8, 8.0, 40.0)


def test_quick_demo(capsys):
    assert main(["demo", "--quick"]) == 0
    out, err = capsys.readouterr()
    lines = out.splitlines()
    assert max(map(len, lines)) <= 100
    assert [line[0] for line in lines if line[1:3] == ". "] == list("1234")
    for name in ("boosted trees", "random forest", "SVC", "treated", "fit in", "Total:"):
        assert any(line.lstrip().startswith(name) for line in lines), name
    assert "extrapolated" in out
    assert not any(line.isspace() or "\x1b" in line for line in lines)
    assert "Fitting boosted trees" in err
    assert "..." not in out


def test_terminal_shows_the_step_that_runs(capsys, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    screen = Screen()
    with screen.step("Fitting"):
        screen.table(("model", "s"), [("skimp", "1")])
    out, err = capsys.readouterr()
    assert "Fitting" in err
    assert "Fitting" not in out
    assert "\x1b[1m  skimp  1" in out


def test_rich_is_optional(capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "rich.console", None)
    screen = Screen()
    with screen.step("Fitting"):
        screen.table(("model", "s"), [("skimp", "1"), ("SVC", "20")])
    assert capsys.readouterr() == ("\n  model   s\n  skimp   1\n  SVC    20\n\n", "Fitting ...\n")


def test_conclusion_of_a_fit_follows_its_numbers():
    text = compare_fits(FAST, [SLOW])
    assert "10.0 points more accurate than the boosted trees" in text
    assert "4.0 times faster" in text
    text = compare_fits(SLOW, [FAST])
    assert "10.0 points less accurate than the skimp" in text
    assert "4.0 times slower" in text
    assert "as accurate as" in compare_fits(FAST, [FAST])


def test_conclusion_of_predictions_follows_its_numbers():
    assert "400 times faster than boosted trees" in compare_predictions(FAST, SLOW)
    assert "400 times slower than skimp" in compare_predictions(SLOW, FAST)


def test_conclusion_of_effects_follows_its_numbers():
    text = count_covered(3, 5, 1_000_000, 12.3)
    assert "3 of 5" in text
    assert "12.3 s" in text
    assert "8 TB" in text
    assert "72 MB" in count_covered(5, 5, 3_000, 1.0)


def test_conclusion_of_the_choice_follows_its_numbers():
    assert "0.5 points less accurate" in judge_choice(0.795, 0.8, 9.0)
    assert "0.5 points more accurate" in judge_choice(0.805, 0.8, 9.0)


def test_cells_have_one_soil_and_one_area():
    X, y = land(300, seed=0)
    again, labels = land(300, seed=0)
    assert np.array_equal(X, again)
    assert np.array_equal(y, labels)
    assert not np.array_equal(X, land(300, seed=1)[0])
    assert (X[:, 20:].sum(axis=1) == 2).all()


def test_no_rule_beats_the_one_that_drew_the_classes():
    X, y, ceiling = noisy_classes(20_000, seed=0)
    linear = np.mean((X[:, 6] > 0) == y)
    assert linear < 0.66 < 0.78 < ceiling < 0.83


def test_true_effects_are_those_of_the_formula():
    X, y, effects = treated_rows(200_000, seed=0)
    assert np.allclose(effects, [np.exp(-0.5) + 0.1, 0.5, 0, 0, 0.3], atol=0.01)
    slopes = np.linalg.lstsq(np.column_stack([X, np.ones(len(X))]), y, rcond=None)[0]
    assert np.allclose(slopes[1:4], effects[1:4], atol=0.02)
