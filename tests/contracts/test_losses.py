import numpy as np
import pytest

from skimp import losses
from skimp.losses import Loss
from skimp.testing import check_loss
from tests.catalog import LOSSES, parts


@pytest.mark.parametrize(("loss", "options"), LOSSES)
def test_loss(loss, options):
    check_loss(loss, **options)


@pytest.mark.parametrize("loss", parts(LOSSES), ids=repr)
def test_one_output(loss):
    check_loss(loss, np.repeat([-1.0, 1.0], 50))


def test_every_loss_has_a_row():
    public = {name for name in losses.__all__ if isinstance(getattr(losses, name), Loss)}
    assert {getattr(losses, name) for name in public} == set(parts(LOSSES))
