import numpy as np
import pytest

from skimp.diagnostics import HashRecall, hash_recall
from skimp.features import KernelHash
from skimp.kernels import Gaussian, Laplacian
from skimp.report import HashRecallDisplay
from tests.problems import regression
from tests.report.drawing import drawn, legend, panels

RECALLS = {
    "short": HashRecall((10, 100), np.array([0.2, 0.9]), np.array([0.05, 0.01]), 7, 2000),
    "long": HashRecall((20, 50), np.array([0.5, 1.0]), np.array([0.02, 0.0]), 7, 2000),
}
HASHINGS = {
    "kernel": KernelHash(Gaussian(0.3), n_bits=32, random_state=0),
    "dbh": KernelHash(Laplacian(0.5), n_bits=64, projection="dbh", random_state=0),
}


def test_a_frame_of_all_hashings():
    frame = HashRecallDisplay(RECALLS).to_frame()
    assert frame.to_dict("list") == {
        "hashing": ["short", "short", "long", "long"],
        "candidates": [10, 100, 20, 50],
        "recall": [0.2, 0.9, 0.5, 1.0],
        "standard_error": [0.05, 0.01, 0.02, 0.0],
    }


def test_recall_and_its_standard_error_are_drawn():
    (panel,) = panels()
    display = HashRecallDisplay(RECALLS)
    assert display.plot(panel) is display
    assert display.ax_ is panel
    assert display.figure_ is panel.figure
    found = drawn(panel)
    assert list(found) == ["short", "long"]
    for name, part in display.to_frame().groupby("hashing"):
        size, recall, error = (part[c] for c in ("candidates", "recall", "standard_error"))
        expected = np.column_stack([size, recall, recall - error, recall + error])
        assert found[name] == pytest.approx(expected)
    assert panel.get_xscale() == "log"
    assert panel.get_xlabel() == "candidates, of 2,000 rows"
    assert "7 nearest rows" in panel.get_ylabel()
    assert legend(panel) == ["short", "long"]
    assert panel.get_ylim()[0] == 0
    assert panel.get_ylim()[1] > 1


def test_hashings_are_fitted_and_compared():
    X = regression(120)[0]
    options = {"n_neighbors": 5, "candidates": [5, 20], "queries": 30, "random_state": 1}
    display = HashRecallDisplay.from_data(HASHINGS, X, **options)
    assert list(display.recalls) == ["kernel", "dbh"]
    for name, hashing in HASHINGS.items():
        assert not hasattr(hashing, "projection_")
        expected = hash_recall(KernelHash(**hashing.get_params(deep=False)).fit(X), X, **options)
        found = display.recalls[name]
        assert np.array_equal(found.recall, expected.recall)
        assert np.array_equal(found.standard_error, expected.standard_error)
        assert (found.candidates, found.n_neighbors, found.n_rows) == ((5, 20), 5, 120)
