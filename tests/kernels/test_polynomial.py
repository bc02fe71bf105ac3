import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics.pairwise import polynomial_kernel

from skimp.kernels import Polynomial
from tests.reference import naive
from tests.strategies import pairs_of_matrices


@pytest.mark.parametrize("degree", [1, 2, 5])
@pytest.mark.parametrize("coef0", [0.0, 1.5])
def test_equals_that_of_scikit_learn(degree, coef0):
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(40, 5)), rng.normal(size=(30, 5))
    expected = polynomial_kernel(X, Y, degree=degree, gamma=0.3, coef0=coef0)
    np.testing.assert_allclose(Polynomial(degree, 0.3, coef0)(X, Y), expected, rtol=1e-9)


@settings(max_examples=40, deadline=None)
@given(pairs_of_matrices(scales=(1e-3, 1.0, 3.0)), st.integers(1, 4))
def test_equals_its_naive_twin(pair, degree):
    X, Y = pair
    K, expected = Polynomial(degree, 0.2, 0.5)(X, Y), naive.polynomial(X, Y, degree, 0.2, 0.5)
    terms = naive.polynomial(abs(naive.as_float64(X)), abs(naive.as_float64(Y)), degree, 0.2, 0.5)
    assert (np.abs(K - expected) <= 100 * np.finfo(K.dtype).eps * terms).all()


def test_diagonal_in_double_precision():
    X = np.array([[3, 4], [0, 1]], np.uint8)
    assert Polynomial(2, 2.0, 1.0).diag(X).tolist() == [51**2, 3**2]


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"degree": 0}, "Polynomial: degree must be an integer >= 1, got 0."),
        ({"degree": 2.0}, "Polynomial: degree must be an integer >= 1, got 2.0."),
        ({"coef0": -1}, "Polynomial: coef0 must be a number >= 0, got -1."),
        ({"coef0": np.nan}, "Polynomial: coef0 must be a number >= 0, got nan."),
    ],
)
def test_rules(params, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        Polynomial(gamma=1.0).set_params(**params)(np.ones((2, 2)))
