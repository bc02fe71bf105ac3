"""Strings as short names of kernels, such as ``"rbf"``."""

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
    """Return the accepted strings and the class of each.

    They are the class names in snake case, for classes whose parameters all have defaults, and
    aliases such as "rbf".
    """
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
    """Return a kernel, given as an object or by name.

    Parameters
    ----------
    kernel : Kernel or str
        The value that the user passed.
    owner : str
        The class that takes the kernel, for the error message.
    other : str
        Other accepted values, which the error message lists first.
    size : str or None
        A parameter of the owner, which the error message suggests if the kernel is a number.

    Returns
    -------
    kernel : Kernel
        The kernel.
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
    """Return whether a kernel, given as an object or by name, has a flag.

    Parameters
    ----------
    kernel : object
        The kernel; anything else has no flags.
    flag : str
        The name of the flag, such as "stationary".
    """
    known = isinstance(kernel, Kernel) or (isinstance(kernel, str) and kernel in kernel_names())
    return known and bool(getattr(as_kernel(kernel, owner=""), flag))
