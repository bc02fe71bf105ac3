import matplotlib

matplotlib.use("Agg")

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot

from skimp import KRLS
from skimp.report import EffectsDisplay


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "age": rng.normal(40, 10, 120),
            "member": rng.integers(0, 2, 120),
            "region": rng.choice(["north", "south"], 120),
        }
    )


@pytest.fixture(scope="module")
def model(frame):
    y = 0.1 * frame.age * frame.member + (frame.region == "south")
    return KRLS().fit(frame, y + 0.1 * np.random.default_rng(1).normal(size=120))


@pytest.fixture
def display(model):
    yield EffectsDisplay.from_estimator(model, errors="robust", level=0.9)
    pyplot.close("all")


def test_coefficients_have_intervals(display):
    (ax,) = display.plot().axes_
    assert [label.get_text() for label in ax.get_yticklabels()] == display.model.terms_
    quartiles, intervals = (lines.get_segments() for lines in ax.collections)
    table = display.to_frame()
    assert np.allclose([segment[:, 0] for segment in intervals], table[["ci_low", "ci_high"]])
    assert np.allclose([segment[:, 0] for segment in quartiles], table[["q25", "q75"]])
    assert np.allclose(ax.lines[0].get_xdata(), table.effect)
    assert "nominal 90 % interval" in [text.get_text() for text in ax.get_legend().get_texts()]


def test_standardized_effects_are_of_a_deviation(display, frame):
    (ax,) = display.plot(standardized=True).axes_
    table = display.to_frame().mul([frame.age.std(ddof=0), 1, 1], axis=0)
    assert np.allclose(ax.lines[0].get_xdata(), table.effect)
    quartiles, intervals = (lines.get_segments() for lines in ax.collections)
    assert np.allclose([segment[:, 0] for segment in intervals], table[["ci_low", "ci_high"]])
    assert np.allclose([segment[:, 0] for segment in quartiles], table[["q25", "q75"]])
    assert "standard deviation" in ax.get_xlabel()


def test_every_term_has_a_distribution(display):
    axes = display.plot_distributions().axes_
    assert len(axes) == 3
    for ax, name in zip(axes, display.model.terms_, strict=True):
        assert ax.get_title().startswith(name)
        assert sum(patch.get_height() for patch in ax.patches) == 120
    drawn = [ax.lines[0].get_xdata()[0] for ax in axes]
    assert np.allclose(drawn, display.model.effects().mean(axis=0))
    with pytest.raises(ValueError, match="axes must be 3 Axes, found 1"):
        display.plot_distributions(pyplot.subplots()[1])


def test_heterogeneity_is_effects_against_values(display, frame):
    (ax,) = display.plot_heterogeneity("member", "age").axes_
    points = ax.collections[0].get_offsets()
    assert np.allclose(points[:, 0], frame.age)
    assert np.allclose(points[:, 1], display.model.effects()[:, 1])
    # the line joins the medians of twelve groups of ten rows
    groups = np.asarray(points)[np.argsort(points[:, 0])].reshape(12, 10, 2)
    assert np.allclose(ax.lines[0].get_xydata(), np.median(groups, axis=1))
    assert ax.get_ylabel() == "effect of member"
    (ax,) = display.plot_heterogeneity(0, "region").axes_
    assert [label.get_text() for label in ax.get_xticklabels()] == ["north", "south"]
    (ax,) = display.plot_heterogeneity(0, "member").axes_
    assert len(ax.lines[0].get_xdata()) == 2
    (ax,) = display.plot_heterogeneity(np.int64(1), "age").axes_
    assert ax.get_ylabel() == "effect of member"
    for wrong in ("height", 9, True):
        with pytest.raises(ValueError, match="effect must be one of"):
            display.plot_heterogeneity(wrong, "age")
    with pytest.raises(ValueError, match="column must be one of"):
        display.plot_heterogeneity("age", "height")


def test_expectations_have_bands(display):
    (ax,) = display.plot_expectation("age", n_points=9).axes_
    found = display.model.expectation("age", n_points=9, level=0.9)
    assert np.allclose(ax.lines[0].get_ydata(), found.mean)
    band = ax.collections[0].get_paths()[0].vertices
    assert np.isclose(band[:, 1].max(), found.ci_high.max())
    (ax,) = display.plot_expectation("region").axes_
    assert [label.get_text() for label in ax.get_xticklabels()] == ["north", "south"]
    (ax,) = display.plot_expectation("member").axes_
    assert [label.get_text() for label in ax.get_xticklabels()] == ["0", "1"]


def test_levels_keep_their_order(frame):
    sizes = pd.Categorical(np.array(["small", "medium", "large"])[np.arange(120) % 3])
    sizes = sizes.reorder_categories(["small", "medium", "large"])
    model = KRLS().fit(frame.assign(size=sizes), frame.age)
    (ax,) = EffectsDisplay.from_estimator(model).plot_heterogeneity("age", "size").axes_
    shown = [label.get_text() for label in ax.get_xticklabels()]
    assert shown == ["small", "medium", "large"]
    pyplot.close("all")


def test_what_is_not_there_is_refused(display):
    with pytest.raises(ValueError, match="output must be an integer from 0 to 0"):
        display.plot_expectation("age", output=3)
    one = pd.DataFrame({"a": ["x"] * 9})
    with pytest.raises(ValueError, match="summary must have effects"):
        EffectsDisplay.from_estimator(KRLS().fit(one, np.arange(9.0)))


def test_other_rows_and_axes(model, frame):
    part = frame[:40]
    display = EffectsDisplay.from_estimator(model, part)
    _, ax = pyplot.subplots()
    assert display.plot_heterogeneity(0, "age", ax).axes_[0] is ax
    assert len(ax.collections[0].get_offsets()) == 40
    assert display.figure_ is ax.figure
    pyplot.close("all")
