import numpy as np

from skimp._core._random import row_keys
from skimp.data import LOCAL, open_rows
from skimp.effects._models import Spec, make_models
from skimp.kernels import Gaussian
from skimp.solvers.ridge import fold_scores
from tests.problems import regression
from tests.reference import krls, naive


def test_scores_are_errors_of_models_of_the_rest():
    X, y, _ = regression(50)
    K = naive.gaussian(X, X, gamma=0.5)
    lams = np.array([0.05, 5.0])
    rows = open_rows(X, target=y[:, None] - y.mean(), block_rows=7)

    def fit_fold(part):
        models = make_models(Spec(None, "kfold"), part, Gaussian(0.5), 3, LOCAL)
        return models.basis, models.smoother

    found = fold_scores(rows, lams, 3, fit_fold)
    fold = np.empty(50, int)
    fold[np.argsort(row_keys(3, 0, 50))] = np.arange(50) % 5
    missed = np.zeros(2)
    for number in range(5):
        rest = fold != number
        for i, lam in enumerate(lams):
            c, b = krls.fit(K[np.ix_(rest, rest)], y[rest], lam)
            missed[i] += np.sum((y[~rest] - K[np.ix_(~rest, rest)] @ c - b) ** 2)
    assert np.allclose(found, missed / np.sum((y - y.mean()) ** 2), rtol=1e-8)
