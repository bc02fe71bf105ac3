"""Kernels k(x, y), and the building blocks for new ones."""

from skimp._core._draws import Draws
from skimp._core._pairs import (
    ChiSquareDistances,
    HarmonicMeans,
    InnerProducts,
    ManhattanDistances,
)
from skimp._core._squared_distances import SquaredDistances
from skimp._core._types import Array as Array
from skimp._params._rules import Rule, integer, number
from skimp.kernels._angular import Angular
from skimp.kernels._base import Kernel
from skimp.kernels._checks import check_gram, require
from skimp.kernels._columns import Columns
from skimp.kernels._gamma import GAMMA, Gamma, bandwidth_rules, free_bandwidths
from skimp.kernels._pair_kernel import PairKernel
from skimp.kernels._pitches import Pitches, column_pitches
from skimp.kernels._spectrum import Spectrum, normal_spectrum

# isort: split
# the modules below import the names above from this package
from skimp.kernels._additive_chi2 import AdditiveChi2
from skimp.kernels._arc_cosine import ArcCosine
from skimp.kernels._cauchy import Cauchy
from skimp.kernels._chi2 import Chi2
from skimp.kernels._composite import Product, Scaled, Sum
from skimp.kernels._cosine import Cosine
from skimp.kernels._function import FunctionKernel
from skimp.kernels._gaussian import Gaussian
from skimp.kernels._laplacian import Laplacian
from skimp.kernels._linear import Linear
from skimp.kernels._matern import Matern
from skimp.kernels._names import as_kernel, has_flag
from skimp.kernels._neural_tangent import NeuralTangent
from skimp.kernels._polynomial import Polynomial
from skimp.kernels._precomputed import Precomputed
from skimp.kernels._restricted import Restricted
from skimp.kernels._separable import Separable
from skimp.kernels._tanh import Tanh

__all__ = [
    "GAMMA",
    "AdditiveChi2",
    "Angular",
    "ArcCosine",
    "Cauchy",
    "Chi2",
    "ChiSquareDistances",
    "Columns",
    "Cosine",
    "Draws",
    "FunctionKernel",
    "Gamma",
    "Gaussian",
    "HarmonicMeans",
    "InnerProducts",
    "Kernel",
    "Laplacian",
    "Linear",
    "ManhattanDistances",
    "Matern",
    "NeuralTangent",
    "PairKernel",
    "Pitches",
    "Polynomial",
    "Precomputed",
    "Product",
    "Restricted",
    "Rule",
    "Scaled",
    "Separable",
    "Spectrum",
    "SquaredDistances",
    "Sum",
    "Tanh",
    "as_kernel",
    "bandwidth_rules",
    "check_gram",
    "column_pitches",
    "free_bandwidths",
    "has_flag",
    "integer",
    "normal_spectrum",
    "number",
    "require",
]
