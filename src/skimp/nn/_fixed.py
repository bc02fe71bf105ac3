"""Fixed matrices: products with rows, and with second moments of descriptors."""

from typing import Any, final

import numpy as np
import torch
from scipy import sparse
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn import functional as F

_BLOCK = 128
"""Rows of second moments computed at once."""


@final
class DenseMatrix(nn.Module):
    """A fixed dense matrix A; the forward pass maps rows X to X A^T."""

    def __init__(self, A: Any):
        super().__init__()
        self.register_buffer("entries", torch.from_numpy(np.array(A)))

    def matrix(self, dtype: torch.dtype) -> Any:
        """Return a NumPy array."""
        return self.entries.to("cpu", dtype).numpy()

    def forward(self, X: Tensor) -> Tensor:
        """Return X A^T."""
        return F.linear(X, self.entries.to(X.dtype))


@final
class SparseMatrix(nn.Module):
    """A fixed CSR matrix A; the forward pass maps rows X to X A^T.

    On a CPU, SciPy multiplies: PyTorch has fast sparse products on x86 processors only. Elsewhere,
    and in a compiled or exported program, entries are gathered and added.
    """

    def __init__(self, A: Any, *, persistent: bool = True):
        super().__init__()
        self.shape = A.shape
        held = {name: torch.from_numpy(getattr(A, name)) for name in ("data", "indices", "indptr")}
        if persistent:
            held["indices"] = short_integers(A.indices, A.shape[1])
            held["indptr"] = short_integers(A.indptr, A.nnz)
        for name, part in held.items():
            self.register_buffer(name, part, persistent=persistent)
        self._made: tuple[Tensor, torch.dtype, Any] | None = None
        self._number_rows()

    def _number_rows(self) -> None:
        """Store the row of each entry."""
        rows = torch.repeat_interleave(self.indptr.diff().int())
        self.register_buffer("rows", rows, persistent=False)

    def matrix(self, dtype: torch.dtype) -> Any:
        """Return a SciPy matrix, which shares memory with the buffers if possible."""
        # made once, which takes as long as a product; converting the layer replaces `data`
        if self._made is None or self._made[0] is not self.data or self._made[1] != dtype:
            parts = (self.data.to(dtype), self.indices, self.indptr)
            made = sparse.csr_array(tuple(part.cpu().numpy() for part in parts), shape=self.shape)
            self._made = self.data, dtype, made
        return self._made[2]

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "_made": None}

    @property
    def gathers(self) -> bool:
        """Whether products gather entries: on other devices, and in programs."""
        tracing = torch.compiler.is_compiling() or torch.jit.is_tracing()
        return bool(tracing or self.data.device.type != "cpu")

    def forward(self, X: Tensor) -> Tensor:
        """Return X A^T."""
        if not self.gathers:
            return _Product.apply(X, self)
        terms = X.mT.index_select(0, self.indices.long()) * self.data.to(X.dtype)[:, None]
        return X.new_zeros(self.shape[0], X.shape[0]).index_add(0, self.rows.long(), terms).mT

    def of_moments(self, X: Tensor, U: Tensor | None) -> Tensor:
        """Return A vec(X^T U) for each X of shape (locations, d); U is X if it is None."""
        if self.gathers:
            return self((X.mT @ (X if U is None else U)).flatten(1))
        return _OfMoments.apply(X, U, self)

    def _load_from_state_dict(
        self, state_dict: dict[str, Any], prefix: str, *arguments: Any
    ) -> None:
        # the number of entries may differ from that of this matrix
        for name in ("data", "indices", "indptr"):
            stored, held = state_dict.get(prefix + name), getattr(self, name)
            if stored is not None:
                shape = held.shape if name == "indptr" else stored.shape
                dtype = held.dtype if name == "data" else stored.dtype
                setattr(self, name, held.new_zeros(shape, dtype=dtype))
        super()._load_from_state_dict(state_dict, prefix, *arguments)
        self._number_rows()


class _Product(torch.autograd.Function):
    """X A^T for a fixed sparse matrix A."""

    @staticmethod
    def forward(ctx: Any, X: Tensor, A: SparseMatrix) -> Tensor:
        ctx.A = A
        return torch.from_numpy((A.matrix(X.dtype) @ X.numpy().T).T)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> Any:
        A = ctx.A.matrix(gradient.dtype)
        return torch.from_numpy((A.T @ gradient.numpy().T).T), None


class _OfMoments(torch.autograd.Function):
    """A vec(X^T U) for each image, without moments of all images in memory.

    The gradient with respect to the moments of an image is the matrix M with vec(M) = A^T g. That
    with respect to X is U M^T, and X (M + M^T) if X and U are the same.
    """

    @staticmethod
    def forward(ctx: Any, X: Tensor, U: Tensor | None, A: SparseMatrix) -> Tensor:
        ctx.save_for_backward(X, U)
        ctx.A = A
        weights, pooled = A.matrix(X.dtype), X.new_empty(len(X), A.shape[0])
        moments = X.new_empty(X.shape[2], (X if U is None else U).shape[2])
        for i, x in enumerate(X):
            if U is None:
                _upper_moments(x, moments)
            else:
                torch.matmul(x.mT, U[i], out=moments)
            pooled[i] = torch.from_numpy(weights @ moments.flatten().numpy())
        return pooled

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> Any:
        X, U = ctx.saved_tensors
        weights = ctx.A.matrix(gradient.dtype).T
        of_X = torch.empty_like(X)
        of_U: Any = None if U is None else torch.empty_like(U)
        for i, x in enumerate(X):
            M = torch.from_numpy(weights @ gradient[i].numpy()).view(x.shape[1], -1)
            if U is None:
                torch.matmul(x, M + M.mT, out=of_X[i])
            else:
                torch.matmul(U[i], M.mT, out=of_X[i])
                torch.matmul(x, M, out=of_U[i])
        return of_X, of_U, None


def _upper_moments(x: Tensor, out: Tensor) -> None:
    """Write x^T x on and above the diagonal; weights of a single input read nothing else."""
    for start in range(0, len(out), _BLOCK):
        block = slice(start, start + _BLOCK)
        torch.matmul(x.mT[block], x[:, start:], out=out[block, start:])


def short_integers(values: Any, largest: int) -> Tensor:
    """Return integers from 0 to ``largest`` in the shortest signed dtype of 16 bits or more.

    Integers are most of what a file of the layer holds.
    """
    dtype = next(kind for kind in (np.int16, np.int32, np.int64) if largest <= np.iinfo(kind).max)
    return torch.from_numpy(values.astype(dtype))


def fixed_matrix(A: Any) -> DenseMatrix | SparseMatrix:
    """Return a module that holds a dense or sparse matrix."""
    return SparseMatrix(sparse.csr_array(A)) if sparse.issparse(A) else DenseMatrix(A)
