"""The code in the tables of docs/methods.md can be evaluated, and every recipe is listed."""

import re

import pytest
from sklearn import kernel_approximation, pipeline, random_projection

import skimp
from skimp import budgets, effects, features, kernels, recipes, solvers
from tests.repository import ROOT

PAGE = (ROOT / "docs" / "methods.md").read_text()
CELLS = [
    cell
    for line in PAGE.splitlines()
    if line.startswith("| ")
    for cell in re.findall(r"`([^`]+)`", line)
    if cell.endswith(")")
]
FOLDERS = (kernel_approximation, random_projection, budgets, effects, features, kernels, solvers)
NAMES = {name: value for folder in FOLDERS for name, value in vars(folder).items()}
NAMES |= {name: getattr(skimp, name) for name in skimp.__all__}
NAMES |= {"make_pipeline": pipeline.make_pipeline}


@pytest.mark.parametrize("code", sorted(set(CELLS)))
def test_code_of_tables_runs(code):
    assert hasattr(eval(code, dict(NAMES)), "get_params")


def test_every_recipe_is_listed():
    names = {name for name in recipes.__all__ if callable(getattr(recipes, name))}
    assert not [name for name in names if name not in PAGE]
