"""Predicted costs: what they are, what they grow with, and whether fits stay within them."""

import tracemalloc
from dataclasses import replace
from importlib import import_module

import numpy as np
import pytest
from sklearn.random_projection import GaussianRandomProjection

from skimp import KernelClassifier, KernelRegressor
from skimp._core._work import Size
from skimp.choice import NOMINAL, Plan, predict_phases
from skimp.features import Nystroem, RandomBinning, RandomFourier, RandomLayer, Transformer
from skimp.kernels import Gaussian, Laplacian
from skimp.losses import as_loss
from skimp.solvers import as_solver
from tests.choice.nominal_costs import CASES, COSTS

SIZE = Size(100_000, 20, threads=2, memory=2**34)
MAPS = {
    "uniform": Nystroem(budget=500, selector="uniform"),
    "auto": Nystroem(budget=500),
    "rpcholesky": Nystroem(budget=500, selector="rpcholesky"),
    "leverage": Nystroem(budget=500, selector="leverage"),
    "kmeans": Nystroem(budget=500, selector="kmeans"),
    "balanced": Nystroem(budget=500, selector="balanced"),
    "rank": Nystroem(budget=500, rank=100),
    "laplacian": Nystroem(Laplacian(), budget=500, selector="uniform"),
    "iid": RandomFourier(n_components=500),
    "phase": RandomFourier(n_components=500, form="phase"),
    "structured": RandomFourier(n_components=500, sampling="structured"),
    "fastfood": RandomFourier(n_components=500, sampling="fastfood", form="phase"),
    "layer": RandomLayer(500),
    "transformer": Transformer(GaussianRandomProjection(n_components=500)),
    "binning": RandomBinning(n_grids=50),
    "exact": None,
}


def phases(feature_map, size=SIZE, loss="squared", solver="auto", **sizes):
    loss, solver = as_loss(loss, owner="test"), as_solver(solver, owner="test")
    size = replace(size, **sizes)
    return predict_phases(feature_map, size, loss=loss, solver=solver, rates=NOMINAL)


def total(found):
    plan = Plan(found)
    return plan.seconds, plan.bytes


def unlike_recorded():
    """Return the configurations whose seconds or bytes differ from recorded ones by over 1 %."""
    found = set()
    for name, (feature_map, loss, solver, sizes) in CASES.items():
        now = phases(feature_map, SIZE, loss, solver, **sizes)
        if [phase.name for phase in now] != [phase[0] for phase in COSTS[name]]:
            found.add(name)
        for phase, (_, seconds, held) in zip(now, COSTS[name], strict=False):
            same = np.isclose([phase.seconds, phase.bytes], [seconds, held], rtol=0.01, atol=0)
            if not same.all():
                found.add(name)
    return found


def test_costs_are_those_that_were_recorded():
    assert unlike_recorded() == set()


@pytest.mark.parametrize("factor", [0.1, 10])
@pytest.mark.parametrize(
    "constant",
    [
        "_core._work._SINGLE_VALUES",
        "_core._work._SPARSE",
        "_core._work._CALLS_A_PASS",
        "_core._work._CALLS_A_STRIP",
        "kernels._base._TERMS",
        "budgets._clusters._CLUSTERING",
        "budgets._clusters._SEEDING",
        "budgets._by_class._ROWS_PER_POINT",
        "features._binning._SORTED",
        "features._frequencies._TRANSFORMED",
        "features._polynomial._FACTORS",
        "features._tensor_sketch._BUTTERFLIES",
        "features._tensor_sketch._SCATTERED",
        "solvers._costs._SKINNY",
        "solvers._costs._STREAMED",
    ],
)
def test_a_constant_that_is_wrong_by_ten_is_noticed(monkeypatch, constant, factor):
    module, _, name = constant.rpartition(".")
    module = import_module(f"skimp.{module}")
    value = getattr(module, name)
    monkeypatch.setattr(module, name, type(value)(factor * value))
    assert unlike_recorded()


@pytest.mark.parametrize("name", MAPS)
def test_phases_are_those_of_the_map(name):
    second = {"exact": ["factor"]}.get(name, ["draw"])
    if isinstance(MAPS[name], Nystroem):
        second = ["select", "factor"]
    assert [phase.name for phase in phases(MAPS[name])] == ["read", *second, "solve"]


@pytest.mark.parametrize("name", MAPS)
@pytest.mark.parametrize("more", [{"n_rows": 300_000}, {"n_features": 60}, {"n_outputs": 5}])
def test_more_of_anything_never_costs_less(name, more):
    loss = "squared" if name == "exact" else "huber"
    few, many = (total(phases(MAPS[name], size, loss)) for size in (SIZE, replace(SIZE, **more)))
    assert few[0] <= many[0]
    assert few[1] <= many[1]


@pytest.mark.parametrize("name", ["uniform", "iid", "layer"])
@pytest.mark.parametrize("loss", ["squared", "log", "hinge"])
def test_half_the_precision_takes_less(name, loss):
    sizes = SIZE, replace(SIZE, dtype=np.dtype(np.float32))
    double, single = (total(phases(MAPS[name], size, loss)) for size in sizes)
    assert single[0] < double[0]
    assert single[1] < double[1]


@pytest.mark.parametrize(
    ("feature_map", "loss", "solver"),
    [
        (RandomFourier(n_components=500), "squared", "direct"),
        (RandomFourier(n_components=4000), "squared", "pcg"),
        (RandomFourier(n_components=500), "log", "newton"),
        (RandomFourier(n_components=500), "hinge", "dual_cd"),
        (RandomBinning(n_grids=50), "squared_hinge", "dual_cd"),
        (RandomBinning(n_grids=50), "softmax", "newton"),
    ],
)
def test_auto_costs_what_the_solver_costs_that_it_chooses(feature_map, loss, solver):
    assert phases(feature_map, loss=loss) == phases(feature_map, loss=loss, solver=solver)


@pytest.mark.parametrize("loss", ["log", "hinge"])
def test_features_that_do_not_fit_are_computed_again(loss):
    roomy = phases(MAPS["iid"], loss=loss, memory=10**10)
    tight = phases(MAPS["iid"], loss=loss, memory=2 * 10**8)
    assert total(tight)[1] < total(roomy)[1] / 1.5
    assert total(tight)[0] > 1.5 * total(roomy)[0]


def test_direct_solver_gives_way_where_memory_is_short():
    pcg = phases(MAPS["iid"], solver="pcg", memory=2 * 10**7)
    assert phases(MAPS["iid"], memory=2 * 10**7) == pcg


def test_ill_conditioned_budgets_cost_more():
    good, bad = (phases(MAPS["uniform"], conditioned=c) for c in (True, False))
    assert total(bad)[0] > total(good)[0]
    assert bad[2].bytes > good[2].bytes


def test_budget_of_more_points_than_rows_is_all_rows():
    few = replace(SIZE, n_rows=300)
    assert phases(Nystroem(budget=10**6), few) == phases(Nystroem(budget=300), few)


def test_labels_make_the_default_rule_cluster():
    plain, classes = (phases(MAPS["auto"], classes=known)[1] for known in (False, True))
    assert classes.seconds > plain.seconds
    assert classes.bytes > plain.bytes


def test_bins_of_the_data_count():
    few, many = (phases(MAPS["binning"], n_bins=bins) for bins in (100, 10_000))
    assert total(few)[1] < total(many)[1]


def test_sparse_rows_are_read_faster():
    sparse, dense = (phases(MAPS["iid"], n_features=2000, density=d) for d in (0.01, 1.0))
    assert sparse[0].seconds < dense[0].seconds / 10


def test_exact_model_has_the_squared_loss():
    with pytest.raises(ValueError, match="feature_map must be a feature map for this loss"):
        phases(None, loss="hinge")


def traced_bytes(model, X, y):
    """The most memory that a fit holds besides the data, by NumPy's own count."""
    model.fit(X[:500], y[:500])
    tracemalloc.start()
    model.fit(X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


@pytest.mark.parametrize(
    ("feature_map", "loss", "dtype"),
    [
        (None, "squared", float),
        (Nystroem(budget=300, selector="uniform"), "squared", float),
        (Nystroem(budget=300, selector="rpcholesky"), "squared", np.float32),
        (Nystroem(budget=200, selector="uniform"), "log", float),
        (Nystroem(budget=200, selector="uniform"), "hinge", np.float32),
        (RandomFourier(n_components=400), "squared", float),
        (RandomFourier(n_components=200), "log", np.float32),
        (RandomFourier(n_components=300, sampling="structured"), "hinge", np.float32),
    ],
)
def test_bytes_are_those_that_a_fit_holds(feature_map, loss, dtype):
    rng = np.random.default_rng(0)
    n_rows = 1000 if feature_map is None else 10_000
    X = rng.normal(size=(n_rows, 6)).astype(dtype)
    y = np.sign(X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=n_rows))
    kind = KernelRegressor if feature_map is None else KernelClassifier
    model = kind(Gaussian(0.5), approximation=feature_map, loss=loss, n_jobs=1, random_state=0)
    size = Size(*X.shape, X.dtype, classes=feature_map is not None, threads=1, memory=2**34)
    planned = total(phases(feature_map, size, loss))[1]
    traced = traced_bytes(model.set_params(alpha=1e-4), X, y)
    assert traced / 1.6 < planned < 1.6 * traced
