from tests.repository import run_python

LINT = "from importlinter.cli import lint_imports_command; lint_imports_command()"


def test_import_layers():
    assert "0 broken" in run_python("-c", LINT, "--no-cache")
