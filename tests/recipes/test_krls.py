import numpy as np
import pytest

from skimp import KRLS, recipes
from skimp.kernels import Gaussian
from tests.problems import regression


def test_width_is_the_number_of_standardized_columns():
    X, y, _ = regression(80)
    model = recipes.krls(alpha=1e-3).fit(X, y)
    assert isinstance(model, KRLS)
    assert np.isclose(model.kernel_.gamma, 1 / 3)


def test_overrides_win():
    model = recipes.krls(kernel=Gaussian(0.1), reduction="kmeans", lams=recipes.POWERS)
    assert model.kernel == Gaussian(0.1)
    assert model.lams == recipes.POWERS
    assert recipes.POWERS[0] == 2**-5
    assert recipes.POWERS[-1] == 2**5
    assert len(recipes.POWERS) == 11


def test_the_only_task_is_regression():
    with pytest.raises(ValueError, match="task must be 'regression'"):
        recipes.krls("classification")
