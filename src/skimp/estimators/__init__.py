"""The scikit-learn estimators, and the function that fits them."""

from skimp.estimators._certificate import Certificate
from skimp.estimators._fit_machine import fit_machine
from skimp.estimators._fitted import Fitted
from skimp.estimators._kernel_classifier import KernelClassifier
from skimp.estimators._kernel_machine import KernelMachine
from skimp.estimators._kernel_regressor import KernelRegressor
from skimp.estimators._targets import mean_target

__all__ = [
    "Certificate",
    "Fitted",
    "KernelClassifier",
    "KernelMachine",
    "KernelRegressor",
    "fit_machine",
    "mean_target",
]
