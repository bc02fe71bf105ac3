import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.kernel_approximation import RBFSampler
from sklearn.linear_model import Ridge

from skimp import KRLS, KernelClassifier, KernelRegressor, recipes
from skimp.budgets import Fixed
from skimp.data import open_rows
from skimp.diagnostics import _budget_curve, budget_curve
from skimp.effects import Points
from skimp.features import Nystroem, RandomFourier, RandomLayer
from skimp.kernels import Gaussian
from tests.problems import labelled, regression
from tests.reference import naive
from tests.sources import ChunkedRows

SIZES, ALPHAS = [2, 5, 14], [1e-4, 1e-2, 1.0]
KERNEL = Gaussian(0.4)


def refitted(kernel, chosen, X):
    """The functions that a model of these points is fitted in, at all rows, and their penalty."""
    size = chosen.shape[0]
    basis = Nystroem(kernel, budget=size, selector=Fixed(chosen)).fit(X).basis()
    Z = np.empty((X.shape[0], basis.width), basis.dtype)
    basis.map_block(X, Z)
    return Z.astype(np.float64), basis.penalty


def of_points(X, kernel=KERNEL):
    return lambda size: refitted(kernel, X[:size], X)


def of_labels(y):
    classes = np.unique(y)
    chosen = classes[1:] if len(classes) == 2 else classes
    return np.where(y[:, None] == chosen, 1.0, -1.0)


def naive_numbers(Z, P, Y, alpha, weight, *, fit_intercept, labels):
    """The error of rows that are left out one by one, cross-validation, and the dimension."""
    w = np.ones(len(Z)) if weight is None else weight
    model = {"penalty": P, "fit_intercept": fit_intercept}
    coef, constant = naive.ridge(Z, np.eye(len(Z)), alpha=alpha, weight=w, **model)
    H = Z @ coef + constant
    residual = w @ ((Y - H @ Y) ** 2).sum(axis=1) / w.sum()
    gcv = residual / (1 - np.trace(H) / (w.sum() ** 2 / (w**2).sum())) ** 2
    present = np.flatnonzero(w)
    F = np.empty((len(present), Y.shape[1]))
    for i, row in enumerate(present):
        kept = np.arange(len(Z)) != row
        ridge = alpha * w.sum() / w[kept].sum()
        coef, constant = naive.ridge(Z[kept], Y[kept], alpha=ridge, weight=w[kept], **model)
        F[i] = Z[row] @ coef + constant
    if not labels:
        error = np.mean((F - Y[present]) ** 2)
    elif Y.shape[1] == 1:
        error = np.mean((F > 0) != (Y[present] > 0))
    else:
        error = np.mean(F.argmax(axis=1) != Y[present].argmax(axis=1))
    return error, gcv, np.trace(H) - fit_intercept


def check_curve(curve, features, Y, weight=None, *, fit_intercept=True, labels=False):
    """Compare a curve with refits; ``features`` returns Z and P for a size."""
    for i, size in enumerate(curve.sizes):
        Z, P = features(size)
        for j, alpha in enumerate(curve.alphas):
            expected = naive_numbers(
                Z, P, Y, alpha, weight, fit_intercept=fit_intercept, labels=labels
            )
            found = curve.errors[i, j], curve.gcv[i, j], curve.dimensions[i, j]
            np.testing.assert_allclose(found, expected, rtol=1e-6)


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_landmarks_equal_refits(fit_intercept):
    X, y, _ = regression(50)
    approximation = Nystroem(budget=14, selector=Fixed(X[:14]))
    options = {"fit_intercept": fit_intercept, "random_state": 0}
    model = KernelRegressor(KERNEL, approximation=approximation, **options)
    curve = budget_curve(model, X, y, sizes=SIZES, alphas=ALPHAS)
    assert (curve.what, curve.measure) == ("landmarks", "mean squared error")
    assert (curve.sizes.tolist(), curve.alphas.tolist()) == (SIZES, ALPHAS)
    check_curve(curve, of_points(X), y[:, None], fit_intercept=fit_intercept)


@pytest.mark.parametrize(
    ("dtype", "form"), [(np.float32, np.asarray), (np.float64, sparse.csr_matrix)]
)
def test_weights_several_outputs_and_any_rows(dtype, form):
    X, y, weight = regression(50, dtype=dtype)
    Y = np.column_stack([y, X[:, 0] ** 2])
    given = form(X)
    approximation = Nystroem(budget=14, selector=Fixed(given[:14]))
    model = KernelRegressor(KERNEL, approximation=approximation, random_state=0)
    curve = budget_curve(model, given, Y, sizes=SIZES, alphas=ALPHAS, sample_weight=weight)
    check_curve(curve, of_points(given), Y, weight)


@pytest.mark.parametrize(("n_classes", "weighted"), [(2, ""), (4, "rows"), (2, "classes")])
def test_labels_equal_refits(n_classes, weighted):
    X, y, weight = labelled(60, n_classes=n_classes)
    landmarks = Nystroem(budget=14, selector=Fixed(X[:14]))
    model = KernelClassifier(KERNEL, approximation=landmarks, loss="squared", random_state=0)
    options = {"sizes": SIZES, "alphas": ALPHAS}
    if weighted == "classes":
        model.set_params(class_weight={"a": 3.0})
        weight = np.where(y == 0, 3.0, 1.0)
    elif weighted == "rows":
        options["sample_weight"] = weight
    curve = budget_curve(model, X, np.array(list("abcd"))[y], **options)
    assert curve.measure == "share of wrong labels"
    check_curve(curve, of_points(X), of_labels(y), weight if weighted else None, labels=True)


def sliced(feature_map, X, size):
    """Features of the first frequencies or nodes, larger where there are fewer."""
    Z = feature_map.transform(X).astype(np.float64)
    columns = np.arange(size)
    if getattr(feature_map, "form", "") == "pair":
        half = Z.shape[1] // 2
        columns = np.r_[: size // 2, half : half + size // 2]
    return np.sqrt(Z.shape[1] / size) * Z[:, columns], None


@pytest.mark.parametrize(
    "feature_map",
    [
        RandomFourier(n_components=14, random_state=0),
        RandomFourier(n_components=13, form="phase", random_state=0),
        RandomLayer(13, random_state=0),
    ],
    ids=repr,
)
def test_features_equal_refits(feature_map):
    X, y, weight = regression(50)
    model = KernelRegressor(KERNEL, approximation=feature_map, random_state=0)
    curve = budget_curve(model, X, y, alphas=ALPHAS, sample_weight=weight)
    assert curve.what == "features"
    assert curve.sizes[-1] == feature_map.n_components
    fitted = clone(model).fit(X, y, weight).approximation_
    check_curve(curve, lambda size: sliced(fitted, X, size), y[:, None], weight)


def test_points_that_are_nearly_dependent():
    X, y, _ = regression(60)
    kernel = Gaussian(1e-3)
    approximation = Nystroem(budget=30, selector=Fixed(X[:30]))
    model = KernelRegressor(kernel, approximation=approximation)
    curve = budget_curve(model, X, y, sizes=[12, 30], alphas=[1e-5, 1e-3, 0.1])
    check_curve(curve, of_points(X, kernel), y[:, None])


def test_models_of_smaller_uniform_budgets():
    X, y, _ = regression(80)
    approximation = Nystroem(budget=30, selector="uniform")
    model = KernelRegressor(KERNEL, approximation=approximation, random_state=0)
    curve = budget_curve(model, X, y, alphas=ALPHAS)
    assert curve.sizes.tolist() == [1, 2, 3, 4, 6, 9, 13, 20, 30]
    residuals = curve.gcv * (1 - (curve.dimensions + 1) / 80) ** 2
    for i, size in enumerate(curve.sizes):
        for j, alpha in enumerate(ALPHAS):
            refit = clone(model).set_params(approximation__budget=int(size), alpha=alpha).fit(X, y)
            assert np.mean((refit.predict(X) - y) ** 2) == pytest.approx(residuals[i, j], rel=1e-6)


def test_other_losses_are_confirmed_by_refits(monkeypatch):
    X, y, weight = labelled(90)
    parts = []

    def split_rows(rows, fraction, seed):
        parts.append(original(rows, fraction, seed))
        return parts[-1]

    original = _budget_curve.split_rows
    monkeypatch.setattr(_budget_curve, "split_rows", split_rows)
    approximation = Nystroem(budget=14, selector=Fixed(X[:14]))
    model = KernelClassifier(
        KERNEL, approximation=approximation, loss="squared_hinge", random_state=0
    )
    options = {"sizes": [2, 5, 8, 14], "sample_weight": weight}
    curve = budget_curve(model, X, y, **options)
    squared = budget_curve(clone(model).set_params(loss="squared"), X, y, **options)
    assert np.array_equal(curve.gcv, squared.gcv)
    assert squared.confirmed == {}
    at = curve.sizes.tolist().index(curve.knee)
    assert list(curve.confirmed) == sorted({int(curve.sizes[i]) for i in (max(0, at - 1), at, 3)})
    training, judging = (part.collect() for part in parts[0])
    for size, error in curve.confirmed.items():
        chosen = Nystroem(budget=size, selector=Fixed(X[:size]))
        alpha = float(curve.best_alphas[curve.sizes == size][0])
        refit = clone(model).set_params(approximation=chosen, alpha=alpha)
        refit.fit(training.X, training.y, training.weight)
        missed = refit.predict(judging.X) != judging.y
        assert error == pytest.approx(np.average(missed, weights=judging.weight))


def test_the_knee_and_the_best_penalties():
    X, y, _ = regression(80)
    model = KernelRegressor(KERNEL, approximation=30, random_state=0)
    curve = budget_curve(model, X, np.sin(X[:, 0]) + 0.5 * np.sin(99 * y))
    residuals = curve.gcv * (1 - (curve.dimensions + 1) / 80) ** 2
    cautious = residuals / (1 - 1.4 * (curve.dimensions + 1) / 80) ** 2
    least = cautious.min(axis=1)
    assert curve.knee == curve.sizes[np.flatnonzero(least <= 1.05 * least.min())[0]]
    assert 1 < curve.knee < 30
    best = cautious.argmin(axis=1)
    assert np.array_equal(curve.best_alphas, curve.alphas[best])
    assert curve.best_errors.tolist() == [e[j] for e, j in zip(curve.errors, best, strict=True)]
    frame = curve.to_frame()
    for name, numbers in (("error", curve.errors), ("effective_dimension", curve.dimensions)):
        assert np.array_equal(frame[name].to_numpy().reshape(numbers.shape), numbers)
    assert frame["size"].iloc[::20].tolist() == curve.sizes.tolist()
    np.testing.assert_allclose(frame["alpha"].iloc[:20], np.logspace(-10, -0.5, 20))


def same(a, b):
    return a.sizes.tolist() == b.sizes.tolist() and np.allclose(a.gcv, b.gcv, rtol=1e-8)


def test_what_is_looked_for_in_fits_is_taken_as_it_is():
    X, y, weight = regression(50)
    fixed = KernelRegressor(Gaussian("scale"), approximation=14, random_state=0)
    expected = budget_curve(fixed, X, y)
    for kernel in ("auto", "rbf", Gaussian("auto")):
        assert same(budget_curve(clone(fixed).set_params(kernel=kernel), X, y), expected)
    everything = budget_curve(clone(fixed).set_params(approximation="auto"), X, y)
    assert everything.sizes[-1] == 50
    assert budget_curve(fixed, X, y, sizes=[70, 3, 3]).sizes.tolist() == [3, 50]
    weighted = budget_curve(fixed, X, y, sample_weight=weight)
    for rows in (open_rows(X, target=y, weight=weight, block_rows=8), ChunkedRows(X, y, weight)):
        assert same(budget_curve(fixed, rows), weighted)


def test_the_estimator_is_not_changed():
    X, y, _ = regression(50)
    model = KernelRegressor(KERNEL, approximation=14, random_state=np.random.default_rng(0))
    before = dict(vars(model)), model.random_state.bit_generator.state
    first, second = (budget_curve(model, X, y) for _ in range(2))
    assert (vars(model), model.random_state.bit_generator.state) == before
    assert np.array_equal(first.errors, second.errors)


@pytest.mark.parametrize(
    ("estimator", "options", "message"),
    [
        (Ridge(), {}, "estimator must be"),
        (KRLS, {}, "estimator must be"),
        (KernelRegressor(), {"sizes": [0]}, r"sizes .*got \[0\]"),
        (KernelRegressor(), {"alphas": [0.0]}, "alphas must be"),
        (KernelRegressor(), {"sample": 1}, "sample must be .*got 1"),
        (KernelRegressor(approximation=RBFSampler()), {}, "must be a map with a size"),
        (KernelRegressor(), {"sample_weight": [1.0]}, r"sample_weight .*\(9,\)"),
        (KRLS(approximation="sign"), {}, "approximation must be"),
        (KRLS(approximation="sample"), {}, "approximation must be"),
        (KRLS(sigmas=[1.0]), {}, "sigmas must be None"),
        (KRLS(alpha=-1.0), {}, "alpha must be"),
    ],
    ids=str,
)
def test_nonsense_is_refused(estimator, options, message):
    with pytest.raises(ValueError, match=message):
        budget_curve(estimator, np.eye(9), np.arange(9.0), **options)


def test_curves_of_krls_are_errors_of_rows_left_out():
    X, y, weight = regression(90)
    scaled = (X - X.mean(axis=0)) / X.std(axis=0)
    rule, alphas = Fixed(scaled[:30]), [1e-3, 1e-1]
    model = KRLS(approximation=Points(rule, 30))
    curve = budget_curve(model, X, y, sizes=[10, 30], alphas=alphas)
    assert curve.sizes.tolist() == [10, 30]
    for i, alpha in enumerate(alphas):
        left_out = KRLS(approximation=Points(rule, 30), alpha=alpha).fit(X, y).loo_residuals_
        assert np.isclose(curve.errors[1, i], np.mean(left_out**2), rtol=1e-6)
    frame = pd.DataFrame(X, columns=list("abc")).assign(d=np.where(y > 0, "yes", "no"))
    for other in (KRLS(random_state=0), recipes.krls(approximation=20, random_state=0)):
        found = budget_curve(other, frame, y, sample_weight=weight)
        assert found.sizes[-1] == (np.count_nonzero(weight) if other.approximation is None else 20)
        assert found.best_errors[-1] < np.var(y)


@pytest.mark.parametrize("selector", ["rpcholesky", "kmeans", "auto"])
def test_all_points_of_a_curve_are_those_of_a_fit(selector):
    X, y, _ = regression(80)
    approximation = Nystroem(budget=14, selector=selector)
    model = KernelRegressor(KERNEL, approximation=approximation, random_state=0, alpha=1e-2)
    curve = budget_curve(model, X, y, sizes=SIZES, alphas=[1e-2])
    residuals = curve.gcv * (1 - (curve.dimensions + 1) / 80) ** 2
    missed = np.mean((clone(model).fit(X, y).predict(X) - y) ** 2)
    assert residuals[-1, 0] == pytest.approx(missed, rel=1e-6)
    # smaller sets of points are parts of larger ones
    assert (np.diff(residuals[:, 0]) < 0).all()
