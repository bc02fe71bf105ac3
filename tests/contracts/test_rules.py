"""A parameter out of its range is refused with its name and the value that was found."""

import re

import numpy as np
import pytest
from sklearn.base import clone

from skimp import AMMClassifier, budgets, kernels
from skimp.budgets import DBH, Agglomerative, Balanced, KMeans, RPCholesky, Uniform, Weighted
from skimp.features import (
    Degree2Projection,
    ExplicitPolynomial,
    KernelHash,
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
from skimp.kernels import (
    ArcCosine,
    FunctionKernel,
    Gaussian,
    Linear,
    Matern,
    Polynomial,
    Precomputed,
    Product,
    Scaled,
    Sum,
    Tanh,
)

X = np.random.default_rng(0).random((9, 2))
COUNTS = [0, -1, 2.0, True, "3", None]
FLAGS = [1, None, "yes"]
SEEDS = [-1, "x", 1.5]
NOT_KERNELS = ["rbf", None, 2.0, Gaussian]
WIDTHS = [0, "wide", [0.0, 0.0], [1.0, -1.0], [1.0, 2.0, 3.0]]
POLYNOMIAL = {"degree": [0, 2.0, True], "coef0": [-0.1, True, np.inf, np.nan], "gamma": WIDTHS[:-1]}
DRAWN = {"n_components": COUNTS, "random_state": SEEDS}
OF_KERNEL = {"kernel": ["wavelet", Linear, 3.5]}

BAD = [
    (Nystroem(), {"budget": COUNTS, "rank": COUNTS[:-1], "selector": ["all", None, Uniform]}),
    (Nystroem(), {"random_state": SEEDS, **OF_KERNEL}),
    (RandomFourier(), {"sampling": ["sobol", None], "form": ["sine"], **DRAWN, **OF_KERNEL}),
    (RandomBinning(), {"n_grids": COUNTS, "max_bins": [0, 2**31], "random_state": SEEDS}),
    (RandomBinning(), OF_KERNEL),
    (RandomLayer(), {"activation": ["step", None], "gamma": WIDTHS[:-1], **DRAWN}),
    (ExplicitPolynomial(), {"form": ["powers"], "memory_limit": [0, True, "much"], **POLYNOMIAL}),
    (RandomMaclaurin(), {**POLYNOMIAL, **DRAWN}),
    (TensorSketch(), {**POLYNOMIAL, **DRAWN}),
    (PolynomialProjection(), {**POLYNOMIAL, **DRAWN}),
    (
        PolynomialProjection(),
        {
            "n_vectors": COUNTS[:-1],
            "n_terms": COUNTS,
            "distribution": ["cauchy"],
            "sparsity": [0.9, True],
            "spread": FLAGS,
        },
    ),
    (PolynomialProjection(3, n_terms=4), {"n_vectors": [11]}),
    (Degree2Projection(), {"n_terms": [*COUNTS, 3, 5], "sparsity": [0.99, True, np.inf], **DRAWN}),
    (KernelProjection(), {"method": ["sums"], "budget": COUNTS, "n_terms": COUNTS, **DRAWN}),
    (KernelProjection(), {"selector": ["all"], "kernel": ["wavelet", Tanh()]}),
    (OrthogonalProjection(), {"n_components": COUNTS[:-1], "random_state": SEEDS}),
    (KernelHash(), {"n_bits": COUNTS, "projection": ["lsh", KernelProjection, Nystroem()]}),
    (KernelHash(), {"random_state": SEEDS, "kernel": ["wavelet", 64]}),
    (KernelHash(projection="polynomial"), {"kernel": [Gaussian(1.0)]}),
    (AMMClassifier(), {"method": ["stream", None], "alpha": [0, -1, "auto", np.inf]}),
    (AMMClassifier(), {"max_weights": COUNTS, "max_iter": COUNTS, "average": FLAGS}),
    (AMMClassifier(), {"pruning": [-1, np.nan, None], "approximation": [0, "rbf", Nystroem]}),
    (AMMClassifier(), {"class_weight": ["even", 2.0], "random_state": SEEDS}),
    (ArcCosine(), {"order": [-1, 3, 1.0, True, "1", None]}),
    (Matern(1.5, 1.0), {"nu": [0, -1.5, np.nan, np.inf, True, "1.5", None, [0.5, 1.5]]}),
    (Polynomial(2, 1.0), POLYNOMIAL),
    (Tanh(1.0), {"coef0": [np.nan, np.inf, "0", None, True, [0.0]]}),
    (Scaled(Linear(), 2.0), {"factor": [0, -2.0, np.nan, np.inf, "2", None, [1.0], True]}),
    (Sum(Linear(), Linear()), {"k1": NOT_KERNELS, "k2": NOT_KERNELS}),
    (Product(Linear(), Linear()), {"k1": NOT_KERNELS, "k2": NOT_KERNELS}),
    (FunctionKernel(max), {"function": [3], "derivative": ["d"], "batch": FLAGS}),
    (FunctionKernel(max), {"positive_definite": FLAGS}),
    (Precomputed(np.eye(9)), {"positive_definite": FLAGS}),
    (Uniform(), {"stratify": ["classes", True], "replacement": FLAGS}),
    (KMeans(), {"points": ["medoids", None], "presample": COUNTS}),
    (RPCholesky(), {"tol": [0, -1.0, 1, 1.0, 5.0, np.nan, np.inf, "small", True]}),
    (DBH(), {"members": COUNTS, "hashing": ["lsh", None]}),
    (Agglomerative(), {"linkage": ["nearest", None], "points": ["centers", None]}),
    (Balanced(), {"selector": ["kmedians", None, KMeans, Weighted()]}),
]


def use(part):
    if isinstance(part, kernels.Kernel):
        part(X)
    elif isinstance(part, budgets.Selector):
        part.select(X, 3, Linear(), np.random.default_rng(0), np.arange(9) % 2)
    else:
        part.fit(X)


@pytest.mark.parametrize(("part", "params"), BAD, ids=lambda given: type(given).__name__)
def test_bad_parameters_are_refused(part, params):
    for name, values in params.items():
        for value in values:
            found = f"{type(part).__name__}: {name} .*{re.escape(repr(value))}"
            with pytest.raises(ValueError, match=found):
                use(clone(part).set_params(**{name: value}))


@pytest.mark.parametrize(
    "part", [RandomLayer(), TensorSketch(), Nystroem(Polynomial()), Nystroem(Gaussian())], ids=repr
)
def test_as_many_widths_as_columns_are_needed(part):
    name = "kernel__gamma" if isinstance(part, Nystroem) else "gamma"
    with pytest.raises(ValueError, match=r"gamma .*2 columns.*\[1\.0, 2\.0, 3\.0\]"):
        part.set_params(**{name: [1.0, 2.0, 3.0]}).fit(X)


def test_parameters_of_parts_are_checked():
    for part, found in (
        (Nystroem(Gaussian(0)), "Gaussian: gamma .*0"),
        (RandomFourier(Gaussian(-1)), "Gaussian: gamma .*-1"),
        (Nystroem(selector=KMeans(presample=0)), "KMeans: presample .*0"),
        (Nystroem(selector=Balanced(DBH(members=0))), "DBH: members .*0"),
    ):
        with pytest.raises(ValueError, match=found):
            part.fit(X, np.arange(9) % 2)
