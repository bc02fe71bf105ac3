"""Kernels of tensors, for landmarks: each formula as in `skimp.kernels`, with gradients."""

from collections.abc import Callable
from math import sqrt
from typing import Any

import numpy as np
import torch
from torch import Tensor

from skimp import kernels


def squared_distances(X: Tensor, B: Tensor) -> Tensor:
    """Return squared Euclidean distances by inner products, with errors of eps times the norms."""
    squares = X.square().sum(1, keepdim=True) + B.square().sum(1)
    return (squares - 2 * X @ B.mT).clamp_min(0)


def _distances(X: Tensor, B: Tensor, *, p: int) -> Tensor:
    """Return distances without inner products."""
    if torch.compiler.is_compiling():  # ONNX has no such operator
        return torch.linalg.vector_norm(X[:, None] - B, p, dim=-1)
    return torch.cdist(X, B, p=p, compute_mode="donot_use_mm_for_euclid_dist")


def _squared_differences(X: Tensor, B: Tensor) -> Tensor:
    """Return squared distances without inner products, which is slower."""
    return _distances(X, B, p=2).square()


def _matern(kernel: Any, s: Tensor) -> Tensor:
    # the root has no slope at 0
    t = (4 * kernel.nu * s).clamp_min(torch.finfo(s.dtype).tiny).sqrt()
    polynomial = 1 + t if kernel.nu == 1.5 else 1 + t + t.square() / 3
    return polynomial * (-t).exp()


_DISTANCES: dict[type, Callable[[Any, Tensor], Tensor]] = {
    kernels.Gaussian: lambda kernel, s: (-s).exp(),
    kernels.Cauchy: lambda kernel, s: 1 / (1 + s),
    kernels.Matern: _matern,
}
_PRODUCTS: dict[type, Callable[[Any, Tensor], Tensor]] = {
    kernels.Linear: lambda kernel, s: s,
    kernels.Polynomial: lambda kernel, s: (s + kernel.coef0) ** kernel.degree,
}
"""Functions of squared distances and of inner products of rows scaled by the root of gamma."""
_CLOSED = (0.5, 1.5, 2.5)
_ROUNDING = 1e-4
"""Largest error of a squared distance, times gamma, that is left to inner products."""


class KernelColumns(torch.nn.Module):
    """The functions k(., b) of landmarks b, which may be trained."""

    def __init__(self, kernel: Any, points: Tensor, *, trainable: bool):
        super().__init__()
        known = {**_DISTANCES, **_PRODUCTS, kernels.Laplacian: None}
        if type(kernel) not in known or getattr(kernel, "nu", 0.5) not in _CLOSED:
            names = ", ".join(kind.__name__ for kind in known)
            raise ValueError(
                f"KernelFeatures: kernel must be one of {names} (Matern with nu = 0.5, 1.5 or "
                f"2.5), found {kernel!r}."
            )
        self.kernel = kernel
        gamma = np.broadcast_to(np.asarray(kernel.gamma, np.float64), points.shape[1])
        self.register_buffer("gamma", torch.tensor(gamma, dtype=points.dtype))
        self.points = torch.nn.Parameter(points, requires_grad=trainable)
        self.spread = float(((points - points.mean(0)).square() @ self.gamma).max())

    def extra_repr(self) -> str:
        """Return the kernel and the number of landmarks."""
        return f"{self.kernel!r}, {len(self.points)}"

    def forward(self, X: Tensor) -> Tensor:
        """Return the kernel values of rows and landmarks."""
        kind, B, gamma = type(self.kernel), self.points.to(X.dtype), self.gamma.to(X.dtype)
        root = gamma.sqrt()
        if kind in _PRODUCTS:
            return _PRODUCTS[kind](self.kernel, X * root @ (B * root).mT)
        centre = B.detach().mean(0)  # columns with large means lose no digits
        X, B = X - centre, B - centre
        if kind is kernels.Laplacian:
            return (-_distances(X * gamma, B * gamma, p=1)).exp()
        X, B = X * root, B * root
        if kind is kernels.Matern and self.kernel.nu == 0.5:
            # its slope at 0 magnifies the rounding of inner products
            return (-_distances(X, B, p=2) * sqrt(2)).exp()
        by_products = self.spread * torch.finfo(X.dtype).eps <= _ROUNDING
        distances = squared_distances if by_products else _squared_differences
        return _DISTANCES[kind](self.kernel, distances(X, B))
