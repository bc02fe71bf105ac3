"""Kernel machines for large data sets, compatible with scikit-learn.

Subpackages and classes are imported on first use: ``import skimp`` alone loads no dependency.
"""

from importlib import import_module
from typing import Any

_CLASSES = {
    "AMMClassifier": "skimp.estimators",
    "BudgetedSGDClassifier": "skimp.estimators",
    "BudgetedSGDRegressor": "skimp.estimators",
    "DoublyStochasticClassifier": "skimp.estimators",
    "DoublyStochasticRegressor": "skimp.estimators",
    "KRLS": "skimp.effects",
    "KernelClassifier": "skimp.estimators",
    "KernelFactorization": "skimp.estimators",
    "KernelKMedoids": "skimp.estimators",
    "KernelRegressor": "skimp.estimators",
    "LocallyLinearClassifier": "skimp.estimators",
    "RejectClassifier": "skimp.estimators",
    "StructuredSVM": "skimp.estimators",
}
# skimp.nn is not listed: it needs PyTorch
_FOLDERS = (
    "budgets",
    "data",
    "diagnostics",
    "effects",
    "estimators",
    "features",
    "kernels",
    "losses",
    "recipes",
    "report",
    "solvers",
    "testing",
)

__all__ = [*_CLASSES, *_FOLDERS, "__version__"]


def __getattr__(name: str) -> Any:
    if name in _CLASSES:
        return getattr(import_module(_CLASSES[name]), name)
    if name in (*_FOLDERS, "nn"):
        return import_module(f"skimp.{name}")
    if name == "__version__":
        from importlib.metadata import version

        return version("skimp")
    raise AttributeError(f"module 'skimp' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
