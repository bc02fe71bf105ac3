import re

import numpy as np
import pytest

from skimp.diagnostics import MapComparison, compare_maps
from skimp.features import RandomBinning, RandomFourier
from skimp.kernels import Gaussian, Laplacian
from skimp.report import KernelErrorDisplay
from tests.problems import regression
from tests.report.drawing import drawn, legend, panels

LABELS = {
    "frobenius": "relative error, Frobenius norm",
    "spectral": "relative error, spectral norm",
    "max": "largest error",
    "mean": "mean absolute error",
    "distortion": "mean relative error of squared distances",
}
MAPS = {"fourier": RandomFourier(Gaussian(0.3)), "bins": RandomBinning(Laplacian(0.3))}


def record(name, size, repeat, frobenius):
    errors = {"max": 2 * frobenius, "mean": frobenius / 2, "spectral": frobenius / 4}
    errors["distortion"] = frobenius / 3
    known = {"map": name, "size": size, "repeat": repeat, "seconds": 0.1}
    return {**known, **errors, "frobenius": frobenius}


COMPARISON = MapComparison(
    (
        record("first", 10, 0, 0.2),
        record("first", 10, 1, 0.4),
        record("first", 20, 0, 0.1),
        record("first", 20, 1, 0.1),
        record("second", 10, 0, 0.05),
        record("second", 20, 0, 0.01),
    )
)


def test_means_and_deviations_of_repeats_are_drawn():
    first, second = panels(2)
    KernelErrorDisplay(COMPARISON).plot(axes=[first, second])
    deviation = np.std([0.2, 0.4], ddof=1)
    expected = {
        "first": [[10, 0.3, 0.3 - deviation, 0.3 + deviation], [20, 0.1, 0.1, 0.1]],
        "second": [[10, 0.05, 0.05, 0.05], [20, 0.01, 0.01, 0.01]],
    }
    for panel, factor in ((first, 1), (second, 2)):
        found = drawn(panel)
        assert list(found) == ["first", "second"]
        for name, points in expected.items():
            assert found[name] == pytest.approx(np.array(points) * [1, factor, factor, factor])


@pytest.mark.parametrize(
    "measures",
    [list(LABELS), ("max", "mean"), "spectral"],
)
def test_a_panel_for_each_measure(measures):
    names = [measures] if isinstance(measures, str) else list(measures)
    axes = panels(len(names))
    display = KernelErrorDisplay(COMPARISON)
    assert display.plot(measures, axes) is display
    assert display.figure_ is axes[0].figure
    assert list(display.axes_) == list(axes)
    frame = display.to_frame()
    for panel, name in zip(axes, names, strict=True):
        assert panel.get_ylabel() == LABELS[name]
        assert panel.get_xlabel() == "features"
        assert (panel.get_xscale(), panel.get_yscale()) == ("log", "log")
        means = frame[frame["map"] == "first"].groupby("size")[name].mean()
        assert drawn(panel)["first"][:, 1] == pytest.approx(means.to_numpy())
    assert legend(axes[-1]) == ["first", "second"]
    assert all(panel.get_legend() is None for panel in axes[:-1])


def test_from_data_compares():
    X = regression(60)[0]
    options = {"sizes": [4, 8], "repeats": 2, "sample": 30, "random_state": 3}
    display = KernelErrorDisplay.from_data(MAPS, X, **options)
    expected = compare_maps(MAPS, X, **options).to_frame()
    found = display.to_frame()
    assert found.drop(columns="seconds").equals(expected.drop(columns="seconds"))
    assert found.equals(display.comparison.to_frame())
    assert not hasattr(display, "figure_")


@pytest.mark.parametrize(("parameter", "label"), [(None, "features"), ("n_terms", "n_terms")])
def test_what_was_changed_is_the_label(parameter, label):
    axes = panels(2)
    comparison = MapComparison(COMPARISON.records, parameter)
    KernelErrorDisplay(comparison).plot(["distortion", "max"], axes)
    assert [panel.get_xlabel() for panel in axes] == [label, label]


def test_exact_features_are_drawn_on_a_linear_scale():
    (panel,) = panels()
    exact = MapComparison((record("exact", 10, 0, 0.0), record("exact", 20, 0, 0.1)))
    KernelErrorDisplay(exact).plot("distortion", panel)
    assert (panel.get_xscale(), panel.get_yscale()) == ("log", "linear")


def test_bars_below_zero_can_be_drawn():
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    far = MapComparison((record("far", 10, 0, 1e-9), record("far", 10, 1, 1.0)))
    figure = KernelErrorDisplay(far).plot(axes=panels(2)).figure_
    FigureCanvasAgg(figure).draw()
    assert drawn(figure.axes[0])["far"][0, 2] < 0


@pytest.mark.parametrize("measures", [["median"], "rank", [], 5])
def test_other_measures_are_refused(measures):
    found = re.escape(f"got {measures!r}")
    with pytest.raises(ValueError, match=f"KernelErrorDisplay: measures .*{found}"):
        KernelErrorDisplay(COMPARISON).plot(measures)


@pytest.mark.parametrize(("measures", "count"), [(["max"], 2), (["max", "mean"], 1)])
def test_there_is_an_axis_for_each_measure(measures, count):
    axes = panels(count)
    with pytest.raises(ValueError, match=f"axes must be {len(measures)} Axes, found {count}"):
        KernelErrorDisplay(COMPARISON).plot(measures, axes)
    assert not axes[0].containers
