"""Fits of random binning whose codes do not fit into memory."""

import os
import signal
import subprocess
import sys
import tempfile

import numpy as np
import pytest

from skimp import KernelClassifier, KernelRegressor
from skimp.features import RandomBinning
from tests.problems import labelled, regression


def model(kind, loss, **options):
    binning = RandomBinning(n_grids=30, max_bins=100, random_state=0)
    given = {"alpha": 1e-3, "solver": "dual_cd", "tol": 1e-5, "max_iter": 5000}
    return kind("laplacian", approximation=binning, loss=loss, random_state=0, **given, **options)


@pytest.mark.parametrize(
    ("kind", "loss"),
    [
        (KernelClassifier, "hinge"),
        (KernelClassifier, "log"),
        (KernelClassifier, "multiclass_hinge"),
        (KernelRegressor, "squared"),
        (KernelRegressor, "epsilon_insensitive"),
    ],
)
@pytest.mark.parametrize("in_order", [False, True])
def test_predictions_are_those_of_codes_in_memory(tmp_path, monkeypatch, kind, loss, in_order):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    X, y, weight = (labelled if kind is KernelClassifier else regression)(1500)
    if in_order:
        order = np.argsort(y, kind="stable")
        X, y, weight = X[order], y[order], weight[order]
    kept = model(kind, loss).fit(X, y, sample_weight=weight)
    spilled = model(kind, loss, memory_limit="110KB").fit(X, y, sample_weight=weight)
    assert "codes kept in a temporary file" in spilled.solution_.message
    assert "to save memory" not in kept.solution_.message
    found, expected = (m.solution_.history[-1] for m in (spilled, kept))
    assert found == pytest.approx(expected, rel=2e-5)
    name = "decision_function" if kind is KernelClassifier else "predict"
    # alpha |v - v*|^2 is at most the gap, for each of the two
    bound = 2 * np.sqrt(1e-5 * expected / 1e-3) + 1e-3
    difference = getattr(spilled, name)(X) - getattr(kept, name)(X)
    assert np.abs(difference).max() <= bound
    assert not os.listdir(tmp_path)


FIT = """
import sys
from collections import deque
import numpy as np
from skimp.data import Block, Context, Rows, rechunk
from skimp.features import RandomBinning
from skimp.kernels import Laplacian
from skimp.losses import hinge
from skimp.solvers import DualCD, Problem


class Made(Rows):
    def __init__(self, n):
        self.n_features, self.dtype, self.block_rows = 4, np.dtype(np.float32), 256
        self._n_rows, self.checked = n, True

    def read(self, block_rows):
        def chunks():
            for start in range(0, self._n_rows, 256):
                rng = np.random.default_rng([0, start])
                X = rng.standard_normal((min(256, self._n_rows - start), 4), np.float32)
                yield Block(X, np.sign(X[:, :1] * X[:, 1:2] + 0.5).astype(float), None, start)

        return rechunk(chunks(), block_rows)


def fit(n, tol=1e-2, **options):
    rows = Made(n)
    binning = RandomBinning(Laplacian(0.3), n_grids=200, max_bins=200, random_state=0)
    binning.fit_rows(Made(2000), np.random.default_rng(0), None, Context(1))
    problem = Problem(rows.mapped(binning), hinge, 1e-5, memory_limit=4_000_000)
    return DualCD(tol=tol, max_iter=3, **options).solve(problem, Context(1))
"""
MEASURE = """
import tracemalloc
fit(8000)
peaks = []
for n in (30_000, 240_000):
    tracemalloc.start()
    message = fit(n).message
    peaks.append(tracemalloc.get_traced_memory()[1])
    tracemalloc.stop()
    assert "codes kept in a temporary file" in message
print(*peaks)
"""
ENDLESS = """
class Forever(Context):
    def resumable(self, name):
        print("sweeping", flush=True)
        return super().resumable(name)


while True:
    binning = RandomBinning(Laplacian(0.3), n_grids=200, max_bins=200, random_state=0)
    binning.fit_rows(Made(2000), np.random.default_rng(0), None, Context(1))
    problem = Problem(Made(20_000).mapped(binning), hinge, 1e-5, memory_limit=3_000_000)
    DualCD(tol=1e-12, max_iter=10**9).solve(problem, Forever(1))
"""


def run(code, folder):
    given = {**os.environ, "TMPDIR": str(folder)}
    return subprocess.Popen(
        [sys.executable, "-c", FIT + code], env=given, stdout=subprocess.PIPE, text=True
    )


def test_memory_does_not_grow_with_the_rows(tmp_path):
    with run(MEASURE, tmp_path) as process:
        few, many = map(int, process.stdout.read().split())
    # the limit of the solver, and blocks that the map computes
    assert many <= 4_400_000
    assert many < 1.1 * few
    assert not os.listdir(tmp_path)


@pytest.mark.thorough
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="a signal of POSIX")
def test_nothing_is_left_after_a_kill(tmp_path):
    with run(ENDLESS, tmp_path) as process:
        assert process.stdout.readline() == "sweeping\n"
        process.kill()
    assert not os.listdir(tmp_path)
