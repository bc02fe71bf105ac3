import doctest
import importlib
import inspect
import pkgutil
import re

import pytest

import skimp.nn
from tests.docstrings import described, examples
from tests.repository import ROOT, run_python

PUBLIC = [getattr(skimp.nn, name) for name in skimp.nn.__all__]
LAYERS = [part for part in PUBLIC if inspect.isclass(part)]
MODULES = [module.name for module in pkgutil.walk_packages(skimp.nn.__path__, "skimp.nn.")]
SCRIPTS = [p for p in sorted((ROOT / "examples").glob("*.py")) if "import torch" in p.read_text()]


def test_reference_lists_layers():
    reference = (ROOT / "docs" / "api.rst").read_text()
    (part,) = re.findall(r"currentmodule:: skimp\.nn\n(.*?)currentmodule", reference, re.S)
    assert set(re.findall(r"^   (\w+)$", part, re.M)) == set(skimp.nn.__all__)


@pytest.mark.parametrize("part", [*PUBLIC, *(layer.forward for layer in LAYERS)])
def test_parameters_match_the_signature(part):
    names = [name for name in inspect.signature(part).parameters if name != "self"]
    assert described(part, "Parameters") == names


@pytest.mark.parametrize("part", PUBLIC)
def test_everything_has_an_example(part):
    assert examples(part)


@pytest.mark.parametrize("name", MODULES)
def test_doctests(name):
    assert doctest.testmod(importlib.import_module(name)).failed == 0


def test_code_of_the_page_runs_from_top_to_bottom(tmp_path):
    text = (ROOT / "docs" / "networks.md").read_text()
    script = tmp_path / "page.py"
    script.write_text("\n".join(re.findall(r"^```python\n(.*?)^```", text, re.M | re.S)))
    # PyTorch warns of its own deprecated parts when it exports
    run_python("-W", "error", "-W", "ignore::FutureWarning", str(script), cwd=tmp_path)


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_example_runs(path, tmp_path, monkeypatch):
    monkeypatch.setenv("MPLBACKEND", "Agg")
    run_python(str(path), cwd=tmp_path)
