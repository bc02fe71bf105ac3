"""How large features are."""

import numpy as np
import pytest

from skimp.data import ArrayRows
from skimp.features import Nystroem, RandomLayer
from skimp.features._scale import mean_diagonal
from skimp.kernels import Linear
from tests.problems import regression


def test_scale_of_a_kernel_is_the_weighted_mean_of_its_diagonal():
    X, _, weight = regression(50)
    rows = ArrayRows(X, None, weight)
    fitted = Nystroem(Linear(), budget=5, selector="uniform", random_state=0).fit(X)
    expected = weight @ (X**2).sum(axis=1) / weight.sum()
    assert mean_diagonal(fitted, rows) == pytest.approx(expected)


def test_scale_without_a_kernel_is_that_of_the_features():
    X, _, _ = regression(50)
    layer = RandomLayer(9, random_state=0).fit(X)
    expected = np.mean((layer.transform(X) ** 2).sum(axis=1))
    assert mean_diagonal(layer, ArrayRows(X)) == pytest.approx(expected)


def test_scale_of_nothing_is_one():
    zeros = np.zeros((5, 2))
    fitted = Nystroem(Linear(), budget=2, random_state=0).fit(zeros)
    assert mean_diagonal(fitted, ArrayRows(zeros)) == 1
