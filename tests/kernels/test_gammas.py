import re

import numpy as np
import pytest

from skimp.data import open_rows
from skimp.kernels import (
    AdditiveChi2,
    Cauchy,
    Chi2,
    Gaussian,
    Laplacian,
    Linear,
    Matern,
    Polynomial,
    Separable,
)
from tests.reference.naive import slow_decay

KERNELS = [
    Gaussian,
    Laplacian,
    Cauchy,
    Chi2,
    lambda gamma: Matern(0.5, gamma),
    lambda gamma: Polynomial(2, gamma),
    lambda gamma: Separable(slow_decay, gamma),
]


@pytest.mark.parametrize("make", KERNELS)
def test_a_number_is_the_same_number_for_each_column(make):
    X = np.random.default_rng(0).random((8, 3))
    assert make(0.5).gammas(3).tolist() == [0.5] * 3
    assert make([0.5, 1.0, 0.0]).gammas(3).tolist() == [0.5, 1.0, 0.0]
    np.testing.assert_allclose(make(0.5)(X), make([0.5] * 3)(X), rtol=1e-12)
    np.testing.assert_allclose(make(0.5)(X), make(np.full(3, 0.5))(X), rtol=1e-12)


@pytest.mark.parametrize("make", KERNELS)
def test_a_width_of_zero_leaves_a_column_out(make):
    X = np.random.default_rng(0).random((8, 3))
    other = X.copy()
    other[:, 1] = 7
    kernel = make([0.5, 0.0, 1.0])
    assert np.array_equal(kernel(X), kernel(other))
    np.testing.assert_allclose(kernel(X), make([0.5, 1.0])(X[:, [0, 2]]), rtol=1e-12)


@pytest.mark.parametrize("make", KERNELS)
def test_as_many_widths_as_columns_are_needed(make):
    X, kernel = np.random.default_rng(0).random((8, 3)), make([0.5, 1.0])
    message = "gamma must be a number, or one for each of the 3 columns of X, got [0.5, 1.0]."
    for refused in (
        lambda: kernel(X),
        lambda: kernel.diag(X),
        lambda: kernel.gammas(3),
        lambda: kernel.resolve(open_rows(X), 0),
    ):
        with pytest.raises(ValueError, match=re.escape(message)):
            refused()


@pytest.mark.parametrize("kernel", [Linear(), AdditiveChi2()])
def test_kernels_without_widths_weigh_columns_by_one(kernel):
    X = np.random.default_rng(0).random((8, 3))
    assert kernel.gammas(3).tolist() == [1.0] * 3
    assert kernel.resolve(open_rows(X), 0) == kernel
    kernel.check_resolved()
