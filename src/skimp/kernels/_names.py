"""Names that stand for kernels with default parameters."""

import re
from functools import cache
from importlib import import_module
from inspect import isabstract, signature
from numbers import Integral
from typing import Any

from skimp._params._names import as_object
from skimp._params._rules import broken, is_number
from skimp.kernels._base import Kernel

_ALIASES = {"rbf": "Gaussian", "poly": "Polynomial", "sigmoid": "Tanh"}


@cache
def kernel_names() -> dict[str, str]:
    """Return the kernels by name: their class in snake case, if it has defaults, and aliases."""
    folder = import_module("skimp.kernels")
    classes = [getattr(folder, name) for name in folder.__all__]
    named = [
        kind.__name__
        for kind in classes
        if isinstance(kind, type)
        and issubclass(kind, Kernel)
        and not isabstract(kind)
        and all(p.default is not p.empty for p in signature(kind).parameters.values())
    ]
    return _ALIASES | {re.sub(r"\B(?=[A-Z])", "_", name).lower(): name for name in named}


def as_kernel(kernel: Any, *, owner: str, other: str = "", size: str | None = None) -> Kernel:
    """Return a kernel for a name or an object.

    Parameters
    ----------
    kernel : object
        What the user passed.
    owner : str
        The class that an error is about.
    other : str
        What the owner takes besides, which an error names first.
    size : str or None
        The parameter that a number was meant for, which the first parameter, a kernel, got.
    """
    if size is not None and is_number(kernel, Integral):
        raise ValueError(
            f"{owner}: kernel must be a kernel, got the number {kernel}: write "
            f"{owner}({size}={kernel})."
        )
    if isinstance(kernel, str) and kernel == "precomputed":
        raise broken(
            owner, "kernel", "an object, Precomputed(matrix), with row numbers as X", kernel
        )
    return as_object(
        kernel,
        Kernel,  # type: ignore[type-abstract]
        kernel_names(),
        "skimp.kernels",
        owner=owner,
        role="kernel",
        other=other,
    )


def has_flag(kernel: Any, flag: str) -> bool:
    """Return whether a kernel, given by name or as an object, has a flag; else False."""
    known = isinstance(kernel, Kernel) or (isinstance(kernel, str) and kernel in kernel_names())
    return known and bool(getattr(as_kernel(kernel, owner=""), flag))
