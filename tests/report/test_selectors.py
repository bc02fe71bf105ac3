import numpy as np
import pytest

from skimp.diagnostics import BudgetQuality, SelectorComparison, compare_selectors
from skimp.kernels import Laplacian
from skimp.report import SelectorDisplay
from tests.problems import labelled
from tests.repository import run_python

KERNEL = Laplacian(0.5)


def record(selector, size, repeat, seconds, missed):
    quality = BudgetQuality(size, missed, 0.0, 1.0, 1.0, 1.0, 1.0)
    return {
        "selector": selector,
        "size": size,
        "repeat": repeat,
        "seconds": seconds,
        "quality": quality,
    }


COMPARISON = SelectorComparison(
    (
        record("first", 10, 0, 0.5, 0.2),
        record("first", 10, 1, 0.25, 0.4),
        record("first", 20, 0, 1.0, 0.1),
        record("first", 20, 1, 2.0, 0.1),
        record("second", 10, 0, 4.0, 0.05),
        record("second", 20, 0, 8.0, 0.01),
    )
)


@pytest.fixture
def panels():
    from matplotlib.figure import Figure

    return Figure().subplots(1, 2)


def drawn(panel):
    """The x, the y and the ends of the bar of each point, by label."""
    curves = {}
    for container in panel.containers:
        line, _, (bars,) = container
        curves[container.get_label()] = [
            (x, y, *ends[:, 1])
            for x, y, ends in zip(*line.get_data(), bars.get_segments(), strict=True)
        ]
    return curves


def flat(curves):
    return {name: np.ravel(points).tolist() for name, points in curves.items()}


def test_means_and_deviations_of_repeats_are_drawn(panels):
    SelectorDisplay(COMPARISON).plot(panels)
    by_size = {
        "first": [10, 0.3, 0.2, 0.4, 20, 0.1, 0.1, 0.1],
        "second": [10, 0.05, 0.05, 0.05, 20, 0.01, 0.01, 0.01],
    }
    by_seconds = {
        "first": [0.25, 0.3, 0.2, 0.4, 1.0, 0.1, 0.1, 0.1],
        "second": [4.0, 0.05, 0.05, 0.05, 8.0, 0.01, 0.01, 0.01],
    }
    for panel, expected in zip(panels, (by_size, by_seconds), strict=True):
        found = flat(drawn(panel))
        assert found.keys() == expected.keys()
        for name in expected:
            assert found[name] == pytest.approx(expected[name])


def test_what_is_drawn_is_in_the_frame(panels):
    X, y, _ = labelled(150)
    display = SelectorDisplay.from_data(
        ["uniform", "kmeans", "balanced"], KERNEL, X, y, sizes=[5, 10, 20], repeats=3
    )
    display.plot(panels)
    frame = display.to_frame()
    points, seconds = (drawn(panel) for panel in panels)
    assert list(points) == list(seconds) == ["uniform", "kmeans", "balanced"]
    for (name, size), part in frame.groupby(["selector", "size"]):
        missed = part["residual_trace"]
        place = [5, 10, 20].index(size)
        assert points[name][place][:2] == pytest.approx((size, missed.mean()))
        assert seconds[name][place][:2] == pytest.approx((part["seconds"].min(), missed.mean()))
        low, high = points[name][place][2:]
        assert (high - low) / 2 == pytest.approx(missed.std(ddof=0))


def test_the_frame_is_that_of_the_comparison():
    frame = SelectorDisplay(COMPARISON).to_frame()
    assert frame.equals(COMPARISON.to_frame())
    assert frame["residual_trace"].tolist() == [0.2, 0.4, 0.1, 0.1, 0.05, 0.01]


def test_from_data_compares():
    X, y, _ = labelled(80)
    options = {"sizes": [5], "repeats": 2, "alpha": 1e-3, "random_state": 3}
    display = SelectorDisplay.from_data(["balanced"], KERNEL, X, y, **options)
    expected = compare_selectors(["balanced"], KERNEL, X, y, **options)
    found = [r["quality"] for r in display.comparison.records]
    assert found == [r["quality"] for r in expected.records]
    assert not hasattr(display, "figure_")


def test_given_axes_are_drawn_into(panels):
    display = SelectorDisplay(COMPARISON)
    assert display.plot(panels) is display
    assert display.figure_ is panels[0].figure
    assert list(display.axes_) == list(panels)
    assert [panel.get_xlabel() for panel in panels] == ["points", "seconds to select them"]
    assert {(panel.get_xscale(), panel.get_yscale()) for panel in panels} == {("log", "log")}
    names = [text.get_text() for text in panels[1].get_legend().get_texts()]
    assert names == ["first", "second"]


def test_axes_in_any_container(panels):
    for axes in (list(panels), tuple(panels), panels[:, None]):
        assert list(SelectorDisplay(COMPARISON).plot(axes).axes_) == list(panels)


def test_a_figure_of_its_own():
    import matplotlib
    from matplotlib import pyplot

    backend = matplotlib.get_backend()
    pyplot.switch_backend("agg")
    display = SelectorDisplay(COMPARISON).plot()
    assert len(display.axes_) == len(display.figure_.axes) == 2
    display.figure_.canvas.draw()
    pyplot.close(display.figure_)
    pyplot.switch_backend(backend)


def test_a_budget_that_misses_nothing_can_be_drawn(panels):
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    nothing = SelectorComparison((record("all", 10, 0, 0.5, 0.0), record("all", 20, 0, 0.5, 0.0)))
    figure = SelectorDisplay(nothing).plot(panels).figure_
    FigureCanvasAgg(figure).draw()
    assert {panel.get_yscale() for panel in panels} == {"linear"}


def test_many_selectors_have_looks_of_their_own(panels):
    many = SelectorComparison(tuple(record(f"rule {i}", 10, 0, 0.5, 0.1) for i in range(12)))
    SelectorDisplay(many).plot(panels)
    lines = [container[0] for container in panels[0].containers]
    assert len({(line.get_marker(), line.get_color()) for line in lines}) == 12


@pytest.mark.parametrize("count", [1, 3])
def test_axes_are_two(panels, count):
    with pytest.raises(ValueError, match=f"SelectorDisplay: axes must be 2 Axes, found {count}."):
        SelectorDisplay(COMPARISON).plot([*panels, panels[0]][:count])
    assert not panels[0].containers


def test_one_panel_alone_is_not_two(panels):
    with pytest.raises(ValueError, match="axes must be 2 Axes, found 1"):
        SelectorDisplay(COMPARISON).plot(panels[0])


def test_matplotlib_is_imported_to_plot():
    code = """
import sys
import numpy as np
from skimp.report import SelectorDisplay
display = SelectorDisplay.from_data(["uniform"], "rbf", np.eye(9), sizes=[2, 3])
display.to_frame()
assert "matplotlib" not in sys.modules
import matplotlib
matplotlib.use("agg")
assert "matplotlib.pyplot" not in sys.modules
display.plot()
assert "matplotlib.pyplot" in sys.modules
"""
    run_python("-c", code)
