import numpy as np
import pytest
from scipy import sparse

from skimp.budgets._base import complete
from skimp.budgets._clusters import complete_centres


def rng(seed=0):
    return np.random.default_rng(seed)


@pytest.mark.parametrize("size", [1, 2, 3])
def test_the_first_rows_are_kept_in_their_order(size):
    assert complete(np.array([7, 2, 5]), size, 10, rng()).tolist() == [7, 2, 5][:size]


@pytest.mark.parametrize("size", [4, 9, 10])
@pytest.mark.parametrize("chosen", [[7, 2, 5], []])
def test_others_follow_none_of_them_twice(chosen, size):
    found = complete(np.array(chosen, np.int64), size, 10, rng())
    assert found[: len(chosen)].tolist() == chosen
    assert len(found) == len(np.unique(found)) == size
    assert found.dtype.kind == "i"
    assert set(found) <= set(range(10))


def test_others_are_drawn_uniformly():
    draws = 3000
    counts = np.zeros(6)
    generator = rng(1)
    for _ in range(draws):
        counts[complete(np.array([1]), 3, 6, generator)[1:]] += 1
    # Hoeffding: five frequencies, each off by more with probability 1e-9 together
    bound = np.sqrt(np.log(2 * 5 / 1e-9) / (2 * draws))
    assert counts[1] == 0
    assert np.abs(np.delete(counts, 1) / draws - 2 / 5).max() <= bound


def test_a_seed_decides_which_others():
    found = [complete(np.array([1]), 20, 100, rng(seed)).tolist() for seed in (0, 0, 1)]
    assert found[0] == found[1] != found[2]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("wrap", [np.asarray, sparse.csr_matrix])
def test_equal_centres_are_replaced_by_different_rows(wrap, dtype):
    X = np.arange(20.0).reshape(10, 2)
    centres = np.array([[50, 1], [-3, 4], [50, 1], [9, 9], [-3, 4]], dtype)
    points = complete_centres(centres, 5, wrap(X), rng())
    assert points.dtype == dtype
    assert points[:3].tolist() == [[50, 1], [-3, 4], [9, 9]]
    rows = points[3:, 0] / 2
    assert len(np.unique(rows)) == 2
    assert np.array_equal(points[3:], X[rows.astype(int)])


def test_centres_that_differ_stay_in_their_order():
    centres = rng().normal(size=(6, 2))
    assert np.array_equal(complete_centres(centres, 6, np.ones((9, 2)), rng()), centres)


def test_equal_rows_still_give_as_many_points():
    points = complete_centres(np.ones((8, 2)), 8, np.ones((9, 2)), rng())
    assert np.array_equal(points, np.ones((8, 2)))
