"""Kernels k(x, y): objects that hold parameters, nothing else."""

from skimp.kernels._additive_chi2 import AdditiveChi2
from skimp.kernels._arc_cosine import ArcCosine
from skimp.kernels._base import Kernel
from skimp.kernels._cauchy import Cauchy
from skimp.kernels._chi2 import Chi2
from skimp.kernels._cosine import Cosine
from skimp.kernels._function import FunctionKernel
from skimp.kernels._gaussian import Gaussian
from skimp.kernels._laplacian import Laplacian
from skimp.kernels._linear import Linear
from skimp.kernels._matern import Matern
from skimp.kernels._names import as_kernel
from skimp.kernels._neural_tangent import NeuralTangent
from skimp.kernels._polynomial import Polynomial
from skimp.kernels._precomputed import Precomputed
from skimp.kernels._product import Product
from skimp.kernels._restricted import Restricted
from skimp.kernels._scaled import Scaled
from skimp.kernels._separable import Separable
from skimp.kernels._sum import Sum
from skimp.kernels._tanh import Tanh

__all__ = [
    "AdditiveChi2",
    "ArcCosine",
    "Cauchy",
    "Chi2",
    "Cosine",
    "FunctionKernel",
    "Gaussian",
    "Kernel",
    "Laplacian",
    "Linear",
    "Matern",
    "NeuralTangent",
    "Polynomial",
    "Precomputed",
    "Product",
    "Restricted",
    "Scaled",
    "Separable",
    "Sum",
    "Tanh",
    "as_kernel",
]
