import numpy as np
import pytest

from skimp._core.loops._gradients import gradients
from skimp.solvers._compiled import compiled_loss
from tests.catalog import LOSSES, parts


@pytest.mark.parametrize("loss", parts(LOSSES), ids=repr)
def test_compiled_gradient_is_the_gradient_of_the_loss(loss):
    rng = np.random.default_rng(0)
    own = rng.integers(3, size=(300, 1)) == np.arange(3)
    Y = np.where(own if loss.joint else rng.random((300, 3)) < 0.5, 1.0, -1.0)
    # multiples of 1/2 away from the target, where most losses have their kinks
    kinks = Y + np.round(2 * rng.normal(size=Y.shape)) / 2
    for F in (Y + 3 * rng.normal(size=Y.shape), kinks, 1e3 * rng.normal(size=Y.shape)):
        G = np.empty_like(F)
        gradients(compiled_loss(loss, 3, owner="test"), Y, F, G)
        np.testing.assert_allclose(G, loss.gradient(Y, F), atol=1e-12)
