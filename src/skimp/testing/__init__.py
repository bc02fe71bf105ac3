"""The contracts of kernels, feature maps, selectors, losses and solvers, for yours as for ours.

Each function raises an `AssertionError` that says which promise is broken. The data are read-only,
so that a part which writes into its input fails too.
"""

from skimp.testing._feature_map import check_feature_map
from skimp.testing._kernel import check_kernel
from skimp.testing._loss import check_loss
from skimp.testing._selector import check_selector
from skimp.testing._solver import check_solver

__all__ = ["check_feature_map", "check_kernel", "check_loss", "check_selector", "check_solver"]
