"""Every loss in every estimator: which rows it takes, and what weights mean."""

import re

import numpy as np
import pytest

from skimp import losses
from skimp.budgets import Fixed
from skimp.features import Nystroem
from skimp.kernels import Gaussian
from skimp.losses import Quantile
from tests.models import LABEL_LOSSES, regressor
from tests.problems import difference, regression

KERNEL = Gaussian(0.5)


@pytest.mark.parametrize("loss", LABEL_LOSSES)
def test_losses_of_labels_are_refused_by_the_regressor(loss):
    X, y, _ = regression(20)
    for given in (loss, getattr(losses, loss)):
        found = re.escape(f"got {given!r}")
        with pytest.raises(ValueError, match=f"KernelRegressor: loss .*{found}"):
            regressor(5, loss=given).fit(X, y)


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_a_quantile_has_its_share_of_the_rows_below(share):
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, (400, 1))
    y = np.sin(X[:, 0]) + (1 + X[:, 0] ** 2) * rng.exponential(size=400)
    model = regressor(10, KERNEL, loss=Quantile(share), alpha=1e-5, n_jobs=1)
    model = model.set_params(max_iter=20_000).fit(X, y)
    new = rng.uniform(-2, 2, (4000, 1))
    later = np.sin(new[:, 0]) + (1 + new[:, 0] ** 2) * rng.exponential(size=4000)
    # four standard deviations of a share of 400 rows and of one of 4,000
    bound = 4 * np.sqrt(share * (1 - share) * (1 / 400 + 1 / 4000))
    assert np.mean(later <= model.predict(new)) == pytest.approx(share, abs=bound)


def test_robust_losses_ignore_outliers():
    X, y, _ = regression(100)
    spoilt = y.copy()
    spoilt[::10] += 1000
    errors = {}
    for loss in ("squared", "huber", "epsilon_insensitive", "quantile"):
        model = regressor(20, KERNEL, loss=loss, alpha=1e-3, n_jobs=1).fit(X, spoilt)
        errors[loss] = np.median(np.abs(model.predict(X) - y))
    squared = errors.pop("squared")
    assert max(errors.values()) < squared / 50


@pytest.mark.parametrize("loss", ["epsilon_insensitive", "huber"])
def test_a_weight_is_a_number_of_rows(loss):
    X, y, _ = regression(60)
    y[::3] = 1e6
    counts = np.arange(60) % 3
    options = {"loss": loss, "alpha": 0.03, "tol": 1e-11, "max_iter": 5000}
    model = regressor(Nystroem(selector=Fixed(X[:15])), KERNEL, **options)
    weighted = model.fit(X, y, counts).predict(X)
    repeated = model.fit(np.repeat(X, counts, axis=0), np.repeat(y, counts)).predict(X)
    assert difference(weighted, repeated) <= 2e-5
