import os
import sysconfig
import venv
import zipfile

import pytest

from tests.repository import PACKAGE, ROOT, run_python

FIT = """
import sys
import numpy as np
import skimp
X = np.random.default_rng(0).normal(size=(200, 2))
y = X[:, 0] * X[:, 1] > 0
model = skimp.KernelClassifier(approximation=50, random_state=0).fit(X, y)
assert skimp.__file__.startswith(sys.prefix), skimp.__file__
print(skimp.__version__, model.score(X, y) > 0.9)
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    run_python("-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(ROOT))
    (path,) = folder.glob("skimp-*.whl")
    return path


def test_content(wheel):
    names = set(zipfile.ZipFile(wheel).namelist())
    info = "-".join(wheel.name.split("-")[:2]) + ".dist-info"
    assert {name.split("/")[0] for name in names} == {"skimp", info}
    sources = [p for p in PACKAGE.rglob("*") if p.suffix in {".py", ".md", ".typed"}]
    files = {f"skimp/{path.relative_to(PACKAGE).as_posix()}" for path in sources}
    assert {name for name in names if name.startswith("skimp/")} == files
    assert "skimp/py.typed" in names


def test_installs_in_a_clean_environment(wheel, tmp_path):
    """The new environment holds skimp alone, and borrows its dependencies from this one."""
    environment = tmp_path / "environment"
    venv.create(environment)
    python = str(environment / "bin" / "python")
    install = ("install", "--quiet", "--no-deps", "--no-index", str(wheel))
    run_python("-m", "pip", "--python", python, *install)
    (packages,) = environment.glob("lib/python*/site-packages")
    (packages / "borrowed.pth").write_text(sysconfig.get_path("purelib"))
    ours = ("PYTHON", "NUMBA")
    clean = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    version = wheel.name.split("-")[1]
    assert run_python("-c", FIT, python=python, cwd=tmp_path, env=clean).split() == [
        version,
        "True",
    ]
