"""Checks of losses."""

import pickle
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
from sklearn.base import clone

from skimp._core._types import Array
from skimp._params._rules import check_params
from skimp.losses import Loss
from skimp.testing._assertions import close, params_of, read_only, refused, require

_Function = Callable[[Array, Array], Array]


def check_loss(loss: Loss, y: Any = None) -> None:
    """Check the derivatives, convexity, conjugate and parameters of a loss.

    Derivatives must match finite differences, and value and conjugate must satisfy the
    Fenchel-Young inequality. There must be no overflow for predictions up to 1e4, and float32 must
    agree with float64.

    Parameters
    ----------
    loss : Loss
        The loss.
    y : array of shape (n,) or (n, k), optional
        Targets; by default 1 and -1, with a single 1 in each row for a joint loss.

    Raises
    ------
    AssertionError
        If a check fails; the message names it.

    Examples
    --------
    >>> from skimp.losses import squared
    >>> from skimp.testing import check_loss
    >>> check_loss(squared)
    """
    rng, params = np.random.default_rng(0), params_of(loss)
    if y is None:
        own = rng.integers(3, size=(200, 1)) == np.arange(3)
        y = np.where(own if loss.joint else rng.random((200, 3)) < 0.5, 1.0, -1.0)
    y = read_only(np.asarray(y, np.float64))
    f, g = (read_only(y + 3 * rng.normal(size=y.shape)) for _ in range(2))
    v, tol = read_only(rng.normal(size=y.shape)), 1e-9 * max(1.0, np.abs(y).max())
    # multiples of 1/2 away from the target, where most losses have their kinks
    kinks = read_only(y + np.round(2 * rng.normal(size=y.shape)) / 2)
    _check_arrays(loss, y, f, v)
    directions = [*np.eye(y.shape[1])] if loss.joint else [np.ones(1)]
    for direction in (*directions, v):
        _check_derivatives(loss, y, f, kinks, read_only(np.broadcast_to(direction, y.shape)))
    _check_curvature(loss, y, f, v)
    t = rng.random((len(y), *[1] * (y.ndim - 1)))
    chord = t * loss.value(y, f) + (1 - t) * loss.value(y, g)
    require(np.all(loss.value(y, t * f + (1 - t) * g) <= chord + tol), "the loss is convex")
    for a, b in product((f, kinks), (g, kinks[::-1])):
        line = loss.value(y, a) + _inner(loss, loss.gradient(y, a), b - a)
        require(np.all(loss.value(y, b) >= line - tol), "the gradient is a subgradient")
        if loss.smooth and type(loss).majorant is not Loss.majorant:
            above = line + _inner(loss, loss.majorant(y, a) * (b - a), b - a) / 2
            scale = max(1.0, np.abs(above).max())
            require(np.all(loss.value(y, b) <= above + tol * scale), "the majorant is above")
    _check_conjugate(loss, y, (f, g, kinks), t, tol)
    for direction in (*directions, np.ones(1)):
        _check_range(loss, y, f, direction)
        _check_range(loss, y, f, -direction)
    require(params_of(loss) == params == params_of(clone(loss)), "parameters do not change")
    equals = [clone(loss), pickle.loads(pickle.dumps(loss))]
    if "..." not in repr(loss):  # long arrays are abbreviated
        named = {**vars(np), "np": np, type(loss).__name__: type(loss)}
        equals.append(eval(repr(loss), named))
    for same in equals:
        alike = same == loss and hash(same) == hash(loss)
        require(alike, "clone, pickle and eval(repr(loss)) give equal losses")
    check_params(loss)
    for name in loss.get_params(deep=False):
        refused(f"{name}='no such'", check_params, clone(loss).set_params(**{name: "no such"}))


def _inner(loss: Loss, a: Array, b: Array) -> Array:
    """Return elementwise products, summed over each row for a joint loss."""
    products: Array = a * b
    return products.sum(axis=1, keepdims=True) if loss.joint else products


def _check_arrays(loss: Loss, y: Array, f: Array, v: Array) -> None:
    """Check shapes, dtypes, the bound of the slope, and large predictions."""
    value_shape = (len(y), 1) if loss.joint else y.shape
    shapes = (value_shape, y.shape, y.shape, y.shape, value_shape)
    large, results = 1e4 * np.where(v > 0, 1.0, -1.0), []
    for predictions, dtype in product((f, large), (np.float64, np.float32)):
        Y, F, V = (read_only(A.astype(dtype)) for A in (y, predictions, v))
        try:
            with np.errstate(over="raise", divide="raise", invalid="raise"):
                slope = loss.gradient(Y, F)
                derivatives = (slope, loss.curvature(Y, F), loss.curved(Y, F, V))
                out = (loss.value(Y, F), *derivatives, loss.conjugate(Y, slope))
        except FloatingPointError as error:
            raise AssertionError(
                "check failed: no overflow for predictions up to 1e4, in value, gradient, "
                f"curvature, curved or conjugate; found {error}."
            ) from error
        fit = [o.shape == s and o.dtype == dtype for o, s in zip(out, shapes, strict=True)]
        require(all(fit), "shapes and dtypes are those of f, or (n, 1) for a joint value")
        require(all(np.isfinite(o).all() for o in out), "results are finite up to 1e4")
        require(out[0].min() >= 0, "the loss is not negative")
        steepest = float(np.abs(slope).max())
        require(steepest <= loss.max_slope * (1 + 1e-6), "slopes are at most max_slope")
        results.append(out)
    for double, single in zip(*results[:2], strict=True):
        tol = 1e-4 * max(1.0, np.abs(y).max(), np.abs(double).max())
        close(single, double, "float32 agrees with float64", tol)


def _check_derivatives(loss: Loss, y: Array, f: Array, kinks: Array, v: Array) -> None:
    """Compare derivatives along v with finite differences, except at jumps."""
    h, slope = 1e-6, _inner(loss, loss.gradient(y, f), v)

    def sides(fn: _Function, f: Array) -> tuple[Array, Array]:
        below, here, above = (fn(y, f + step * v) for step in (-h, 0, h))
        return (here - below) / h, (above - here) / h

    for fn, expected, what in (
        (loss.value, slope, "gradient is the derivative of value"),
        (loss.gradient, loss.curved(y, f, v), "curved is the derivative of gradient, times v"),
    ):
        left, right = sides(fn, f)
        even = np.abs(right - left) <= 0.01
        if fn == loss.value and loss.smooth:
            apart = np.abs(np.subtract(*sides(fn, kinks)))
            require(np.all(even) and np.all(apart <= 0.01), "a smooth loss has no kinks")
        require(np.mean(even) > 0.9, f"{what}: it is differentiable at more than 90 % of points")
        tol = 1e-6 * max(1.0, np.abs(y).max(), np.abs(expected).max())
        close(((left + right) / 2)[even], expected[even], what, tol)


def _check_curvature(loss: Loss, y: Array, f: Array, v: Array) -> None:
    """Check that the second derivative is PSD and that curvature is its diagonal."""
    diagonal = loss.curvature(y, f)
    require(np.all(diagonal >= 0), "curvature is not negative")
    require(diagonal.max() <= loss.max_curvature, "curvature is at most max_curvature")
    if not loss.joint:
        close(loss.curved(y, f, v), diagonal * v, "curved is curvature times v", 1e-12)
        return
    units = (np.broadcast_to(unit, y.shape) for unit in np.eye(y.shape[1]))
    H = np.stack([loss.curved(y, f, unit) for unit in units], axis=2)
    close(H, H.transpose(0, 2, 1), "the second derivative is symmetric", 1e-12)
    close(np.einsum("ijj->ij", H), diagonal, "curvature is the diagonal of curved", 1e-12)
    values = np.linalg.eigvalsh(H)
    require(values.min() >= -1e-12, "the second derivative is PSD")
    require(values.max() <= loss.max_curvature + 1e-12, "eigenvalues are at most max_curvature")


def _check_conjugate(loss: Loss, y: Array, points: tuple[Array, ...], t: Array, tol: float) -> None:
    """Check the Fenchel-Young inequality, which is an equality at gradients."""
    slopes = [loss.gradient(y, f) for f in points]
    ends = [loss.conjugate(y, u) for u in slopes]
    for f, u, end in zip(points, slopes, ends, strict=True):
        what = "value + conjugate = u f at the gradient u"
        close(loss.value(y, f) + end, _inner(loss, u, f), what, tol)
    for i, j in ((0, 1), (1, 2), (2, 0)):
        u = slopes[j] + t * (slopes[i] - slopes[j])
        between = loss.conjugate(y, u)
        chord = t * ends[i] + (1 - t) * ends[j]
        require(np.all(between <= chord + tol), "the conjugate is convex")
        for f in points:
            least = _inner(loss, u, f) - loss.value(y, f)
            require(np.all(between >= least - tol), "value + conjugate >= u f for every u")


def _check_range(loss: Loss, y: Array, f: Array, v: Array) -> None:
    """Check that the conjugate is infinite outside the range of the gradient, if it is bounded."""
    near, far = (loss.gradient(y, f + t * v) for t in (1e3, 1e6))
    bounded = np.abs(_inner(loss, far - near, v)) <= 1e-5
    beyond = loss.conjugate(y, far + 0.1 * v)
    infinite = np.all(beyond[bounded] == np.inf)
    require(infinite, "the conjugate is infinite outside the range of the gradient")
