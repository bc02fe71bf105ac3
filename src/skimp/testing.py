"""The contracts of kernels, feature maps, selectors, losses and solvers, for yours as for ours.

Each function raises an `AssertionError` that says which promise is broken. The data are read-only,
so that a part which writes into its input fails too.
"""

import pickle
from collections.abc import Callable
from functools import partial
from itertools import product
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone

from skimp._core._rules import check_params
from skimp._core._types import Array
from skimp.budgets import Budget, Selector
from skimp.data import open_rows
from skimp.features import FeatureMap
from skimp.kernels import Gaussian, Kernel
from skimp.kernels._names import has_flag
from skimp.losses import Loss, squared
from skimp.solvers import Problem, Solution, Solver

__all__ = ["check_feature_map", "check_kernel", "check_loss", "check_selector", "check_solver"]

_Twin = Callable[[Array, Array], Array]


def check_kernel(kernel: Kernel, X: Any = None, *, naive: _Twin | None = None) -> None:
    """Check values, diagonal, gradient, spectrum, flags, sparse rows, precision and parameters.

    Parameters
    ----------
    kernel : Kernel
        The kernel; one that says ``positive_definite = False`` need not be.
    X : array of shape (n, d), optional
        Rows to evaluate it on; 600 random ones of five columns by default.
    naive : callable, optional
        The kernel matrix of two arrays of rows, straight from the formula, to compare with.

    Examples
    --------
    >>> from skimp.kernels import Gaussian
    >>> from skimp.testing import check_kernel
    >>> check_kernel(Gaussian(gamma=0.5))
    """
    X, params = _rows(X, kernel), _params(kernel)
    Y, S, X32 = X[::7], sparse.csr_matrix(X), X.astype(np.float32)
    k = kernel.resolve(open_rows(X), seed=0)
    _require(_params(kernel) == params == _params(clone(kernel)), "parameters do not change")
    K = k(X)
    tol = 1e-9 * max(1.0, np.abs(K).max())
    _require(K.dtype == float and k(X32).dtype == np.float32, "the dtype of the rows is kept")
    _close(K, K.T, "k(x, y) = k(y, x)", tol)
    _close(K.diagonal(), k.diag(X), "diag(X) is the diagonal of the matrix", tol)
    if naive is not None:
        _close(k(X, Y), naive(X, Y), "the kernel equals its naive twin", tol)
    for A, B in ((S, S[::7]), (S, Y), (X, S[::7])):
        _close(k(A, B), K[:, ::7], "sparse rows give the values of dense rows", tol)
    _close(k.diag(S), k.diag(X), "sparse rows have the diagonal of dense rows", tol)
    for part in (slice(0, 1), slice(3, 10), slice(len(X) // 2, None)):
        _close(k(X[part], Y), K[part, ::7], "a part of the rows gives a part of the matrix", tol)
    _close(k(X32), K, "float32 agrees with float64", 1e5 * tol)
    if not k.takes_objects:
        # the least of the bytes has no opposite
        bytes_ = np.clip(np.round(60 * X), -128, 127).astype(np.int8)
        expected = k(bytes_.astype(float))
        bound = 1e-9 * max(1.0, np.abs(expected).max())
        _close(k(bytes_), expected, "integers give the values of floats", bound)
        _close(k.diag(bytes_), expected.diagonal(), "integers have their diagonal", bound)
    _check_flags(k, X, tol)
    if k.differentiable:
        _check_gradient(k, X[:40] + 0.1 * k.needs_nonnegative, Y[:30])
    _require(k == clone(k) and hash(k) == hash(clone(k)), "equal parameters make equal kernels")
    bad = np.where(np.arange(X.size).reshape(X.shape) == 3, np.nan, X)
    for given in ((bad,), (X, bad), (X, X[:, 1:]), (X[:0],)):
        _refused("NaN, unequal widths and empty data", k, *given)
    if not k.takes_objects:
        _refused("a vector", k, X[0])
    for name in k.get_params(deep=False):
        _refused(f"{name}='no such'", clone(k).set_params(**{name: "no such"}), X)


def _check_flags(k: Kernel, X: Array, tol: float) -> None:
    """Check what a kernel says of itself."""
    K = k(X)
    if k.positive_definite:
        values = np.linalg.eigvalsh(K[::3, ::3])
        _require(values[0] >= -1e-10 * values[-1], f"k is PSD; smallest eigenvalue {values[0]:.3g}")
    if k.needs_nonnegative:
        _refused("negative entries", k, -X - 1)
        _refused("negative entries on the diagonal", k.diag, -X - 1)
    if k.rotation_invariant:
        Q, _ = np.linalg.qr(np.random.default_rng(0).normal(size=(X.shape[1], X.shape[1])))
        _close(k(X @ Q), K, "k(Qx, Qy) = k(x, y) for a rotation Q", tol)
    if not k.stationary:
        _refused("sampling a spectrum that is not there", k.sample_frequencies, 5, 1, None)
        return
    _close(k(X + 1.5), K, "k(x + t, y + t) = k(x, y)", tol)
    A, B, size = X[:50], X[-50:], 100_000
    W = k.sample_frequencies(X.shape[1], size, np.random.default_rng(0))
    # Hoeffding: all 50 means of cosines are this close with probability 1 - 1e-9
    bound = np.sqrt(2 * np.log(2 * len(A) / 1e-9) / size) * k.diag(A)
    error = np.cos((A - B) @ W).mean(axis=1) * k.diag(A) - k(A, B).diagonal()
    _require(np.all(np.abs(error) <= bound), "cosines of the frequencies average to the kernel")


def _check_gradient(k: Kernel, X: Array, Y: Array) -> None:
    """Compare the gradient with central differences."""
    G = k.gradient(X, Y)
    _require(G.shape == (len(X), len(Y), X.shape[1]), "the gradient has shape (n, m, d)")
    scale, steps = max(1.0, np.abs(G).max()), 1e-6 * np.eye(X.shape[1])
    slopes = [(k(X + step, Y) - k(X - step, Y)) / 2e-6 for step in steps]
    _close(G, np.stack(slopes, axis=2), "the gradient is the slope of the kernel", 1e-5 * scale)
    S, X32 = sparse.csr_matrix(X), X.astype(np.float32)
    for A, B in ((S, Y), (X, sparse.csr_matrix(Y)), (S, sparse.csr_matrix(Y))):
        _close(k.gradient(A, B), G, "sparse rows have the gradient of dense rows", 1e-9 * scale)
    single = k.gradient(X32, Y)
    _require(single.dtype == np.float32, "the gradient has the dtype of the rows")
    apart = np.abs(X[:, None] - Y).max(axis=2) > 1e-3
    _close(single[apart], G[apart], "float32 gradients agree with float64", 1e-3 * scale)
    coef = np.random.default_rng(0).normal(size=(len(Y), 2))
    expected = np.einsum("ijk,jo->iko", G, coef)
    bound = 1e-9 * max(1.0, np.abs(expected).max())
    _close(k.expansion_gradient(X, Y, coef), expected, "sums have the sum of gradients", bound)
    _close(k.expansion_gradient(X, Y, coef[:, 0]), expected[:, :, 0], "one sum, too", bound)


def check_feature_map(feature_map: FeatureMap, X: Any = None, *, max_error: float = np.inf) -> None:
    """Check that features depend on rows and seed alone, approximate the kernel, and fit models.

    Parameters
    ----------
    feature_map : FeatureMap
        The map; it is cloned, with ``random_state=0``.
    X : array of shape (n, d), optional
        Rows to fit it to; 600 random ones by default.
    max_error : float
        Largest difference allowed between inner products of features and ``kernel_`` on X.

    Examples
    --------
    >>> from skimp.features import Nystroem
    >>> from skimp.testing import check_feature_map
    >>> check_feature_map(Nystroem(budget=600), max_error=1e-6)
    """
    X = _rows(X, getattr(feature_map, "kernel", None))
    S, X32 = sparse.csr_matrix(X), X.astype(np.float32)
    new = clone(feature_map).set_params(random_state=0)
    _refused("transform before fit", new.transform, X)
    fitted = clone(new).fit(X)
    _require(_params(fitted) == _params(new), "fit does not change the parameters")
    Z = fitted.transform(X)
    G = Z @ Z.T
    tol = 1e-8 * max(1.0, np.abs(G).max())
    _require(Z.shape[1] == fitted.width == len(fitted.get_feature_names_out()), "width is columns")
    single = clone(new).fit(X32).transform(X32)
    _require(Z.dtype == float and single.dtype == np.float32, "the dtype of the rows is kept")
    _close(clone(new).fit_transform(X), Z, "the same seed gives the same features")
    _close(pickle.loads(pickle.dumps(fitted)).transform(X), Z, "a pickle gives the same features")
    _close(fitted.transform(S), Z, "sparse rows have the features of dense rows", tol)
    out = np.empty_like(Z)
    for start in range(0, len(X), 77):
        fitted.map_block(X[start : start + 77], out[start : start + 77])
    _close(out, Z, "map_block gives the rows of transform, block by block", tol)
    for source in (S, open_rows(X, block_rows=7)):
        other = clone(new).fit(source).transform(X)
        _close(other @ other.T, G, "a map fitted to sparse rows or small blocks is the same", tol)
    if hasattr(fitted, "kernel_"):
        _close(G, fitted.kernel_(X), "<z(x), z(y)> approximates k(x, y)", max_error)
    _close(single @ single.T, G, "float32 agrees with float64", 1e5 * tol)
    basis = fitted.basis()
    C = np.empty((len(X), basis.width))
    basis.map_block(X, C)
    P = np.eye(basis.width) if basis.penalty is None else basis.penalty
    y, ridge = np.sin(X.sum(axis=1)), 1e-2 * len(X)
    f = C @ np.linalg.solve(C.T @ C + ridge * P, C.T @ y)
    _close(f, G @ np.linalg.solve(G + ridge * np.eye(len(X)), y), "basis() predicts as Z", 1e-6)
    _refused("another number of columns", fitted.transform, X[:, 1:])
    for name, width in product({"n_components", "budget"} & set(new.get_params()), (1, 2, 7)):
        Z = clone(new).set_params(**{name: width}).fit_transform(X)
        _require(1 <= Z.shape[1] <= width and np.isfinite(Z).all(), f"{name}={width} works")


def check_selector(selector: Selector, X: Any = None, *, size: int = 20) -> None:
    """Check that a budget has its size and real rows, the same ones from any chunks or storage.

    Parameters
    ----------
    selector : Selector
        The selector.
    X : array of shape (n, d), optional
        Rows to choose from; 600 random ones by default.
    size : int
        Number of points.

    Examples
    --------
    >>> from skimp.budgets import Uniform
    >>> from skimp.testing import check_selector
    >>> check_selector(Uniform())
    """
    X, params = _rows(X), _params(selector)

    def select(source: Any, size: int = size) -> Budget:
        return selector.select(source, size, Gaussian(gamma=0.1), np.random.default_rng(0))

    for asked, most in ((1, 1), (size, size), (len(X) + 1, len(X))):
        chosen = select(X, asked)
        m = len(chosen.points)
        _require(1 <= m <= most, f"a budget has 1 to {most} points, found {m}")
        if chosen.indices is not None:
            _require(m == most == len(np.unique(chosen.indices)), f"{most} rows, none twice")
            _close(chosen.points, X[chosen.indices], "indices point at the points")
    chosen = select(X)
    for source in (X, open_rows(X, block_rows=1), open_rows(X, block_rows=7), sparse.csr_matrix(X)):
        same = select(source)
        points = same.points.toarray() if sparse.issparse(same.points) else same.points
        _close(points, chosen.points, "the same seed chooses the same points", 1e-10)
        if chosen.indices is not None:
            _close(same.indices, chosen.indices, "the same seed chooses the same rows")
    weight = np.arange(len(X)) % 2.0
    present = select(open_rows(X, weight=weight)).indices
    _require(present is None or weight[present].all(), "a row of weight zero is absent")
    _require(_params(selector) == params == _params(clone(selector)), "parameters do not change")


def check_loss(loss: Loss, y: Any = None) -> None:
    """Check derivatives, convexity, conjugate, large predictions, precision and parameters.

    Parameters
    ----------
    loss : Loss
        The loss.
    y : array of shape (n,) or (n, k), optional
        Targets; by default 1 and -1, which every loss understands, with a single 1 in each row
        for a joint loss.

    Examples
    --------
    >>> from skimp.losses import squared
    >>> from skimp.testing import check_loss
    >>> check_loss(squared)
    """
    rng, params = np.random.default_rng(0), _params(loss)
    if y is None:
        own = rng.integers(3, size=(200, 1)) == np.arange(3)
        y = np.where(own if loss.joint else rng.random((200, 3)) < 0.5, 1.0, -1.0)
    y = _read_only(np.asarray(y, np.float64))
    f, g = (_read_only(y + 3 * rng.normal(size=y.shape)) for _ in range(2))
    v, tol = _read_only(rng.normal(size=y.shape)), 1e-9 * max(1.0, np.abs(y).max())
    # halves and ones away from the target, where most losses have their kinks
    kinks = _read_only(y + np.round(2 * rng.normal(size=y.shape)) / 2)
    _check_loss_arrays(loss, y, f, v)
    directions = [*np.eye(y.shape[1])] if loss.joint else [np.ones(1)]
    for direction in (*directions, v):
        _check_loss_derivatives(loss, y, f, kinks, _read_only(np.broadcast_to(direction, y.shape)))
    _check_loss_curvature(loss, y, f, v)
    t = rng.random((len(y), *[1] * (y.ndim - 1)))
    chord = t * loss.value(y, f) + (1 - t) * loss.value(y, g)
    _require(np.all(loss.value(y, t * f + (1 - t) * g) <= chord + tol), "the loss is convex")
    for a, b in product((f, kinks), (g, kinks[::-1])):
        line = loss.value(y, a) + _inner(loss, loss.gradient(y, a), b - a)
        _require(np.all(loss.value(y, b) >= line - tol), "the gradient is a subgradient")
    _check_loss_conjugate(loss, y, (f, g, kinks), t, tol)
    for direction in (*directions, np.ones(1)):
        _check_loss_range(loss, y, f, direction)
        _check_loss_range(loss, y, f, -direction)
    _require(_params(loss) == params == _params(clone(loss)), "parameters do not change")
    _check_loss_parameters(loss)


def _inner(loss: Loss, a: Array, b: Array) -> Array:
    """Return products, summed over each row where the loss couples its outputs."""
    products: Array = a * b
    return products.sum(axis=1, keepdims=True) if loss.joint else products


def _check_loss_arrays(loss: Loss, y: Array, f: Array, v: Array) -> None:
    """Check shapes, dtypes, and predictions that are large."""
    one_a_row = (len(y), 1) if loss.joint else y.shape
    shapes = (one_a_row, y.shape, y.shape, y.shape, one_a_row)
    large, results = 1e4 * np.where(v > 0, 1.0, -1.0), []
    for predictions, dtype in product((f, large), (np.float64, np.float32)):
        Y, F, V = (_read_only(A.astype(dtype)) for A in (y, predictions, v))
        try:
            with np.errstate(over="raise", divide="raise", invalid="raise"):
                slope = loss.gradient(Y, F)
                derivatives = (slope, loss.curvature(Y, F), loss.curved(Y, F, V))
                out = (loss.value(Y, F), *derivatives, loss.conjugate(Y, slope))
        except FloatingPointError as error:
            raise AssertionError("promise broken: there is no overflow up to 1e4.") from error
        fit = [o.shape == s and o.dtype == dtype for o, s in zip(out, shapes, strict=True)]
        _require(all(fit), "shapes and dtypes are those of f, or one column for a joint value")
        _require(all(np.isfinite(o).all() for o in out), "all is finite, up to 1e4")
        _require(out[0].min() >= 0, "a loss is not negative")
        results.append(out)
    for double, single in zip(*results[:2], strict=True):
        tol = 1e-4 * max(1.0, np.abs(y).max(), np.abs(double).max())
        _close(single, double, "float32 agrees with float64", tol)


def _check_loss_derivatives(loss: Loss, y: Array, f: Array, kinks: Array, v: Array) -> None:
    """Compare slopes along v with differences, but not where they jump."""
    h, slope = 1e-6, _inner(loss, loss.gradient(y, f), v)

    def sides(fn: _Twin, f: Array) -> tuple[Array, Array]:
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
            _require(np.all(even) and np.all(apart <= 0.01), "a smooth loss has no kinks")
        _require(np.mean(even) > 0.9, f"{what}: differences exist nearly everywhere")
        tol = 1e-6 * max(1.0, np.abs(y).max(), np.abs(expected).max())
        _close(((left + right) / 2)[even], expected[even], what, tol)


def _check_loss_curvature(loss: Loss, y: Array, f: Array, v: Array) -> None:
    """Check that the second derivative is a PSD matrix, with the curvature as its diagonal."""
    diagonal = loss.curvature(y, f)
    _require(np.all(diagonal >= 0), "curvature is not negative")
    if not loss.joint:
        _close(loss.curved(y, f, v), diagonal * v, "curved is curvature times v", 1e-12)
        return
    units = (np.broadcast_to(unit, y.shape) for unit in np.eye(y.shape[1]))
    H = np.stack([loss.curved(y, f, unit) for unit in units], axis=2)
    _close(H, H.transpose(0, 2, 1), "the second derivative is symmetric", 1e-12)
    _close(np.einsum("ijj->ij", H), diagonal, "curvature is the diagonal of curved", 1e-12)
    _require(np.linalg.eigvalsh(H).min() >= -1e-12, "the second derivative is PSD")


def _check_loss_conjugate(
    loss: Loss, y: Array, points: tuple[Array, ...], t: Array, tol: float
) -> None:
    """Check the inequality of Fenchel and Young, and where it is an equality."""
    slopes = [loss.gradient(y, f) for f in points]
    ends = [loss.conjugate(y, u) for u in slopes]
    for f, u, end in zip(points, slopes, ends, strict=True):
        what = "value + conjugate = u f at the gradient u"
        _close(loss.value(y, f) + end, _inner(loss, u, f), what, tol)
    for i, j in ((0, 1), (1, 2), (2, 0)):
        u = slopes[j] + t * (slopes[i] - slopes[j])
        between = loss.conjugate(y, u)
        chord = t * ends[i] + (1 - t) * ends[j]
        _require(np.all(between <= chord + tol), "the conjugate is convex")
        for f in points:
            least = _inner(loss, u, f) - loss.value(y, f)
            _require(np.all(between >= least - tol), "value + conjugate >= u f for every u")


def _check_loss_range(loss: Loss, y: Array, f: Array, v: Array) -> None:
    """Check that the conjugate is infinite beyond the slopes far out, where these are bounded."""
    near, far = (loss.gradient(y, f + t * v) for t in (1e3, 1e6))
    bounded = np.abs(_inner(loss, far - near, v)) <= 1e-5
    beyond = loss.conjugate(y, far + 0.1 * v)
    _require(np.all(beyond[bounded] == np.inf), "the conjugate is infinite where u is no slope")


def _check_loss_parameters(loss: Loss) -> None:
    """Check copies and rules."""
    named = {type(loss).__name__: type(loss), "np": np}
    for same in (clone(loss), pickle.loads(pickle.dumps(loss)), eval(repr(loss), named)):
        alike = same == loss and hash(same) == hash(loss)
        _require(alike, "clones, pickles and texts with equal parameters make equal losses")
    check_params(loss)
    for name in loss.get_params(deep=False):
        _refused(f"{name}='no such'", check_params, clone(loss).set_params(**{name: "no such"}))


def check_solver(solver: Solver, loss: Loss = squared, *, tol: float = 1e-8) -> None:
    """Check that the naive gradient is zero at a solution, and that equal problems have equal ones.

    Parameters
    ----------
    solver : Solver
        The solver.
    loss : Loss
        A differentiable loss that it can minimise.
    tol : float
        Largest entry of the gradient, and largest difference of predictions.

    Examples
    --------
    >>> from skimp.solvers import direct
    >>> from skimp.testing import check_solver
    >>> check_solver(direct)
    """
    rng, alpha, params = np.random.default_rng(0), 1e-2, _params(solver)
    Z = _read_only(rng.normal(1.0, 1.0, (90, 4))[:, [0, 1, 2, 3, 3, 3]] * [1, 1, 1, 1, 1, 0])
    Y = _read_only(np.where(Z[:, :2] + rng.normal(size=(90, 2)) > 1, 1.0, -1.0))
    R, count = rng.normal(size=(6, 6)), rng.integers(0, 3, 90)

    def solve(P: Any, b: bool, Z: Array, Y: Array, w: Any, block_rows: int = 90) -> Solution:
        rows = open_rows(Z, target=Y, weight=w, block_rows=block_rows)
        return solver.solve(Problem(rows, loss, alpha, penalty=P, fit_intercept=b))

    for w, P, b in product((None, 1.0 * count), (None, R.T @ R), (True, False)):
        fit = partial(solve, P, b)
        found = fit(Z, Y, w)
        said = isinstance(found.message, str) and found.message and found.n_iter >= 1
        _require(found.converged is True and said, "the solver says that it converged, and how")
        F = Z @ found.coef + found.intercept
        share = np.full((90, 1), 1 / 90) if w is None else w[:, None] / w.sum()
        slope, Pc = share * loss.gradient(Y, F), found.coef if P is None else P @ found.coef
        _close(Z.T @ slope + 2 * alpha * Pc, 0, "the gradient in c is zero", tol)
        _close(slope.sum(axis=0) if b else found.intercept, 0, "b is optimal, or zero", tol)
        objective = np.sum(share * loss.value(Y, F)) + alpha * np.sum(found.coef * Pc)
        _close(found.history[-1:], objective, "the history ends at the objective", tol)
        twice = (np.repeat(Z, count, axis=0), np.repeat(Y, count, axis=0), None)
        for what, other, expected, bound in (
            ("blocks of 7 rows", fit(Z, Y, w, 7), F, tol),
            ("float32 rows", fit(Z.astype(np.float32), Y, w), F, max(1e-4, tol)),
            ("one output", fit(Z, Y[:, [1]], w), F[:, [1]], tol),
            ("repeated rows", fit(Z, Y, w) if w is None else fit(*twice), F, tol),
        ):
            _require(other.coef.dtype == other.intercept.dtype == float, "a solution is float64")
            _close(Z @ other.coef + other.intercept, expected, f"{what}: same solution", bound)
    _require(_params(solver) == params == _params(clone(solver)), "parameters do not change")


def _rows(X: Any, kernel: Any = None) -> Array:
    """Return float64 rows; random ones with zeros, a repeated row and a constant column."""
    if X is None:
        X = np.random.default_rng(0).normal(size=(600, 5))
        X[X < -1], X[:, 4] = 0, 1
        X[1] = X[0]
        X = np.abs(X) if has_flag(kernel, "needs_nonnegative") else X
    return _read_only(np.asarray(X, np.float64))


def _read_only(A: Array) -> Array:
    return np.broadcast_to(A, A.shape)


def _params(part: Any) -> str:
    return repr(part.get_params())


def _require(condition: Any, promise: str) -> None:
    if not condition:
        raise AssertionError(f"promise broken: {promise}.")


def _close(found: Any, expected: Any, promise: str, tol: float = 0.0) -> None:
    found, shape = np.asarray(found), np.shape(expected)
    _require(shape in {(), found.shape}, f"{promise}; shape {found.shape} instead of {shape}")
    error = np.max(np.abs(found - expected), initial=0.0)
    _require(error <= tol, f"{promise}; largest difference {error:.3g}, allowed {tol:.3g}")


def _refused(what: str, fn: Callable[..., Any], *given: Any) -> None:
    try:
        fn(*given)
    except ValueError:
        return
    raise AssertionError(f"promise broken: {what} must be refused with a ValueError.")
