import re

import numpy as np
import pytest

from skimp.diagnostics import MapComparison, compare_maps
from skimp.features import PolynomialProjection, RandomBinning, RandomFourier
from skimp.kernels import Gaussian, Laplacian
from skimp.report import KernelErrorDisplay
from tests.problems import regression

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


def panels(count):
    from matplotlib.figure import Figure

    return np.ravel(Figure().subplots(1, count))


def drawn(panel):
    """The x, the y and the ends of the bar of each point, by label."""
    curves = {}
    for container in panel.containers:
        line, _, (bars,) = container
        points = zip(*line.get_data(), bars.get_segments(), strict=True)
        curves[container.get_label()] = np.array([(x, y, *ends[:, 1]) for x, y, ends in points])
    return curves


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
    [["mean"], ["spectral", "max"], ("max", "mean", "frobenius"), list(LABELS), "spectral"],
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
    texts = [text.get_text() for text in axes[-1].get_legend().get_texts()]
    assert texts == ["first", "second"]
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


def test_what_is_drawn_is_in_the_frame():
    axes = panels(5)
    display = KernelErrorDisplay.from_data(MAPS, regression(60)[0], sizes=[4, 8, 16], repeats=3)
    display.plot(list(LABELS), axes)
    for panel, measure in zip(axes, LABELS, strict=True):
        for name, part in display.to_frame().groupby("map"):
            errors = part.groupby("size")[measure]
            points = drawn(panel)[name]
            assert points[:, 0].tolist() == [4, 8, 16]
            assert points[:, 1] == pytest.approx(errors.mean().to_numpy())
            assert (points[:, 3] - points[:, 2]) / 2 == pytest.approx(errors.std().to_numpy())


@pytest.mark.parametrize(
    ("parameter", "label"), [(None, "features"), ("n_terms", "n_terms"), ("budget", "budget")]
)
def test_what_was_changed_is_the_label(parameter, label):
    axes = panels(2)
    comparison = MapComparison(COMPARISON.records, parameter)
    KernelErrorDisplay(comparison).plot(["distortion", "max"], axes)
    assert [panel.get_xlabel() for panel in axes] == [label, label]


def test_the_parameter_is_passed_on():
    (panel,) = panels(1)
    options = {"parameter": "n_terms", "sizes": [2, 4], "repeats": 2}
    feature_map = PolynomialProjection(n_components=9)
    display = KernelErrorDisplay.from_data(feature_map, regression(60)[0], **options)
    display.plot("distortion", panel)
    assert panel.get_xlabel() == "n_terms"
    (points,) = drawn(panel).values()
    means = display.to_frame().groupby("size")["distortion"].mean()
    assert points[:, :2] == pytest.approx(np.c_[[2, 4], means])


def test_exact_features_are_drawn_on_a_linear_scale():
    (panel,) = panels(1)
    exact = MapComparison((record("exact", 10, 0, 0.0), record("exact", 20, 0, 0.1)))
    KernelErrorDisplay(exact).plot("distortion", panel)
    assert (panel.get_xscale(), panel.get_yscale()) == ("log", "linear")


def test_axes_in_any_container():
    axes = panels(2)
    for given in (list(axes), tuple(axes), axes[:, None]):
        assert list(KernelErrorDisplay(COMPARISON).plot(axes=given).axes_) == list(axes)
    alone = KernelErrorDisplay(COMPARISON).plot("max", axes[0])
    assert list(alone.axes_) == [axes[0]]


@pytest.mark.parametrize("measures", [["max"], list(LABELS)])
def test_a_figure_of_its_own(measures):
    import matplotlib
    from matplotlib import pyplot

    backend = matplotlib.get_backend()
    pyplot.switch_backend("agg")
    display = KernelErrorDisplay(COMPARISON).plot(measures)
    assert len(display.axes_) == len(display.figure_.axes) == len(measures)
    display.figure_.canvas.draw()
    pyplot.close(display.figure_)
    pyplot.switch_backend(backend)


def test_bars_below_zero_can_be_drawn():
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    far = MapComparison((record("far", 10, 0, 1e-9), record("far", 10, 1, 1.0)))
    figure = KernelErrorDisplay(far).plot(axes=panels(2)).figure_
    FigureCanvasAgg(figure).draw()
    assert drawn(figure.axes[0])["far"][0, 2] < 0


def test_many_maps_have_looks_of_their_own():
    many = MapComparison(tuple(record(f"map {i}", 10, 0, 0.1) for i in range(10)))
    (panel,) = panels(1)
    KernelErrorDisplay(many).plot("max", panel)
    lines = [container[0] for container in panel.containers]
    assert len({(line.get_marker(), line.get_color()) for line in lines}) == 10


@pytest.mark.parametrize(
    ("measures", "found"), [(["median"], "['median']"), ("rank", "'rank'"), ([], "[]"), (5, "5")]
)
def test_other_measures_are_refused(measures, found):
    known = "'frobenius', 'spectral', 'max', 'mean', 'distortion'"
    message = f"KernelErrorDisplay: measures must be among {known}, got {found}."
    with pytest.raises(ValueError, match=re.escape(message)):
        KernelErrorDisplay(COMPARISON).plot(measures)


@pytest.mark.parametrize(("measures", "count"), [(["max"], 2), (["max", "mean"], 1)])
def test_there_is_an_axis_for_each_measure(measures, count):
    axes = panels(count)
    message = f"KernelErrorDisplay: axes must be {len(measures)} Axes, found {count}."
    with pytest.raises(ValueError, match=re.escape(message)):
        KernelErrorDisplay(COMPARISON).plot(measures, axes)
    assert not axes[0].containers
