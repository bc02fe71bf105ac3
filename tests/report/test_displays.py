"""What displays have in common."""

import matplotlib
import numpy as np
import pytest
from matplotlib import pyplot
from matplotlib.figure import Figure
from sklearn.exceptions import NotFittedError

from skimp import KRLS, KernelRegressor, report
from skimp.diagnostics import MapComparison, SelectorComparison, hash_recall
from skimp.features import KernelHash
from tests.problems import regression
from tests.report import test_budget_curve, test_hash_recall, test_kernel_error, test_selectors
from tests.report.drawing import looks, panels
from tests.repository import run_python

X, Y, _ = regression(60)
WRONG = [None, "rbf", X, KernelRegressor("rbf"), KernelRegressor, KRLS(), {"a": 1}, [1]]
DISPLAYS = {
    report.BudgetCurveDisplay: test_budget_curve.made(),
    report.HashRecallDisplay: test_hash_recall.RECALLS,
    report.KernelErrorDisplay: test_kernel_error.COMPARISON,
    report.SelectorDisplay: test_selectors.COMPARISON,
}


@pytest.mark.parametrize("display", DISPLAYS)
def test_a_new_figure_without_axes(display):
    backend = matplotlib.get_backend()
    pyplot.switch_backend("agg")
    made = display(DISPLAYS[display]).plot()
    axes = made.axes_ if hasattr(made, "axes_") else made.ax_
    assert made.figure_.axes == list(np.ravel(axes))
    made.figure_.canvas.draw()
    pyplot.close(made.figure_)
    pyplot.switch_backend(backend)


@pytest.mark.parametrize("display", [report.KernelErrorDisplay, report.SelectorDisplay])
def test_axes_in_any_container(display):
    axes = panels(2)
    for given in (list(axes), tuple(axes), axes[:, None]):
        assert list(display(DISPLAYS[display]).plot(axes=given).axes_) == list(axes)


def test_many_curves_have_looks_of_their_own():
    record, recall = test_kernel_error.record, test_hash_recall.RECALLS["short"]
    maps = MapComparison(tuple(record(f"map {i}", 10, 0, 0.1) for i in range(12)))
    record = test_selectors.record
    rules = SelectorComparison(tuple(record(f"rule {i}", 10, 0, 0.5, 0.1) for i in range(12)))
    for made in (
        report.KernelErrorDisplay(maps).plot("max", panels()),
        report.SelectorDisplay(rules).plot(panels(2)),
        report.HashRecallDisplay({f"{i} bits": recall for i in range(12)}).plot(panels()[0]),
    ):
        assert len(looks(made.figure_.axes[0])) == 12


@pytest.mark.parametrize(
    ("display", "message"),
    [
        (report.BudgetCurveDisplay, "curve must be a BudgetCurve"),
        (report.HashRecallDisplay, "recalls.* must be a HashRecall"),
        (report.KernelErrorDisplay, "comparison must be a MapComparison"),
        (report.SelectorDisplay, "comparison must be a SelectorComparison"),
        (lambda hashing: report.HashRecallDisplay.from_data(hashing, X), "hashings must be a Ker"),
    ],
)
def test_displays_say_what_they_take(display, message):
    for wrong in WRONG:
        with pytest.raises(TypeError, match=rf"Display: {message}.*, got (the class )?\w+"):
            display(wrong)


def test_effects_are_those_of_krls():
    model = KRLS().fit(X, Y)
    with pytest.raises(NotFittedError):
        report.EffectsDisplay.from_estimator(KRLS())
    for wrong in (None, X, KernelRegressor("rbf"), KRLS):
        with pytest.raises(TypeError, match="summary must be an EffectsSummary"):
            report.EffectsDisplay(model, wrong)
        with pytest.raises(TypeError, match="model must be a fitted KRLS"):
            report.EffectsDisplay.from_estimator(wrong)
        with pytest.raises(TypeError, match="model must be a fitted KRLS"):
            report.EffectsDisplay(wrong, model.summary())


def test_one_recall_is_enough_and_none_is_not():
    hashing = KernelHash(n_bits=64, random_state=0).fit(X)
    recall = hash_recall(hashing, X, candidates=[10, 20])
    frame = report.HashRecallDisplay(recall).to_frame()
    assert frame["hashing"].tolist() == ["hashing"] * 2
    assert np.array_equal(frame["recall"], recall.recall)
    same = report.HashRecallDisplay.from_data(hashing, X, candidates=[10, 20]).to_frame()
    assert np.array_equal(same["recall"], recall.recall)
    with pytest.raises(ValueError, match="recalls must be"):
        report.HashRecallDisplay.from_data({}, X)


def test_effects_of_other_rows_need_these_rows():
    model = KRLS().fit(X, Y)
    display = report.EffectsDisplay(model, model.summary(X[:20]))
    with pytest.raises(ValueError, match="X must be the 20 rows of the summary, found 60"):
        display.plot_heterogeneity(0, 1)


def test_interactions_have_no_standard_deviation():
    model = KRLS().fit(X, Y)
    display = report.EffectsDisplay(model, model.interaction(0, 1))
    ax = Figure().subplots()
    assert len(display.plot(ax).axes_) == 1
    with pytest.raises(ValueError, match="standardized must be False"):
        display.plot(ax, standardized=True)


def test_matplotlib_is_imported_to_plot():
    code = """
import sys
import numpy as np
from skimp.report import SelectorDisplay
assert not {"matplotlib", "numba"} & set(sys.modules)
display = SelectorDisplay.from_data(["uniform"], "rbf", np.eye(9), sizes=[2, 3])
display.to_frame()
assert "matplotlib" not in sys.modules
import matplotlib
matplotlib.use("agg")
assert "matplotlib.pyplot" not in sys.modules
display.plot()
"""
    run_python("-c", code)
