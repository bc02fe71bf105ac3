from dataclasses import replace

import numpy as np
import pytest

from skimp import KernelRegressor
from skimp.diagnostics import BudgetCurve, budget_curve
from skimp.features import RandomBinning
from skimp.report import BudgetCurveDisplay
from tests.problems import regression
from tests.report.drawing import legend, panels

ERRORS = np.array([[0.9, 0.8, 0.95], [0.5, 0.3, 0.6], [0.4, 0.2, 0.5]])
LABELS = ["other penalties", "best penalty by cross-validation", "knee: 2,000"]


def made(errors=ERRORS, *, gcv=True, confirmed=None, alphas=(1e-3, 1e-2, 0.1)):
    return BudgetCurve(
        "landmarks",
        np.array([10, 2000, 4000]),
        np.array(alphas),
        errors,
        errors if gcv else None,
        errors if gcv else None,
        "mean squared error",
        # cross-validation prefers the first penalty, whatever the errors say
        np.zeros(3, int) if gcv else errors.argmin(axis=1),
        2000,
        confirmed or {},
    )


def lines(ax, label):
    return [line for line in ax.lines if line.get_label() == label]


def test_the_best_penalty_and_the_knee_are_drawn():
    (ax,) = panels()
    display = BudgetCurveDisplay(made())
    assert display.plot(ax) is display
    assert display.ax_ is ax
    assert display.figure_ is ax.figure
    assert legend(ax) == LABELS
    (best,) = lines(ax, LABELS[1])
    assert best.get_xdata().tolist() == [10, 2000, 4000]
    assert best.get_ydata().tolist() == [0.9, 0.5, 0.4]
    (knee,) = lines(ax, LABELS[2])
    assert list(knee.get_xdata()) == [2000, 2000]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("landmarks", "mean squared error")
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")


def test_every_penalty_is_a_line():
    (ax,) = panels()
    BudgetCurveDisplay(made()).plot(ax)
    found = [list(line.get_ydata()) for line in ax.lines]
    for errors in ERRORS.T.tolist():
        assert errors in found
    assert len(ax.lines) == 3 + 2


def test_without_cross_validation_the_best_is_that_of_the_least_error():
    (ax,) = panels()
    BudgetCurveDisplay(made(gcv=False)).plot(ax)
    (best,) = lines(ax, "best penalty")
    assert best.get_ydata().tolist() == [0.8, 0.3, 0.2]


def test_confirmed_sizes_are_marked():
    (ax,) = panels()
    BudgetCurveDisplay(made(confirmed={10: 0.7, 4000: 0.35})).plot(ax)
    (marks,) = lines(ax, "fitted with the loss itself, on held-out rows")
    assert list(marks.get_xdata()) == [10, 4000]
    assert list(marks.get_ydata()) == [0.7, 0.35]
    assert marks.get_linestyle() == "None"
    assert len(legend(ax)) == 4


def test_errors_of_zero_are_not_on_a_logarithmic_scale():
    (ax,) = panels()
    BudgetCurveDisplay(made(np.array([[0.5, 0.4], [0.2, 0.3], [0.0, 0.1]]), alphas=[1, 2])).plot(ax)
    assert ax.get_yscale() == "linear"


def test_the_curve_that_matters_is_within_the_limits():
    (ax,) = panels()
    errors = ERRORS.copy()
    errors[:, 2] = 1e6
    BudgetCurveDisplay(made(errors)).plot(ax)
    low, high = ax.get_ylim()
    assert low < 0.4
    assert 0.9 < high < 10


def test_from_an_estimator():
    X, y, weight = regression(80)
    model = KernelRegressor(approximation=RandomBinning(n_grids=8), random_state=0)
    options = {"sizes": [2, 4, 8], "alphas": [1e-3, 0.1], "sample_weight": weight}
    display = BudgetCurveDisplay.from_estimator(model, X, y, **options)
    expected = budget_curve(model, X, y, **options)
    assert not hasattr(display, "figure_")
    assert display.to_frame().equals(expected.to_frame())
    assert display.to_frame().equals(display.curve.to_frame())
    (ax,) = panels()
    display.plot(ax)
    best = next(line for line in ax.lines if line.get_label().startswith("best penalty"))
    assert np.array_equal(best.get_ydata(), expected.best_errors)
    assert legend(ax)[-1].startswith(f"knee: {expected.knee}")


@pytest.mark.parametrize(("knee", "text"), [(2000, "2,000"), (4000, "4,000 or beyond")])
def test_a_knee_at_the_largest_size_may_be_beyond(knee, text):
    (ax,) = panels()
    BudgetCurveDisplay(replace(made(), knee=knee)).plot(ax)
    (line,) = lines(ax, f"knee: {text}")
    assert list(line.get_xdata()) == [knee, knee]
