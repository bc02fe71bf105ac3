import sys
from concurrent.futures.process import BrokenProcessPool
from importlib.metadata import version

import pytest

from skimp.cli import _demo, main
from tests.repository import run_python


@pytest.fixture(autouse=True)
def calls(monkeypatch, tmp_path):
    """Run the command in an empty folder, and record the demonstration instead of running it."""
    made = []
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(_demo, "run_demo", lambda *arguments: made.append(arguments))
    return made


def test_version(capsys):
    with pytest.raises(SystemExit) as exit_:
        main(["--version"])
    assert exit_.value.code == 0
    assert capsys.readouterr().out == f"skimp {version('skimp')}\n"


def test_demo_defaults(calls, tmp_path):
    assert main(["demo"]) == 0
    [(rows, output)] = calls
    assert rows == 200_000
    assert output.resolve() == tmp_path / "skimp-demo.png"
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "command"),
        (["dance"], "invalid choice: 'dance'"),
        (["demo", "--rows", "many"], "--rows: must be a whole number of at least 1000, got 'many'"),
        (["demo", "--rows", "-5"], "got '-5'"),
        (["demo", "--rows", "999"], "got '999'"),
        (["demo", "--output", "nowhere/plot.png"], "cannot write into the folder 'nowhere'"),
        (["demo", "--output", "."], "must be the name of a file"),
        (["demo", "--output", ""], "must be the name of a file"),
        (["demo", "--speed", "9"], "unrecognized arguments"),
    ],
)
def test_nonsense_is_refused_before_any_work(arguments, message, calls, capsys):
    with pytest.raises(SystemExit) as exit_:
        main(arguments)
    assert exit_.value.code == 2
    assert message in capsys.readouterr().err
    assert not calls


def test_output_inside_a_file_is_refused(calls, capsys, tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(SystemExit):
        main(["demo", "--output", "file/plot.png"])
    assert "cannot write into the folder 'file'" in capsys.readouterr().err
    assert not calls


@pytest.mark.parametrize("name", ["rich", "matplotlib"])
def test_missing_dependency_gives_one_line(name, calls, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, name, None)
    assert main(["demo"]) == 1
    shown = capsys.readouterr()
    assert shown.err == f'skimp demo needs {name}: pip install "skimp[cli]"\n'
    assert not shown.out
    assert not calls


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (OSError("disk full"), 1, "skimp demo: error: disk full\n"),
        (MemoryError("too many rows"), 1, "skimp demo: error: too many rows\n"),
        (BrokenProcessPool("a process was killed"), 1, "skimp demo: error: a process was killed\n"),
        (KeyboardInterrupt(), 130, ""),
    ],
)
def test_failures_have_exit_codes(error, code, message, capsys, monkeypatch):
    def fail(*_):
        raise error

    monkeypatch.setattr(_demo, "run_demo", fail)
    assert main(["demo"]) == code
    assert capsys.readouterr().err == message


def test_import_is_light():
    loaded = run_python("-c", "import sys, skimp.cli\nprint(*sys.modules)").split()
    assert not {"matplotlib", "multiprocessing", "numpy", "rich", "sklearn"} & set(loaded)
