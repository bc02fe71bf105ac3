"""One row for each estimator, as in `tests.catalog`."""

from sklearn.kernel_approximation import RBFSampler

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
from skimp.effects import Sketch
from skimp.features import (
    AnchorGraph,
    BilinearPooling,
    KernelHash,
    Nystroem,
    OrthogonalProjection,
    PolynomialProjection,
    RandomBinning,
    RandomFourier,
    RandomLayer,
    SpectralProjection,
    TensorSketch,
)
from skimp.kernels import (
    AdditiveChi2,
    Cauchy,
    Chi2,
    Cosine,
    Gaussian,
    Laplacian,
    Linear,
    Matern,
    Polynomial,
)
from skimp.solvers import L1CD, DualCD
from tests.catalog import row

ESTIMATORS = [
    row(KernelClassifier()),
    row(KernelClassifier("rbf", approximation=None, alpha=1e-6)),
    row(KernelClassifier("rbf", approximation=RandomFourier(n_components=40), alpha=1e-6)),
    row(
        KernelClassifier(
            "rbf", approximation=RandomFourier(n_components=41, form="phase"), alpha=1e-6
        )
    ),
    row(KernelClassifier("laplacian", approximation=30, class_weight="balanced", alpha=1e-6)),
    row(KernelClassifier(Linear(), approximation=100, alpha=1e-6)),
    row(KernelClassifier("rbf", fit_intercept=False, approximation=100, alpha=1e-6)),
    row(KernelClassifier(alpha=1e-3)),
    row(KernelRegressor()),
    row(KernelRegressor(Gaussian("auto"), approximation=30)),
    row(KernelRegressor("rbf", approximation=None, alpha=1e-6)),
    row(KernelRegressor("rbf", approximation=RandomFourier(n_components=41), alpha=1e-6)),
    row(
        KernelRegressor(
            "rbf", approximation=Nystroem(Gaussian("dim"), budget=30, rank=20), alpha=1e-6
        )
    ),
    row(KernelRegressor(Polynomial(degree=2), approximation=30, alpha=1e-3)),
    row(KernelRegressor(Laplacian(), approximation=None, fit_intercept=False, alpha=1e-6)),
    row(KernelRegressor(Chi2(gamma=0.1), approximation=30, alpha=1e-6)),
    row(KernelRegressor(Gaussian() + 0.5 * Linear(), approximation=40, alpha=1e-6)),
    row(KernelClassifier(Matern().on([0]) * Cosine(), approximation=40, alpha=1e-4)),
    row(KernelRegressor(AdditiveChi2() + Cauchy("median"), approximation=None, alpha=1e-6)),
    row(
        KernelRegressor(
            2.0 * Matern(nu=0.5), approximation=RandomFourier(n_components=40), alpha=1e-6
        )
    ),
    row(KernelClassifier("rbf", approximation=30, loss="hinge", alpha=0.1)),
    row(KernelClassifier("rbf", approximation=30, loss="log", alpha=1e-2, tol=1e-12)),
    row(KernelClassifier("rbf", approximation=30, loss="softmax", alpha=1e-3, tol=1e-12)),
    # without a penalty, the intercepts of this loss are not unique
    row(
        KernelClassifier(
            "rbf",
            approximation=30,
            loss="multiclass_hinge",
            alpha=0.03,
            solver=DualCD(penalize_intercept=True),
        )
    ),
    row(KernelClassifier("rbf", approximation=30, loss="squared", alpha=1e-6)),
    row(KernelClassifier("rbf", approximation=30, alpha=1e-2, early_stopping=True)),
    row(KernelClassifier("rbf", approximation=30, alpha=1e-3, tol=1e-12, warm_start=True)),
    row(KernelClassifier("rbf", approximation=30, loss="log", solver="dual_cd", alpha=0.1)),
    row(KernelRegressor("rbf", approximation=30, loss="huber", alpha=1e-3, tol=1e-12)),
    row(KernelRegressor(Linear(), approximation=30, loss="quantile", alpha=1e-3)),
    row(KernelRegressor("rbf", approximation=30, loss="epsilon_insensitive", alpha=0.1)),
    row(KernelRegressor("rbf", approximation=30, solver="pcg", alpha=1e-3, tol=1e-12)),
    row(KernelClassifier("rbf", approximation=30, solver=L1CD(0.9), alpha=1e-3, tol=1e-12)),
    row(KernelRegressor("rbf", approximation=None, loss="huber", alpha=1e-3, tol=1e-12)),
    row(KernelClassifier("laplacian", approximation=RandomBinning(n_grids=20), alpha=1e-2)),
    row(KernelRegressor("laplacian", approximation=RandomBinning(n_grids=20), alpha=1e-2)),
    row(KernelRegressor("rbf", approximation=RandomLayer(100, activation="relu"), alpha=1e-6)),
    row(
        KernelRegressor(
            "rbf", approximation=RandomFourier(n_components=200, sampling="structured"), alpha=1e-6
        )
    ),
    row(
        KernelClassifier(approximation=PolynomialProjection(n_components=40, coef0=1.0), alpha=1e-3)
    ),
    row(KernelRegressor(approximation=TensorSketch(n_components=80, coef0=1.0), alpha=1e-6)),
    row(
        KernelClassifier(
            "rbf", approximation=RBFSampler(n_components=40, random_state=0), alpha=1e-6
        )
    ),
    row(BudgetedSGDClassifier()),
    row(BudgetedSGDClassifier(budget=None)),
    row(BudgetedSGDClassifier("laplacian", budget=20, loss="softmax")),
    row(BudgetedSGDRegressor()),
    row(BudgetedSGDRegressor(budget=100, maintenance="removal", loss="huber")),
    row(AMMClassifier()),
    row(AMMClassifier(30, method="online", class_weight="balanced", random_state=0)),
    row(AMMClassifier(RandomBinning(n_grids=20), random_state=0)),
    row(LocallyLinearClassifier()),
    row(LocallyLinearClassifier(n_neighbors=2, selector="uniform", loss="log", tol=1e-12)),
    row(LocallyLinearClassifier(loss="softmax", alpha=1e-3, tol=1e-12)),
    row(LocallyLinearClassifier(loss="hinge", alpha=0.1, class_weight="balanced")),
    row(KRLS()),
    row(DoublyStochasticClassifier()),
    row(DoublyStochasticRegressor()),
    row(KRLS(alpha=1e-3, approximation=40)),
    row(KRLS("laplacian", alpha=1e-3, approximation=Sketch("gaussian", 50))),
    row(KernelFactorization(tol=1e-10, max_iter=1000)),
    row(KernelFactorization(5, budget=30, selector="balanced", tol=1e-10, max_iter=1000)),
    row(KernelFactorization(8, approximation=AnchorGraph(20), tol=1e-10, max_iter=1000)),
    row(KernelFactorization(5, solver="sgd", max_iter=1000, tol=1e-3)),
    row(StructuredSVM()),
    row(StructuredSVM(loss="log", class_weight="balanced", alpha=1e-2)),
    row(StructuredSVM(solver="subgradient", alpha=0.1, max_iter=2000, tol=0.1, random_state=0)),
]


CLUSTERINGS = [
    row(KernelKMedoids()),
    row(KernelKMedoids(3, kernel="laplacian", budget=20, objective="squared")),
    row(KernelKMedoids(3, metric="cityblock", budget=20, method="alternate", selector="kmeans")),
]

HASHINGS = [
    row(KernelHash(n_bits=100)),
    row(KernelHash(projection="polynomial")),
    row(KernelHash("laplacian", projection="dbh")),
    row(KernelHash(n_bits=64, projection=OrthogonalProjection())),
]

LOGISTIC = KernelClassifier("rbf", approximation=30, loss="log", alpha=1e-5, random_state=0)

OF_ARRAYS = [
    row(SpectralProjection()),
    row(BilinearPooling()),
    *(row(BilinearPooling(30, method=name)) for name in ("tensor_sketch", "maclaurin", "full")),
    row(RejectClassifier(LOGISTIC, threshold=0.0)),
]
"""Estimators that read arrays, as those of scikit-learn do, and not every source of rows."""
