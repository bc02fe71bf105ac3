import numpy as np
import pytest

from skimp.data import LOCAL, ArrayRows, Codes
from skimp.losses import log, squared
from skimp.solvers import PCG, Newton, Problem
from skimp.solvers._preconditioner import Diagonal


def coded_rows(sizes, n=60, weight=None):
    rng, sizes = np.random.default_rng(0), np.array(sizes)
    codes = rng.integers(0, sizes, (n, 3)).astype(np.uint16)
    coded = Codes(codes, np.cumsum(sizes) - sizes, np.float64(0.5), int(sizes.sum()), first=1)
    Y = np.where(np.eye(3)[rng.integers(0, 3, n)] > 0, 1.0, -1.0)
    return ArrayRows(coded, Y, weight, block_rows=17)


@pytest.mark.parametrize("weight", [None, np.arange(60.0)])
def test_it_is_the_diagonal_of_the_curvature(weight):
    rows = coded_rows([4, 7, 3], weight=weight)
    diagonal = Diagonal(Problem(rows, squared, alpha=0.1), rows, LOCAL)
    diagonal.set_mean_curvature(2.0)
    sparse = next(rows.reblocked(60).blocks()).X.tocsr()
    Z = sparse.toarray()
    w = np.ones(60) if weight is None else weight
    expected = np.append(2.0 * (w @ Z**2) / w.sum() + 0.2, 2.0)
    R = np.random.default_rng(1).normal(size=(15, 3))
    np.testing.assert_allclose(diagonal.solve(R, np.arange(3)), R / expected[:, None], rtol=1e-12)
    assert diagonal.to_rows(R) is diagonal.from_rows(R) is R
    csr = ArrayRows(sparse, np.ones((60, 3)), weight, block_rows=17)
    same = Diagonal(Problem(csr, squared, alpha=0.1), csr, LOCAL)
    same.set_mean_curvature(2.0)
    np.testing.assert_allclose(same.solve(R, np.arange(3)), R / expected[:, None], rtol=1e-12)


@pytest.mark.parametrize("loss", [squared, log], ids=repr)
def test_wide_codes_have_the_minimum_of_their_matrix(loss):
    solver = PCG(tol=1e-14) if loss is squared else Newton(tol=1e-14)
    # more columns than a preconditioner with a matrix would take
    rows = coded_rows([700, 700, 700])
    block = rows.collect()
    given = (block.X, block.X.tocsr(), block.X.tocsr().toarray())
    coded, csr, plain = (
        solver.solve(Problem(ArrayRows(X, block.y), loss, alpha=1e-2)) for X in given
    )
    for wide in (coded, csr):
        assert wide.converged
        np.testing.assert_allclose(wide.history[-1], plain.history[-1], rtol=1e-10)
        np.testing.assert_allclose(wide.coef, plain.coef, atol=1e-5)
    assert not coded.coef[[0, 700, 1400]].any()
