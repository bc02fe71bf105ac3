"""What all recipes share: the choice of a task, and overrides of parameters by name."""

from collections.abc import Mapping
from math import inf
from typing import Any, TypeVar

from sklearn.base import clone
from sklearn.pipeline import Pipeline

from skimp._params._rules import broken
from skimp.estimators import KernelClassifier, KernelRegressor
from skimp.losses import Loss, SquaredEpsilonInsensitive

T = TypeVar("T")
E = TypeVar("E")

KernelModel = KernelClassifier | KernelRegressor
_SHARED = ("random_state", "with_mean")
"""Names that mean the same in all steps of a pipeline."""


def choose(recipe: str, task: str, **choices: T) -> T:
    """Return the choice for a task."""
    if not isinstance(task, str) or task not in choices:
        raise broken(recipe, "task", " or ".join(map(repr, choices)), task)
    return choices[task]


def svm_loss(recipe: str, task: str, hinge: str = "squared_hinge") -> Loss | str:
    """Return the loss of an SVM: a hinge loss, or squared errors beyond a tube of width zero.

    The tube is in units of y, so that no other width suits all targets. Absolute errors would need
    stronger penalties than low noise asks for.
    """
    losses: dict[str, Loss | str] = {
        "classification": hinge,
        "regression": SquaredEpsilonInsensitive(0.0),
    }
    return choose(recipe, task, **losses)


def kernel_model(recipe: str, task: str, **params: Any) -> KernelModel:
    """Return a classifier or a regressor, by the task."""
    kinds = {"classification": KernelClassifier, "regression": KernelRegressor}
    model: KernelModel = choose(recipe, task, **kinds)(**params)
    return model


def standardized(*steps: tuple[str, Any]) -> Pipeline:
    """Return a pipeline that standardizes the columns before other steps."""
    from sklearn.preprocessing import StandardScaler

    return Pipeline([("scale", StandardScaler()), *steps])


def configure(
    recipe: str, estimator: E, overrides: Mapping[str, Any], without: tuple[str, ...] = ()
) -> E:
    """Set parameters of an estimator or of its parts, and return it.

    A name is first looked up among the parameters of the estimator, then among those of its parts,
    then among those of their parts. It sets the parameter of that name at the first level where
    there is one. ``random_state`` and ``with_mean`` set all of them there; other names that several
    parts have are refused. Nested names, such as ``approximation__budget``, set a single one. Names
    in ``without`` have no effect on the method, and are refused. Objects with parameters are
    cloned, so that another override does not change the object of the user.
    """
    settable: Any = estimator
    left = {name: _own(value) for name, value in overrides.items()}
    while left:
        params = settable.get_params()
        found = {name: _addresses(name, params, without) for name in left}
        # an object that replaces a part comes before the parameters of the part
        name = min(left, key=lambda name: _level(found[name]))
        if not found[name]:
            names = sorted({key.rpartition("__")[2] for key in params} - set(without))
            wording = f"the name of a parameter, one of {', '.join(names)}"
            raise ValueError(f"{recipe}: an override must be {wording}, got {name!r}.")
        if len(found[name]) > 1 and name not in _SHARED:
            several = " or ".join(map(repr, found[name]))
            raise ValueError(f"{recipe}: an override must be {several}, got {name!r}.")
        settable.set_params(**dict.fromkeys(found[name], left.pop(name)))
    return estimator


def _own(value: Any) -> Any:
    """Return a clone of an object with parameters, and any other value itself."""
    return clone(value) if hasattr(value, "get_params") and not isinstance(value, type) else value


def _addresses(name: str, params: Mapping[str, Any], without: tuple[str, ...]) -> list[str]:
    """Return the nested names of the parameters that a name sets."""
    if name in without:
        return []
    if name in params or "__" in name:
        return [name]
    found = [key for key in params if key.endswith(f"__{name}")]
    return [key for key in found if _level([key]) == _level(found)]


def _level(names: list[str]) -> float:
    """Return the least depth of nested names; infinite if there are none."""
    return min((name.count("__") for name in names), default=inf)
