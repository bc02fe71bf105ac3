import re

import numpy as np
import pytest

from skimp import losses
from skimp._params._rules import check_params
from skimp.losses import EpsilonInsensitive, Huber, Loss, Quantile, Squared, as_loss

NAMES = [name for name in losses.__all__ if isinstance(getattr(losses, name), Loss)]


@pytest.mark.parametrize("name", NAMES)
def test_names_and_objects(name):
    loss = getattr(losses, name)
    assert as_loss(name, owner="Model") is loss
    assert as_loss(loss, owner="Model") is loss


@pytest.mark.parametrize("loss", ["no such", "Hinge", None, Squared, 2])
def test_refusal_lists_every_name(loss):
    with pytest.raises(ValueError, match=f"^Model: .*, got {re.escape(repr(loss))}.$") as refusal:
        as_loss(loss, owner="Model")
    assert sorted(re.findall(r"'(\w+)'", str(refusal.value).split(", got")[0])) == sorted(NAMES)


def test_flags():
    flags = {
        flag: {name for name in NAMES if getattr(getattr(losses, name), flag)}
        for flag in ("joint", "labels", "smooth", "probabilistic")
    }
    assert flags == {
        "joint": {"multiclass_hinge", "softmax"},
        "labels": {"hinge", "squared_hinge", "log", "multiclass_hinge", "softmax"},
        "smooth": {*NAMES} - {"hinge", "epsilon_insensitive", "quantile", "multiclass_hinge"},
        "probabilistic": {"log", "softmax"},
    }


def test_equality():
    assert Huber(1) == Huber(1.0) == losses.huber
    assert hash(Huber(1)) == hash(Huber(1.0))
    assert Huber(2.0) != Huber(1.0)
    assert EpsilonInsensitive(0.5) != losses.SquaredEpsilonInsensitive(0.5)
    assert losses.hinge != losses.squared


@pytest.mark.parametrize(
    "loss",
    [
        *(EpsilonInsensitive(value) for value in (-0.1, np.nan, np.inf, None, True)),
        *(losses.SquaredEpsilonInsensitive(value) for value in (-1, np.inf, "0.1")),
        *(Huber(value) for value in (0, -1.0, np.nan, np.inf, [1.0])),
        *(Quantile(value) for value in (0, 1, 1.5, np.nan, True)),
    ],
    ids=repr,
)
def test_nonsense_is_refused(loss):
    with pytest.raises(ValueError, match=f"{type(loss).__name__}: .* must be a number"):
        check_params(loss)
