"""The scikit-learn estimators, and the function that fits them."""

from skimp.estimators._amm_classifier import AMMClassifier
from skimp.estimators._budgeted_sgd import BudgetedSGDClassifier, BudgetedSGDRegressor
from skimp.estimators._certificate import Certificate
from skimp.estimators._coverage import CoverageCurve
from skimp.estimators._doubly_classifier import DoublyStochasticClassifier
from skimp.estimators._doubly_regressor import DoublyStochasticRegressor
from skimp.estimators._file_predictor import FilePredictor
from skimp.estimators._fit_machine import fit_machine
from skimp.estimators._fitted import Fitted
from skimp.estimators._joint_map import JointMap
from skimp.estimators._kernel_cache import CacheUse
from skimp.estimators._kernel_classifier import KernelClassifier
from skimp.estimators._kernel_factorization import KernelFactorization
from skimp.estimators._kernel_kmedoids import KernelKMedoids
from skimp.estimators._kernel_machine import KernelMachine
from skimp.estimators._kernel_regressor import KernelRegressor
from skimp.estimators._locally_linear import LocallyLinearClassifier
from skimp.estimators._multiclass_map import MulticlassMap
from skimp.estimators._reject import RejectClassifier
from skimp.estimators._structured_svm import StructuredSVM
from skimp.estimators._targets import mean_target

__all__ = [
    "AMMClassifier",
    "BudgetedSGDClassifier",
    "BudgetedSGDRegressor",
    "CacheUse",
    "Certificate",
    "CoverageCurve",
    "DoublyStochasticClassifier",
    "DoublyStochasticRegressor",
    "FilePredictor",
    "Fitted",
    "JointMap",
    "KernelClassifier",
    "KernelFactorization",
    "KernelKMedoids",
    "KernelMachine",
    "KernelRegressor",
    "LocallyLinearClassifier",
    "MulticlassMap",
    "RejectClassifier",
    "StructuredSVM",
    "fit_machine",
    "mean_target",
]
