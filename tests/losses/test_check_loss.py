"""A broken loss is caught, and the message says which promise it breaks."""

import numpy as np
import pytest

from skimp.losses import Loss
from skimp.testing import check_loss


class Parabola(Loss):
    """The squared loss, for subclasses to break."""

    def value(self, y, f):
        return (y - f) ** 2

    def gradient(self, y, f):
        return 2 * (f - y)

    def curvature(self, y, f):
        return np.full_like(f, 2)

    def conjugate(self, y, u):
        return u * y + u * u / 4


class Wave(Parabola):
    """A loss that is not convex."""

    def value(self, y, f):
        return 1 - np.cos(y - f)

    def gradient(self, y, f):
        return np.sin(f - y)

    def curvature(self, y, f):
        return np.cos(y - f)


class Capped(Parabola):
    """A loss that is not convex at a kink."""

    smooth = False

    def value(self, y, f):
        return np.minimum(np.abs(y - f), 1)

    def gradient(self, y, f):
        return np.sign(f - y) * (np.abs(y - f) < 1)

    def curvature(self, y, f):
        return np.zeros_like(f)


class Exponential(Parabola):
    """A loss that is too large for predictions that are."""

    def value(self, y, f):
        return np.exp(-y * f)


class Below(Parabola):
    def value(self, y, f):
        return (y - f) ** 2 - 1


class Steep(Parabola):
    def gradient(self, y, f):
        return 4 * (f - y)

    def conjugate(self, y, u):
        return u * y


class Flat(Parabola):
    def curvature(self, y, f):
        return np.zeros_like(f)


class Stretched(Parabola):
    def curvature(self, y, f):
        return np.full_like(f, 3)

    def curved(self, y, f, v):
        return 2 * v


class Double(Parabola):
    def gradient(self, y, f):
        return super().gradient(y, f).astype(np.float64)


class Mean(Parabola):
    """Says nothing of coupling outputs."""

    def value(self, y, f):
        return super().value(y, f).mean(axis=-1, keepdims=True)


class Writing(Parabola):
    def value(self, y, f):
        f -= y
        return f**2


class Absolute(Parabola):
    """The absolute error, which does not say that it has a kink."""

    def value(self, y, f):
        return np.abs(y - f)

    def gradient(self, y, f):
        return np.sign(f - y)

    def curvature(self, y, f):
        return np.zeros_like(f)

    def conjugate(self, y, u):
        return np.where(np.abs(u) <= 1, u * y, np.inf)


class Kinked(Absolute):
    smooth = False


class Outside(Kinked):
    """The slope at the kink is none between those of the sides."""

    def gradient(self, y, f):
        return np.where(f == y, f.dtype.type(2), np.sign(f - y))

    def conjugate(self, y, u):
        return u * y


class Endless(Kinked):
    def conjugate(self, y, u):
        return u * y


class Conservative(Kinked):
    """Is infinite between the slopes, where the conjugate is not."""

    def conjugate(self, y, u):
        return np.where(np.isin(u, [-1, 0, 1]), u * y, np.inf)


class Optimistic(Kinked):
    """Is right at the slopes, and too small between them."""

    def conjugate(self, y, u):
        return super().conjugate(y, u) - (np.abs(u) < 1) * np.abs(u)


class Shifted(Parabola):
    def conjugate(self, y, u):
        return super().conjugate(y, u) + 1


class Rowwise(Parabola):
    """The squared loss of whole rows."""

    joint = True

    def value(self, y, f):
        return super().value(y, f).sum(axis=1, keepdims=True)

    def conjugate(self, y, u):
        return super().conjugate(y, u).sum(axis=1, keepdims=True)


class Sheared(Rowwise):
    def curved(self, y, f, v):
        return 2 * v + v[:, ::-1] - v


class Thin(Rowwise):
    def curvature(self, y, f):
        return np.ones_like(f)

    def curved(self, y, f, v):
        return 2 * v


class Apart(Parabola):
    def __eq__(self, other):
        return self is other

    __hash__ = Loss.__hash__


class Silent(Parabola):
    def __init__(self, width=1.0):
        self.width = width

    def __repr__(self):
        return "Silent()"


class Unruled(Parabola):
    def __init__(self, width=1.0):
        self.width = width


@pytest.mark.parametrize(
    ("loss", "promise"),
    [
        (Wave(), "curvature is not negative"),
        (Capped(), "the loss is convex"),
        (Exponential(), "no overflow"),
        (Below(), "the loss is not negative"),
        (Steep(), "gradient is the derivative of value"),
        (Flat(), "curved is the derivative of gradient"),
        (Stretched(), "curved is curvature times v"),
        (Double(), "shapes and dtypes"),
        (Mean(), "shapes and dtypes"),
        (Absolute(), "a smooth loss has no kinks"),
        (Outside(), "the gradient is a subgradient"),
        (Endless(), "the conjugate is infinite outside"),
        (Conservative(), "the conjugate is convex"),
        (Optimistic(), r"value \+ conjugate >= u f"),
        (Shifted(), r"value \+ conjugate = u f"),
        (Sheared(), "curved is the derivative of gradient"),
        (Thin(), "curvature is the diagonal of curved"),
        (Apart(), "give equal losses"),
        (Silent(2.0), "give equal losses"),
        (Unruled(), "width='no such' must raise"),
    ],
    ids=repr,
)
def test_broken_loss(loss, promise):
    with pytest.raises(AssertionError, match=promise):
        check_loss(loss)


def test_loss_that_writes_into_its_input():
    with pytest.raises(ValueError, match="read-only"):
        check_loss(Writing())


@pytest.mark.parametrize("loss", [Parabola(), Kinked(), Rowwise()], ids=repr)
def test_losses_that_keep_their_promises(loss):
    check_loss(loss)
