"""One row for each recipe and task: a row adds every contract test."""

from dataclasses import dataclass, field
from functools import partial

import pytest

from skimp import recipes

BOTH = ("classification", "regression")


@dataclass(frozen=True)
class Row:
    """A recipe with a task, sizes that make it quick, and parameters that it lacks."""

    name: str
    task: str
    small: dict = field(default_factory=dict)
    lacks: tuple = ()

    def build(self, **overrides):
        return getattr(recipes, self.name)(self.task, **self.small | overrides)


def rows(name, *tasks, lacks=(), **small):
    return [pytest.param(Row(name, task, small, lacks), id=f"{name} {task}") for task in tasks]


_unsupervised = partial(rows, lacks=("alpha",), budget=20)

RECIPES = [
    *rows("budgeted_svm", *BOTH, budget=20),
    *rows("ls_svm", *BOTH, budget=20),
    *rows("nystroem_svm", *BOTH, budget=20),
    *rows("llsvm", "classification", budget=20),
    *rows("falkon", *BOTH, budget=20),
    *rows("krls", "regression"),
    *rows("kitchen_sinks", *BOTH, n_components=20),
    *rows("elm", *BOTH, n_components=20, lacks=("kernel",)),
    *rows("binning_svm", *BOTH, n_grids=10),
    *rows("polynomial_projection_svm", *BOTH, n_components=20, lacks=("kernel",)),
    *rows("kmeans_fourier_svm", *BOTH, n_components=20, n_clusters=5),
    *rows("pegasos_svm", *BOTH),
    *rows("sarah_svm", *BOTH),
    *rows("sdca_svm", *BOTH),
    # a penalty that few steps on few rows suffice for
    *rows("asset", "classification", budget=20, alpha=0.01),
    *rows("asset", "classification", budget=20, alpha=0.01, star=True),
    *rows("bsgd", *BOTH, budget=20),
    *rows("doubly_stochastic", *BOTH, n_frequencies=100),
    *rows("amm", "classification", lacks=("kernel",)),
    *rows("classification_with_reject", "classification", n_components=20),
    *_unsupervised("kernel_pca", "embedding"),
    *_unsupervised("kernel_kmeans", "clustering", n_clusters=3),
    *_unsupervised("kernel_kmedoids", "clustering", n_clusters=3),
    *rows("ssokmf", "classification", lacks=("alpha",), n_components=10),
    *_unsupervised("spectral_clustering", "clustering", n_clusters=3),
    *_unsupervised("one_class", "novelty"),
]
