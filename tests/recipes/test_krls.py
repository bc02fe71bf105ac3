import numpy as np
import pandas as pd
import pytest

from skimp import KRLS, recipes
from skimp.effects import Points
from skimp.effects._effects import r_squared
from skimp.kernels import Gaussian
from tests.problems import regression
from tests.reference import krls


def answers(n=90):
    """Return rows with a column of two values, which R takes differences of."""
    X, y, _ = regression(n)
    X = np.column_stack([X, np.arange(n) % 3 == 0])
    return X, y + X[:, 3] * X[:, 0]


def test_gives_what_the_vignette_of_r_prints():
    X, y = krls.vignette()
    printed = krls.VIGNETTE
    # sigma is the choice of R's version 1.7: before, and here, it is the number of columns
    model = recipes.krls(kernel=Gaussian(1 / printed["sigma"])).fit(X, y)
    assert np.isclose(model.alpha_ * len(X), printed["lambda"], atol=5e-8)
    assert np.isclose(model.dimension_, printed["dimension"], atol=1e-5)
    summary = model.summary()
    for name in ("effect", "std_error", "t", "p", "ci_low", "ci_high", "q25", "q50", "q75"):
        assert np.allclose(getattr(summary, name), printed[name], rtol=2e-6, atol=0), name
    assert np.isclose(r_squared(model.fitted_)[0], printed["R2"], atol=5e-8)
    assert "R2: 0.8756" in str(summary)
    assert "R's package KRLS" in str(summary)


def test_gives_what_the_formulas_of_r_give():
    X, y = answers()
    model = recipes.krls().fit(X, y)
    expected = krls.as_in_r(X, y)
    assert np.isclose(model.kernel_.gamma, 1 / 4)
    assert np.isclose(model.alpha_ * len(X), expected["lambda"], rtol=1e-8)
    assert np.isclose(r_squared(model.fitted_)[0], expected["R2"], rtol=1e-8)
    summary = model.summary()
    for name in ("effect", "std_error", "t", "p"):
        assert np.allclose(getattr(summary, name), expected[name], rtol=1e-6), name
    assert np.abs(summary.pointwise - expected["pointwise"]).max() < 1e-8
    assert np.array_equal(summary.effect, summary.mean)


@pytest.mark.parametrize("lam", [0.01, 3.0])
def test_penalties_of_a_published_table_can_be_given(lam):
    X, y = answers()
    found = recipes.krls(alpha=lam / len(X)).fit(X, y).summary()
    expected = krls.as_in_r(X, y, lam=lam)
    assert np.allclose(found.t, expected["t"], rtol=1e-6)


def test_corrections_can_be_asked_for():
    X, y = answers()
    model = recipes.krls().fit(X, y)
    corrected = model.summary(corrected=True)
    assert corrected.corrected
    assert not np.allclose(corrected.effect, model.summary().effect)
    assert np.array_equal(corrected.mean, model.summary().mean)


def test_what_r_has_not_works_as_well():
    X, y = answers(150)
    frame = pd.DataFrame(X, columns=list("abcd")).assign(d=np.where(X[:, 3] > 0, "yes", "no"))
    for approximation in (None, "kmeans", "gaussian", "sample"):
        model = recipes.krls(approximation=approximation, random_state=0).fit(frame, y)
        assert model.score(frame, y) > 0.5
        table = model.summary(errors="robust").to_frame()
        assert np.array_equal(table.t, table.effect / table.std_error)
    exact = recipes.krls(alpha=1e-3).fit(frame, y).summary()
    all_points = recipes.krls(alpha=1e-3, approximation=Points("rpcholesky", 150), random_state=0)
    same = all_points.fit(frame, y).summary()
    assert np.allclose(same.std_error, exact.std_error, rtol=1e-3)
    assert np.allclose(same.effect, exact.effect, atol=1e-4)


def test_overrides_win():
    model = recipes.krls(kernel=Gaussian(0.1), approximation="kmeans", lams=recipes.POWERS)
    assert isinstance(model, KRLS)
    assert model.kernel == Gaussian(0.1)
    assert recipes.krls(convention="skimp").convention == "skimp"
    assert model.lams == recipes.POWERS
    assert recipes.POWERS[0] == 2**-5
    assert recipes.POWERS[-1] == 2**5
    assert len(recipes.POWERS) == 11


def test_the_only_task_is_regression():
    with pytest.raises(ValueError, match="task must be 'regression'"):
        recipes.krls("classification")
