import dataclasses
import doctest
import enum
import importlib
import importlib.util
import inspect
import pkgutil
import re
from pathlib import Path

import pytest

import skimp
from tests.docstrings import described, examples, section
from tests.repository import ROOT

# tests/nn has the same tests of the PyTorch layers
MODULES = [
    module.name
    for module in pkgutil.walk_packages(skimp.__path__, "skimp.")
    if not module.name.startswith("skimp.nn")
]
FOLDERS = [name for name in skimp.__all__ if inspect.ismodule(getattr(skimp, name))]
PUBLIC = {
    f"{folder}.{name}": getattr(getattr(skimp, folder), name)
    for folder in FOLDERS
    for name in getattr(skimp, folder).__all__
}
REFERENCE = [
    name
    for part in (ROOT / "docs" / "api.rst").read_text().split(".. currentmodule:: ")
    if not part.startswith("skimp.nn\n")
    for name in re.findall(r"^   (\w+)$", part, re.M)
]


def is_record(part):
    fields = dataclasses.is_dataclass(part) and dataclasses.fields(part)
    return bool(fields) and not hasattr(part, "get_params")


def has_examples(module):
    source = importlib.util.find_spec(module).origin
    return ">>> " in Path(source).read_text()


CALLABLE = [name for name, part in PUBLIC.items() if callable(part)]
CONCRETE = [
    name
    for name in CALLABLE
    if not inspect.isabstract(PUBLIC[name])
    and not getattr(PUBLIC[name], "_is_protocol", False)
    and not isinstance(PUBLIC[name], enum.EnumType)
]
IN_REFERENCE = [name for name in CONCRETE if name.split(".")[1] in REFERENCE]
WITH_PARAMETERS = [name for name in CONCRETE if section(PUBLIC[name], "Parameters")]


def test_reference_lists_public_names():
    assert set(REFERENCE) <= {name.split(".")[1] for name in PUBLIC}


def test_summary_is_one_sentence():
    summaries = {name: inspect.getdoc(PUBLIC[name]).split("\n\n")[0] for name in CALLABLE}
    assert not {name: s for name, s in summaries.items() if s[-1:] != "." or "\n" in s}


def test_parameters_match_the_signature():
    for name in {*IN_REFERENCE, *WITH_PARAMETERS}:
        part = PUBLIC[name]
        title = "Attributes" if is_record(part) else "Parameters"
        assert described(part, title) == list(inspect.signature(part).parameters), name


def test_everything_in_the_reference_has_an_example():
    parts = {name: PUBLIC[name] for name in IN_REFERENCE if not is_record(PUBLIC[name])}
    assert not [name for name, part in parts.items() if not examples(part)]


@pytest.mark.parametrize("name", [name for name in MODULES if has_examples(name)])
def test_doctests(name):
    failed, _ = doctest.testmod(importlib.import_module(name))
    assert failed == 0
