"""Feature maps: x -> z(x) with <z(x), z(y)> close to k(x, y)."""

from skimp.features._anchor_graph import AnchorGraph
from skimp.features._base import Basis, Combination, FeatureMap
from skimp.features._bilinear import BilinearPooling
from skimp.features._binning import RandomBinning
from skimp.features._degree2_projection import Degree2Projection
from skimp.features._explicit import ExplicitPolynomial
from skimp.features._file_transformer import FileTransformer
from skimp.features._fourier import RandomFourier
from skimp.features._kernel_hash import KernelHash
from skimp.features._kernel_projection import KernelProjection
from skimp.features._landmarks import Landmarks, WhitenedLandmarks
from skimp.features._layer import RandomLayer
from skimp.features._local import LocalProducts
from skimp.features._maclaurin import RandomMaclaurin
from skimp.features._nystroem import Nystroem
from skimp.features._orthogonal_projection import OrthogonalProjection
from skimp.features._polynomial_projection import PolynomialProjection
from skimp.features._pool import draw_signs
from skimp.features._pose import pose_problem
from skimp.features._scale import mean_diagonal, mean_length
from skimp.features._second_moments import product_scale, product_weights, sketch_weights
from skimp.features._spectral import SpectralProjection
from skimp.features._tensor_sketch import TensorSketch
from skimp.features._transformer import MAP_NAMES, TRANSFORMER, Transformer, as_map

__all__ = [
    "MAP_NAMES",
    "TRANSFORMER",
    "AnchorGraph",
    "Basis",
    "BilinearPooling",
    "Combination",
    "Degree2Projection",
    "ExplicitPolynomial",
    "FeatureMap",
    "FileTransformer",
    "KernelHash",
    "KernelProjection",
    "Landmarks",
    "LocalProducts",
    "Nystroem",
    "OrthogonalProjection",
    "PolynomialProjection",
    "RandomBinning",
    "RandomFourier",
    "RandomLayer",
    "RandomMaclaurin",
    "SpectralProjection",
    "TensorSketch",
    "Transformer",
    "WhitenedLandmarks",
    "as_map",
    "draw_signs",
    "mean_diagonal",
    "mean_length",
    "pose_problem",
    "product_scale",
    "product_weights",
    "sketch_weights",
]
