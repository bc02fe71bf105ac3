import pickle

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from skimp import KernelClassifier, KernelRegressor
from skimp.data import ArrayRows, Codes, open_rows
from skimp.features import RandomBinning
from skimp.kernels import Laplacian
from skimp.losses import (
    hinge,
    log,
    multiclass_hinge,
    softmax,
    squared,
    squared_hinge,
)
from skimp.solvers import PCG, Direct, DualCD, Newton, Problem
from tests.problems import labelled, regression
from tests.sources import ChunkedRows

KERNEL, ALPHA = Laplacian(0.4), 1e-2


def binning(n_grids=10, **params):
    return RandomBinning(n_grids=n_grids, random_state=0, **params)


def classifier(approximation=None, **params):
    params = {"alpha": ALPHA, "random_state": 0, **params}
    approximation = binning() if approximation is None else approximation
    return KernelClassifier(KERNEL, approximation=approximation, **params)


def regressor(approximation=None, **params):
    params = {"alpha": ALPHA, "random_state": 0, **params}
    approximation = binning() if approximation is None else approximation
    return KernelRegressor(KERNEL, approximation=approximation, **params)


def apart(objective, tol, alpha=ALPHA, norm=1.0):
    """Bound what predictions of two solutions within a tolerance of the least objective differ by.

    The objective grows by alpha times the squared distance of the coefficients from the best ones.
    """
    return 2 * norm * np.sqrt(tol * objective / alpha)


def rounded(y, dtype=np.float64):
    """Bound the rounding of normal equations: their norm is one, and of their inverse 1 / alpha."""
    return 10 * np.finfo(dtype).eps * np.abs(y).max() / ALPHA


TOL = 1e-10
CASES = [
    *((DualCD(TOL), loss) for loss in (squared_hinge, log, squared)),
    *((DualCD(1e-8), loss) for loss in (hinge, multiclass_hinge)),
    *((Newton(TOL), loss) for loss in (squared_hinge, log, squared, softmax)),
    (PCG(TOL), squared),
    (Direct(), squared),
]


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize(("solver", "loss"), CASES, ids=repr)
def test_codes_and_csr_give_the_same_model(solver, loss, n_classes):
    X, y, _ = labelled(120, n_classes=n_classes)
    # other solvers leave the intercept free: the objective need not grow with it
    given = {"fit_intercept": isinstance(solver, DualCD)}
    model = classifier(loss=loss, solver=solver, **given).fit(X, y)
    one = n_classes == 2 and not loss.joint
    Y = np.where(y[:, None] == (1 if one else np.arange(n_classes)), 1.0, -1.0)
    Z = model.approximation_.transform(X)
    expected = solver.solve(Problem(ArrayRows(Z, Y), loss, ALPHA, **given))
    assert model.solution_.converged
    assert expected.converged
    # rows have length one, and a constant besides where there is an intercept
    norm = np.sqrt(1 + given["fit_intercept"])
    exact = isinstance(solver, Direct)
    bound = rounded(Y) if exact else apart(expected.history[-1], solver.tol, norm=norm)
    F = Z @ expected.coef + expected.intercept
    assert np.abs(model._outputs(X) - F).max() <= bound < 0.02


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_regression_on_codes_and_on_csr(dtype, fit_intercept):
    X, y, weight = regression(150, dtype=dtype)
    model = regressor(fit_intercept=fit_intercept).fit(X, y, weight)
    assert "chose direct, since the loss is squared" in model.solution_.message
    Z = model.approximation_.transform(X).astype(np.float64)
    rows = ArrayRows(Z, y[:, None], weight)
    expected = Direct().solve(Problem(rows, squared, ALPHA, fit_intercept=fit_intercept))
    F = (Z @ expected.coef + expected.intercept)[:, 0]
    assert model.predict(X).dtype == dtype
    assert np.abs(model.predict(X) - F).max() <= rounded(y, dtype)


@pytest.mark.parametrize("loss", ["squared_hinge", "hinge", "log", "multiclass_hinge"])
@pytest.mark.parametrize("early_stopping", [False, True])
def test_features_are_never_made_a_matrix(monkeypatch, loss, early_stopping):
    X, y, _ = labelled(150)

    def refuse(*_):
        raise AssertionError("a matrix of features")

    monkeypatch.setattr(RandomBinning, "map_block", refuse)
    monkeypatch.setattr(Codes, "tocsr", refuse)
    given = {"loss": loss, "solver": "dual_cd", "early_stopping": early_stopping}
    model = classifier(**given).fit(X, y)
    assert model.score(X, y) > np.mean(y == 1)
    with pytest.raises(AssertionError, match="a matrix of features"):
        model.approximation_.transform(X)


def test_auto_says_that_rows_are_codes():
    X, y, _ = labelled(300)
    model = classifier(binning(60, kernel=Laplacian(3.0))).fit(X, y)
    width = model.approximation_.width
    assert width > 3000
    why = f"auto chose dual_cd, since the {width} features are coded; "
    assert model.solution_.message.startswith(why)
    few = regressor(binning(3)).fit(X, y)
    width = few.approximation_.width
    why = f"auto chose direct, since the loss is squared and there are only {width} features"
    assert few.solution_.message.startswith(why)


@pytest.mark.parametrize("solver", ["dual_cd", "newton"])
def test_bins_that_were_not_seen_add_nothing(solver):
    X, y, _ = labelled(150)
    model = classifier(binning(20, max_bins=30), solver=solver).fit(X, y)
    far = model.decision_function(X + 1e7)
    assert np.array_equal(far, np.tile(model.intercept_, (150, 1)))
    near = X + 0.5
    codes = np.empty((150, 20), model.approximation_.coded.codes.dtype)
    model.approximation_.map_codes(near, codes)
    assert 0 < np.count_nonzero(codes) < codes.size
    F = np.tile(model.intercept_, (150, 1))
    for i, row in enumerate(codes):
        for offset, code in zip(model.approximation_.coded.offsets, row, strict=True):
            if code:
                F[i] += model.coef_[offset + code] * model.approximation_.coded.value
    np.testing.assert_allclose(model.decision_function(near), F, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("loss", ["log", "softmax"])
def test_probabilities(loss, n_classes):
    X, y, _ = labelled(200, n_classes=n_classes)
    names = np.array(["a", "b", "c", "d"])[y]
    model = classifier(loss=loss, alpha=1e-3).fit(X, names)
    P = model.predict_proba(X)
    assert model.classes_.tolist() == ["a", "b", "c", "d"][:n_classes]
    np.testing.assert_allclose(P.sum(axis=1), 1, rtol=1e-12)
    assert np.array_equal(model.classes_[P.argmax(axis=1)], model.predict(X))
    # better than the shares of the classes, which are what the loss chooses without any rows
    shares = np.bincount(y) / 200
    found = np.log(P[np.arange(200), y]).mean()
    assert found > np.log(shares[y]).mean()


@pytest.mark.parametrize("loss", ["squared_hinge", "hinge", "log"])
def test_a_weight_of_two_is_a_row_twice_and_of_zero_an_absent_row(loss):
    X, y, weight = labelled(60)
    twice = np.repeat(np.arange(60), weight.astype(int))
    given = {"loss": loss, "solver": DualCD(1e-7), "alpha": 0.1}
    weighted = classifier(**given).fit(X, y, weight)
    repeated = classifier(**given).fit(X[twice], y[twice])
    assert np.array_equal(weighted.approximation_.n_bins_, repeated.approximation_.n_bins_)
    bound = apart(weighted.solution_.history[-1], 1e-7, 0.1, norm=np.sqrt(2))
    difference = weighted.decision_function(X) - repeated.decision_function(X)
    assert np.abs(difference).max() <= bound < 0.02


def test_early_stopping_returns_the_best_of_the_held_out_rows():
    X, y, _ = labelled(200)
    given = {"solver": "dual_cd", "alpha": 1e-6, "early_stopping": True}
    model = classifier(**given, validation_fraction=0.3).fit(X, y)
    assert "best on held-out rows" in model.solution_.message
    assert model.score(X, y) > np.mean(y == 1)


@pytest.mark.parametrize("loss", ["squared_hinge", "log", "multiclass_hinge", "squared", "softmax"])
def test_bits_do_not_depend_on_threads(loss):
    X, y, _ = labelled(300, n_classes=5)
    one, two = (classifier(binning(20), loss=loss, n_jobs=n).fit(X, y) for n in (1, 2))
    assert np.array_equal(one.coef_, two.coef_)
    assert np.array_equal(one.decision_function(X), two.decision_function(X))


@pytest.mark.parametrize(
    ("estimator", "solver"),
    [
        (classifier, DualCD(1e-7)),
        (classifier, Newton(1e-7)),
        (regressor, DualCD(1e-7)),
        (regressor, Direct()),
    ],
)
def test_any_source_gives_the_same_model(estimator, solver):
    X, y, weight = labelled(150)
    X[: 2 * len(X) // 3, 1] = 1.5
    X[::2, 2] = 0
    csr, frame = sparse.csr_matrix(X), pd.DataFrame(X, columns=["a", "b", "c"])
    model = estimator(solver=solver, fit_intercept=False)
    expected = clone(model).fit(X, y, weight)
    assert expected.approximation_._grids.origin.any()
    exact = isinstance(solver, Direct)
    bound = rounded(y) if exact else apart(expected.solution_.history[-1], 1e-7)
    sources = [
        (csr, y, weight),
        (frame, y, weight),
        (open_rows(X, target=y, weight=weight, block_rows=7),),
        (ChunkedRows(X, y, weight),),
        (ChunkedRows(csr, y, weight),),
    ]
    for source in sources:
        fitted = clone(model).fit(*source)
        assert np.array_equal(fitted.approximation_.n_bins_, expected.approximation_.n_bins_)
        for rows in (source[0], csr) if source[0] is not frame else (frame,):
            assert np.abs(fitted._outputs(rows) - expected._outputs(X)).max() <= bound
    assert clone(model).fit(frame, y).feature_names_in_.tolist() == ["a", "b", "c"]


def test_clones_and_pickles():
    X, y, _ = labelled(100)
    model = classifier(solver="dual_cd").fit(X, y)
    again, copy = clone(model).fit(X, y), pickle.loads(pickle.dumps(model))
    for other in (again, copy):
        assert np.array_equal(other.decision_function(X), model.decision_function(X))


def test_a_grid_search_over_the_number_of_grids():
    X, y, _ = labelled(80)
    grid = {"approximation__n_grids": [1, 15], "approximation__kernel": [None, Laplacian(3.0)]}
    search = GridSearchCV(classifier(solver="dual_cd"), grid, cv=2).fit(X, y)
    assert len(set(search.cv_results_["mean_test_score"])) > 1
    best = search.best_estimator_
    assert len(best.approximation_.n_bins_) == search.best_params_["approximation__n_grids"]


def test_a_limit_that_bins_do_not_fit_is_refused():
    X, y, _ = labelled(100)
    model = classifier(binning(100), memory_limit=100_000)
    message = r"a model of 10100 landmarks or features needs \d+ KB, more .* limit of 100 KB: take"
    with pytest.raises(MemoryError, match=message):
        model.fit(X, y)


@pytest.mark.parametrize("loss", ["squared_hinge", "multiclass_hinge"])
def test_codes_that_do_not_fit_are_computed_in_every_sweep(loss):
    X, y, _ = labelled(120)
    given = {"loss": loss, "solver": DualCD(1e-8, max_iter=20_000)}
    expected = classifier(binning(10, max_bins=8), **given).fit(X, y)
    # targets, slopes, norms and coefficients, and room for half of the codes
    needed = 17 * 120 * 3 + 32 * 120 + 24 * 3 * expected.approximation_.width
    limit = needed + 120 * 10 // 2
    model = classifier(binning(10, max_bins=8), **given, memory_limit=limit).fit(X, y)
    assert "features recomputed in every sweep" in model.solution_.message
    assert model.solution_.converged
    bound = apart(expected.solution_.history[-1], 1e-8, norm=np.sqrt(2))
    assert np.abs(model.decision_function(X) - expected.decision_function(X)).max() <= bound


def test_sorted_codes_that_do_not_fit_converge():
    X, y, _ = labelled(2000)
    order = np.argsort(y, kind="stable")
    given = {"alpha": 1e-4, "solver": "dual_cd", "tol": 1e-3}
    model = classifier(binning(20, max_bins=30), **given, memory_limit=200_000)
    model.fit(X[order], y[order])
    assert "features recomputed in every sweep" in model.solution_.message
    assert model.solution_.converged


@pytest.mark.parametrize("n_outputs", [2, 3, 5])
def test_numbers_of_threads_give_the_same_bits(n_outputs):
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(300, 3)), rng.normal(size=(300, n_outputs))
    coefs = [
        KernelRegressor(
            "laplacian", approximation=binning(30), solver="dual_cd", alpha=1e-3, n_jobs=n_jobs
        )
        .fit(X, Y)
        .coef_
        for n_jobs in (1, 2, 3)
    ]
    assert np.array_equal(coefs[0], coefs[1])
    assert np.array_equal(coefs[0], coefs[2])
