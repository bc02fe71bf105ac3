import re

import pytest

from skimp import losses
from skimp.losses import Squared, as_loss


def test_names_and_objects():
    assert as_loss("squared", owner="Model") is losses.squared
    loss = Squared()
    assert as_loss(loss, owner="Model") is loss


@pytest.mark.parametrize("loss", ["hinge", None, Squared, 2])
def test_what_is_no_loss(loss):
    with pytest.raises(
        ValueError,
        match=re.escape(f"loss must be a loss object or one of 'squared', got {loss!r}."),
    ):
        as_loss(loss, owner="Model")
