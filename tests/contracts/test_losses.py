import numpy as np
import pytest

from skimp import losses
from skimp.losses import Loss
from skimp.testing import check_loss
from tests.catalog import LOSSES, parts
from tests.pairs import in_turn, pairwise

SEPARABLE = [loss for loss in parts(LOSSES) if not loss.joint]
JOINT = [losses.multiclass_hinge, losses.softmax]


@pytest.mark.parametrize(("loss", "options"), LOSSES)
def test_loss(loss, options):
    check_loss(loss, **options)


@pytest.mark.parametrize("loss", SEPARABLE, ids=repr)
def test_one_output(loss):
    check_loss(loss, np.repeat([-1.0, 1.0], 50))


@in_turn(loss=[loss for loss in SEPARABLE if not loss.labels], scale=[0.01, 1.0, 1e3])
def test_any_targets(loss, scale):
    check_loss(loss, scale * np.random.default_rng(1).normal(size=(100, 2)))


@pairwise(loss=JOINT, k=[1, 2, 7], others=[0.0, -1.0])
def test_any_number_of_classes(loss, k, others):
    own = np.random.default_rng(1).integers(k, size=(100, 1)) == np.arange(k)
    check_loss(loss, np.where(own, 1.0, others))


def test_every_loss_has_a_row():
    found = (getattr(losses, name) for name in losses.__all__)
    public = {loss for loss in found if isinstance(loss, Loss)}
    rows = set(parts(LOSSES))
    assert public <= rows
    assert {type(loss) for loss in rows - public} == {type(p) for p in public if p.get_params()}
