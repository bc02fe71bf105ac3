import numpy as np
import pytest

from skimp import KernelClassifier, KernelRegressor
from skimp.data import open_rows
from skimp.diagnostics import _budget_curve, _coded_curve, budget_curve
from skimp.features import RandomBinning
from skimp.kernels import Laplacian
from skimp.solvers import Newton
from tests.pairs import pairwise
from tests.problems import labelled, regression
from tests.reference import naive

SIZES, ALPHAS = [1, 3, 8], [1e-4, 1e-2, 0.3]
MAP = RandomBinning(Laplacian(0.3), n_grids=8)


@pytest.fixture
def seen(monkeypatch):
    """What the curve was computed from: the fitted map, and the two parts of the rows."""
    found = {}
    predictions, split = _budget_curve.predict_held_out, _coded_curve.split_rows

    def noted_predictions(model, fitted, *rest):
        found["map"] = fitted
        return predictions(model, fitted, *rest)

    def noted_split(rows, fraction, seed):
        found["fraction"] = fraction
        found["parts"] = split(rows, fraction, seed)
        return found["parts"]

    monkeypatch.setattr(_budget_curve, "predict_held_out", noted_predictions)
    monkeypatch.setattr(_coded_curve, "split_rows", noted_split)
    return found


def first_features(fitted, X, size):
    """Columns of the first grids, larger where there are fewer of them."""
    Z = fitted.transform(X).toarray().astype(np.float64)
    columns = int((fitted.n_bins_[:size] + 1).sum())
    return np.sqrt(len(fitted.n_bins_) / size) * Z[:, :columns]


def refits(seen, sizes, alphas, *, fit_intercept, labels):
    training, judging = (part.collect() for part in seen["parts"])
    errors = np.empty((len(sizes), len(alphas)))
    for i, size in enumerate(sizes):
        Z, T = (first_features(seen["map"], part.X, size) for part in (training, judging))
        for j, alpha in enumerate(alphas):
            coef, constant = naive.ridge(
                Z, training.y, alpha=alpha, weight=training.weight, fit_intercept=fit_intercept
            )
            F = T @ coef + constant
            if not labels:
                errors[i, j] = np.mean((F - judging.y) ** 2)
            elif F.shape[1] == 1:
                errors[i, j] = np.mean((F > 0) != (judging.y > 0))
            else:
                errors[i, j] = np.mean(F.argmax(axis=1) != judging.y.argmax(axis=1))
    return errors


@pairwise(
    weighted=[False, True],
    fit_intercept=[False, True],
    dtype=[np.float32, np.float64],
    n_outputs=[1, 2],
)
def test_regression_equals_refits(seen, weighted, fit_intercept, dtype, n_outputs):
    X, y, weight = regression(90, dtype=dtype)
    Y = y if n_outputs == 1 else np.column_stack([y, X[:, 0] ** 2])
    model = KernelRegressor(approximation=MAP, fit_intercept=fit_intercept, random_state=0)
    curve = budget_curve(
        model, X, Y, sizes=SIZES, alphas=ALPHAS, sample_weight=weight if weighted else None
    )
    expected = refits(seen, SIZES, ALPHAS, fit_intercept=fit_intercept, labels=False)
    np.testing.assert_allclose(curve.errors, expected, rtol=1e-6)
    assert seen["fraction"] == 0.2


@pytest.mark.parametrize(("n_classes", "weighted"), [(2, True), (3, False)])
def test_classification_equals_refits(seen, n_classes, weighted):
    X, y, weight = labelled(120, n_classes=n_classes)
    model = KernelClassifier(approximation=MAP, loss="squared", random_state=0)
    curve = budget_curve(
        model, X, y, sizes=SIZES, alphas=ALPHAS, sample_weight=weight if weighted else None
    )
    expected = refits(seen, SIZES, ALPHAS, fit_intercept=True, labels=True)
    assert np.array_equal(curve.errors, expected)
    assert np.ptp(curve.errors) > 0


def test_what_a_curve_of_grids_says():
    X, y, _ = regression(150)
    curve = budget_curve(KernelRegressor(approximation=MAP, random_state=0), X, y)
    assert curve.what == "grids"
    assert curve.measure == "mean squared error"
    assert curve.sizes.tolist() == [1, 2, 4, 5, 8]
    np.testing.assert_allclose(curve.alphas * 150, [0.01, 0.1, 1.0, 10.0])
    assert curve.gcv is None
    assert curve.dimensions is None
    assert curve.confirmed == {}
    least = curve.errors.min(axis=1)
    assert np.array_equal(curve.best_errors, least)
    assert np.array_equal(curve.best_alphas, curve.alphas[curve.errors.argmin(axis=1)])
    assert curve.knee == curve.sizes[np.flatnonzero(least <= 1.05 * least.min())[0]]
    assert list(curve.to_frame().columns) == ["size", "alpha", "error"]


def test_other_losses_are_fitted_themselves(seen):
    X, y, _ = regression(90)
    y[::9] += 30
    options = {"loss": "huber", "solver": Newton(tol=1e-12)}
    model = KernelRegressor(approximation=MAP, random_state=0, **options)
    curve = budget_curve(model, X, y, sizes=[3, 8], alphas=[1e-2])
    training, judging = (part.collect() for part in seen["parts"])
    for i, size in enumerate((3, 8)):
        Z, T = (first_features(seen["map"], part.X, size) for part in (training, judging))
        refit = KernelRegressor("linear", approximation=None, alpha=1e-2, **options)
        F = refit.fit(Z, training.y[:, 0]).predict(T)
        error = np.mean((F - judging.y[:, 0]) ** 2)
        np.testing.assert_allclose(curve.errors[i, 0], error, rtol=1e-5)
    squared = refits(seen, [3, 8], [1e-2], fit_intercept=True, labels=False)
    assert (np.abs(curve.errors / squared - 1) > 1e-2).all()


def test_rows_of_any_source():
    X, y, weight = regression(90)
    model = KernelRegressor(approximation=MAP, random_state=0)
    options = {"sizes": SIZES, "alphas": ALPHAS}
    expected = budget_curve(model, X, y, sample_weight=weight, **options)
    found = budget_curve(model, open_rows(X, target=y, weight=weight, block_rows=16), **options)
    np.testing.assert_allclose(found.errors, expected.errors, rtol=1e-8)
