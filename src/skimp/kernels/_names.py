"""Names that stand for kernels with default parameters."""

from numbers import Integral
from typing import Any

from skimp._params._names import as_object
from skimp._params._rules import broken, is_number
from skimp.kernels._base import Kernel

_NAMES = {
    "rbf": "Gaussian",
    "gaussian": "Gaussian",
    "laplacian": "Laplacian",
    "matern": "Matern",
    "cauchy": "Cauchy",
    "linear": "Linear",
    "poly": "Polynomial",
    "polynomial": "Polynomial",
    "chi2": "Chi2",
    "additive_chi2": "AdditiveChi2",
    "tanh": "Tanh",
    "sigmoid": "Tanh",
    "cosine": "Cosine",
    "arc_cosine": "ArcCosine",
    "neural_tangent": "NeuralTangent",
}


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
        _NAMES,
        "skimp.kernels",
        owner=owner,
        role="kernel",
        other=other,
    )


def has_flag(kernel: Any, flag: str) -> bool:
    """Tell whether a kernel, given by name or as an object, has a flag; False for no kernel."""
    known = isinstance(kernel, Kernel) or (isinstance(kernel, str) and kernel in _NAMES)
    return known and bool(getattr(as_kernel(kernel, owner=""), flag))
