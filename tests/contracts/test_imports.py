import pytest

import skimp
from tests.repository import run_python

HEAVY = {"dask", "matplotlib", "numba", "pandas", "polars", "pyarrow", "sklearn.cluster", "torch"}


def loaded(statement):
    return set(run_python("-c", f"{statement}\nimport sys\nprint(*sys.modules)").split())


@pytest.mark.parametrize("statement", ["import skimp", "from skimp import KernelClassifier"])
def test_import_is_light(statement):
    modules = loaded(statement)
    assert "skimp" in modules
    # scikit-learn itself loads pandas where it is installed
    assert not HEAVY & (modules - loaded("import sklearn.base"))


@pytest.mark.parametrize("name", dir(skimp))
def test_public_name_resolves(name):
    assert getattr(skimp, name) is not None


def test_unknown_name():
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = skimp.nothing
