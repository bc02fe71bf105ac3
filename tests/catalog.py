"""One row for each kernel, map, selector, loss, solver and estimator: a row adds every contract."""

from functools import partial

import numpy as np
import pytest
from sklearn.kernel_approximation import AdditiveChi2Sampler, RBFSampler

from skimp import (
    KRLS,
    AMMClassifier,
    BudgetedSGDClassifier,
    BudgetedSGDRegressor,
    DoublyStochasticClassifier,
    DoublyStochasticRegressor,
    KernelClassifier,
    KernelFactorization,
    KernelKMedoids,
    KernelRegressor,
    LocallyLinearClassifier,
    RejectClassifier,
    StructuredSVM,
)
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
from skimp.effects import Sketch
from skimp.features import (
    AnchorGraph,
    BilinearPooling,
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
    SpectralProjection,
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


def _row(part, **options):
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
    _row(Gaussian(gamma=0.3), naive=partial(naive.gaussian, gamma=0.3)),
    _row(Gaussian(gamma=WIDTHS), naive=partial(naive.gaussian, gamma=WIDTHS)),
    _row(Gaussian(gamma="scale")),
    _row(Gaussian(gamma="median")),
    _row(Gaussian(gamma="dim"), naive=partial(naive.gaussian, gamma=0.1)),
    _row(Laplacian(gamma=0.3), naive=partial(naive.laplacian, gamma=0.3)),
    _row(Laplacian(gamma=WIDTHS), naive=partial(naive.laplacian, gamma=WIDTHS)),
    _row(Laplacian()),
    _row(Matern(nu=0.5, gamma=0.3), naive=partial(naive.matern, nu=0.5, gamma=0.3)),
    _row(Matern(nu=1.5, gamma=WIDTHS), naive=partial(naive.matern, nu=1.5, gamma=WIDTHS)),
    _row(Matern(nu=2.5, gamma=0.3), naive=partial(naive.matern, nu=2.5, gamma=0.3)),
    _row(Matern(nu=0.8, gamma=0.3), naive=partial(naive.matern, nu=0.8, gamma=0.3)),
    _row(Matern(nu=3.7)),
    _row(Cauchy(gamma=0.3), naive=partial(naive.cauchy, gamma=0.3)),
    _row(Cauchy(gamma=WIDTHS), naive=partial(naive.cauchy, gamma=WIDTHS)),
    _row(
        Separable(naive.slow_decay, gamma=0.3),
        naive=partial(naive.separable, profile=naive.slow_decay, gamma=0.3),
    ),
    _row(
        Separable(naive.slow_decay, gamma=WIDTHS),
        naive=partial(naive.separable, profile=naive.slow_decay, gamma=WIDTHS),
    ),
    _row(Separable(naive.slow_decay)),
    _row(Linear(), naive=naive.inner_products),
    _row(
        Polynomial(degree=3, gamma=0.5, coef0=2.0),
        naive=partial(naive.polynomial, degree=3, gamma=0.5, coef0=2.0),
    ),
    _row(
        Polynomial(degree=1, gamma=WIDTHS),
        naive=partial(naive.polynomial, degree=1, gamma=WIDTHS, coef0=1.0),
    ),
    _row(Polynomial(degree=2, coef0=0.0)),
    _row(Chi2(gamma=0.7), naive=partial(naive.chi2, gamma=0.7)),
    _row(Chi2(gamma=WIDTHS), naive=partial(naive.chi2, gamma=WIDTHS)),
    _row(Chi2(gamma="median")),
    _row(AdditiveChi2(), naive=naive.additive_chi2),
    _row(Tanh(gamma=0.3, coef0=-0.2), naive=partial(naive.tanh, gamma=0.3, coef0=-0.2)),
    _row(Tanh()),
    _row(Cosine(), naive=naive.cosine),
    _row(ArcCosine(order=0), naive=partial(naive.arc_cosine, order=0)),
    _row(ArcCosine(order=1), naive=partial(naive.arc_cosine, order=1)),
    _row(ArcCosine(order=2), naive=partial(naive.arc_cosine, order=2)),
    _row(NeuralTangent(), naive=naive.neural_tangent),
    _row(FunctionKernel(naive.one_plus_product, derivative=naive.second_argument)),
    _row(FunctionKernel(naive.products_at_once, batch=True), naive=naive.inner_products),
    _row(
        Precomputed(naive.gaussian(np.arange(40)[:, None], np.arange(40)[:, None], 0.01)),
        X=np.arange(40)[:, None],
        naive=partial(naive.gaussian, gamma=0.01),
    ),
    _row(
        Gaussian(gamma=0.3) + 2.0 * Linear(),
        naive=lambda X, Y: naive.gaussian(X, Y, 0.3) + 2 * naive.inner_products(X, Y),
    ),
    _row(
        Gaussian(gamma=0.3) * Laplacian(gamma=0.2).on([1, 2]),
        naive=lambda X, Y: (
            naive.gaussian(X, Y, 0.3) * naive.laplacian(X[:, [1, 2]], Y[:, [1, 2]], 0.2)
        ),
    ),
    _row(0.5 * Matern() + 2.0 * Cauchy().on([3, 0])),
    _row((Gaussian("median").on([0, 1]) + Chi2().on([2])) * ArcCosine()),
    _row((Linear().on([1, 0]) + Tanh()).on([4, 2, 0])),
    _row(3.0 * Laplacian(gamma=0.7) + Matern(nu=0.5, gamma=0.4).on([2])),
    _row(Laplacian(gamma=0.7).on([0, 3]) * Separable(naive.slow_decay, gamma=0.5).on([1])),
]

MAPS = [
    _row(Nystroem(), max_error=1e-8),
    _row(Nystroem(Gaussian(gamma=0.05), budget=100, rank=30), max_error=0.1),
    _row(Nystroem(Laplacian(), budget=40, selector=Uniform())),
    _row(Nystroem(Laplacian()), max_error=1e-8),
    _row(Nystroem(Linear(), budget=50), max_error=1e-8),
    _row(Nystroem(Polynomial(degree=2), budget=50), max_error=1e-6),
    _row(Nystroem(Chi2(gamma=0.1)), max_error=1e-8),
    _row(Nystroem(Matern(), budget=600), max_error=1e-8),
    _row(Nystroem(Cosine(), budget=50), max_error=1e-8),
    _row(Nystroem(0.5 * Linear() + Polynomial(degree=1), budget=50), max_error=1e-8),
    _row(Nystroem(Gaussian("median").on([0]) * Cauchy()), max_error=1e-8),
    _row(RandomFourier(n_components=2000), max_error=_hoeffding(pairs=1000)),
    _row(RandomFourier(n_components=2001), max_error=_hoeffding(pairs=1000, alone=1)),
    _row(RandomFourier(n_components=2001, form="phase"), max_error=_hoeffding(alone=2001)),
    _row(RandomFourier(Gaussian("dim"), n_components=2000), max_error=_hoeffding(pairs=1000)),
    _row(RandomFourier(Laplacian(), n_components=2000), max_error=_hoeffding(pairs=1000)),
    _row(RandomFourier(Cauchy(), n_components=2000), max_error=_hoeffding(pairs=1000)),
    _row(
        RandomFourier(2.0 * Gaussian() + Matern().on([0]), n_components=2000),
        max_error=3 * _hoeffding(pairs=1000),
    ),
    _row(
        RandomFourier(0.5 * (Gaussian("median") * Laplacian().on([0])), n_components=2001),
        max_error=0.5 * _hoeffding(pairs=1000, alone=1),
    ),
    _row(
        RandomFourier(3.0 * Cauchy().on([0]), n_components=2001, form="phase"),
        max_error=3 * _hoeffding(alone=2001),
    ),
    _row(RandomFourier(n_components=2000, sampling="orthogonal"), max_error=_RADIAL),
    _row(RandomFourier(Matern(), n_components=2001, sampling="structured"), max_error=_RADIAL),
    _row(RandomFourier(2.0 * Cauchy(), n_components=2000, sampling="fastfood")),
    _row(RandomFourier(Laplacian(), n_components=2000, sampling="qmc"), max_error=_RADIAL),
    _row(RandomFourier(n_components=301, sampling="structured", form="phase")),
    _row(RandomBinning(n_grids=300), max_error=_binning(300), X=ROWS[:100]),
    _row(
        RandomBinning(2.0 * Laplacian("median"), n_grids=300),
        max_error=2 * _binning(300),
        X=ROWS[:100],
    ),
    _row(
        RandomBinning(Laplacian().on([0]) + 0.5 * Separable(naive.slow_decay), n_grids=300),
        max_error=1.5 * _binning(300),
        X=ROWS[:100],
    ),
    _row(
        RandomBinning(Matern(nu=0.5).on([0]), n_grids=300),
        max_error=_binning(300),
        X=ROWS[:100],
    ),
    _row(RandomBinning(n_grids=50, max_bins=20)),
    *(_row(RandomLayer(100, activation=name)) for name in ("sigmoid", "tanh", "relu")),
    _row(RandomLayer(100, activation="sine", gamma=0.1)),
    _row(RandomLayer(100, activation="rbf", gamma="dim")),
    _row(ExplicitPolynomial(3, gamma=WIDTHS, coef0=1.5), max_error=1e-8),
    _row(ExplicitPolynomial(), max_error=1e-8),
    _row(ExplicitPolynomial(3, gamma="scale", coef0=0.5, form="kronecker"), max_error=1e-8),
    _row(Degree2Projection(n_components=200)),
    _row(Degree2Projection(n_components=200, n_terms=1, sparsity=1.0)),
    _row(PolynomialProjection(1, gamma=WIDTHS, distribution="achlioptas", sparsity=20.0)),
    _row(PolynomialProjection(n_components=200)),
    _row(PolynomialProjection(3, n_components=200, n_terms=4, gamma="scale", coef0=1.0)),
    _row(PolynomialProjection(n_components=200, distribution="achlioptas", spread=False)),
    _row(RandomMaclaurin(n_components=200)),
    _row(RandomMaclaurin(3, n_components=200, gamma="dim", coef0=2.0)),
    _row(TensorSketch(n_components=200)),
    _row(TensorSketch(3, n_components=201, gamma="dim", coef0=1.0)),
    _row(TensorSketch(1, n_components=200)),
    _row(KernelProjection(n_components=200, budget=100)),
    _row(KernelProjection(Polynomial(2), method="orthonormal", n_components=200, budget=50)),
    _row(KernelProjection(Laplacian(), method="pca", n_components=50)),
    _row(OrthogonalProjection(200)),
    _row(OrthogonalProjection(7)),
    _row(AnchorGraph(50)),
    _row(Transformer(RBFSampler(n_components=50))),
    _row(Transformer(AdditiveChi2Sampler()), X=np.abs(ROWS)),
]

SELECTORS = [
    _row(Fixed(np.eye(5))),
    _row(Uniform()),
    _row(Uniform(replacement=True)),
    _row(Uniform(stratify="class")),
    _row(Uniform(stratify="cluster")),
    _row(Uniform(stratify="class", replacement=True)),
    _row(Weighted()),
    _row(Balanced()),
    _row(Balanced(DBH())),
    _row(Balanced("kmeans")),
    _row(ColumnSubset()),
    _row(DBH()),
    _row(DBH(members=1)),
    _row(DBH(hashing="interval")),
    _row(DBH(hashing="floor")),
    _row(KMeans()),
    _row(KMeans(points="rows")),
    _row(Agglomerative()),
    _row(Agglomerative(linkage="complete")),
    _row(Agglomerative(linkage="single", points="centres")),
    _row(Agglomerative(linkage="bisecting")),
    _row(Leverage()),
    _row(RPCholesky()),
    _row(RPCholesky(presample=300)),
    _row(AutoSelector()),
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
    _row(Squared()),
    _row(Hinge()),
    _row(SquaredHinge()),
    _row(Log()),
    _row(EpsilonInsensitive()),
    _row(EpsilonInsensitive(epsilon=0.5)),
    _row(SquaredEpsilonInsensitive()),
    _row(SquaredEpsilonInsensitive(epsilon=0.0)),
    _row(Huber()),
    _row(Huber(delta=0.3)),
    _row(Quantile()),
    _row(Quantile(quantile=0.9)),
    _row(MulticlassHinge()),
    _row(MulticlassHinge(cost=COST)),
    _row(MulticlassHinge(cost=np.array(COST))),
    _row(Softmax()),
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

ESTIMATORS = [
    _row(KernelClassifier()),
    _row(KernelClassifier("rbf", approximation=None, alpha=1e-6)),
    _row(KernelClassifier("rbf", approximation=RandomFourier(n_components=40), alpha=1e-6)),
    _row(
        KernelClassifier(
            "rbf", approximation=RandomFourier(n_components=41, form="phase"), alpha=1e-6
        )
    ),
    _row(KernelClassifier("laplacian", approximation=30, class_weight="balanced", alpha=1e-6)),
    _row(KernelClassifier(Linear(), approximation=100, alpha=1e-6)),
    _row(KernelClassifier("rbf", fit_intercept=False, approximation=100, alpha=1e-6)),
    _row(KernelClassifier(alpha=1e-3)),
    _row(KernelRegressor()),
    _row(KernelRegressor(Gaussian("auto"), approximation=30)),
    _row(KernelRegressor("rbf", approximation=None, alpha=1e-6)),
    _row(KernelRegressor("rbf", approximation=RandomFourier(n_components=41), alpha=1e-6)),
    _row(
        KernelRegressor(
            "rbf", approximation=Nystroem(Gaussian("dim"), budget=30, rank=20), alpha=1e-6
        )
    ),
    _row(KernelRegressor(Polynomial(degree=2), approximation=30, alpha=1e-3)),
    _row(KernelRegressor(Laplacian(), approximation=None, fit_intercept=False, alpha=1e-6)),
    _row(KernelRegressor(Chi2(gamma=0.1), approximation=30, alpha=1e-6)),
    _row(KernelRegressor(Gaussian() + 0.5 * Linear(), approximation=40, alpha=1e-6)),
    _row(KernelClassifier(Matern().on([0]) * Cosine(), approximation=40, alpha=1e-4)),
    _row(KernelRegressor(AdditiveChi2() + Cauchy("median"), approximation=None, alpha=1e-6)),
    _row(
        KernelRegressor(
            2.0 * Matern(nu=0.5), approximation=RandomFourier(n_components=40), alpha=1e-6
        )
    ),
    _row(KernelClassifier("rbf", approximation=30, loss="hinge", alpha=0.1)),
    _row(KernelClassifier("rbf", approximation=30, loss="log", alpha=1e-2, tol=1e-12)),
    _row(KernelClassifier("rbf", approximation=30, loss="softmax", alpha=1e-3, tol=1e-12)),
    # without a penalty, the intercepts of this loss are not unique
    _row(
        KernelClassifier(
            "rbf",
            approximation=30,
            loss="multiclass_hinge",
            alpha=0.03,
            solver=DualCD(penalize_intercept=True),
        )
    ),
    _row(KernelClassifier("rbf", approximation=30, loss="squared", alpha=1e-6)),
    _row(KernelClassifier("rbf", approximation=30, alpha=1e-2, early_stopping=True)),
    _row(KernelClassifier("rbf", approximation=30, alpha=1e-3, tol=1e-12, warm_start=True)),
    _row(KernelClassifier("rbf", approximation=30, loss="log", solver="dual_cd", alpha=0.1)),
    _row(KernelRegressor("rbf", approximation=30, loss="huber", alpha=1e-3, tol=1e-12)),
    _row(KernelRegressor(Linear(), approximation=30, loss="quantile", alpha=1e-3)),
    _row(KernelRegressor("rbf", approximation=30, loss="epsilon_insensitive", alpha=0.1)),
    _row(KernelRegressor("rbf", approximation=30, solver="pcg", alpha=1e-3, tol=1e-12)),
    _row(KernelClassifier("rbf", approximation=30, solver=L1CD(0.9), alpha=1e-3, tol=1e-12)),
    _row(KernelRegressor("rbf", approximation=None, loss="huber", alpha=1e-3, tol=1e-12)),
    _row(KernelClassifier("laplacian", approximation=RandomBinning(n_grids=20), alpha=1e-2)),
    _row(KernelRegressor("laplacian", approximation=RandomBinning(n_grids=20), alpha=1e-2)),
    _row(KernelRegressor("rbf", approximation=RandomLayer(100, activation="relu"), alpha=1e-6)),
    _row(
        KernelRegressor(
            "rbf", approximation=RandomFourier(n_components=200, sampling="structured"), alpha=1e-6
        )
    ),
    _row(
        KernelClassifier(approximation=PolynomialProjection(n_components=40, coef0=1.0), alpha=1e-3)
    ),
    _row(KernelRegressor(approximation=TensorSketch(n_components=80, coef0=1.0), alpha=1e-6)),
    _row(
        KernelClassifier(
            "rbf", approximation=RBFSampler(n_components=40, random_state=0), alpha=1e-6
        )
    ),
    _row(BudgetedSGDClassifier()),
    _row(BudgetedSGDClassifier(budget=None)),
    _row(BudgetedSGDClassifier("laplacian", budget=20, loss="softmax")),
    _row(BudgetedSGDRegressor()),
    _row(BudgetedSGDRegressor(budget=100, maintenance="removal", loss="huber")),
    _row(AMMClassifier()),
    _row(AMMClassifier(30, method="online", class_weight="balanced", random_state=0)),
    _row(AMMClassifier(RandomBinning(n_grids=20), random_state=0)),
    _row(LocallyLinearClassifier()),
    _row(LocallyLinearClassifier(n_neighbors=2, selector="uniform", loss="log", tol=1e-12)),
    _row(LocallyLinearClassifier(loss="softmax", alpha=1e-3, tol=1e-12)),
    _row(LocallyLinearClassifier(loss="hinge", alpha=0.1, class_weight="balanced")),
    _row(KRLS()),
    _row(DoublyStochasticClassifier()),
    _row(DoublyStochasticRegressor()),
    _row(KRLS(alpha=1e-3, approximation=40)),
    _row(KRLS("laplacian", alpha=1e-3, approximation=Sketch("gaussian", 50))),
    _row(KernelFactorization(tol=1e-10, max_iter=1000)),
    _row(KernelFactorization(5, budget=30, selector="balanced", tol=1e-10, max_iter=1000)),
    _row(KernelFactorization(8, approximation=AnchorGraph(20), tol=1e-10, max_iter=1000)),
    _row(KernelFactorization(5, solver="sgd", max_iter=1000, tol=1e-3)),
    _row(StructuredSVM()),
    _row(StructuredSVM(loss="log", class_weight="balanced", alpha=1e-2)),
    _row(StructuredSVM(solver="subgradient", alpha=0.1, max_iter=2000, tol=0.1, random_state=0)),
]


CLUSTERINGS = [
    _row(KernelKMedoids()),
    _row(KernelKMedoids(3, kernel="laplacian", budget=20, objective="squared")),
    _row(KernelKMedoids(3, metric="cityblock", budget=20, method="alternate", selector="kmeans")),
]

HASHINGS = [
    _row(KernelHash(n_bits=100)),
    _row(KernelHash(projection="polynomial")),
    _row(KernelHash("laplacian", projection="dbh")),
    _row(KernelHash(n_bits=64, projection=OrthogonalProjection())),
]

LOGISTIC = KernelClassifier("rbf", approximation=30, loss="log", alpha=1e-5, random_state=0)

OF_ARRAYS = [
    _row(SpectralProjection()),
    _row(BilinearPooling()),
    *(_row(BilinearPooling(30, method=name)) for name in ("tensor_sketch", "maclaurin", "full")),
    _row(RejectClassifier(LOGISTIC, threshold=0.0)),
]
"""Estimators that read arrays, as those of scikit-learn do, and not every source of rows."""


def parts(rows):
    """Return the parts of the rows alone."""
    return [row.values[0] for row in rows]
