from types import SimpleNamespace

import pytest

from skimp import KernelRegressor
from skimp._params._parametrized import all_or_nothing
from skimp.features import Nystroem
from skimp.kernels import Gaussian, Linear


@pytest.mark.parametrize(
    ("model", "name", "message"),
    [
        (
            KernelRegressor(),
            "kernel__gamma",
            "KernelRegressor: kernel must be an object for its 'gamma' to be set, got 'auto'.",
        ),
        (
            KernelRegressor(approximation=10),
            "approximation__budget",
            "KernelRegressor: approximation must be an object for its 'budget' to be set, got 10.",
        ),
        (
            Nystroem(),
            "kernel__gamma",
            "Nystroem: kernel must be an object for its 'gamma' to be set, got None.",
        ),
    ],
)
def test_a_nested_name_needs_an_object(model, name, message):
    with pytest.raises(ValueError, match=message):
        model.set_params(**{name: 1})


def test_nested_names_reach_inside():
    model = KernelRegressor(Gaussian(1.0), approximation=Nystroem(Gaussian(1.0), budget=3))
    model.set_params(kernel__gamma=2.0, approximation__kernel__gamma=3.0, alpha=0.5)
    assert (model.kernel.gamma, model.approximation.kernel.gamma, model.alpha) == (2.0, 3.0, 0.5)


def test_an_object_and_its_parameter_can_be_set_at_once():
    model = KernelRegressor().set_params(kernel=Gaussian(1.0), kernel__gamma=2.0)
    assert model.kernel.gamma == 2.0


@pytest.mark.parametrize("name", ["kernal", "kernal__gamma"])
def test_a_misspelt_name_is_called_invalid(name):
    with pytest.raises(ValueError, match="Invalid parameter 'kernal' for estimator"):
        KernelRegressor().set_params(**{name: 1})


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_a_fit_that_fails_leaves_the_attributes_as_they_were(error):
    model = SimpleNamespace(alpha=1, coef_=[1.0])

    @all_or_nothing(model)
    def fit():
        model.coef_, model.n_iter_ = [2.0], 3
        del model.alpha
        raise error

    with pytest.raises(error):
        fit()
    assert vars(model) == {"alpha": 1, "coef_": [1.0]}


def test_a_fit_that_succeeds_keeps_its_attributes():
    model = SimpleNamespace(alpha=1)
    with all_or_nothing(model):
        model.coef_ = [2.0]
    assert vars(model) == {"alpha": 1, "coef_": [2.0]}


def test_parts_are_written_as_they_write_themselves():
    assert repr(KernelRegressor()) == "KernelRegressor()"
    assert repr(KernelRegressor(Gaussian(1.0) + Linear(), alpha=0.5)) == (
        "KernelRegressor(alpha=0.5, kernel=Gaussian(gamma=1.0) + Linear())"
    )
    model = KernelRegressor(Gaussian(1.0), approximation=Nystroem(budget=7), n_jobs=2, alpha=1e-3)
    assert repr(model.set_params(fit_intercept=False)) == (
        "KernelRegressor(alpha=0.001,\n"
        "                approximation=Nystroem(budget=7),\n"
        "                fit_intercept=False,\n"
        "                kernel=Gaussian(gamma=1.0),\n"
        "                n_jobs=2)"
    )
