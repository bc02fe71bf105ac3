"""The arguments of a kernel: checked once, then evaluated strip by strip on several threads."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from sklearn.utils.validation import check_array

from skimp._core._blocks import fold
from skimp._core._linalg import canonical
from skimp._core._objects import check_any_rows
from skimp._core._threads import thread_count
from skimp.kernels._checks import unsupported
from skimp.kernels._columns import STRIP

if TYPE_CHECKING:
    from skimp.kernels._base import Kernel


def check_arguments(
    kernel: "Kernel", X: Any, Y: Any, *, differentiable: bool = False
) -> tuple["Kernel", Any, Any]:
    """Return the kernel without names of columns, and both arguments as arrays."""
    kernel.check_resolved()
    names, others = getattr(X, "columns", None), getattr(Y, "columns", None)
    if names is not None and others is not None and list(names) != list(others):
        raise ValueError(f"Y must have the columns of X, {list(names)}, found {list(others)}.")
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
        raise ValueError(f"Y must have {X.shape[1]} columns as X has, found {Y.shape[1]}.")
    return kernel, X, Y


def over_strips(n_rows: int, fill: Callable[[slice], None], n_jobs: int | None) -> None:
    """Call ``fill`` on the slices of the rows, concurrently."""
    starts = range(0, n_rows, STRIP)
    fold(
        starts,
        lambda start, _: fill(slice(start, start + STRIP)),
        lambda total, _: total,
        None,
        thread_count(n_jobs) if len(starts) > 1 else 1,
    )
