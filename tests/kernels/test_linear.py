import numpy as np
from hypothesis import given, settings

from skimp.kernels import Linear
from tests.reference import naive
from tests.strategies import pairs_of_matrices


@settings(max_examples=40, deadline=None)
@given(pairs_of_matrices())
def test_equals_its_naive_twin(pair):
    X, Y = pair
    K, expected = Linear()(X, Y), naive.inner_products(X, Y)
    terms = naive.inner_products(abs(naive.as_float64(X)), abs(naive.as_float64(Y)))
    assert (np.abs(K - expected) <= 20 * np.finfo(K.dtype).eps * terms + 1e-30).all()


def test_diagonal_is_squared_lengths():
    X = np.array([[3, 4], [0, 1], [200, 200]], np.uint8)
    assert Linear().diag(X).tolist() == [25, 1, 80_000]
