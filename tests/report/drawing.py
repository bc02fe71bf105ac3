"""Axes to draw into, and what was drawn."""

import numpy as np
from matplotlib.figure import Figure


def panels(count=1):
    """Return some axes of a figure."""
    return np.ravel(Figure().subplots(1, count))


def drawn(panel):
    """Return the x, the y and the ends of the bar of each point, by label."""
    curves = {}
    for container in panel.containers:
        line, _, (bars,) = container
        points = zip(*line.get_data(), bars.get_segments(), strict=True)
        curves[container.get_label()] = np.array([(x, y, *ends[:, 1]) for x, y, ends in points])
    return curves


def legend(panel):
    """Return the texts of a legend."""
    return [text.get_text() for text in panel.get_legend().get_texts()]


def looks(panel):
    """Return the different markers and colours of curves."""
    lines = [container[0] for container in panel.containers]
    return {(line.get_marker(), line.get_color()) for line in lines}
