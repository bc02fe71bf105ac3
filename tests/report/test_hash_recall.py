import re

import numpy as np
import pytest

from skimp.diagnostics import HashRecall, hash_recall
from skimp.features import KernelHash
from skimp.kernels import Gaussian, Laplacian
from skimp.report import HashRecallDisplay
from tests.problems import regression

RECALLS = {
    "short": HashRecall((10, 100), np.array([0.2, 0.9]), np.array([0.05, 0.01]), 7, 2000),
    "long": HashRecall((20, 50), np.array([0.5, 1.0]), np.array([0.02, 0.0]), 7, 2000),
}
HASHINGS = {
    "kernel": KernelHash(Gaussian(0.3), n_bits=32, random_state=0),
    "dbh": KernelHash(Laplacian(0.5), n_bits=64, projection="dbh", random_state=0),
}


def axes():
    from matplotlib.figure import Figure

    return Figure().subplots()


def drawn(panel):
    """The x, the y and the ends of the bar of each point, by label."""
    curves = {}
    for container in panel.containers:
        line, _, (bars,) = container
        points = zip(*line.get_data(), bars.get_segments(), strict=True)
        curves[container.get_label()] = np.array([(x, y, *ends[:, 1]) for x, y, ends in points])
    return curves


def test_a_frame_of_all_hashings():
    frame = HashRecallDisplay(RECALLS).to_frame()
    assert frame.to_dict("list") == {
        "hashing": ["short", "short", "long", "long"],
        "candidates": [10, 100, 20, 50],
        "recall": [0.2, 0.9, 0.5, 1.0],
        "standard_error": [0.05, 0.01, 0.02, 0.0],
    }


def test_recall_and_its_standard_error_are_drawn():
    panel = axes()
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
    assert panel.get_ylabel() == "share of the 7 nearest rows found"
    assert [text.get_text() for text in panel.get_legend().get_texts()] == ["short", "long"]
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


def test_a_figure_of_its_own():
    import matplotlib
    from matplotlib import pyplot

    backend = matplotlib.get_backend()
    pyplot.switch_backend("agg")
    display = HashRecallDisplay(RECALLS).plot()
    assert display.figure_.axes == [display.ax_]
    assert list(drawn(display.ax_)) == list(RECALLS)
    display.figure_.canvas.draw()
    pyplot.close(display.figure_)
    pyplot.switch_backend(backend)


def test_many_hashings_have_looks_of_their_own():
    panel = axes()
    HashRecallDisplay({f"{i} bits": RECALLS["short"] for i in range(10)}).plot(panel)
    lines = [container[0] for container in panel.containers]
    assert len({(line.get_marker(), line.get_color()) for line in lines}) == 10


def test_no_hashings_are_refused():
    message = "HashRecallDisplay: recalls must be a nonempty mapping, got {}."
    with pytest.raises(ValueError, match=re.escape(message)):
        HashRecallDisplay.from_data({}, regression(20)[0])
