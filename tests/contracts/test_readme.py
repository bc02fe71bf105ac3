import re

import pytest

from tests.repository import ROOT, run_python

README = (ROOT / "README.md").read_text()
PAGES = [
    "index",
    "guide",
    "choosing",
    "methods",
    "kernels",
    "budgets",
    "features",
    "projections",
    "losses_and_solvers",
    "beyond_memory",
    "slow_fits",
    "out_of_memory",
    "streams",
    "online",
    "labels",
    "effects",
]


@pytest.mark.parametrize("share", [10, pytest.param(1, marks=pytest.mark.thorough)])
def test_code_runs_from_top_to_bottom(share, capsys):
    code = "\n".join(re.findall(r"^```python\n(.*?)^```", README, re.M | re.S))
    # a tenth of the rows of the first example
    for name, rows in (("n_samples", 220_000), ("test_size", 20_000)):
        assert f"{name}={rows:_}" in code
        code = code.replace(f"{name}={rows:_}", f"{name}={rows // share:_}")
    exec(compile(code, "README.md", "exec"), {})
    assert re.search(r"accuracy 0\.9\d", capsys.readouterr().out)


def test_code_comes_early():
    assert README[: README.index("```python")].count("\n") + 1 < 40


def test_names_the_commands():
    for command in ("pip install skimp", "make demo", "make test"):
        assert command in README


@pytest.mark.thorough
@pytest.mark.parametrize("page", PAGES)
def test_code_of_pages_runs_from_top_to_bottom(page, tmp_path):
    text = (ROOT / "docs" / f"{page}.md").read_text()
    if "sklearn.callback" in text:
        pytest.importorskip("sklearn.callback", reason="scikit-learn 1.9 has callbacks")
    if "from river" in text:
        pytest.importorskip("river")
    # a script, since classes that a page defines are pickled
    script = tmp_path / "page.py"
    script.write_text("\n".join(re.findall(r"^```python\n(.*?)^```", text, re.M | re.S)))
    run_python("-W", "error", str(script), cwd=tmp_path)


def test_links_lead_to_files():
    targets = re.findall(r"\]\(([^)#]+)[^)]*\)", README)
    assert len(targets) > 10
    assert [t for t in targets if "://" not in t and not (ROOT / t).exists()] == []
