"""Models whose kernel, map and penalty choose themselves."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.kernel_approximation import RBFSampler
from sklearn.kernel_ridge import KernelRidge
from sklearn.model_selection import GridSearchCV

from skimp import KernelClassifier, KernelRegressor
from skimp.features import Nystroem, RandomBinning, RandomFourier, RandomLayer
from skimp.kernels import Gaussian, Laplacian, Linear, Precomputed, Tanh
from tests.models import every_estimator
from tests.problems import difference, labelled, regression

GRID = {"gamma": [0.03, 0.1, 0.3, 1.0], "alpha": [1e-4, 1e-2, 1.0]}
MAPS = [
    20,
    None,
    RandomFourier(n_components=30),
    RandomBinning(n_grids=20),
    Nystroem(budget=20, rank=8),
]

every_map = pytest.mark.parametrize("approximation", MAPS, ids=repr)


def auto_regressor(kernel="auto", **params):
    return KernelRegressor(kernel, **{"random_state": 0, **params})


def auto_classifier(kernel="auto", **params):
    return KernelClassifier(kernel, **{"random_state": 0, **params})


def standard_errors(values):
    """Return how many standard errors the mean of some values is above zero."""
    return values.mean() / (values.std() / np.sqrt(len(values)))


def same(a, b, X):
    """Tell whether two models chose the same, and predict the same but for rounding."""
    chosen = [(m.kernel_, m.alpha_, type(m.approximation_)) for m in (a, b)]
    return chosen[0] == chosen[1] and difference(a.predict(X), b.predict(X)) <= 1e-6


@pytest.mark.parametrize("n_classes", [2, 4])
def test_classes_are_no_worse_than_a_search_over_folds(n_classes):
    X, y, _ = labelled(1150, n_classes=n_classes)
    signs = 2 * np.eye(n_classes)[y] - 1
    theirs = GridSearchCV(KernelRidge(kernel="rbf"), GRID).fit(X[:150], signs[:150])
    wrong = auto_classifier().fit(X[:150], y[:150]).predict(X[150:]) != y[150:]
    more = wrong - 1.0 * (theirs.predict(X[150:]).argmax(axis=1) != y[150:])
    assert standard_errors(more) <= 4


def test_several_outputs_are_fitted_together():
    X, y, _ = regression(120)
    model = auto_regressor().fit(X, np.column_stack([y, -3 * y]))
    alone = auto_regressor().fit(X, y)
    assert model.kernel_ == alone.kernel_
    assert model.alpha_ == alone.alpha_
    assert difference(model.predict(X)[:, 1], -3 * alone.predict(X)) <= 1e-6


@pytest.mark.parametrize(
    ("estimator", "wrap"),
    [
        (KernelRegressor, sparse.csr_matrix),
        (KernelClassifier, pd.DataFrame),
        (KernelRegressor, np.asfortranarray),
        (KernelClassifier, list),
    ],
)
def test_sources_of_the_same_rows_give_the_same_choice(estimator, wrap):
    X, y, _ = labelled(80)
    dense, other = (estimator(random_state=0).fit(data, y) for data in (X, wrap(X)))
    assert dense.kernel_ == other.kernel_
    assert dense.alpha_ == other.alpha_
    assert difference(other.coef_, dense.coef_) <= 1e-6


@every_estimator
@pytest.mark.parametrize("n", [2, 5])
def test_a_handful_of_rows_is_learnt(estimator, n):
    X, y = np.arange(2.0 * n).reshape(n, 2), np.arange(n) % 2
    predicted = estimator(random_state=0).fit(X, y).predict(X)
    assert np.isfinite(predicted).all()


@pytest.mark.parametrize("approximation", ["auto", RandomBinning(n_grids=20)])
def test_a_single_row_predicts_itself(approximation):
    model = auto_regressor(approximation=approximation).fit([[1.0, 2.0]], [3.0])
    assert model.predict([[1.0, 2.0]]) == pytest.approx([3.0])


@every_map
def test_rows_that_are_all_equal_predict_the_mean(approximation):
    y = np.arange(40.0)
    model = auto_regressor(approximation=approximation).fit(np.ones((40, 2)), y)
    assert model.predict(np.ones((1, 2))) == pytest.approx([y.mean()])


@pytest.mark.parametrize("n", [50, 1100])
def test_targets_that_are_all_equal_are_predicted(n):
    X, _, _ = regression(n)
    model = auto_regressor().fit(X, np.full(n, 5.0))
    assert model.predict(2 * X) == pytest.approx(5.0)


def test_class_weights_equal_weights_of_rows():
    X, y, _ = labelled(90, n_classes=2)
    factors = {0: 1.0, 1: 3.0}
    by_class = auto_classifier(class_weight=factors).fit(X, y)
    by_row = auto_classifier().fit(X, y, np.where(y == 1, 3.0, 1.0))
    assert same(by_class, by_row, X)


@every_map
def test_kernel_is_the_one_that_suits_the_map(approximation):
    X, y, _ = regression(90)
    model = auto_regressor(approximation=approximation).fit(X, y)
    rough = isinstance(approximation, RandomBinning)
    assert type(model.kernel_) is (Laplacian if rough else Gaussian)
    assert isinstance(model.kernel_.gamma, float)


@every_map
def test_given_kernel_stays_as_it_is(approximation):
    X, y, _ = regression(90)
    model = auto_regressor(Laplacian(0.7), approximation=approximation).fit(X, y)
    assert model.kernel_ == Laplacian(0.7)
    assert model.alpha_ > 0


@pytest.mark.parametrize("kernel", ["poly", Laplacian("median")], ids=repr)
def test_given_kernel_outlives_the_choice_of_a_map(kernel):
    X, y, _ = regression(90)
    found, fixed = (
        auto_regressor(kernel, approximation=a).fit(X, y).kernel_ for a in ("auto", None)
    )
    assert found == fixed


@pytest.mark.parametrize(
    ("kernel", "approximation"),
    [
        (Gaussian("auto") + Linear(), "auto"),
        (3 * Gaussian("auto"), 20),
        (Gaussian("auto") * Laplacian("auto"), None),
        (Gaussian("auto").on([0, 1]), 20),
    ],
    ids=repr,
)
def test_bandwidths_inside_other_kernels_are_chosen(kernel, approximation):
    X, y, _ = regression(90)
    before = repr(kernel)
    model = auto_regressor(kernel, approximation=approximation).fit(X, y)
    assert type(model.kernel_) is type(kernel)
    assert "auto" not in repr(model.kernel_)
    assert repr(kernel) == before
    assert len(model.certificate_.trials) >= 3


def test_kernel_of_a_map_may_choose_its_bandwidth():
    X, y, _ = regression(90)
    inner = Nystroem(Gaussian("auto"), budget=20)
    model = auto_regressor(Laplacian(), approximation=inner).fit(X, y)
    outer = auto_regressor(Gaussian("auto"), approximation=20).fit(X, y)
    assert model.kernel_ == outer.kernel_
    assert inner.kernel == Gaussian("auto")


@pytest.mark.parametrize("approximation", ["auto", 20, MAPS[3]], ids=repr)
def test_penalties_of_other_losses_follow_the_unit_of_y(approximation):
    X, y, _ = regression(60)
    options = {"approximation": approximation, "max_iter": 5}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        one, other = (
            auto_regressor(Laplacian(0.5), loss="quantile", **options).fit(X, unit * y).alpha_
            for unit in (1.0, 100.0)
        )
    assert one == pytest.approx(100 * other, rel=1e-6)


def test_binning_takes_the_penalty_of_its_trial():
    X, y, _ = regression(60)
    model = auto_regressor(Laplacian(0.5), approximation=MAPS[3], solver="dual_cd").fit(X, y)
    trial = model.certificate_.trials[-1]
    # what stays the same for more rows is n alpha
    assert trial["rows"] < 60
    assert model.alpha_ == pytest.approx(trial["alpha"] * trial["rows"] / 60)


@pytest.mark.parametrize("approximation", [RandomLayer(20), RBFSampler(n_components=20)], ids=repr)
def test_maps_without_a_kernel_choose_a_penalty_alone(approximation):
    X, y, _ = regression(60)
    model = auto_regressor(approximation=approximation).fit(X, y)
    assert model.alpha_ == model.solution_.alpha
    assert not hasattr(model, "kernel_")


def test_matrices_of_kernel_values_are_offered_landmarks():
    X, y, _ = regression(60)
    matrix = Precomputed(Gaussian(0.5)(X))
    numbers = auto_regressor(matrix).fit(np.arange(60), y)
    assert isinstance(numbers.approximation_, Nystroem)
    vectors = auto_regressor(Gaussian(0.5)).fit(X, y)
    assert difference(numbers.predict(np.arange(60)), vectors.predict(X)) <= 1e-6


def test_kernels_that_are_not_positive_definite_are_refused():
    X, y, _ = regression(60)
    with pytest.raises(ValueError, match="kernel must be positive definite"):
        auto_regressor(Tanh()).fit(X, y)


def test_kernel_without_a_spectrum_is_refused_by_features():
    X, y, _ = regression(60)
    with pytest.raises(ValueError, match="RandomFourier: kernel"):
        auto_regressor("poly", approximation=RandomFourier()).fit(X, y)
    with pytest.raises(ValueError, match="RandomBinning: kernel"):
        auto_regressor(Gaussian("auto"), approximation=RandomBinning()).fit(X, y)
