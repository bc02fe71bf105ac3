import numpy as np
import pytest

pytest.importorskip("matplotlib")
from matplotlib.figure import Figure

from skimp.report._axes import plain_log_ticks


@pytest.mark.parametrize(
    ("low", "high", "which"), [(20, 30, "x"), (0.04, 0.3, "y"), (5, 400, "x"), (1e-4, 1e3, "x")]
)
def test_a_few_plain_numbers_that_do_not_overlap(low, high, which):
    figure = Figure(figsize=(5, 5), layout="constrained")
    ax = figure.subplots()
    ax.set(xscale="log", yscale="log")
    ax.plot([low, high], [low, high])
    plain_log_ticks(ax, which)
    figure.draw_without_rendering()
    axis = getattr(ax, f"{which}axis")
    shown = [
        label
        for tick, label in zip(axis.get_majorticklocs(), axis.get_majorticklabels(), strict=True)
        if low <= tick <= high
    ]
    assert 2 <= len(shown) <= 9
    for label in shown:
        assert label.get_text() == f"{float(label.get_text()):g}"
    assert not any(label.get_text() for label in axis.get_minorticklabels())
    boxes = [label.get_window_extent() for label in shown]
    ends = [(b.x0, b.x1) if which == "x" else (b.y0, b.y1) for b in boxes]
    assert np.all(np.array(ends)[1:, 0] > np.array(ends)[:-1, 1])
