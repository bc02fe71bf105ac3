import re

from tests.repository import ROOT

README = (ROOT / "README.md").read_text()


def test_code_runs_from_top_to_bottom(capsys):
    blocks = re.findall(r"^```python\n(.*?)^```", README, re.M | re.S)
    namespace = {}
    for block in blocks:
        exec(compile(block, "README.md", "exec"), namespace)
    assert len(blocks) >= 2
    assert re.search(r"accuracy 0\.9\d", capsys.readouterr().out)


def test_code_comes_early():
    assert README[: README.index("```python")].count("\n") + 1 < 40


def test_names_the_commands():
    for command in ("pip install skimp", "make demo", "make test"):
        assert command in README
