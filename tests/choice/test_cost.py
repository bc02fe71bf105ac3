"""Predicted costs: what they are, what they grow with, and whether fits stay within them."""

import re
import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from sklearn.kernel_approximation import RBFSampler

from skimp import KernelClassifier, KernelRegressor
from skimp._core._work import Size
from skimp.budgets import Agglomerative, Balanced, KMeans, RPCholesky
from skimp.choice import NOMINAL, Plan, predict_phases
from skimp.features import (
    Degree2Projection,
    ExplicitPolynomial,
    KernelProjection,
    Nystroem,
    OrthogonalProjection,
    PolynomialProjection,
    RandomBinning,
    RandomFourier,
    RandomLayer,
    RandomMaclaurin,
    TensorSketch,
    Transformer,
)
from skimp.kernels import Gaussian, Laplacian
from skimp.losses import as_loss
from skimp.solvers import as_solver

SINGLE = np.dtype(np.float32)
SIZE = Size(100_000, 20, threads=2, memory=2**34)
CASES = {
    "uniform": (Nystroem(budget=500, selector="uniform"), {}),
    "ill conditioned": (Nystroem(budget=500, selector="uniform"), {"conditioned": False}),
    "rank": (Nystroem(budget=500, rank=100), {}),
    "laplacian": (Nystroem(budget=500, kernel=Laplacian(gamma=1.0), selector="uniform"), {}),
    "auto classes": (
        Nystroem(budget=500),
        {"loss": "squared_hinge", "classes": True, "n_outputs": 10},
    ),
    "auto two classes": (Nystroem(budget=3000), {"loss": "squared_hinge", "classes": True}),
    "rpcholesky": (Nystroem(budget=500, selector="rpcholesky"), {"loss": "log", "dtype": SINGLE}),
    "leverage": (Nystroem(budget=500, selector="leverage"), {"solver": "pcg"}),
    "kmeans": (Nystroem(budget=50, selector="kmeans"), {}),
    "balanced": (
        Nystroem(budget=500, selector="balanced"),
        {"loss": "hinge", "classes": True, "n_outputs": 3},
    ),
    "fourier": (RandomFourier(n_components=500), {}),
    "fourier many": (RandomFourier(n_components=4000), {"dtype": SINGLE}),
    "fourier hinge": (RandomFourier(n_components=500), {"loss": "hinge"}),
    "fourier log": (RandomFourier(n_components=500), {"loss": "log", "n_outputs": 4}),
    "fourier tight": (RandomFourier(n_components=500), {"loss": "log", "memory": 200000000}),
    "fourier hinge tight": (
        RandomFourier(n_components=500),
        {"loss": "hinge", "memory": 200000000},
    ),
    "fourier svr": (RandomFourier(n_components=500), {"loss": "epsilon_insensitive"}),
    "fourier l1": (RandomFourier(n_components=500), {"loss": "log", "solver": "l1_cd"}),
    "landmarks l1": (
        Nystroem(budget=500, selector="uniform"),
        {"loss": "squared_hinge", "solver": "l1_cd", "n_outputs": 3},
    ),
    "fourier pegasos": (RandomFourier(n_components=500), {"loss": "hinge", "solver": "pegasos"}),
    "landmarks sgd": (
        Nystroem(budget=500, selector="uniform"),
        {"loss": "log", "solver": "sgd", "n_outputs": 3, "memory": 200000000},
    ),
    "binning pegasos": (RandomBinning(n_grids=50), {"loss": "hinge", "solver": "pegasos"}),
    "landmarks sarah": (
        Nystroem(budget=500, selector="uniform"),
        {"loss": "log", "solver": "sarah", "n_outputs": 3},
    ),
    "binning sarah": (RandomBinning(n_grids=50), {"loss": "log", "solver": "sarah"}),
    "structured": (RandomFourier(n_components=500, sampling="structured"), {}),
    "fastfood": (RandomFourier(form="phase", n_components=500, sampling="fastfood"), {}),
    "sparse": (RandomFourier(n_components=500), {"n_features": 2000, "density": 0.01}),
    "sparse landmarks": (
        Nystroem(budget=500, selector="uniform"),
        {"loss": "squared_hinge", "solver": "newton", "n_features": 2000, "density": 0.01},
    ),
    "layer": (RandomLayer(n_components=500), {}),
    "binning": (RandomBinning(n_grids=50), {}),
    "binning classes": (
        RandomBinning(n_grids=50),
        {"loss": "softmax", "classes": True, "n_outputs": 3},
    ),
    "binning few bins": (RandomBinning(n_grids=8), {"n_bins": 20.0}),
    "polynomial": (PolynomialProjection(n_components=200), {}),
    "degree 2": (Degree2Projection(n_components=200), {}),
    "maclaurin": (RandomMaclaurin(n_components=200), {}),
    "tensor sketch": (TensorSketch(n_components=256), {}),
    "explicit": (ExplicitPolynomial(), {}),
    "orthogonal": (OrthogonalProjection(n_components=10), {}),
    "projection": (KernelProjection(budget=500, n_components=100), {}),
    "exact": (None, {"n_rows": 3000}),
    "all rows": (Nystroem(budget=5000, selector="kmeans"), {"n_rows": 2000}),
    "single rank": (Nystroem(budget=500, selector="dbh", rank=100), {"dtype": SINGLE}),
    "clusters": (Nystroem(budget=64, selector=KMeans(presample=3000)), {"dtype": SINGLE}),
    "tree": (Nystroem(budget=500, selector=Agglomerative(presample=3000)), {}),
    "balanced clusters": (
        Nystroem(budget=800, selector=Balanced("kmeans")),
        {"classes": True, "n_outputs": 4},
    ),
    "pivots": (Nystroem(Laplacian(1.0), budget=500, selector=RPCholesky(presample=1000)), {}),
    "phase": (RandomFourier(n_components=500, form="phase"), {}),
    "transformer": (Transformer(RBFSampler(n_components=500)), {}),
    "cubic": (PolynomialProjection(3, n_components=200, n_vectors=50, n_terms=2), {}),
    "cubic sketch": (TensorSketch(3, n_components=200), {"dtype": SINGLE}),
    "bad projection": (
        KernelProjection(n_components=100, budget=500),
        {"conditioned": False, "dtype": SINGLE},
    ),
}
"""A map, and what differs from the squared loss, the automatic solver and `SIZE`."""

RECORDED = """
uniform              select 0.0002/0.16  factor 0.003426/4.57  solve 0.604/45.25
ill conditioned      select 0.0002/0.16  factor 0.04509/10.32  solve 1.318/57.54
rank                 select 0.0002/0.16  factor 0.04509/10.32  solve 0.3895/25.57
laplacian            select 0.0002/0.16  factor 0.007783/4.57  solve 1.475/45.25
auto classes         select 0.3015/5.296  factor 0.003426/4.57  solve 5.697/616.7
auto two classes     select 0.9922/32.35  factor 0.4983/154.9  solve 16.27/3514
rpcholesky           select 0.3931/207.6  factor 0.003426/4.53  solve 1.4/235
leverage             select 2.22/15.28  factor 0.003426/4.57  solve 1.245/454.3
kmeans               select 0.03659/10.09  factor 1.551e-05/0.0745  solve 0.02995/3.593
balanced             select 0.0004/0.1866  factor 0.003426/4.57  solve 3.085/470
fourier              draw 4e-05/0.16  solve 0.4897/42.94
fourier many         draw 0.00032/0.96  solve 23.97/3339
fourier hinge        draw 4e-05/0.16  solve 1.687/425.5
fourier log          draw 4e-05/0.16  solve 2.236/539.2
fourier tight        draw 4e-05/0.16  solve 3.957/130.7
fourier hinge tight  draw 4e-05/0.16  solve 6.951/200
fourier svr          draw 4e-05/0.16  solve 15.45/425.5
fourier l1           draw 4e-05/0.16  solve 2.742/465.4
landmarks l1         select 0.0002/0.16  factor 0.003426/4.57  solve 7.153/491.7
fourier pegasos      draw 4e-05/0.16  solve 2.025/424.6
landmarks sgd        select 0.0002/0.16  factor 0.003426/4.57  solve 21.59/200
binning pegasos      draw 0.1267/18.07  solve 3.015/18.29
landmarks sarah      select 0.0002/0.16  factor 0.003426/4.57  solve 1.847/484.5
binning sarah        draw 0.1267/18.07  solve 2.62/120.7
structured           draw 8.192e-06/0.03277  solve 0.5522/42.88
fastfood             draw 1.638e-05/0.06554  solve 0.629/42.9
sparse               draw 0.004/16  solve 0.9589/34.48
sparse landmarks     select 0.0002/16  factor 0.008045/36.25  solve 3.169/486
layer                draw 8e-05/0.32  solve 0.504/43.02
binning              draw 0.1267/18.07  solve 2.428/18.18
binning classes      draw 0.1267/18.07  solve 4.848/48.6
binning few bins     draw 0.02027/6.407  solve 0.02264/1.134
polynomial           draw 8.32e-05/0.3328  solve 0.1069/15.87
degree 2             draw 6.4e-05/0.256  solve 0.1012/15.83
maclaurin            draw 6.4e-05/0.256  solve 0.1012/15.83
tensor sketch        draw 6.4e-07/0.00256  solve 0.2579/20.45
explicit             draw 3.36e-06/0.01344  solve 0.08521/16.55
orthogonal           draw 7.68e-07/0.003072  solve 0.01158/0.7412
projection           select 0.0002/0.16  factor 0.04561/11.52  solve 0.3895/26.26
exact                factor 0.04114/81.96  solve 0.477/154.1
all rows             select 4e-06/0.64  factor 0.1548/69.28  solve 0.5578/259
single rank          select 0.0002/13.68  factor 0.04509/10.28  solve 0.241/24.41
clusters             select 0.01864/1.589  factor 2.637e-05/0.1055  solve 0.01967/3.527
tree                 select 0.02801/4.112  factor 0.003426/4.57  solve 0.604/45.25
balanced clusters    select 0.114/10.34  factor 0.01197/11.39  solve 1.331/83.82
pivots               select 0.02396/10.92  factor 0.007783/4.57  solve 1.475/45.25
phase                draw 8e-05/0.32  solve 0.504/43.02
transformer          draw 8e-05/0.32  solve 0.504/43.02
cubic                draw 1.76e-05/0.0704  solve 0.1132/15.74
cubic sketch         draw 9.6e-07/0.00288  solve 0.1909/8.014
bad projection       select 0.0002/0.08  factor 0.04561/11.48  solve 0.2333/22.74
"""
"""Seconds and MB of phases on an ordinary machine: change them together with a constant."""


def phases(feature_map, size=SIZE, loss="squared", solver="auto", **sizes):
    loss, solver = as_loss(loss, owner="test"), as_solver(solver, owner="test")
    size = replace(size, **sizes)
    return predict_phases(feature_map, size, loss=loss, solver=solver, rates=NOMINAL)


def total(found):
    plan = Plan(found)
    return plan.seconds, plan.bytes


@pytest.mark.parametrize("line", RECORDED.strip().split("\n"), ids=lambda line: line[:20].strip())
def test_costs_are_those_that_were_recorded(line):
    name, *expected = re.split(r"\s{2,}", line)
    feature_map, options = CASES[name]
    read, *found = phases(feature_map, **options)
    assert [phase.name for phase in found] == [text.split()[0] for text in expected]
    for phase, text in zip(found, expected, strict=True):
        seconds, megabytes = map(float, text.split()[1].split("/"))
        assert (phase.seconds, phase.bytes / 1e6) == pytest.approx((seconds, megabytes), rel=0.01)
    assert (read.name, read.bytes) == ("read", 0)


@pytest.mark.parametrize(
    ("sizes", "seconds"),
    [
        ({}, 0.008459),
        ({"dtype": SINGLE}, 0.007659),
        ({"n_features": 2000, "density": 0.01}, 0.009259),
    ],
    ids=str,
)
def test_reading_costs_what_was_recorded(sizes, seconds):
    read = phases(RandomFourier(), **sizes)[0]
    assert read.seconds == pytest.approx(seconds, rel=0.01)


@pytest.mark.parametrize(
    "more", [{"n_rows": 300_000}, {"n_features": 60}, {"n_outputs": 5}], ids=str
)
def test_more_of_anything_never_costs_less(more):
    for feature_map, options in CASES.values():
        if not options.keys() & more.keys() and (feature_map is None or "loss" in options):
            few, many = (
                total(phases(feature_map, size, **options))
                for size in (SIZE, replace(SIZE, **more))
            )
            assert np.all(np.array(few) <= many)


def test_direct_solver_gives_way_where_memory_is_short():
    features, memory = RandomFourier(n_components=500), 2 * 10**7
    assert phases(features, memory=memory) == phases(features, solver="pcg", memory=memory)


def test_budget_of_more_points_than_rows_is_all_rows():
    few = replace(SIZE, n_rows=300)
    assert phases(Nystroem(budget=10**6), few) == phases(Nystroem(budget=300), few)


def test_exact_model_has_the_squared_loss():
    with pytest.raises(ValueError, match="feature_map must be a feature map"):
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
