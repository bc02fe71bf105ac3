"""Default fits to data that nobody prepared: none fails, and none predicts nonsense."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV, RidgeCV
from sklearn.metrics import log_loss
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from skimp import (
    BudgetedSGDRegressor,
    DoublyStochasticRegressor,
    KernelClassifier,
    KernelRegressor,
)
from skimp.features import Nystroem, RandomBinning, RandomFourier
from skimp.kernels import Gaussian, Laplacian
from tests.models import every_estimator
from tests.pairs import first, thorough
from tests.problems import regression
from tests.reference import naive


def default(estimator=KernelRegressor, **params):
    return estimator(random_state=0, **params)


def stays_in_range(predicted, y):
    """Tell whether predictions lie within the range of y, plus half of it on either side."""
    room = 0.5 * np.ptp(y)
    return bool(np.all(predicted >= y.min() - room) and np.all(predicted <= y.max() + room))


# single precision


def of_units(n=400, dtype=np.float32):
    """Columns in very different units, as sensors and prices have them."""
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(n, 5))
    y = np.sin(Z[:, 0]) + Z[:, 1] * Z[:, 2] + 0.1 * rng.normal(size=n)
    return (Z * [5000, 1e-3, 70, 1, 1e5] + [2000, 0, 70, 0, 1e6]).astype(dtype), y


def test_single_precision_of_smooth_data():
    rng = np.random.default_rng(0)
    X = rng.random((2000, 3))
    y = np.sin(6 * X[:, 0]) + X[:, 1] * X[:, 2] + rng.normal(0, 0.1, 2000)
    single = X.astype(np.float32)
    model = KernelRegressor(random_state=1).fit(single[:1500], y[:1500])
    # the noise alone leaves 0.98
    assert model.score(single[1500:], y[1500:]) > 0.97


@pytest.mark.parametrize(
    ("approximation", "dtype"),
    [
        ("auto", np.float32),
        (100, np.float64),
        (RandomFourier(n_components=200), np.float32),
    ],
    ids=repr,
)
def test_columns_of_very_different_units(approximation, dtype):
    X, y = of_units(dtype=dtype)
    model = default(approximation=approximation).fit(X[:300], y[:300])
    assert stays_in_range(model.predict(X[300:]), y[:300])
    assert model.score(X[300:], y[300:]) > 0.7
    assert "standardized" in model.certificate_.columns


@pytest.mark.parametrize(
    ("loss", "dtype"), [("squared", np.float64), ("squared_hinge", np.float32)]
)
def test_classes_of_columns_of_very_different_units(loss, dtype):
    X, y = of_units(dtype=dtype)
    model = default(KernelClassifier, loss=loss).fit(X[:300], y[:300] > 0)
    assert model.score(X[300:], y[300:] > 0) > 0.8


@pytest.mark.filterwarnings("ignore:.*holds 99 % of the variance")
@pytest.mark.parametrize(
    ("kernel", "approximation"),
    [("rbf", "auto"), (Laplacian("median"), 200), (Gaussian(1e-12), None), (Gaussian(1e-12), 200)],
    ids=repr,
)
def test_no_kernel_of_single_precision_raises(kernel, approximation):
    X, y = of_units(200)
    predicted = default(kernel=kernel, approximation=approximation).fit(X, y).predict(X)
    assert stays_in_range(predicted, y)


# predictions beyond the range of y


@pytest.mark.parametrize("seed", first(1, 4))
def test_a_column_with_a_long_tail(seed):
    rng = np.random.default_rng(seed)
    income, age = rng.lognormal(10, 1, 600), rng.normal(size=600)
    X = StandardScaler().fit_transform(np.column_stack([income, age]))
    y = np.log(income)
    model = default().fit(X[:300], y[:300])
    predicted = model.predict(X[300:])
    assert 1 - np.mean((predicted - y[300:]) ** 2) / y[300:].var() > 0.8
    assert stays_in_range(predicted, y)


@pytest.mark.parametrize("seed", first(1, 3))
def test_one_hot_columns_beside_one_with_a_long_tail(seed):
    rng = np.random.default_rng(seed)
    town, income = rng.integers(0, 6, 500), rng.lognormal(0, 1.5, 500)
    X = np.column_stack([np.eye(6)[town], income])
    y = town + np.log(income) + 0.3 * rng.normal(size=500)
    model = default().fit(X[:300], y[:300])
    assert model.score(X[300:], y[300:]) > 0.8
    assert stays_in_range(model.predict(X[300:]), y)


@pytest.mark.parametrize(("n", "dtype"), [(300, np.float64), (2000, np.float32)])
def test_far_from_the_data_predictions_stay_near_the_range(n, dtype):
    X = np.random.default_rng(0).normal(size=(n, 3)).astype(dtype)
    y = X[:, 0] ** 2
    far = np.zeros((4, 3), dtype)
    far[:, 0] = [100, 1e6, -100, 30]
    assert stays_in_range(default().fit(X, y).predict(far), y)


# what is chosen


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_noise_free_targets_do_not_grow_for_ever(dtype):
    X = np.linspace(0, 10, 5000, dtype=dtype)[:, None]
    y = np.sin(X[:, 0].astype(float))
    model = default().fit(X, y)
    assert model.certificate_.size < 1024
    assert model.score(X, y) > 1 - 1e-6


@pytest.mark.parametrize(("kind", "approximation"), [("units", 100), ("sentinel", "auto")])
def test_a_column_that_dominates_is_scaled_and_named(kind, approximation):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 3))
    y = np.sin(2 * X[:, 0]) + X[:, 1] + 0.1 * rng.normal(size=500)
    if kind == "units":
        X[:, 2] *= 1e4
    else:
        X[rng.random(500) < 0.05, 2] = -99999
    model = default(approximation=approximation).fit(X[:300], y[:300])
    text = model.certificate_.columns
    assert text.startswith(("standardized; ", "scaled by quantiles; "))
    assert "column 2 holds 99 % of the variance" in text
    assert model.score(X[300:], y[300:]) > 0.85
    with pytest.warns(UserWarning, match="column 2 holds 99 % of the variance") as caught:
        given = default(kernel="rbf", approximation=approximation).fit(X[:300], y[:300])
    assert len(caught) == 1
    assert given.certificate_.columns.startswith("as given; ")


@pytest.mark.parametrize("seed", first(2, 4))
def test_a_linear_target_is_fitted_as_well_as_by_a_linear_model(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(1150, 8)) * 10.0 ** rng.integers(-1, 3, 8)
    y = (X / X.std(axis=0)) @ rng.normal(size=8) + rng.normal(size=1150)
    theirs = make_pipeline(StandardScaler(), RidgeCV(np.logspace(-3, 3, 13)))
    scores = [m.fit(X[:150], y[:150]).score(X[150:], y[150:]) for m in (default(), theirs)]
    assert scores[0] > scores[1] - 0.02


@pytest.mark.parametrize("seed", first(1, 2))
def test_classes_with_a_linear_boundary_are_predicted_as_by_a_linear_model(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(2200, 6))
    y = X @ rng.normal(size=6) + 0.5 * rng.normal(size=2200) > 0
    mine = default(KernelClassifier).fit(X[:200], y[:200]).predict(X[200:]) != y[200:]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        linear = LogisticRegressionCV(cv=3).fit(X[:200], y[:200])
    more = mine.astype(float) - (linear.predict(X[200:]) != y[200:])
    # a point, and two paired standard errors
    assert more.mean() <= 0.01 + 2 * more.std() / np.sqrt(2000)


@pytest.mark.parametrize("seed", first(3, 10))
def test_noise_is_not_followed(seed):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(1030, 4)), rng.normal(size=1030)
    # the mean of 30 rows has about -1 / 30
    assert default().fit(X[:30], y[:30]).score(X[30:], y[30:]) > -0.25


@pytest.mark.parametrize(("fit_intercept", "weighted"), [(True, True), (False, False)])
def test_exact_models_choose_by_their_own_left_out_rows(fit_intercept, weighted):
    X, y, weight = regression(40)
    weight = weight + 1 if weighted else None
    model = default(kernel=Laplacian(0.5), approximation=None, fit_intercept=fit_intercept)
    model.fit(X, y, weight)
    K, w = naive.laplacian(X, X, 0.5), np.ones(40) if weight is None else weight

    def error(alpha):
        missed = []
        for i in range(40):
            kept = np.arange(40) != i
            coef, constant = naive.kernel_ridge(
                K[np.ix_(kept, kept)],
                y[kept, None],
                alpha=alpha * w.sum() / w[kept].sum(),
                weight=w[kept],
                fit_intercept=fit_intercept,
            )
            missed.append(y[i] - K[i, kept] @ coef - constant)
        return float(w @ np.square(missed).sum(axis=1))

    least = min(error(alpha) for alpha in np.logspace(-8, 1, 28))
    assert error(model.alpha_) <= 1.001 * least


# limits


def table(n=2000, d=6):
    X, y, _ = regression(n, d)
    return X, y


@every_estimator
@pytest.mark.parametrize(
    "memory", ["200KB", "1MB", *thorough("500KB", "2MB", "5MB", "10MB", "20MB")]
)
def test_every_memory_limit_has_a_model(estimator, memory):
    X, y = table()
    y = y > 2 if estimator is KernelClassifier else y
    model = default(estimator, memory_limit=memory).fit(X[:1500], y[:1500])
    assert np.isfinite(model.predict(X[1500:])).all()
    # better than a constant
    assert model.score(X[1500:], y[1500:]) > (0.5 if estimator is KernelClassifier else 0.0)


@every_estimator
def test_little_time_has_a_model(estimator):
    X, y = table()
    y = y > 2 if estimator is KernelClassifier else y
    model = default(estimator, time_limit=0.2)
    with warnings.catch_warnings():
        # a busy machine may stop a solver
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X[:1500], y[:1500])
    assert np.isfinite(model.predict(X[1500:])).all()


@pytest.mark.parametrize("loss", ["huber", *thorough("quantile", "epsilon_insensitive")])
def test_the_unit_of_y_does_not_matter_to_penalties_of_other_losses(loss):
    X, y, _ = regression(500)
    scores = []
    for unit in (1.0, 1e5):
        model = KernelRegressor(loss=loss, random_state=0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(X[:350], unit * y[:350])
        scores.append(model.score(X[350:], unit * y[350:]))
    assert min(scores) >= 0.85
    assert abs(scores[0] - scores[1]) <= 0.02


@pytest.mark.parametrize("loss", ["log", *thorough("softmax")])
def test_probabilities_are_as_good_as_those_of_logistic_regression(loss):
    X = np.random.default_rng(0).normal(size=(900, 4))
    y = X.sum(axis=1) > 0
    theirs = LogisticRegression().fit(X[:600], y[:600])
    model = KernelClassifier(loss=loss, random_state=0).fit(X[:600], y[:600])
    costs = [log_loss(y[600:], m.predict_proba(X[600:])) for m in (model, theirs)]
    assert costs[0] <= costs[1]


def test_sentinels_in_every_column_are_no_reason_for_a_constant():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(800, 4))
    y = X[:, 0] * X[:, 1] > 0
    X[rng.random(X.shape) < 0.15] = -9999
    model = KernelClassifier(random_state=0).fit(X[:600], y[:600])
    assert model.certificate_.columns == "scaled by quantiles"
    # a constant has 0.5; three standard deviations of a share of 200 rows are 0.1
    assert model.score(X[600:], y[600:]) >= 0.65


@pytest.mark.parametrize("approximation", ["auto", None])
def test_targets_far_from_zero_are_fitted_without_an_intercept(approximation):
    X, y, _ = regression(200)
    model = default(approximation=approximation, fit_intercept=False).fit(X, y + 100)
    assert np.sqrt(np.mean((model.predict(X) - y - 100) ** 2)) <= 0.1 * y.std() + 1


@pytest.mark.parametrize("n", [300, 8500])
def test_a_constant_output_leaves_the_others_alone(n):
    X, y, _ = regression(n)
    alone = default(kernel="rbf", approximation=50).fit(X, y)
    model = default(kernel="rbf", approximation=50).fit(X, np.column_stack([y, np.full(n, 0.1)]))
    assert model.alpha_ == alone.alpha_
    np.testing.assert_allclose(model.predict(X)[:, 1], 0.1)


def test_a_map_without_a_kernel_is_not_warned_of_columns():
    X, y, _ = regression(100)
    model = default(approximation=StandardScaler()).fit(X * [1.0, 1.0, 1e4], y)
    assert "holds 99 %" in model.certificate_.columns


@pytest.mark.parametrize("approximation", [StandardScaler(), 20], ids=repr)
def test_scaled_columns_suit_stochastic_steps(approximation):
    X, y, _ = regression(100)
    model = default(approximation=approximation, solver="pegasos", alpha=0.1)
    model.fit(X * [1.0, 1.0, 1e4], y)
    assert "holds 99 %" in model.certificate_.columns


@pytest.mark.thorough
def test_wide_transformers_are_measured_on_enough_rows():
    X, y, _ = regression(1100, 1060)
    X[:, 0] *= 1e4
    model = default(approximation=PCA(1050), solver="pegasos", alpha=1e6)
    with pytest.warns(UserWarning, match="column 0 holds 99 %"):
        model.fit(X, y)


@pytest.mark.parametrize(
    ("kernel", "approximation"), [("auto", FunctionTransformer()), ("linear", 20)], ids=repr
)
def test_columns_of_very_different_units_do_not_suit_stochastic_steps(kernel, approximation):
    X, y, _ = regression(100)
    model = default(kernel=kernel, approximation=approximation, solver="pegasos", alpha=1e6)
    with pytest.warns(UserWarning, match=r"column 2 holds 99 % .* converges slowly"):
        model.fit(X * [1.0, 1.0, 1e4], y)


def test_small_limits_keep_the_sum_over_rows_of_the_penalty():
    X, y, _ = regression(3000)
    alphas = [
        default(kernel=Gaussian(0.5), approximation=100, memory_limit=limit).fit(X, y).alpha_
        for limit in (None, "4MB")
    ]
    assert 0.1 <= alphas[1] / alphas[0] <= 10


def test_penalties_below_rounding_are_solved():
    X = np.repeat(np.random.default_rng(0).normal(size=(10, 2)), 5, axis=0)
    model = default(KernelClassifier, kernel="rbf", alpha=1e-18)
    model.set_params(approximation=RandomFourier(n_components=200))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X, np.arange(50) // 5 % 2)
    assert np.isfinite(model.decision_function(X)).all()


def test_a_warm_start_without_an_intercept_has_none():
    X, y, _ = regression(80)
    model = default(kernel="rbf", approximation=20, alpha=1e-3, loss="huber", warm_start=True)
    model.fit(X, y + 10)
    assert model.set_params(fit_intercept=False).fit(X, y + 10).intercept_ == 0


# columns with other means


@pytest.mark.parametrize("shift", [30.0, 1e5])
@pytest.mark.parametrize("approximation", ["auto", Nystroem(), RandomBinning()], ids=repr)
def test_means_of_columns_make_no_difference(approximation, shift):
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(600, 5))
    y = np.sin(6 * X[:, 0]) + X[:, 1] ** 2 + 0.1 * rng.normal(size=600)
    model = default(approximation=approximation)
    expected = model.fit(X[:400], y[:400]).score(X[400:], y[400:])
    X[:, 4] += shift
    assert model.fit(X[:400], y[:400]).score(X[400:], y[400:]) > expected - 0.03


@pytest.mark.parametrize(
    "estimator", [KernelRegressor, BudgetedSGDRegressor, DoublyStochasticRegressor]
)
def test_bandwidths_that_the_means_of_columns_spoil(estimator):
    X, y, _ = regression(100)
    X[:, 1] += 50
    with pytest.warns(UserWarning, match=r"means of the columns.*gamma='median'"):
        default(estimator, kernel="rbf", alpha=1e-3).fit(X, y)
    default(estimator, kernel=Gaussian("median"), alpha=1e-3).fit(X, y)
    X[:, 1] *= 1e4
    with pytest.warns(UserWarning, match=r"column 1 holds 99 %.* Standardize the columns"):
        default(estimator, kernel="rbf", alpha=1e-3).fit(X, y)


# weak signals


@pytest.mark.parametrize("approximation", [StandardScaler(), 200], ids=repr)
def test_hinge_losses_of_a_weak_signal_are_not_constant(approximation):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1000, 400))
    scores = X[:, :30].sum(axis=1)
    y = scores + scores.std() * rng.normal(size=1000) > 0.05
    model = default(KernelClassifier, approximation=approximation, loss="hinge")
    held_out = slice(500, None)
    expected = model.set_params(loss="squared_hinge").fit(X[:500], y[:500])
    found = clone(model).set_params(loss="hinge").fit(X[:500], y[:500])
    scores = [m.score(X[held_out], y[held_out]) for m in (found, expected)]
    # two standard errors of 500 rows
    assert scores[0] > scores[1] - 0.045
