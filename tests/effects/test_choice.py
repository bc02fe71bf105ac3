import numpy as np
import pytest

from skimp.data import open_rows
from skimp.effects._approximation import as_approximation
from skimp.effects._choice import Choices
from skimp.kernels import Gaussian
from tests.problems import regression

X, Y, _ = regression(80)
ROWS = open_rows(X, target=Y[:, None] - Y.mean())
KERNELS = [Gaussian(gamma) for gamma in (0.01, 0.3, 30.0)]


def choices(approximation=None, alpha="loo", lams=None, memory_limit=None):
    return Choices(as_approximation(approximation, owner="KRLS"), alpha, lams, True, memory_limit)


@pytest.mark.parametrize("approximation", [None, 20, "gaussian"])
@pytest.mark.parametrize("criterion", ["loo", "gcv", "kfold"])
def test_the_best_of_several_is_that_of_the_least_error(approximation, criterion):
    found = choices(approximation, criterion).best(ROWS, KERNELS, 0)
    alone = [choices(approximation, criterion).best(ROWS, [kernel], 0) for kernel in KERNELS]
    best = min(alone, key=lambda choice: choice.score)
    assert found.kernel == best.kernel
    assert found.alpha == best.alpha
    assert np.array_equal(found.scores, best.scores)
    a, b = (choice.models.smoother.at(choice.alpha).coef for choice in (found, best))
    assert np.array_equal(a, b)


def test_given_penalties():
    given = choices(alpha=0.5).best(ROWS, KERNELS[:1], 0)
    assert (given.alpha, given.scores) == (0.5, None)
    listed = choices(lams=[8.0, 0.08, 800.0]).best(ROWS, KERNELS[:1], 0)
    assert listed.alphas.tolist() == [0.001, 0.1, 10.0]
    assert listed.alpha == listed.alphas[np.argmin(listed.scores)]


def test_memory_is_asked_for_first():
    # 80 x 80 numbers take 51 kB, and folds beside them more
    choices(memory_limit=70_000).best(ROWS, KERNELS[:1], 0)
    with pytest.raises(MemoryError, match="exact model of 80 rows"):
        choices(alpha="kfold", memory_limit=70_000).best(ROWS, KERNELS[:1], 0)
    with pytest.raises(MemoryError, match="approximation by 20 functions"):
        choices(20, memory_limit=10_000).best(ROWS, KERNELS[:1], 0)
