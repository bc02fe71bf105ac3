import numpy as np
import pytest

from skimp.diagnostics import BudgetQuality, SelectorComparison
from skimp.kernels import Laplacian
from skimp.report import SelectorDisplay
from tests.problems import labelled
from tests.report.drawing import drawn, legend, panels

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


def flat(curves):
    return {name: np.ravel(points).tolist() for name, points in curves.items()}


def test_means_and_deviations_of_repeats_are_drawn():
    axes = panels(2)
    SelectorDisplay(COMPARISON).plot(axes)
    by_size = {
        "first": [10, 0.3, 0.2, 0.4, 20, 0.1, 0.1, 0.1],
        "second": [10, 0.05, 0.05, 0.05, 20, 0.01, 0.01, 0.01],
    }
    by_seconds = {
        "first": [0.25, 0.3, 0.2, 0.4, 1.0, 0.1, 0.1, 0.1],
        "second": [4.0, 0.05, 0.05, 0.05, 8.0, 0.01, 0.01, 0.01],
    }
    for panel, expected in zip(axes, (by_size, by_seconds), strict=True):
        found = flat(drawn(panel))
        assert found.keys() == expected.keys()
        for name in expected:
            assert found[name] == pytest.approx(expected[name])


def test_what_is_drawn_is_in_the_frame():
    axes = panels(2)
    X, y, _ = labelled(150)
    display = SelectorDisplay.from_data(
        ["uniform", "kmeans", "balanced"], KERNEL, X, y, sizes=[5, 10, 20], repeats=3
    )
    display.plot(axes)
    frame = display.to_frame()
    points, seconds = (drawn(panel) for panel in axes)
    assert list(points) == list(seconds) == ["uniform", "kmeans", "balanced"]
    for (name, size), part in frame.groupby(["selector", "size"]):
        missed = part["residual_trace"]
        place = [5, 10, 20].index(size)
        assert points[name][place][:2] == pytest.approx((size, missed.mean()))
        assert seconds[name][place][:2] == pytest.approx((part["seconds"].min(), missed.mean()))
        low, high = points[name][place][2:]
        assert (high - low) / 2 == pytest.approx(missed.std(ddof=0))


def test_given_axes_are_drawn_into():
    axes = panels(2)
    display = SelectorDisplay(COMPARISON)
    assert display.plot(axes) is display
    assert display.figure_ is axes[0].figure
    assert list(display.axes_) == list(axes)
    assert [panel.get_xlabel().split()[0] for panel in axes] == ["points", "seconds"]
    assert {(panel.get_xscale(), panel.get_yscale()) for panel in axes} == {("log", "log")}
    assert legend(axes[1]) == ["first", "second"]


def test_a_budget_that_misses_nothing_can_be_drawn():
    axes = panels(2)
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    nothing = SelectorComparison((record("all", 10, 0, 0.5, 0.0), record("all", 20, 0, 0.5, 0.0)))
    figure = SelectorDisplay(nothing).plot(axes).figure_
    FigureCanvasAgg(figure).draw()
    assert {panel.get_yscale() for panel in axes} == {"linear"}


@pytest.mark.parametrize("count", [1, 3])
def test_axes_are_two(count):
    axes = panels(count)
    with pytest.raises(ValueError, match=f"axes must be 2 Axes, found {count}"):
        SelectorDisplay(COMPARISON).plot(axes)
    assert not axes[0].containers
