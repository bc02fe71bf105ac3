"""Estimators: the scikit-learn classes, each fit a recipe of the other folders' parts."""

from skimp.estimators._kernel_classifier import KernelClassifier
from skimp.estimators._kernel_regressor import KernelRegressor

__all__ = ["KernelClassifier", "KernelRegressor"]
