import numpy as np
from scipy import sparse

from skimp.kernels import Cosine


def test_directions_do_not_depend_on_lengths_of_any_size():
    X = np.array([[3.0, 4.0], [4.0, -3.0], [1.0, 0.0]])
    sizes = np.array([[1e200], [1e-200], [1e300]])
    expected = Cosine()(X)
    for given in (sizes * X, sparse.csr_matrix(sizes * X)):
        np.testing.assert_allclose(Cosine()(given), expected, atol=1e-15)
