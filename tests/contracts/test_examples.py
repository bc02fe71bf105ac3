import os

import pytest

from tests.repository import ROOT, run_python

EXAMPLES = sorted((ROOT / "examples").glob("plot_*.py"))


@pytest.mark.thorough
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example_runs(path, tmp_path):
    if "import torch" in path.read_text():
        pytest.importorskip("torch", reason="`make test-torch` runs this example")
    run_python(str(path), cwd=tmp_path, env={**os.environ, "MPLBACKEND": "Agg"})
    assert path.read_text().startswith('"""')


def test_there_are_examples():
    assert EXAMPLES
