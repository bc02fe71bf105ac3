"""What fits were predicted to cost on an ordinary machine when their work was counted first.

A constant of a map, a selector, a kernel or a solver that changes shows here: change the numbers
along with it on purpose, or not at all.
"""

import numpy as np

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
)
from skimp.kernels import Laplacian

SINGLE = np.dtype(np.float32)
CASES = {
    "uniform": (Nystroem(budget=500, selector="uniform"), "squared", "auto", {}),
    "ill conditioned": (
        Nystroem(budget=500, selector="uniform"),
        "squared",
        "auto",
        {"conditioned": False},
    ),
    "rank": (Nystroem(budget=500, rank=100), "squared", "auto", {}),
    "laplacian": (Nystroem(Laplacian(1.0), budget=500, selector="uniform"), "squared", "auto", {}),
    "auto classes": (
        Nystroem(budget=500),
        "squared_hinge",
        "auto",
        {"classes": True, "n_outputs": 10},
    ),
    "auto two classes": (Nystroem(budget=3000), "squared_hinge", "auto", {"classes": True}),
    "rpcholesky": (Nystroem(budget=500, selector="rpcholesky"), "log", "auto", {"dtype": SINGLE}),
    "leverage": (Nystroem(budget=500, selector="leverage"), "squared", "pcg", {}),
    "kmeans": (Nystroem(budget=50, selector="kmeans"), "squared", "auto", {}),
    "balanced": (
        Nystroem(budget=500, selector="balanced"),
        "hinge",
        "auto",
        {"classes": True, "n_outputs": 3},
    ),
    "fourier": (RandomFourier(n_components=500), "squared", "auto", {}),
    "fourier many": (RandomFourier(n_components=4000), "squared", "auto", {"dtype": SINGLE}),
    "fourier hinge": (RandomFourier(n_components=500), "hinge", "auto", {}),
    "fourier log": (RandomFourier(n_components=500), "log", "auto", {"n_outputs": 4}),
    "fourier tight": (RandomFourier(n_components=500), "log", "auto", {"memory": 200_000_000}),
    "fourier hinge tight": (
        RandomFourier(n_components=500),
        "hinge",
        "auto",
        {"memory": 200_000_000},
    ),
    "fourier svr": (RandomFourier(n_components=500), "epsilon_insensitive", "auto", {}),
    "structured": (RandomFourier(n_components=500, sampling="structured"), "squared", "auto", {}),
    "fastfood": (
        RandomFourier(n_components=500, sampling="fastfood", form="phase"),
        "squared",
        "auto",
        {},
    ),
    "sparse": (
        RandomFourier(n_components=500),
        "squared",
        "auto",
        {"n_features": 2000, "density": 0.01},
    ),
    "sparse landmarks": (
        Nystroem(budget=500, selector="uniform"),
        "squared_hinge",
        "newton",
        {"n_features": 2000, "density": 0.01},
    ),
    "layer": (RandomLayer(500), "squared", "auto", {}),
    "binning": (RandomBinning(n_grids=50), "squared", "auto", {}),
    "binning classes": (
        RandomBinning(n_grids=50),
        "softmax",
        "auto",
        {"classes": True, "n_outputs": 3},
    ),
    "binning few bins": (RandomBinning(n_grids=8), "squared", "auto", {"n_bins": 20.0}),
    "polynomial": (PolynomialProjection(n_components=200), "squared", "auto", {}),
    "degree 2": (Degree2Projection(n_components=200), "squared", "auto", {}),
    "maclaurin": (RandomMaclaurin(n_components=200), "squared", "auto", {}),
    "tensor sketch": (TensorSketch(n_components=256), "squared", "auto", {}),
    "explicit": (ExplicitPolynomial(), "squared", "auto", {}),
    "orthogonal": (OrthogonalProjection(n_components=10), "squared", "auto", {}),
    "projection": (KernelProjection(n_components=100, budget=500), "squared", "auto", {}),
    "exact": (None, "squared", "auto", {"n_rows": 3000}),
}
"""A map, a loss, a solver, and what differs from 100,000 rows of 20 columns."""

COSTS = {
    "uniform": [
        ("read", 0.00845937, 0),
        ("select", 0.0002, 1760000),
        ("factor", 0.00342619, 4570000),
        ("solve", 0.603968, 45251840),
    ],
    "ill conditioned": [
        ("read", 0.00845937, 0),
        ("select", 0.0002, 1760000),
        ("factor", 0.0450929, 10320000),
        ("solve", 1.31825, 57539840),
    ],
    "rank": [
        ("read", 0.00845937, 0),
        ("select", 0.0002, 1760000),
        ("factor", 0.0450929, 10320000),
        ("solve", 0.389537, 25565440),
    ],
    "laplacian": [
        ("read", 0.00845937, 0),
        ("select", 0.0002, 1760000),
        ("factor", 0.00778333, 4570000),
        ("solve", 1.4754, 45251840),
    ],
    "auto classes": [
        ("read", 0.00845937, 0),
        ("select", 0.301549, 6896000),
        ("factor", 0.00342619, 4570000),
        ("solve", 5.69713, 616656000),
    ],
    "auto two classes": [
        ("read", 0.00845937, 0),
        ("select", 0.992237, 33952000),
        ("factor", 0.498343, 154920000),
        ("solve", 16.2706, 3513920000),
    ],
    "rpcholesky": [
        ("read", 0.00765938, 0),
        ("select", 0.393117, 207566800),
        ("factor", 0.00342619, 4530000),
        ("solve", 1.39994, 234960000),
    ],
    "leverage": [
        ("read", 0.00845937, 0),
        ("select", 2.22033, 15280000),
        ("factor", 0.00342619, 4570000),
        ("solve", 1.24546, 454320000),
    ],
    "kmeans": [
        ("read", 0.00845937, 0),
        ("select", 0.0365886, 11688000),
        ("factor", 1.55119e-05, 74500),
        ("solve", 0.0299503, 3592640),
    ],
    "balanced": [
        ("read", 0.00845937, 0),
        ("select", 0.000399998, 719888),
        ("factor", 0.00342619, 4570000),
        ("solve", 3.08501, 469971840),
    ],
    "fourier": [("read", 0.00845937, 0), ("draw", 4e-05, 160000), ("solve", 0.489682, 42944000)],
    "fourier many": [
        ("read", 0.00765938, 0),
        ("draw", 0.00032, 960000),
        ("solve", 23.9695, 3339024000),
    ],
    "fourier hinge": [
        ("read", 0.00845937, 0),
        ("draw", 4e-05, 160000),
        ("solve", 1.68677, 425472000),
    ],
    "fourier log": [
        ("read", 0.00845937, 0),
        ("draw", 4e-05, 160000),
        ("solve", 2.23594, 539216000),
    ],
    "fourier tight": [
        ("read", 0.00845937, 0),
        ("draw", 4e-05, 160000),
        ("solve", 3.78771, 138096000),
    ],
    "fourier hinge tight": [
        ("read", 0.00845937, 0),
        ("draw", 4e-05, 160000),
        ("solve", 6.95117, 200000000),
    ],
    "fourier svr": [
        ("read", 0.00845937, 0),
        ("draw", 4e-05, 160000),
        ("solve", 15.4483, 425472000),
    ],
    "structured": [
        ("read", 0.00845937, 0),
        ("draw", 8.192e-06, 32768),
        ("solve", 0.552197, 42880384),
    ],
    "fastfood": [
        ("read", 0.00845937, 0),
        ("draw", 1.6384e-05, 65536),
        ("solve", 0.628997, 42896768),
    ],
    "sparse": [("read", 0.00925938, 0), ("draw", 0.004, 16000000), ("solve", 0.958911, 34480000)],
    "sparse landmarks": [
        ("read", 0.00925938, 0),
        ("select", 0.0002, 17600000),
        ("factor", 0.00804524, 36250000),
        ("solve", 3.16878, 486000000),
    ],
    "layer": [("read", 0.00845937, 0), ("draw", 8e-05, 320000), ("solve", 0.503968, 43024000)],
    "binning": [
        ("read", 0.00845937, 0),
        ("draw", 0.126667, 25330360),
        ("solve", 2.42774, 18178240),
    ],
    "binning classes": [
        ("read", 0.00845937, 0),
        ("draw", 0.126667, 25330360),
        ("solve", 4.8485, 46095720),
    ],
    "binning few bins": [
        ("read", 0.00845937, 0),
        ("draw", 0.0202667, 8005184),
        ("solve", 0.0226449, 1134144),
    ],
    "polynomial": [
        ("read", 0.00845937, 0),
        ("draw", 8.32e-05, 332800),
        ("solve", 0.106916, 15872000),
    ],
    "degree 2": [("read", 0.00845937, 0), ("draw", 6.4e-05, 256000), ("solve", 0.101202, 15833600)],
    "maclaurin": [
        ("read", 0.00845937, 0),
        ("draw", 6.4e-05, 256000),
        ("solve", 0.101202, 15833600),
    ],
    "tensor sketch": [
        ("read", 0.00845937, 0),
        ("draw", 6.4e-07, 2560),
        ("solve", 0.257939, 20448512),
    ],
    "explicit": [
        ("read", 0.00845937, 0),
        ("draw", 3.36e-06, 13440),
        ("solve", 0.0852052, 16548000),
    ],
    "orthogonal": [("read", 0.00845937, 0), ("draw", 7.68e-07, 3072), ("solve", 0.011576, 741216)],
    "projection": [
        ("read", 0.00845937, 0),
        ("select", 0.0002, 1760000),
        ("factor", 0.0456071, 11520000),
        ("solve", 0.389537, 26259200),
    ],
    "exact": [
        ("read", 0.00122378, 0),
        ("factor", 0.0411429, 81960000),
        ("solve", 0.477, 154056000),
    ],
}
"""Names, seconds and bytes of the phases."""
