import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from skimp import KRLS, KernelRegressor, report
from skimp.diagnostics import hash_recall
from skimp.features import KernelHash, Nystroem
from tests.problems import regression

X, Y, _ = regression(60)
REGRESSOR = KernelRegressor("rbf", approximation=5, alpha=1e-3, random_state=0).fit(X, Y)
WRONG = [None, "rbf", 3, X, REGRESSOR, KernelRegressor, KRLS(), Nystroem(), {"a": 1}, [1]]


@pytest.mark.parametrize("wrong", WRONG, ids=lambda value: type(value).__name__)
@pytest.mark.parametrize(
    ("display", "message"),
    [
        (report.BudgetCurveDisplay, "curve must be a BudgetCurve"),
        (report.HashRecallDisplay, "recalls.* must be a HashRecall"),
        (report.KernelErrorDisplay, "comparison must be a MapComparison"),
        (report.SelectorDisplay, "comparison must be a SelectorComparison"),
        (report.HashRecallDisplay.from_data, "hashings must be a KernelHash"),
    ],
    ids=lambda value: getattr(value, "__qualname__", ""),
)
def test_displays_say_what_they_take(display, message, wrong):
    given = (wrong, X) if display == report.HashRecallDisplay.from_data else (wrong,)
    with pytest.raises(TypeError, match=rf"Display: {message}.*, got (the class )?\w+\.$"):
        display(*given)


@pytest.mark.parametrize("wrong", WRONG, ids=lambda value: type(value).__name__)
def test_effects_are_those_of_krls(wrong):
    model = KRLS().fit(X, Y)
    with pytest.raises(TypeError, match="summary must be an EffectsSummary"):
        report.EffectsDisplay(model, wrong)
    if isinstance(wrong, KRLS):
        with pytest.raises(NotFittedError):
            report.EffectsDisplay.from_estimator(wrong)
        return
    for display in (
        report.EffectsDisplay.from_estimator,
        lambda value: report.EffectsDisplay(value, model.summary()),
    ):
        with pytest.raises(TypeError, match="model must be a fitted KRLS"):
            display(wrong)


def test_one_recall_is_enough():
    hashing = KernelHash(n_bits=64, random_state=0).fit(X)
    recall = hash_recall(hashing, X, candidates=[10, 20])
    frame = report.HashRecallDisplay(recall).to_frame()
    assert frame["hashing"].tolist() == ["hashing"] * 2
    assert np.array_equal(frame["recall"], recall.recall)
    same = report.HashRecallDisplay.from_data(hashing, X, candidates=[10, 20]).to_frame()
    assert np.array_equal(same["recall"], recall.recall)


def test_effects_of_other_rows_need_these_rows():
    model = KRLS().fit(X, Y)
    display = report.EffectsDisplay(model, model.summary(X[:20]))
    with pytest.raises(ValueError, match="X must be the 20 rows of the summary, found 60"):
        display.plot_heterogeneity(0, 1)


def test_interactions_have_no_standard_deviation():
    from matplotlib.figure import Figure

    model = KRLS().fit(X, Y)
    display = report.EffectsDisplay(model, model.interaction(0, 1))
    ax = Figure().subplots()
    assert len(display.plot(ax).axes_) == 1
    with pytest.raises(ValueError, match="standardized must be False"):
        display.plot(ax, standardized=True)
