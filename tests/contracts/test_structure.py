import ast
from statistics import median

import pytest

from tests.mutants import read_table
from tests.repository import PACKAGE, ROOT

FOLDERS = sorted(p for p in PACKAGE.iterdir() if p.is_dir() and p.name != "__pycache__")
SOURCES = sorted(PACKAGE.rglob("*.py"))


@pytest.mark.parametrize("folder", ["src", "tests"])
def test_files_are_short(folder):
    lengths = {p: p.read_text().count("\n") for p in (ROOT / folder).rglob("*.py")}
    assert median(lengths.values()) <= 150
    assert not {str(path): n for path, n in lengths.items() if n > 500}


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_folder_says_what_it_is(folder):
    assert (folder / "README.md").read_text().startswith("# ")


@pytest.mark.parametrize("word", ["TODO", "FIXME"])
def test_nothing_left_behind(word):
    assert not [str(path) for path in SOURCES if word in path.read_text()]


def test_each_mutant_is_one_line_of_the_code():
    mutants = read_table()  # raises for a line that has changed
    assert f"{len(mutants)} small errors" in (ROOT / "CONTRIBUTING.md").read_text()


def test_nothing_prints():
    for path in SOURCES:
        names = {
            part.id for part in ast.walk(ast.parse(path.read_text())) if type(part) is ast.Name
        }
        assert "print" not in names, path
