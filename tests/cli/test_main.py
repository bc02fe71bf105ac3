from importlib.metadata import version

import pytest

from skimp.cli import _demo, main
from tests.repository import run_python


@pytest.fixture(autouse=True)
def calls(monkeypatch):
    """Record the demonstration instead of running it."""
    made = []
    monkeypatch.setattr(_demo, "run_demo", lambda *arguments: made.append(arguments))
    return made


def test_version(capsys):
    with pytest.raises(SystemExit) as exit_:
        main(["--version"])
    assert exit_.value.code == 0
    assert capsys.readouterr().out == f"skimp {version('skimp')}\n"


@pytest.mark.parametrize(("options", "quick"), [([], False), (["--quick"], True)])
def test_demo_options(options, quick, calls):
    assert main(["demo", *options]) == 0
    assert calls == [(quick,)]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "command"),
        (["dance"], "invalid choice: 'dance'"),
        (["demo", "--speed", "9"], "unrecognized arguments"),
    ],
)
def test_nonsense_is_refused_before_any_work(arguments, message, calls, capsys):
    with pytest.raises(SystemExit) as exit_:
        main(arguments)
    assert exit_.value.code == 2
    assert message in capsys.readouterr().err
    assert not calls


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (OSError("disk full"), 1, "skimp demo: error: disk full\n"),
        (MemoryError("too many rows"), 1, "skimp demo: error: too many rows\n"),
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
