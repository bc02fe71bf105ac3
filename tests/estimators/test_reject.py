import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, KFold, cross_val_predict
from sklearn.pipeline import make_pipeline

from skimp import KernelClassifier, RejectClassifier
from skimp.estimators._coverage import coverage_curve
from tests.problems import labelled
from tests.reference import recipes

X, y, weight = labelled(300)
LOGISTIC = KernelClassifier("rbf", approximation=30, loss="log", alpha=1e-3, random_state=0)


def test_rows_below_the_threshold_are_rejected():
    model = RejectClassifier(LOGISTIC, threshold=0.6).fit(X, y)
    plain = clone(LOGISTIC).fit(X, y)
    P = plain.predict_proba(X)
    accepted = P.max(axis=1) >= 0.6
    assert 0 < accepted.mean() < 1
    labels = model.predict(X)
    assert np.array_equal(model.predict_proba(X), P)
    assert np.array_equal(labels[accepted], plain.predict(X)[accepted])
    assert np.all(labels[~accepted] == model.reject_label_)
    assert model.threshold_ == 0.6


@pytest.mark.parametrize("share", [0.5, 0.9])
@pytest.mark.parametrize("cv", [5, KFold(4)], ids=repr)
def test_coverage_is_reached_on_rows_that_were_left_out(share, cv):
    model = RejectClassifier(LOGISTIC, coverage=share, cv=cv).fit(X[:200], y[:200])
    accepted = model.predict(X[200:]) != model.reject_label_
    # four standard errors of two samples of 100 and 200 rows
    assert abs(accepted.mean() - share) < 4 * np.sqrt(share * (1 - share) * (1 / 100 + 1 / 200))


def test_coverage_counts_weights():
    heavy = np.where(X[:, 0] > 0, 5.0, 1.0)
    model = RejectClassifier(LOGISTIC, coverage=0.7).fit(X, y, sample_weight=heavy)
    plain = RejectClassifier(LOGISTIC, coverage=0.7).fit(X, y)
    params = {"sample_weight": heavy}
    P = cross_val_predict(LOGISTIC, X, y, method="predict_proba", params=params)
    share = heavy[P.max(axis=1) >= model.threshold_].sum() / heavy.sum()
    assert 0.7 <= share < 0.7 + 5 / heavy.sum()
    same = RejectClassifier(LOGISTIC, coverage=0.7).fit(X, y, sample_weight=np.full(300, 2.0))
    assert same.threshold_ == pytest.approx(plain.threshold_, rel=1e-4)


def test_curve_is_that_of_the_definition():
    rng = np.random.default_rng(0)
    confidence = rng.choice([0.5, 0.6, 0.7, 0.9], 50)
    wrong, w = rng.random(50) < 1 - confidence, rng.integers(0, 3, 50).astype(float)
    for weights in (None, w):
        curve = coverage_curve(confidence, wrong, weights)
        assert np.array_equal(curve.threshold, [0.9, 0.7, 0.6, 0.5])
        assert curve.coverage[-1] == 1
        for i, threshold in enumerate(curve.threshold):
            expected = recipes.coverage_and_error(confidence, wrong, threshold, weights)
            np.testing.assert_allclose((curve.coverage[i], curve.error[i]), expected)


def test_curve_of_a_model():
    model = RejectClassifier(LOGISTIC).fit(X[:200], y[:200])
    curve = model.coverage_curve(X[200:], y[200:])
    assert curve.error[-1] == pytest.approx(
        np.mean(LOGISTIC.fit(X[:200], y[:200]).predict(X[200:]) != y[200:])
    )
    assert curve.error[len(curve.error) // 2] < curve.error[-1]
    frame = curve.to_frame()
    assert list(frame) == ["threshold", "coverage", "error"]
    assert len(frame) == len(curve.threshold)
    assert repr(curve).startswith("coverage")
    assert "100.0%" in repr(curve)
    weighted = model.coverage_curve(X[200:], y[200:], sample_weight=weight[200:])
    assert weighted.coverage[-1] == 1
    for bad in (np.ones(7), np.zeros(100), np.full(100, np.nan), np.full(100, -1.0)):
        with pytest.raises(ValueError, match=r"(?i)sample.weight"):
            model.coverage_curve(X[200:], y[200:], sample_weight=bad)
    with pytest.raises(ValueError, match="y must hold one label per row, found 3 for 100 rows"):
        model.coverage_curve(X[200:], y[:3])


def test_texts():
    texts, labels = ["good", "bad", "good good", "bad bad"] * 5, [1, 0, 1, 0] * 5
    pipeline = make_pipeline(CountVectorizer(), LogisticRegression())
    model = RejectClassifier(pipeline, threshold=0.6).fit(texts, labels)
    assert model.predict(["good good", "unknown"]).tolist() == [1, -1]


@pytest.mark.parametrize(
    ("labels", "label"),
    [
        ([0, 1], -1),
        ([-1, 1], -2),
        ([-1.0, 1.0], -2),
        ([False, True], -1),
        (["no", "yes"], "rejected"),
        (np.array(["no", "yes"], object), "rejected"),
    ],
    ids=repr,
)
def test_label_of_rejected_rows(labels, label):
    two = np.asarray(labels)[(y > 0).astype(int)]
    model = RejectClassifier(LOGISTIC, threshold=0.9).fit(X, two)
    assert model.reject_label_ == label
    found = model.predict(X)
    rejected = model.predict_proba(X).max(axis=1) < 0.9
    assert 0 < rejected.mean() < 1
    assert np.all(found[rejected] == label)
    assert set(found[~rejected].tolist()) <= set(two.tolist())


def test_label_of_rejected_rows_can_be_given():
    names = np.array(["a", "b", "c"])[y]
    model = RejectClassifier(LOGISTIC, threshold=0.9, reject_label="unsure").fit(X, names)
    assert "unsure" in model.predict(X)
    for labels, label in ((y, "unsure"), (y, 1), (names, "b"), (names, -1)):
        with pytest.raises(ValueError, match=r"reject_label must be .*like the labels"):
            RejectClassifier(LOGISTIC, reject_label=label).fit(X, labels)


@pytest.mark.parametrize(
    "params",
    [
        {"threshold": 1.5},
        {"threshold": None},
        {"coverage": 0},
        {"coverage": 1.1},
        {"cv": 1},
        {"cv": 2.5},
        {"estimator": KernelClassifier(loss="hinge")},
        {"estimator": LogisticRegression},
    ],
    ids=repr,
)
def test_bad_parameters_are_refused(params):
    model = RejectClassifier(LOGISTIC).set_params(**params)
    with pytest.raises(ValueError, match=f"RejectClassifier: {next(iter(params))} must be"):
        model.fit(X, y)
    assert not hasattr(model, "estimator_")


def test_a_class_of_one_row_cannot_be_left_out():
    rare = y.copy()
    rare[0] = 7
    model = RejectClassifier(LOGISTIC, coverage=0.9)
    with pytest.raises(ValueError, match="at least 2 rows of each class, found 1 row of class 7"):
        model.fit(X, rare)
    assert not hasattr(model, "estimator_")
    rare[1] = 7
    assert model.fit(X, rare).threshold_ > 0
    assert RejectClassifier(LOGISTIC).fit(X, rare).classes_.tolist() == [0, 1, 2, 7]


def test_works_around_other_classifiers_and_inside_a_grid_search():
    frame = pd.DataFrame(X, columns=list("abc"))
    hinge = KernelClassifier("rbf", approximation=30, alpha=1e-3, random_state=0)
    model = RejectClassifier(CalibratedClassifierCV(hinge, cv=2), threshold=0.7).fit(frame, y)
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]
    assert -1 in model.predict(frame)
    search = GridSearchCV(
        RejectClassifier(LOGISTIC),
        {"threshold": [0.0, 1.0], "estimator__alpha": [1e-3, 10.0]},
        cv=2,
    ).fit(X, y)
    assert search.best_params_ == {"threshold": 0.0, "estimator__alpha": 1e-3}
