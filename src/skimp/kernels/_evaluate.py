"""Evaluation of kernels on user data: validated once, then in strips on several threads."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_array

from skimp._core._blocks import fold
from skimp._core._linalg import as_compute_dtype, canonical
from skimp._core._objects import check_any_rows
from skimp._core._threads import thread_count
from skimp._core._types import Array
from skimp.kernels._checks import unsupported
from skimp.kernels._columns import STRIP

if TYPE_CHECKING:
    from skimp.kernels._base import Kernel


def check_arguments(
    kernel: "Kernel", X: Any, Y: Any, *, differentiable: bool = False
) -> tuple["Kernel", Any, Any]:
    """Validate both arguments; return them as arrays, and the kernel with column numbers."""
    kernel.check_resolved()
    names, others = getattr(X, "columns", None), getattr(Y, "columns", None)
    if names is not None and others is not None and list(names) != list(others):
        raise ValueError(f"Y must have the same columns as X, {list(names)}, found {list(others)}.")
    if differentiable and not kernel.differentiable:
        raise unsupported(kernel, "differentiable in x", owner="gradient")
    if names is not None:
        kernel = kernel.with_names([str(name) for name in names])

    def check(X: Any, name: str) -> Any:
        if kernel.takes_objects:
            X = check_any_rows(X, name)
        else:
            X = check_array(X, accept_sparse="csr", dtype="numeric", input_name=name)
        return canonical(X)

    X = check(X, "X")
    Y = X if Y is None else check(Y, "Y")
    if X.shape[1] != Y.shape[1]:
        raise ValueError(f"Y must have {X.shape[1]} columns like X, found {Y.shape[1]}.")
    return kernel, X, Y


def gradient(kernel: "Kernel", X: Any, Y: Any) -> Array:
    """Implement `Kernel.gradient`."""
    kernel, X, Y = check_arguments(kernel, X, Y, differentiable=True)
    dtype = as_compute_dtype(X.dtype)
    G = np.zeros((X.shape[0], Y.shape[0], X.shape[1]), dtype)
    ones = np.ones((X.shape[0], 1), dtype)
    for j in range(Y.shape[0]):
        kernel.bind(Y[j : j + 1], dtype).add_gradient(X, ones, G[:, j])
    return G


def expansion_gradient(kernel: "Kernel", X: Any, B: Any, coef: Any) -> Array:
    """Implement `Kernel.expansion_gradient`."""
    kernel, X, B = check_arguments(kernel, X, B, differentiable=True)
    dtype = as_compute_dtype(X.dtype)
    coef = check_array(coef, dtype=dtype, ensure_2d=False, input_name="coef")
    if coef.shape[0] != B.shape[0] or coef.ndim > 2:
        raise ValueError(
            f"coef must have a row for each of the {B.shape[0]} rows of B, "
            f"found shape {coef.shape}."
        )
    columns, functions = kernel.bind(B, dtype), coef.reshape(len(coef), -1).T
    G = np.zeros((X.shape[0], len(functions), X.shape[1]), dtype)

    def fill(part: slice) -> None:
        for output, c in enumerate(functions):
            A = np.broadcast_to(c, (G[part].shape[0], len(c)))
            columns.add_gradient_strip(X[part], A, G[part, output])

    over_strips(X.shape[0], fill, None)
    return G[:, 0] if coef.ndim == 1 else np.ascontiguousarray(G.transpose(0, 2, 1))


def over_strips(n_rows: int, fill: Callable[[slice], None], n_jobs: int | None) -> None:
    """Call ``fill`` on slices of the rows, concurrently."""
    starts = range(0, n_rows, STRIP)
    fold(
        starts,
        lambda start, _: fill(slice(start, start + STRIP)),
        lambda total, _: total,
        None,
        thread_count(n_jobs) if len(starts) > 1 else 1,
    )
