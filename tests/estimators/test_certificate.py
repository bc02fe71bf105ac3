"""What fitted models say about themselves."""

import json
import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.kernel_approximation import RBFSampler

from skimp import KernelClassifier, KernelRegressor
from skimp.estimators import Certificate
from skimp.features import Nystroem, RandomBinning, RandomFourier, RandomLayer
from skimp.kernels import Gaussian, Laplacian
from tests.problems import labelled, regression
from tests.reference import naive

UNIFORM = Nystroem(budget=12, selector="uniform")
MAPS = [
    "auto",
    None,
    UNIFORM,
    Nystroem(budget=12, rank=5),
    RandomFourier(n_components=30),
    RandomBinning(n_grids=20),
    RandomLayer(20),
    RBFSampler(n_components=20, random_state=0),
]
X, Y, WEIGHT = regression(60)

every_map = pytest.mark.parametrize("approximation", MAPS, ids=repr)


def fitted(approximation=UNIFORM, kernel="auto", **params):
    params = {"random_state": 0, **params}
    return KernelRegressor(kernel, approximation=approximation, **params).fit(X, Y)


@every_map
def test_every_model_has_one(approximation):
    A, y, _ = labelled(60)
    estimator = KernelClassifier if approximation in ("auto", None) else KernelRegressor
    model = estimator(approximation=approximation, random_state=0).fit(A, y)
    found = model.certificate_
    assert isinstance(found, Certificate)
    assert found.alpha == model.alpha_
    assert found.size == len(model.coef_)
    assert found.solver == model.solution_.message
    assert found.kernel == (repr(model.kernel_) if hasattr(model, "kernel_") else None)
    # a penalty alone needs no trials
    assert bool(found.trials) is bool(found.reason) is hasattr(model, "kernel_")
    assert [phase.name for phase in found.phases] == ["search", "map", "solve"]
    assert all(phase.seconds > 0 for phase in found.phases)
    assert 0 < found.effective_dimension <= found.size
    assert json.loads(json.dumps(found.to_dict())) == found.to_dict()
    assert "alpha" in repr(found)
    assert found._repr_html_().startswith("<table>")
    assert model.certificate_ is found


def test_nothing_to_choose_is_no_trial():
    found = fitted(kernel=Gaussian(0.5), alpha=1e-3).certificate_
    assert found.trials == ()
    assert found.reason == ""
    assert "trials" not in str(found)


def test_best_trial_is_what_was_fitted():
    found = fitted("auto").certificate_
    best = min(found.trials, key=lambda trial: trial["error"])
    assert best["kernel"] == found.kernel
    assert all(trial["seconds"] > 0 and trial["rows"] == 60 for trial in found.trials)


def test_landmarks_equal_their_naive_twins():
    found = fitted(kernel=Laplacian(0.5), alpha=1e-3)
    B = found.approximation_.budget_.points
    K, P, Z = (naive.laplacian(*pair, 0.5) for pair in ((X, X), (B, B), (X, B)))
    A = naive.nystroem(Z, P, Z.T)
    certificate = found.certificate_
    assert certificate.residual_trace == pytest.approx(1 - np.trace(A) / 60)
    assert certificate.kernel_error == pytest.approx(np.linalg.norm(K - A) / np.linalg.norm(K))
    H = np.eye(60) - 1 / 60
    A = H @ A @ H
    dimension = np.trace(A @ np.linalg.inv(A + 60e-3 * np.eye(60)))
    assert certificate.effective_dimension == pytest.approx(dimension)


@pytest.mark.parametrize("weight", [None, WEIGHT + 1], ids=["equal", "weighted"])
def test_dimension_is_that_of_all_rows_where_equations_chose_the_penalty(weight):
    model = KernelRegressor(Laplacian(0.5), approximation=UNIFORM, random_state=0)
    model.fit(X, Y, weight)
    B = model.approximation_.budget_.points
    Z, P = naive.laplacian(X, B, 0.5), naive.laplacian(B, B, 0.5)
    share = np.full(60, 1 / 60) if weight is None else weight / weight.sum()
    Z = Z - share @ Z
    S = Z.T @ np.diag(share) @ Z
    expected = np.trace(S @ np.linalg.inv(S + model.alpha_ * P))
    assert model.certificate_.effective_dimension == pytest.approx(expected, rel=1e-6)


def test_kernel_values_are_counted():
    model = fitted(kernel=Laplacian(0.5), alpha=1e-3)
    found = model.certificate_.kernel_evaluations
    # landmarks among each other and all rows with them, or a little more
    assert 12 * 12 + 60 * 12 <= found < 3 * 60 * 12
    model.predict(X)
    assert model.certificate_.kernel_evaluations == found


def test_values_of_an_exact_model_are_those_of_its_matrix():
    found = fitted(None, Laplacian(0.5), alpha=1e-3).certificate_
    assert found.kernel_evaluations == 60 * 60


def test_features_evaluate_no_kernel():
    model = fitted(RandomFourier(Gaussian(0.5), n_components=30), alpha=1e-3)
    assert model.certificate_.kernel_evaluations == 0


@pytest.mark.parametrize("approximation", ["auto", None, MAPS[5]], ids=repr)
def test_pickles_keep_it(approximation):
    model = fitted(approximation)
    before = pickle.loads(pickle.dumps(model))
    found = model.certificate_
    after = pickle.loads(pickle.dumps(model))
    assert after.certificate_ == found
    assert before.certificate_.phases == found.phases
    assert before.certificate_.trials == found.trials


def test_refit_has_a_new_one():
    model = fitted(kernel=Gaussian(0.5), alpha=1e-3)
    old = model.certificate_
    new = model.set_params(alpha=1e-2).fit(X, Y).certificate_
    assert (old.alpha, new.alpha) == (1e-3, 1e-2)
    assert new.effective_dimension < old.effective_dimension


def test_certificate_ignores_parameters_set_after_the_fit():
    model = fitted(20, Gaussian(0.5), alpha=1e-3)
    model.set_params(approximation=None, alpha=1.0)
    assert model.certificate_.approximation == "Nystroem(budget=20)"
    assert model.certificate_.alpha == 1e-3


def test_failed_refit_keeps_the_old_one():
    model = fitted(kernel=Gaussian(0.5), alpha=1e-3)
    old = model.certificate_
    with pytest.raises(ValueError, match="alpha must be"):
        model.set_params(alpha=-1.0).fit(X, Y)
    assert model.certificate_ is old


def test_warm_start_keeps_the_choice():
    params = {"loss": "huber", "warm_start": True}
    model = fitted("auto", **params)
    before, kept = model.certificate_, model.approximation_
    model.fit(X, 2 * Y)
    assert model.approximation_ is kept
    assert model.certificate_.kernel == before.kernel
    assert model.certificate_.trials == before.trials
    assert [phase.name for phase in model.certificate_.phases] == ["solve"]


@pytest.mark.parametrize(
    ("first", "then"),
    [({"loss": "squared"}, {"loss": "huber"}), ({"alpha": 1.0}, {"alpha": "auto"})],
    ids=str,
)
def test_warm_start_chooses_a_penalty_that_was_not_chosen_before(first, then):
    params = {"loss": "huber", "warm_start": True, **first}
    model = fitted(20, Gaussian(1.0), **params)
    model.set_params(**then).fit(X, Y)
    assert model.alpha_ == clone(model).fit(X, Y).alpha_


def test_early_stopping_chooses_by_the_rows_that_it_sees():
    A, y, _ = labelled(100)
    model = KernelClassifier(loss="log", early_stopping=True, random_state=0).fit(A, y)
    assert {trial["rows"] for trial in model.certificate_.trials} == {90}
    assert "coefficients of check" in model.certificate_.solver
