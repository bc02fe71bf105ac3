"""Feature maps x -> z(x) with <z(x), z(y)> close to k(x, y)."""

from skimp.features._base import FeatureMap
from skimp.features._binning import RandomBinning
from skimp.features._fourier import RandomFourier
from skimp.features._landmarks import Landmarks
from skimp.features._layer import RandomLayer
from skimp.features._nystroem import Nystroem
from skimp.features._transformer import Transformer

__all__ = [
    "FeatureMap",
    "Landmarks",
    "Nystroem",
    "RandomBinning",
    "RandomFourier",
    "RandomLayer",
    "Transformer",
]
