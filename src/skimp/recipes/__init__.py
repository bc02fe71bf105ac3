"""Methods of the literature under their own names."""

from skimp.recipes._krls import POWERS, krls
from skimp.recipes._landmarks import budgeted_svm, falkon, llsvm, ls_svm, nystroem_svm
from skimp.recipes._online import amm, bsgd, doubly_stochastic
from skimp.recipes._penalties import alpha_from_C
from skimp.recipes._random_features import (
    binning_svm,
    elm,
    kitchen_sinks,
    kmeans_fourier_svm,
    polynomial_projection_svm,
)
from skimp.recipes._reject import classification_with_reject
from skimp.recipes._semi_supervised import ssokmf
from skimp.recipes._stochastic import asset, pegasos_svm, sarah_svm, sdca_svm
from skimp.recipes._unsupervised import (
    kernel_kmeans,
    kernel_kmedoids,
    kernel_pca,
    one_class,
    spectral_clustering,
)

__all__ = [
    "POWERS",
    "alpha_from_C",
    "amm",
    "asset",
    "binning_svm",
    "bsgd",
    "budgeted_svm",
    "classification_with_reject",
    "doubly_stochastic",
    "elm",
    "falkon",
    "kernel_kmeans",
    "kernel_kmedoids",
    "kernel_pca",
    "kitchen_sinks",
    "kmeans_fourier_svm",
    "krls",
    "llsvm",
    "ls_svm",
    "nystroem_svm",
    "one_class",
    "pegasos_svm",
    "polynomial_projection_svm",
    "sarah_svm",
    "sdca_svm",
    "spectral_clustering",
    "ssokmf",
]
