import numpy as np
import pytest

from skimp import KernelClassifier
from skimp.data import ArrayRows, Codes
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
from tests.models import outputs
from tests.problems import labelled

KERNEL, ALPHA = Laplacian(0.4), 1e-2


def binning(n_grids=10, **params):
    return RandomBinning(n_grids=n_grids, random_state=0, **params)


def classifier(approximation=None, **params):
    params = {"alpha": ALPHA, "random_state": 0, **params}
    approximation = binning() if approximation is None else approximation
    return KernelClassifier(KERNEL, approximation=approximation, **params)


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


@pytest.mark.parametrize(("solver", "loss"), CASES, ids=repr)
def test_codes_and_csr_give_the_same_model(solver, loss):
    X, y, _ = labelled(120, n_classes=2 if loss is log else 3)
    # other solvers leave the intercept free: the objective need not grow with it
    given = {"fit_intercept": isinstance(solver, DualCD)}
    model = classifier(loss=loss, solver=solver, **given).fit(X, y)
    Y = np.where(y[:, None] == (1 if loss is log else np.arange(3)), 1.0, -1.0)
    Z = model.approximation_.transform(X)
    expected = solver.solve(Problem(ArrayRows(Z, Y), loss, ALPHA, **given))
    assert model.solution_.converged
    assert expected.converged
    # rows have length one, and a constant besides where there is an intercept
    norm = np.sqrt(1 + given["fit_intercept"])
    exact = isinstance(solver, Direct)
    bound = rounded(Y) if exact else apart(expected.history[-1], solver.tol, norm=norm)
    F = Z @ expected.coef + expected.intercept
    assert np.abs(outputs(model, X) - F).max() <= bound < 0.02


@pytest.mark.parametrize(
    ("loss", "early_stopping"), [("squared_hinge", False), ("multiclass_hinge", True)]
)
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


def test_bins_that_were_not_seen_add_nothing():
    X, y, _ = labelled(150)
    model = classifier(binning(20, max_bins=30), solver="dual_cd").fit(X, y)
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


def test_a_limit_that_bins_do_not_fit_is_refused():
    X, y, _ = labelled(100)
    model = classifier(binning(100), memory_limit=100_000)
    with pytest.raises(MemoryError, match=r"10100 .* 100 KB"):
        model.fit(X, y)


def test_codes_that_do_not_fit_are_kept_in_a_file():
    X, y, _ = labelled(400)
    given = {"loss": "squared_hinge", "solver": DualCD(1e-8, max_iter=20_000)}
    expected = classifier(binning(10, max_bins=8), **given).fit(X, y)
    # targets, slopes, norms and coefficients, and room for half of the codes
    needed = 17 * 400 * 3 + 32 * 400 + 24 * 3 * expected.approximation_.width
    limit = needed + 400 * 10 // 2
    model = classifier(binning(10, max_bins=8), **given, memory_limit=limit).fit(X, y)
    assert "codes kept in a temporary file" in model.solution_.message
    assert model.solution_.converged
    bound = apart(expected.solution_.history[-1], 1e-8, norm=np.sqrt(2))
    assert np.abs(model.decision_function(X) - expected.decision_function(X)).max() <= bound


def test_sorted_codes_that_do_not_fit_converge():
    X, y, _ = labelled(1000)
    order = np.argsort(y, kind="stable")
    given = {"alpha": 1e-4, "solver": "dual_cd", "tol": 1e-3}
    model = classifier(binning(20, max_bins=30), **given, memory_limit=120_000)
    model.fit(X[order], y[order])
    assert "codes kept in a temporary file" in model.solution_.message
    assert model.solution_.converged
