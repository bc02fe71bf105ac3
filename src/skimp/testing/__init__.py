"""Checks for user-defined kernels, feature maps, selectors, losses and solvers.

Each function raises an `AssertionError` that names the failed check. Test data are read-only, so
that an object that writes to its input fails too. The library runs the same checks on its own
classes.
"""

from skimp.testing._feature_map import check_feature_map
from skimp.testing._kernel import check_kernel
from skimp.testing._loss import check_loss
from skimp.testing._selector import check_selector
from skimp.testing._solver import check_solver

__all__ = ["check_feature_map", "check_kernel", "check_loss", "check_selector", "check_solver"]
