import numpy as np
import pytest

from skimp.data import LOCAL, open_rows
from skimp.effects._approximation import as_approximation
from skimp.effects._models import Spec, choose_models
from skimp.kernels import Gaussian
from tests.problems import regression

X, Y, _ = regression(80)
ROWS = open_rows(X, target=Y[:, None] - Y.mean())
KERNELS = [Gaussian(gamma) for gamma in (0.01, 0.3, 30.0)]


def choose(kernels, approximation=None, alpha="loo", **params):
    spec = Spec(as_approximation(approximation, owner="KRLS"), alpha, **params)
    return choose_models(spec, ROWS, kernels, 0, LOCAL)


@pytest.mark.parametrize(
    ("approximation", "criterion"), [(None, "loo"), (20, "gcv"), ("gaussian", "kfold")]
)
def test_the_best_of_several_is_that_of_the_least_error(approximation, criterion):
    found = choose(KERNELS, approximation, criterion)
    alone = [choose([kernel], approximation, criterion) for kernel in KERNELS]
    best = min(alone, key=lambda models: np.min(models.scores))
    assert found.basis.kernel == best.basis.kernel
    assert found.alpha == best.alpha
    assert np.array_equal(found.scores, best.scores)
    a, b = (models.smoother.at(models.alpha).coef for models in (found, best))
    assert np.array_equal(a, b)


def test_given_penalties():
    given = choose(KERNELS[:1], alpha=0.5)
    assert (given.alpha, given.scores) == (0.5, None)
    listed = choose(KERNELS[:1], lams=[8.0, 0.08, 800.0])
    assert listed.alphas.tolist() == [0.001, 0.1, 10.0]
    assert listed.alpha == listed.alphas[np.argmin(listed.scores)]


def test_memory_is_asked_for_first():
    # 80 x 80 numbers take 51 kB, and folds beside them more
    choose(KERNELS[:1], memory_limit=70_000)
    with pytest.raises(MemoryError, match="exact model of 80 rows"):
        choose(KERNELS[:1], alpha="kfold", memory_limit=70_000)
    with pytest.raises(MemoryError, match="approximation by 20 functions"):
        choose(KERNELS[:1], 20, memory_limit=10_000)
