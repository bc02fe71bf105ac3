import os
import signal
import subprocess
import sys
import warnings
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone, is_classifier
from sklearn.exceptions import ConvergenceWarning

from skimp import KernelClassifier, KernelRegressor
from skimp.data import Checkpoint, Rows, open_rows, rechunk
from skimp.estimators._resuming import _hash
from skimp.features import RandomBinning, RandomFourier
from tests.pairs import thorough
from tests.problems import labelled, regression

FOURIER = RandomFourier(n_components=40)
MODELS = [
    KernelRegressor(approximation=30),
    KernelRegressor("rbf", approximation=FOURIER, alpha=1e-4),
    KernelRegressor("rbf", approximation=FOURIER, solver="pcg", alpha=1e-4),
    KernelRegressor("rbf", approximation=30, early_stopping=True, loss="huber"),
    KernelRegressor("laplacian", approximation=RandomBinning(n_grids=10)),
    KernelClassifier("rbf", approximation=FOURIER, loss="hinge", alpha=1e-4, early_stopping=True),
    KernelClassifier("rbf", approximation=FOURIER, solver="sgd", alpha=1e-3, early_stopping=True),
    KernelClassifier("rbf", approximation=FOURIER, solver="sarah", alpha=1e-3, loss="log"),
    KernelClassifier("rbf", approximation=30, loss="log"),
    KernelClassifier("rbf", approximation=FOURIER, loss="hinge", alpha=1e-3),
    KernelClassifier(approximation=20),
    KernelClassifier(),
]


class Failing(Rows):
    """Rows of arrays that fail after some blocks, once."""

    def __init__(self, X, y, after, weight=None):
        self.describe(open_rows(X, block_rows=32))
        self._whole, self.after = open_rows(X, target=y, weight=weight), after
        self.checked = False

    def read(self, block_rows):
        """Count the blocks."""
        for block in rechunk(self._whole.blocks(), block_rows):
            if self.after is not None:
                self.after -= 1
                if self.after < 0:
                    self.after = None
                    raise KeyboardInterrupt
            yield block


@pytest.mark.parametrize("after", [60, *thorough(30, 100, 180)])
@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_an_interrupted_fit_ends_with_the_same_model(tmp_path, model, after):
    X, y, weight = (labelled if is_classifier(model) else regression)()
    checkpoint = Checkpoint(tmp_path / "fit", every=1e-9)
    model = clone(model).set_params(random_state=0, checkpoint=checkpoint, memory_limit="10MB")
    source = Failing(X, y, after, weight)
    # blocks of one size: a copy of the source must count as well
    source.reblocked = lambda block_rows: source
    whole = Checkpoint(tmp_path / "whole", every=1e-9)
    expected = clone(model).set_params(checkpoint=whole).fit(Failing(X, y, None, weight))
    if not model.early_stopping:  # it chooses among steps, which differ a little
        plain = clone(model).set_params(checkpoint=None).fit(Failing(X, y, None, weight))
        np.testing.assert_allclose(plain.predict(X), expected.predict(X), rtol=1e-6)
    try:
        found = clone(model).fit(source)
    except KeyboardInterrupt:
        found = clone(model).fit(Failing(X, y, None, weight))
    np.testing.assert_array_equal(found.coef_, expected.coef_)
    np.testing.assert_array_equal(found.intercept_, expected.intercept_)
    again = clone(model).fit(Failing(X, y, None, weight))
    np.testing.assert_array_equal(again.coef_, expected.coef_)
    assert again.solution_.message == expected.solution_.message


@pytest.mark.parametrize("solver", ["sgd", "sarah"])
def test_samples_of_a_solver_do_not_change_the_steps(tmp_path, solver):
    X, y, _ = labelled(n=1500)
    options = {"solver": solver, "alpha": 1e-4, "loss": "log", "tol": 1e-9, "memory_limit": "450KB"}
    model = KernelClassifier("rbf", approximation=FOURIER, max_iter=6, random_state=0, **options)

    def run(folder, after=None):
        checkpoint = Checkpoint(tmp_path / str(folder), every=1e-9)
        source = Failing(X, y, after)
        source.reblocked = lambda block_rows: source
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            return clone(model).set_params(checkpoint=checkpoint).fit(source)

    expected = run("whole")
    assert "kept in memory" not in expected.solution_.message
    for after in range(60, 300, 40):
        with suppress(KeyboardInterrupt):
            run(after, after)
        found = run(after)
        np.testing.assert_array_equal(found.coef_, expected.coef_)
        assert found.solution_.message == expected.solution_.message


def test_a_complete_checkpoint_gives_the_model_again(tmp_path):
    X, y, _ = regression()
    model = KernelRegressor(approximation=20, checkpoint=tmp_path / "fit")
    first = clone(model).fit(X, y)
    np.testing.assert_array_equal(clone(model).fit(X, y).coef_, first.coef_)
    # without random_state, the seed is in the checkpoint, which other data replace
    assert not np.array_equal(clone(model).fit(X, y + X[:, 0]).coef_, first.coef_)


@pytest.mark.parametrize(
    ("change", "name"), [({"alpha": 0.1}, "alpha"), ({"kernel": "laplacian"}, "kernel")]
)
def test_other_parameters_or_data_are_refused(tmp_path, change, name):
    X, y, _ = regression()
    checkpoint = Checkpoint(tmp_path / "fit", every=1e-9)
    model = KernelRegressor("rbf", approximation=20, random_state=0, checkpoint=checkpoint)
    rows = Failing(X, y, 30)
    rows.reblocked = lambda block_rows: rows
    with pytest.raises(KeyboardInterrupt):
        model.fit(rows)
    assert len(list((tmp_path / "fit").iterdir())) > 1
    with pytest.raises(ValueError, match=f"unfinished fit with other {name}: pass what"):
        clone(model).set_params(**change).fit(Failing(X, y, None))
    y[-1] += 1
    with pytest.raises(ValueError, match="unfinished fit with other data: pass what"):
        clone(model).fit(Failing(X, y, None))


def product(scale):
    """Return a kernel that holds another function."""

    def kernel(x, y):
        return (lambda value: scale * value)(float(x @ y))

    return kernel


def other_product():
    def kernel(x, y):
        return (lambda value: 2.0 * value)(float(x @ y))

    return kernel


def test_functions_count_by_their_code():
    # equal code at another address, as in another process
    assert _hash(product(1.0)) == _hash(product(1.0))
    assert _hash(product(1.0)) != _hash(product(2.0))
    assert _hash(product(1.0)) != _hash(other_product())


@pytest.mark.parametrize("change", [{"warm_start": True}, {"time_limit": 9.0}])
def test_choices_that_depend_on_more_than_the_data_are_refused(tmp_path, change):
    X, y, _ = regression()
    model = KernelRegressor(approximation=20, checkpoint=tmp_path / "fit", **change)
    with pytest.raises(ValueError, match="with a checkpoint"):
        model.fit(X, y)


def test_the_folder_must_be_writable(tmp_path):
    X, y, _ = regression()
    (tmp_path / "fit").touch()
    with pytest.raises(ValueError, match="checkpoint must be a new or empty folder"):
        KernelRegressor(approximation=20, checkpoint=tmp_path / "fit").fit(X, y)
    with pytest.raises(FileNotFoundError):
        KernelRegressor(approximation=20, checkpoint=tmp_path / "a" / "b").fit(X, y)


def test_a_full_disk_keeps_the_last_state(tmp_path, monkeypatch):
    X, y, _ = regression()
    checkpoint = Checkpoint(tmp_path / "fit", every=1e-9)
    model = KernelRegressor("rbf", approximation=20, random_state=0, checkpoint=checkpoint)
    expected, synced, left = clone(model).set_params(checkpoint=None).fit(X, y), os.fsync, [3]

    def full(descriptor):
        left[0] -= 1
        if left[0] < 0:
            raise OSError(28, "No space left on device")
        synced(descriptor)

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        clone(model).fit(X, y)
    monkeypatch.undo()
    np.testing.assert_array_equal(clone(model).fit(X, y).coef_, expected.coef_)


FIT = """
import sys
import numpy as np
from skimp import KernelClassifier
from skimp.data import Checkpoint
from tests.pairs import thorough
from tests.problems import labelled
X, y, _ = labelled(n=3000, d=4)
model = KernelClassifier("rbf", approximation=60, loss="log", random_state=0, memory_limit="4MB",
                         checkpoint=Checkpoint(sys.argv[1], every=1e-9))
print("ready", flush=True)
np.save(sys.argv[2], model.fit(X, y).coef_)
"""


def test_a_killed_process_resumes(tmp_path):
    command = [sys.executable, "-c", FIT, str(tmp_path / "fit"), str(tmp_path / "coef.npy")]
    options = {"stdout": subprocess.PIPE, "cwd": Path(__file__).parents[2]}
    with subprocess.Popen(command, **options) as process:
        process.stdout.readline()
        # killed as soon as a step of the solver is stored
        while process.poll() is None and not (tmp_path / "fit" / "00004.skimp").exists():
            pass
        process.send_signal(signal.SIGKILL)
    subprocess.run(command, check=True, **options)
    found = np.load(tmp_path / "coef.npy")
    subprocess.run([*command[:3], str(tmp_path / "other"), command[4]], check=True, **options)
    np.testing.assert_array_equal(np.load(tmp_path / "coef.npy"), found)
