import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from skimp import KernelClassifier, KernelRegressor
from skimp.choice import Phase
from skimp.choice._rates import NOMINAL
from skimp.data import open_rows
from skimp.diagnostics import Plan, plan
from skimp.features import Nystroem, RandomBinning, RandomFourier
from skimp.kernels import Gaussian, Laplacian
from skimp.losses import Softmax
from skimp.solvers import Newton

PHASES = Phase("read", 0.5, 0), Phase("select", 1.25, 3_000), Phase("solve", 10.0, 2_500_000)
SHAPE = 50_000, 8
X = np.random.default_rng(0).normal(size=(3000, 4))


def planned(estimator, X=SHAPE, y=None, **options):
    return plan(estimator, X, y, rates=NOMINAL, **options)


def test_seconds_are_a_sum_and_bytes_a_maximum():
    made = Plan(PHASES)
    assert made.seconds == 11.75
    assert made.bytes == 2_500_000


def test_dict_and_frame_hold_the_phases():
    made = Plan(PHASES)
    assert made.to_dict()["phases"][1] == {"name": "select", "seconds": 1.25, "bytes": 3000}
    assert made.to_dict()["bytes"] == made.bytes
    assert made.to_frame().to_dict("records") == made.to_dict()["phases"]


def test_table_is_aligned_and_ends_with_the_total():
    lines = str(Plan(PHASES)).splitlines()
    assert len({len(line) for line in lines}) == 1
    assert lines[2].split() == ["select", "1.25", "3", "KB"]
    assert lines[-1].split() == ["total", "11.75", "2.5", "MB"]


def test_html_has_a_row_for_each_phase_and_escapes_names():
    html = Plan((*PHASES, Phase("<b>", 0.0, 0)))._repr_html_()
    assert html.count("<tr>") == 6
    assert "&lt;b&gt;" in html
    assert "<b>" not in html


def test_no_approximation_is_the_exact_model_of_the_squared_loss():
    names = [phase.name for phase in planned(KernelRegressor(approximation=None)).phases]
    assert names == ["read", "factor", "solve"]
    huber = planned(KernelRegressor(approximation=None, loss="huber"), (500, 8))
    assert huber == planned(KernelRegressor(approximation=500, loss="huber"), (500, 8))


def test_sources_of_the_same_rows_have_the_same_plan():
    model = KernelRegressor(approximation=RandomFourier(n_components=50))
    whole = planned(model, X, X[:, 0])
    assert whole == planned(model, X.shape)
    assert whole == planned(model, pd.DataFrame(X), X[:, 0])
    assert whole == planned(model, open_rows(X, target=X[:, 0]))
    assert whole == planned(model, X.tolist(), X[:, 0].tolist())


def test_sparse_rows_and_single_precision_are_seen():
    model = KernelRegressor(approximation=RandomFourier(n_components=50))
    thin = sparse.random(3000, 40, density=0.01, format="csr", random_state=0)
    assert planned(model, thin).phases[0].seconds < planned(model, thin.shape).phases[0].seconds
    assert planned(model, X.astype(np.float32)).bytes < planned(model, X).bytes


@pytest.mark.parametrize(
    ("model", "y", "n_outputs"),
    [
        (KernelClassifier(approximation=50), None, 1),
        (KernelClassifier(approximation=50), np.arange(3000) % 2, 1),
        (KernelClassifier(approximation=50), np.arange(3000) % 7, 7),
        (KernelClassifier(approximation=50, loss=Softmax()), np.arange(3000) % 2, 2),
        (KernelClassifier(approximation=50, loss="softmax"), None, 2),
        (KernelRegressor(approximation=50, loss="huber"), None, 1),
        (KernelRegressor(approximation=50, loss="huber"), X, 4),
    ],
)
def test_outputs_are_counted(model, y, n_outputs):
    assert planned(model, X, y) == planned(model, X, n_outputs=n_outputs)


def test_kernel_of_the_estimator_is_that_of_the_map():
    laplacian = planned(KernelRegressor("laplacian", approximation=300), (3000, 500))
    assert laplacian.seconds > planned(KernelRegressor(approximation=300), (3000, 500)).seconds


@pytest.mark.parametrize(("gamma", "conditioned"), [(10.0, True), (1e-4, False)])
def test_sample_shows_whether_a_budget_is_well_conditioned(gamma, conditioned):
    selector = Nystroem(budget=200, selector="uniform")
    model = KernelRegressor(Gaussian(gamma), approximation=selector, alpha=1e-3, random_state=0)
    assert (model.fit(X, X[:, 0]).fitted_.basis.penalty is not None) is conditioned
    assert (planned(model, X) == planned(model, X.shape)) is conditioned


def test_conditioning_of_many_points_follows_from_that_of_fewer():
    grid = np.random.default_rng(0).uniform(size=(4000, 1))
    model = KernelRegressor(Laplacian(1.0), approximation=Nystroem(budget=3000, selector="uniform"))
    assert planned(model, grid).seconds > planned(model, grid.shape).seconds


def test_bins_are_counted_in_a_sample():
    coarse, fine = (
        planned(KernelRegressor(Laplacian(gamma), approximation=RandomBinning(n_grids=20)), X)
        for gamma in (0.01, 10.0)
    )
    assert coarse.bytes < fine.bytes / 2


@pytest.mark.parametrize("approximation", [None, Nystroem(), RandomFourier(), RandomBinning()])
def test_a_single_row_has_a_plan(approximation):
    made = planned(KernelRegressor("laplacian", approximation=approximation), X[:1])
    assert 0 < made.seconds < 1
    assert made.bytes > 0


def test_estimator_stays_as_it_is():
    model = KernelClassifier(approximation=Nystroem(budget=20), random_state=0)
    before = repr(model.get_params())
    planned(model, X, np.arange(3000) % 2)
    assert repr(model.get_params()) == before
    assert not hasattr(model, "n_features_in_")
    assert model.approximation.kernel is None


def test_solver_and_limit_of_the_estimator_count():
    newton = KernelClassifier(approximation=RandomFourier(n_components=500), loss="log")
    assert planned(newton) == planned(newton.set_params(solver=Newton()))
    roomy = planned(newton)
    assert planned(newton.set_params(memory_limit="100MB")).seconds > roomy.seconds


@pytest.mark.parametrize("loss", ["log", "hinge"])
def test_iterations_of_the_estimator_count(loss):
    features = RandomFourier(n_components=100)
    usual, fewer, rougher = (
        planned(KernelClassifier(approximation=features, loss=loss, **options)).phases[-1].seconds
        for options in ({}, {"max_iter": 2}, {"tol": 0.1})
    )
    assert fewer < usual
    assert rougher < usual


@pytest.mark.parametrize(
    ("model", "data", "name"),
    [
        (3, SHAPE, "estimator"),
        (KernelRegressor, SHAPE, "estimator"),
        *((KernelRegressor(), X, "X") for X in ((3,), (0, 2), (2.5, 2), "file.csv", None, 3)),
        (KernelRegressor(approximation=0), SHAPE, "approximation"),
        (KernelRegressor(approximation="many"), SHAPE, "approximation"),
        (KernelRegressor(approximation=Nystroem(budget=0)), SHAPE, "budget"),
        (KernelRegressor(approximation=50, memory_limit="much"), SHAPE, "memory_limit"),
        (KernelRegressor(solver="direct", max_iter=3), SHAPE, "max_iter"),
    ],
)
def test_nonsense_is_named(model, data, name):
    with pytest.raises(ValueError, match=f"{name} must be"):
        planned(model, data)


def test_outputs_are_a_whole_number():
    with pytest.raises(ValueError, match=r"n_outputs must be .*got 0"):
        planned(KernelRegressor(approximation=50), n_outputs=0)


def test_bins_of_many_rows_are_more_than_those_of_a_sample():
    many = np.random.default_rng(0).normal(size=(40_000, 4))
    model = KernelRegressor(Laplacian(10.0), approximation=RandomBinning(n_grids=4))
    few, more = (planned(model, many[:n]).bytes for n in (20_000, 40_000))
    # nearly every row has bins of its own
    assert more > 1.8 * few
