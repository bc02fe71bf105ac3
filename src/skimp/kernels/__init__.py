"""Kernels k(x, y): objects that hold parameters, nothing else."""

from skimp.kernels._base import Kernel, as_kernel
from skimp.kernels._chi2 import Chi2
from skimp.kernels._gaussian import Gaussian
from skimp.kernels._laplacian import Laplacian
from skimp.kernels._linear import Linear
from skimp.kernels._polynomial import Polynomial

__all__ = [
    "Chi2",
    "Gaussian",
    "Kernel",
    "Laplacian",
    "Linear",
    "Polynomial",
    "as_kernel",
]
