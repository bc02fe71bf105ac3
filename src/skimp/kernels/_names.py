"""Names that stand for kernels with default parameters."""

from typing import Any

from skimp._core._names import as_object
from skimp._core._rules import broken
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


def as_kernel(kernel: Any, *, owner: str) -> Kernel:
    """Return a kernel for a name or an object; ``owner`` is named in the error."""
    if isinstance(kernel, str) and kernel == "precomputed":
        raise broken(
            owner, "kernel", "an object, Precomputed(matrix), with row numbers as X", kernel
        )
    return as_object(kernel, Kernel, _NAMES, "skimp.kernels", owner=owner, role="kernel")  # type: ignore[type-abstract]


def has_flag(kernel: Any, flag: str) -> bool:
    """Tell whether a kernel, given by name or as an object, has a flag; False for no kernel."""
    known = isinstance(kernel, Kernel) or (isinstance(kernel, str) and kernel in _NAMES)
    return known and bool(getattr(as_kernel(kernel, owner=""), flag))
