"""Checks of kernels."""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone

from skimp._core._types import Array
from skimp._params._errors import UnsupportedError
from skimp.data import open_rows
from skimp.kernels import Kernel
from skimp.testing._assertions import close, params_of, refused, require, rows_for

_Naive = Callable[[Array, Array], Array]


def check_kernel(kernel: Kernel, X: Any = None, *, naive: _Naive | None = None) -> None:
    """Check the values, derivatives, spectrum, flags and parameters of a kernel.

    Values must be symmetric, and agree between dense and sparse rows, float32, float64 and
    integers, and any subset of rows. The gradient must match finite differences, and samples of
    frequencies and pitches must average to the kernel. Invalid input must raise a `ValueError`.
    The check takes a few seconds.

    Parameters
    ----------
    kernel : Kernel
        The kernel; eigenvalues are not checked if its ``positive_definite`` is False.
    X : array of shape (n, d), optional
        Rows on which to evaluate it; by default 600 random rows of five columns.
    naive : callable, optional
        ``naive(X, Y)`` returns the kernel matrix straight from the formula, for comparison.

    Raises
    ------
    AssertionError
        If a check fails; the message names it.

    Examples
    --------
    >>> from skimp.kernels import Gaussian
    >>> from skimp.testing import check_kernel
    >>> check_kernel(Gaussian(gamma=0.5))
    """
    X, params = rows_for(X, kernel), params_of(kernel)
    Y, S, X32 = X[::7], sparse.csr_matrix(X), X.astype(np.float32)
    k = kernel.resolve(open_rows(X), seed=0)
    require(params_of(kernel) == params == params_of(clone(kernel)), "parameters do not change")
    K = k(X)
    require(
        np.isfinite(K).all(),
        "k(X) is finite; found infinity or NaN, pass rows X of a smaller scale",
    )
    tol = 1e-9 * max(1.0, np.abs(K).max())
    require(K.dtype == float and k(X32).dtype == np.float32, "values have the dtype of the rows")
    close(K, K.T, "k(x, y) = k(y, x)", tol)
    close(K.diagonal(), k.diag(X), "diag(X) is the diagonal of the matrix", tol)
    if naive is not None:
        close(k(X, Y), naive(X, Y), "k(X, Y) equals naive(X, Y)", tol)
    for A, B in ((S, S[::7]), (S, Y), (X, S[::7])):
        close(k(A, B), K[:, ::7], "sparse rows give the values of dense rows", tol)
    close(k.diag(S), k.diag(X), "sparse rows have the diagonal of dense rows", tol)
    for part in (slice(0, 1), slice(3, 10), slice(len(X) // 2, None)):
        close(k(X[part], Y), K[part, ::7], "a part of the rows gives a part of the matrix", tol)
    close(k(X32), K, "float32 agrees with float64", 1e5 * tol)
    if not k.takes_objects:
        # -128 has no opposite in int8, which reveals arithmetic in integers
        integers = np.clip(np.round(60 * X), -128, 127).astype(np.int8)
        expected = k(integers.astype(float))
        if not np.isfinite(expected).all():
            # a kernel that grows as fast as exp(<x, y>) overflows on large integers
            integers = np.round(X).astype(np.int8)
            expected = k(integers.astype(float))
        bound = 1e-9 * max(1.0, np.abs(expected).max())
        close(k(integers), expected, "integer rows give the values of float rows", bound)
        close(k.diag(integers), expected.diagonal(), "integer rows have the same diagonal", bound)
    _check_flags(k, X, tol)
    _check_spectrum(k, X, tol)
    _check_pitches(k, X)
    if k.differentiable:
        _check_gradient(k, X[:40] + 0.1 * k.needs_nonnegative, Y[:30])
    require(k == clone(k) and hash(k) == hash(clone(k)), "kernels with equal parameters are equal")
    bad = np.where(np.arange(X.size).reshape(X.shape) == 3, np.nan, X)
    for given in ((bad,), (X, bad), (X, X[:, 1:]), (X[:0],)):
        refused("NaN, a different number of columns, and empty data", k, *given)
    if not k.takes_objects:
        refused("a one-dimensional X", k, X[0])
    for name in k.get_params(deep=False):
        refused(f"{name}='no such'", clone(k).set_params(**{name: "no such"}), X)


def _check_flags(k: Kernel, X: Array, tol: float) -> None:
    """Check the flags of a kernel."""
    K = k(X)
    if k.positive_definite:
        values = np.linalg.eigvalsh(K[::3, ::3])
        require(values[0] >= -1e-10 * values[-1], f"k is PSD; smallest eigenvalue {values[0]:.3g}")
    if k.needs_nonnegative:
        negative = np.where(np.arange(len(X))[:, None] == 3, -X - 1, X)
        refused("negative entries of X", k, negative)
        refused("diag of negative entries of X", k.diag, negative)
    if k.rotation_invariant:
        Q, _ = np.linalg.qr(np.random.default_rng(0).normal(size=(X.shape[1], X.shape[1])))
        close(k(X @ Q), K, "k(Qx, Qy) = k(x, y) for a rotation Q", tol)


def _check_spectrum(k: Kernel, X: Array, tol: float) -> None:
    """Compare the kernel with cosines of its frequencies, and its curvature with the moment."""
    if not k.stationary:
        refused("sample_frequencies of a nonstationary kernel", k.sample_frequencies, 5, 1, None)
        return
    close(k(X + 1.5), k(X), "k(x + t, y + t) = k(x, y)", tol)
    A, B, size = X[:50], X[-50:], 100_000
    W = k.sample_frequencies(X.shape[1], size, np.random.default_rng(0))
    # by Hoeffding's inequality, all 50 means are this close with probability 1 - 1e-9
    bound = np.sqrt(2 * np.log(2 * len(A) / 1e-9) / size) * k.diag(A)
    error = np.cos((A - B) @ W).mean(axis=1) * k.diag(A) - k(A, B).diagonal()
    require(np.all(np.abs(error) <= bound), "cosines of the frequencies average to the kernel")
    # a cosine is at least its second-order expansion, so the curvature is at most the moment
    curvature = 2 * _slopes(k, X.shape[1], 1e-3).sum() / 1e-3
    require(
        curvature <= k.spectral_moment(X.shape[1]) * (1 + 1e-6) + 1e-8,
        "spectral_moment is at least minus the curvature at zero",
    )


def _check_pitches(k: Kernel, X: Array) -> None:
    """Compare the kernel with tents of its pitches, and its slopes at zero with the rates."""
    d, size = X.shape[1], 50_000
    try:
        rates = k.pitch_rates(d)
    except UnsupportedError:
        refused("sample_pitches of a kernel without pitches", k.sample_pitches, d, 1, None)
        return
    h = k.sample_pitches(d, size, np.random.default_rng(0))
    # Hoeffding's inequality, plus the error of a mixture of 8,192 pitches in each column
    bound = np.sqrt(np.log(2 * 20 / 1e-9) / (2 * size)) + 1e-5 * d
    for a, b in zip(X[:20], X[-20:], strict=True):
        heights = np.maximum(0, 1 - np.abs(a - b)[:, None] / h).prod(axis=0)
        expected = (k(a[None], b[None]) / k(a[None])).item()
        require(
            abs(heights.mean() - expected) <= bound, "tents of the pitches average to the kernel"
        )
    finite = np.isfinite(rates)
    step = 1e-6 / max(1.0, rates[finite].max(initial=0.0))
    error = np.abs(_slopes(k, d, step) - rates)[finite].max(initial=0.0)
    require(
        error <= 1e-4 * rates[finite].max(initial=1.0),
        "pitch_rates are minus the slopes at zero",
    )


def _slopes(k: Kernel, n_features: int, step: float) -> Array:
    """Return minus the relative slope of k at the origin, along each column."""
    origin = np.zeros((1, n_features))
    fallen = 1 - k(step * np.eye(n_features), origin)[:, 0] / k(origin).item()
    return np.asarray(fallen / step)


def _check_gradient(k: Kernel, X: Array, Y: Array) -> None:
    """Compare the gradient with central differences."""
    G = k.gradient(X, Y)
    require(G.shape == (len(X), len(Y), X.shape[1]), "the gradient has shape (n, m, d)")
    scale, steps = max(1.0, np.abs(G).max()), 1e-6 * np.eye(X.shape[1])
    slopes = [(k(X + step, Y) - k(X - step, Y)) / 2e-6 for step in steps]
    close(G, np.stack(slopes, axis=2), "the gradient equals finite differences", 1e-5 * scale)
    S, X32 = sparse.csr_matrix(X), X.astype(np.float32)
    for A, B in ((S, Y), (X, sparse.csr_matrix(Y)), (S, sparse.csr_matrix(Y))):
        close(k.gradient(A, B), G, "sparse rows have the gradient of dense rows", 1e-9 * scale)
    single = k.gradient(X32, Y)
    require(single.dtype == np.float32, "the gradient has the dtype of the rows")
    apart = np.abs(X[:, None] - Y).max(axis=2) > 1e-3
    close(single[apart], G[apart], "float32 gradients agree with float64", 1e-3 * scale)
    coef = np.random.default_rng(0).normal(size=(len(Y), 2))
    # more rows than are computed at a time
    expected = np.tile(np.einsum("ijk,jo->iko", G, coef), (15, 1, 1))
    bound = 1e-9 * max(1.0, np.abs(expected).max())
    for c, sums in ((coef, expected), (coef[:, 0], expected[:, :, 0])):
        found = k.expansion_gradient(np.tile(X, (15, 1)), Y, c)
        close(found, sums, "expansion_gradient is a sum of gradients", bound)
    A, sums = np.random.default_rng(1).normal(size=G.shape[:2]), np.zeros(G.shape[1:])
    k.bind(Y, np.dtype(np.float64)).add_gradient_sums(X, A, sums)
    expected = np.einsum("ijk,ij->jk", G, A)
    bound = 1e-9 * max(1.0, np.abs(expected).max())
    close(sums, expected, "add_gradient_sums adds gradients by column", bound)
