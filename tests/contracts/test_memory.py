"""Fits and predictions stay below ``memory_limit`` while the kernel of Linux enforces it.

Each case runs in a process of its own, on rows that are generated as they are read. After a small
fit, which loads and compiles all that is needed, the process may allocate ``memory_limit`` and an
allowance, less than the rows and less than one number for each of many rows. The fit must succeed;
what needs an array of all rows must be refused before it allocates.
"""

import os
import sys

import pytest

from tests.repository import run_python

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux limits private memory")

LIMIT = 24 * 10**6
ALLOWANCE = 40 * 2**20
"""Blocks that are read ahead, stacks of threads (1 MB each), and unused parts of the heap."""
ALLOCATOR = {"MALLOC_ARENA_MAX": "1", "MALLOC_MMAP_THRESHOLD_": "65536"}
"""Memory that is freed goes back to the system; otherwise, what each thread keeps of it depends on
the moments at which threads run."""
FEW, MANY = 2**21, 2**23
"""Numbers of rows: 42 and 168 MB of data; a float64 number for each row takes 17 and 67 MB."""

SCRIPT = """
import gc, re, resource, threading, warnings
from pathlib import Path
from tempfile import TemporaryDirectory
import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from skimp import *
from skimp.features import *
from skimp.kernels import *
from skimp.solvers import *
from skimp._params._errors import MemoryLimitError
from tests.sources import GeneratedRows

threading.stack_size(2**20)
warnings.simplefilter("ignore", ConvergenceWarning)
warnings.simplefilter("ignore", UserWarning)
FEW = {{"alpha": 1e-5, "max_iter": 2}}
n, limit, allowance = {n}, {limit}, {allowance}
model = {model}.set_params(memory_limit=limit, random_state=0, n_jobs=2)

def use(n):
    fitted = clone(model).fit(GeneratedRows(n, classes={classes}))
    with TemporaryDirectory() as folder:
        fitted.predict_to(GeneratedRows(n // 4, targets=False), f"{{folder}}/y.parquet")

use(20_000)
gc.collect()
status = Path("/proc/self/status").read_text()
before = 1024 * int(re.search(r"VmData:\\s*(\\d+) kB", status)[1])
resource.setrlimit(resource.RLIMIT_DATA, (before + limit + allowance,) * 2)
try:
    use(n)
    print("fitted")
except MemoryLimitError as error:
    assert "memory limit of" in str(error), error
    print("refused", error)
"""


def outcome(model, n, *, classes=False, limit=LIMIT):
    """Return what a fit printed in a process that may not use more memory."""
    script = SCRIPT.format(n=n, limit=limit, allowance=ALLOWANCE, model=model, classes=classes)
    return run_python("-c", script, env={**os.environ, **ALLOCATOR}).strip()


FAST = [
    ("KernelRegressor('rbf', approximation=100, alpha=1e-6)", False),
]
CASES = [
    ("KernelClassifier('rbf', approximation=100, loss='squared', alpha=1e-6)", True),
    ("KernelRegressor('rbf', approximation=100)", False),
    ("KernelRegressor(Gaussian('median'), approximation=50, loss='huber', **FEW)", False),
    ("KernelRegressor('rbf', approximation=50, solver='pcg', **FEW)", False),
    ("KernelRegressor(approximation=RandomFourier(n_components=100))", False),
    ("KernelRegressor(approximation=RandomBinning(n_grids=10), **FEW)", False),
    ("KernelClassifier('rbf', approximation=50, loss='log', solver='newton', **FEW)", True),
    ("KernelClassifier('rbf', approximation=50, solver='dual_cd', **FEW)", True),
    ("KernelClassifier('rbf', approximation=50, solver='sgd', **FEW)", True),
    ("KernelClassifier('rbf', approximation=50, solver='sarah', **FEW)", True),
    ("KernelRegressor('rbf', approximation=50, early_stopping=True, **FEW)", False),
    ("KernelClassifier(max_iter=2)", True),
    ("BudgetedSGDClassifier(budget=50, max_iter=1)", True),
    ("BudgetedSGDRegressor(budget=50, max_iter=1)", False),
    ("KRLS(approximation=50)", False),
    ("LocallyLinearClassifier(n_anchors=5, max_iter=1)", True),
    ("KernelFactorization(5, budget=50, max_iter=10)", True),
]


@pytest.mark.parametrize(("model", "classes"), FAST)
def test_fit_of_few_rows(model, classes):
    assert outcome(model, FEW, classes=classes) == "fitted"


def test_model_above_the_limit_is_refused():
    model = "KernelRegressor('rbf', approximation=5000, alpha=1e-6)"
    with pytest.raises(AssertionError, match="memory limit of 24 MB: take fewer of them"):
        outcome(model, FEW)


@pytest.mark.thorough
@pytest.mark.parametrize(("model", "classes"), CASES)
def test_fit_of_many_rows(model, classes):
    assert outcome(model, MANY, classes=classes) == "fitted"


@pytest.mark.thorough
def test_a_clustering_keeps_the_labels_of_all_rows():
    assert outcome("KernelKMedoids(4, budget=200)", FEW) == "fitted"
    found = outcome("KernelKMedoids(4, budget=200)", MANY)
    assert "the clusters of 8,388,608 rows in labels_ needs 67.1 MB" in found
