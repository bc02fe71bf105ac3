"""One row for each kernel, map, selector, loss and solver: a row adds every contract."""

from functools import partial

import numpy as np
import pytest
from sklearn.kernel_approximation import AdditiveChi2Sampler, RBFSampler

from skimp.budgets import (
    DBH,
    Agglomerative,
    Balanced,
    ColumnSubset,
    Fixed,
    KMeans,
    Leverage,
    RPCholesky,
    Uniform,
    Weighted,
)
from skimp.budgets import (
    Auto as AutoSelector,
)
from skimp.features import (
    AnchorGraph,
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
from skimp.kernels import (
    AdditiveChi2,
    ArcCosine,
    Cauchy,
    Chi2,
    Cosine,
    FunctionKernel,
    Gaussian,
    Laplacian,
    Linear,
    Matern,
    NeuralTangent,
    Polynomial,
    Precomputed,
    Separable,
    Tanh,
)
from skimp.losses import (
    EpsilonInsensitive,
    Hinge,
    Huber,
    Log,
    MulticlassHinge,
    Quantile,
    Softmax,
    Squared,
    SquaredEpsilonInsensitive,
    SquaredHinge,
    epsilon_insensitive,
    hinge,
    huber,
    log,
    multiclass_hinge,
    quantile,
    softmax,
    squared,
    squared_epsilon_insensitive,
    squared_hinge,
)
from skimp.solvers import L1CD, PCG, SARAH, SGD, Auto, DualCD, Newton, Pegasos, direct
from tests.reference import naive


def row(part, **options):
    """Return a part with options of its check, as one case of a parametrized test."""
    return pytest.param(part, options, id=" ".join(repr(part).split()))


def _hoeffding(*, pairs=0, alone=0):
    """Bound the error of all 600^2 kernel values with probability 1 - 1e-9.

    A frequency with cosine and sine adds a term in [-1, 1], one with a random phase in [-2, 2].
    """
    squared_ranges = 4 * pairs + 16 * alone
    return np.sqrt(np.log(2 * 600**2 / 1e-9) * squared_ranges / 2) / (pairs + alone)


def _binning(grids):
    """Bound the same error of 100^2 values of random binning, whose terms are 0 or 1."""
    return np.sqrt(np.log(2 * 100**2 / 1e-9) / (2 * grids))


# frequencies that depend on each other have no such bound; their variance is no larger
_RADIAL = _hoeffding(pairs=1000)
ROWS = np.random.default_rng(0).normal(size=(600, 5))
WIDTHS = [0.3, 0.1, 0.7, 0.0, 0.2]

KERNELS = [
    row(Gaussian(gamma=0.3), naive=partial(naive.gaussian, gamma=0.3)),
    row(Gaussian(gamma=WIDTHS), naive=partial(naive.gaussian, gamma=WIDTHS)),
    row(Gaussian(gamma="scale")),
    row(Gaussian(gamma="median")),
    row(Gaussian(gamma="dim"), naive=partial(naive.gaussian, gamma=0.1)),
    row(Laplacian(gamma=0.3), naive=partial(naive.laplacian, gamma=0.3)),
    row(Laplacian(gamma=WIDTHS), naive=partial(naive.laplacian, gamma=WIDTHS)),
    row(Laplacian()),
    row(Matern(nu=0.5, gamma=0.3), naive=partial(naive.matern, nu=0.5, gamma=0.3)),
    row(Matern(nu=1.5, gamma=WIDTHS), naive=partial(naive.matern, nu=1.5, gamma=WIDTHS)),
    row(Matern(nu=2.5, gamma=0.3), naive=partial(naive.matern, nu=2.5, gamma=0.3)),
    row(Matern(nu=0.8, gamma=0.3), naive=partial(naive.matern, nu=0.8, gamma=0.3)),
    row(Matern(nu=3.7)),
    row(Cauchy(gamma=0.3), naive=partial(naive.cauchy, gamma=0.3)),
    row(Cauchy(gamma=WIDTHS), naive=partial(naive.cauchy, gamma=WIDTHS)),
    row(
        Separable(naive.slow_decay, gamma=0.3),
        naive=partial(naive.separable, profile=naive.slow_decay, gamma=0.3),
    ),
    row(
        Separable(naive.slow_decay, gamma=WIDTHS),
        naive=partial(naive.separable, profile=naive.slow_decay, gamma=WIDTHS),
    ),
    row(Separable(naive.slow_decay)),
    row(Linear(), naive=naive.inner_products),
    row(
        Polynomial(degree=3, gamma=0.5, coef0=2.0),
        naive=partial(naive.polynomial, degree=3, gamma=0.5, coef0=2.0),
    ),
    row(
        Polynomial(degree=1, gamma=WIDTHS),
        naive=partial(naive.polynomial, degree=1, gamma=WIDTHS, coef0=1.0),
    ),
    row(Polynomial(degree=2, coef0=0.0)),
    row(Chi2(gamma=0.7), naive=partial(naive.chi2, gamma=0.7)),
    row(Chi2(gamma=WIDTHS), naive=partial(naive.chi2, gamma=WIDTHS)),
    row(Chi2(gamma="median")),
    row(AdditiveChi2(), naive=naive.additive_chi2),
    row(Tanh(gamma=0.3, coef0=-0.2), naive=partial(naive.tanh, gamma=0.3, coef0=-0.2)),
    row(Tanh()),
    row(Cosine(), naive=naive.cosine),
    row(ArcCosine(order=0), naive=partial(naive.arc_cosine, order=0)),
    row(ArcCosine(order=1), naive=partial(naive.arc_cosine, order=1)),
    row(ArcCosine(order=2), naive=partial(naive.arc_cosine, order=2)),
    row(NeuralTangent(), naive=naive.neural_tangent),
    row(FunctionKernel(naive.one_plus_product, derivative=naive.second_argument)),
    row(FunctionKernel(naive.products_at_once, batch=True), naive=naive.inner_products),
    row(
        Precomputed(naive.gaussian(np.arange(40)[:, None], np.arange(40)[:, None], 0.01)),
        X=np.arange(40)[:, None],
        naive=partial(naive.gaussian, gamma=0.01),
    ),
    row(
        Gaussian(gamma=0.3) + 2.0 * Linear(),
        naive=lambda X, Y: naive.gaussian(X, Y, 0.3) + 2 * naive.inner_products(X, Y),
    ),
    row(
        Gaussian(gamma=0.3) * Laplacian(gamma=0.2).on([1, 2]),
        naive=lambda X, Y: (
            naive.gaussian(X, Y, 0.3) * naive.laplacian(X[:, [1, 2]], Y[:, [1, 2]], 0.2)
        ),
    ),
    row(0.5 * Matern() + 2.0 * Cauchy().on([3, 0])),
    row((Gaussian("median").on([0, 1]) + Chi2().on([2])) * ArcCosine()),
    row((Linear().on([1, 0]) + Tanh()).on([4, 2, 0])),
    row(3.0 * Laplacian(gamma=0.7) + Matern(nu=0.5, gamma=0.4).on([2])),
    row(Laplacian(gamma=0.7).on([0, 3]) * Separable(naive.slow_decay, gamma=0.5).on([1])),
]

MAPS = [
    row(Nystroem(), max_error=1e-8),
    row(Nystroem(Gaussian(gamma=0.05), budget=100, rank=30), max_error=0.1),
    row(Nystroem(Laplacian(), budget=40, selector=Uniform())),
    row(Nystroem(Laplacian()), max_error=1e-8),
    row(Nystroem(Linear(), budget=50), max_error=1e-8),
    row(Nystroem(Polynomial(degree=2), budget=50), max_error=1e-6),
    row(Nystroem(Chi2(gamma=0.1)), max_error=1e-8),
    row(Nystroem(Matern(), budget=600), max_error=1e-8),
    row(Nystroem(Cosine(), budget=50), max_error=1e-8),
    row(Nystroem(0.5 * Linear() + Polynomial(degree=1), budget=50), max_error=1e-8),
    row(Nystroem(Gaussian("median").on([0]) * Cauchy()), max_error=1e-8),
    row(RandomFourier(n_components=2000), max_error=_hoeffding(pairs=1000)),
    row(RandomFourier(n_components=2001), max_error=_hoeffding(pairs=1000, alone=1)),
    row(RandomFourier(n_components=2001, form="phase"), max_error=_hoeffding(alone=2001)),
    row(RandomFourier(Gaussian("dim"), n_components=2000), max_error=_hoeffding(pairs=1000)),
    row(RandomFourier(Laplacian(), n_components=2000), max_error=_hoeffding(pairs=1000)),
    row(RandomFourier(Cauchy(), n_components=2000), max_error=_hoeffding(pairs=1000)),
    row(
        RandomFourier(2.0 * Gaussian() + Matern().on([0]), n_components=2000),
        max_error=3 * _hoeffding(pairs=1000),
    ),
    row(
        RandomFourier(0.5 * (Gaussian("median") * Laplacian().on([0])), n_components=2001),
        max_error=0.5 * _hoeffding(pairs=1000, alone=1),
    ),
    row(
        RandomFourier(3.0 * Cauchy().on([0]), n_components=2001, form="phase"),
        max_error=3 * _hoeffding(alone=2001),
    ),
    row(RandomFourier(n_components=2000, sampling="orthogonal"), max_error=_RADIAL),
    row(RandomFourier(Matern(), n_components=2001, sampling="structured"), max_error=_RADIAL),
    row(RandomFourier(2.0 * Cauchy(), n_components=2000, sampling="fastfood")),
    row(RandomFourier(Laplacian(), n_components=2000, sampling="qmc"), max_error=_RADIAL),
    row(RandomFourier(n_components=301, sampling="structured", form="phase")),
    row(RandomBinning(n_grids=300), max_error=_binning(300), X=ROWS[:100]),
    row(
        RandomBinning(2.0 * Laplacian("median"), n_grids=300),
        max_error=2 * _binning(300),
        X=ROWS[:100],
    ),
    row(
        RandomBinning(Laplacian().on([0]) + 0.5 * Separable(naive.slow_decay), n_grids=300),
        max_error=1.5 * _binning(300),
        X=ROWS[:100],
    ),
    row(
        RandomBinning(Matern(nu=0.5).on([0]), n_grids=300),
        max_error=_binning(300),
        X=ROWS[:100],
    ),
    row(RandomBinning(n_grids=50, max_bins=20)),
    *(row(RandomLayer(100, activation=name)) for name in ("sigmoid", "tanh", "relu")),
    row(RandomLayer(100, activation="sine", gamma=0.1)),
    row(RandomLayer(100, activation="rbf", gamma="dim")),
    row(ExplicitPolynomial(3, gamma=WIDTHS, coef0=1.5), max_error=1e-8),
    row(ExplicitPolynomial(), max_error=1e-8),
    row(ExplicitPolynomial(3, gamma="scale", coef0=0.5, form="kronecker"), max_error=1e-8),
    row(Degree2Projection(n_components=200)),
    row(Degree2Projection(n_components=200, n_terms=1, sparsity=1.0)),
    row(PolynomialProjection(1, gamma=WIDTHS, distribution="achlioptas", sparsity=20.0)),
    row(PolynomialProjection(n_components=200)),
    row(PolynomialProjection(3, n_components=200, n_terms=4, gamma="scale", coef0=1.0)),
    row(PolynomialProjection(n_components=200, distribution="achlioptas", spread=False)),
    row(RandomMaclaurin(n_components=200)),
    row(RandomMaclaurin(3, n_components=200, gamma="dim", coef0=2.0)),
    row(TensorSketch(n_components=200)),
    row(TensorSketch(3, n_components=201, gamma="dim", coef0=1.0)),
    row(TensorSketch(1, n_components=200)),
    row(KernelProjection(n_components=200, budget=100)),
    row(KernelProjection(Polynomial(2), method="orthonormal", n_components=200, budget=50)),
    row(KernelProjection(Laplacian(), method="pca", n_components=50)),
    row(OrthogonalProjection(200)),
    row(OrthogonalProjection(7)),
    row(AnchorGraph(50)),
    row(Transformer(RBFSampler(n_components=50))),
    row(Transformer(AdditiveChi2Sampler()), X=np.abs(ROWS)),
]

SELECTORS = [
    row(Fixed(np.eye(5))),
    row(Uniform()),
    row(Uniform(replacement=True)),
    row(Uniform(stratify="class")),
    row(Uniform(stratify="cluster")),
    row(Uniform(stratify="class", replacement=True)),
    row(Weighted()),
    row(Balanced()),
    row(Balanced(DBH())),
    row(Balanced("kmeans")),
    row(ColumnSubset()),
    row(DBH()),
    row(DBH(members=1)),
    row(DBH(hashing="interval")),
    row(DBH(hashing="floor")),
    row(KMeans()),
    row(KMeans(points="rows")),
    row(Agglomerative()),
    row(Agglomerative(linkage="complete")),
    row(Agglomerative(linkage="single", points="centres")),
    row(Agglomerative(linkage="bisecting")),
    row(Leverage()),
    row(RPCholesky()),
    row(RPCholesky(presample=300)),
    row(AutoSelector()),
]

SELECTOR_NAMES = [
    "auto",
    "uniform",
    "weighted",
    "balanced",
    "column_subset",
    "dbh",
    "kmeans",
    "agglomerative",
    "leverage",
    "rpcholesky",
]

COST = [[0, 3, 0.5], [1, 0, 0], [2.5, 0.25, 0]]
"""Costs of three classes: asymmetric, with a zero."""

LOSSES = [
    row(Squared()),
    row(Hinge()),
    row(SquaredHinge()),
    row(Log()),
    row(EpsilonInsensitive()),
    row(EpsilonInsensitive(epsilon=0.5)),
    row(SquaredEpsilonInsensitive()),
    row(SquaredEpsilonInsensitive(epsilon=0.0)),
    row(Huber()),
    row(Huber(delta=0.3)),
    row(Quantile()),
    row(Quantile(quantile=0.9)),
    row(MulticlassHinge()),
    row(MulticlassHinge(cost=COST)),
    row(MulticlassHinge(cost=np.array(COST))),
    row(Softmax()),
]

_PARABOLIC = (squared, squared_hinge, huber, squared_epsilon_insensitive)


def _solver_row(solver, loss, *, tol):
    return pytest.param(solver, {"loss": loss, "tol": tol}, id=f"{solver!r} {loss!r}")


# a duality gap bounds the square of the gradient
SOLVERS = [
    _solver_row(direct, squared, tol=1e-8),
    *(_solver_row(Newton(tol=1e-14), loss, tol=1e-6) for loss in (*_PARABOLIC, log, softmax)),
    _solver_row(PCG(tol=1e-14), squared, tol=1e-6),
    *(_solver_row(DualCD(tol=1e-8), loss, tol=1e-3) for loss in (*_PARABOLIC, log)),
    *(
        _solver_row(DualCD(tol=1e-7, max_iter=3000, penalize_intercept=True), loss, tol=1e-6)
        for loss in (hinge, MulticlassHinge(cost=COST))
    ),
    *(
        _solver_row(DualCD(tol=1e-7, max_iter=3000), loss, tol=1e-6)
        for loss in (hinge, epsilon_insensitive, quantile, multiclass_hinge)
    ),
    # stochastic solvers come within a few per cent of the minimum in a short test
    *(
        _solver_row(solver, loss, tol=5e-2)
        for solver, loss in (
            (Pegasos(tol=2e-4, max_iter=2000), hinge),
            (Pegasos(tol=2e-4, max_iter=2000), softmax),
            (SGD(tol=5e-4, max_iter=2000), log),
            (SGD(tol=5e-4, max_iter=2000), softmax),
        )
    ),
    *(_solver_row(SARAH(tol=1e-14), loss, tol=1e-6) for loss in (squared_hinge, huber)),
    *(_solver_row(SARAH(8, tol=1e-8, max_iter=500), loss, tol=1e-3) for loss in (log, softmax)),
    *(_solver_row(L1CD(0.0, tol=1e-14), loss, tol=1e-6) for loss in (*_PARABOLIC, log)),
    _solver_row(Auto(tol=1e-14), squared, tol=1e-6),
    _solver_row(Auto(tol=1e-7), hinge, tol=1e-6),
    _solver_row(Auto(tol=1e-14), log, tol=1e-6),
]


def parts(rows):
    """Return the parts of the rows alone."""
    return [each.values[0] for each in rows]
