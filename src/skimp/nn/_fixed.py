"""Fixed matrices: products with rows, and with second moments of descriptors."""

from typing import Any, Self, final

import numpy as np
import torch
from scipy import sparse
from torch import Tensor, nn
from torch.nn import functional as F

from skimp._core._linalg import upper_gram
from skimp.nn._inputs import LOW_PRECISION


@final
class DenseMatrix(nn.Module):
    """A fixed dense matrix A; the forward pass maps rows X to X A^T."""

    entries: Tensor

    def __init__(self, A: Any):
        super().__init__()
        self.shape = A.shape
        self.register_buffer("entries", torch.from_numpy(np.array(A, order="C")))

    def _apply(self, fn: Any, recurse: bool = True) -> Self:
        held = self.entries
        super()._apply(fn, recurse)
        self.entries = _single(self.entries, held)
        return self

    def matrix(self, dtype: torch.dtype) -> Any:
        """Return a NumPy array."""
        return self.entries.to("cpu", dtype).numpy()

    def accepts(self, state: dict[str, Tensor]) -> bool:
        """Return whether a state has the shapes of this matrix."""
        return bool(state["entries"].shape == self.entries.shape)

    def forward(self, X: Tensor) -> Tensor:
        """Return X A^T."""
        return F.linear(X, self.entries.to(X.dtype))


@final
class SparseMatrix(nn.Module):
    """A fixed CSR matrix A; the forward pass maps rows X to X A^T.

    On a CPU, SciPy multiplies: PyTorch has fast sparse products on x86 processors only. Elsewhere,
    and in a compiled or exported program, entries are gathered and added.
    """

    data: Tensor

    def __init__(self, A: Any, *, persistent: bool = True):
        super().__init__()
        self.shape = A.shape
        for name in ("data", "indices", "indptr"):
            part = getattr(A, name)
            # distributed training has no shorter integers
            part = part if name == "data" else part.astype(_index_dtype(max(A.nnz, *A.shape)))
            self.register_buffer(name, torch.from_numpy(part), persistent=persistent)
        self._number_rows()

    def _number_rows(self) -> None:
        """Store the row of each entry."""
        rows = torch.repeat_interleave(self.indptr.diff()).to(self.indptr.dtype)
        self.register_buffer("rows", rows, persistent=False)
        self._made: tuple[torch.dtype, Any] | None = None

    def matrix(self, dtype: torch.dtype) -> Any:
        """Return a SciPy matrix, which shares memory with the buffers if possible."""
        made = self._made  # once for each dtype: making it takes as long as a product
        if made is None or made[0] != dtype:
            parts = (self.data.to(dtype), self.indices, self.indptr)
            A = sparse.csr_array(tuple(part.cpu().numpy() for part in parts), shape=self.shape)
            self._made = made = dtype, A
        return made[1]

    def _apply(self, fn: Any, recurse: bool = True) -> Self:
        held = self.data
        super()._apply(fn, recurse)
        self.data = _single(self.data, held)
        self._made = None
        return self

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
            return _Product.apply(X, self, False)
        terms = X.mT.index_select(0, self.indices.long()) * self.data.to(X.dtype)[:, None]
        return X.new_zeros(self.shape[0], X.shape[0]).index_add(0, self.rows.long(), terms).mT

    def of_moments(self, X: Tensor, U: Tensor | None) -> Tensor:
        """Return A vec(X^T U) for each X of shape (locations, d); U is X if it is None."""
        if self.gathers:
            return self((X.mT @ (X if U is None else U)).flatten(1))
        return _OfMoments.apply(X, U, self)

    def accepts(self, state: dict[str, Tensor]) -> bool:
        """Return whether a state is a CSR matrix of this shape, with any number of entries."""
        starts, indices = state["indptr"], state["indices"]
        return bool(
            starts.shape == self.indptr.shape
            and indices.shape == state["data"].shape == (starts[-1],)
            and starts[0] == 0
            and (starts.diff() >= 0).all()
            and ((indices >= 0) & (indices < self.shape[1])).all()
        )

    def _load_from_state_dict(
        self, state_dict: dict[str, Any], prefix: str, *arguments: Any
    ) -> None:
        for name in ("data", "indices"):
            stored, held = state_dict.get(prefix + name), getattr(self, name)
            if stored is not None:
                setattr(self, name, held.new_empty(stored.shape))
        super()._load_from_state_dict(state_dict, prefix, *arguments)
        if prefix + "indptr" in state_dict:
            self._number_rows()


class _Product(torch.autograd.Function):
    """X A^T for a fixed sparse matrix A, or X A if it is transposed."""

    @staticmethod
    def forward(X: Tensor, A: SparseMatrix, transposed: bool) -> Tensor:
        matrix = A.matrix(X.dtype)
        return torch.from_numpy(((matrix.T if transposed else matrix) @ X.numpy().T).T)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Tensor) -> None:
        _, ctx.A, ctx.transposed = inputs

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Any:
        return _Product.apply(gradient, ctx.A, not ctx.transposed), None, None

    @staticmethod
    def vmap(info: Any, in_dims: Any, X: Tensor, A: SparseMatrix, transposed: bool) -> Any:
        flat = _flat(X, in_dims[0], info.batch_size)
        return _Product.apply(flat, A, transposed).unflatten(0, (info.batch_size, -1)), 0


class _OfMoments(torch.autograd.Function):
    """A vec(X^T U) for each image, without moments of all images in memory; U is X if it is None.

    The gradient of the moments of an image is the matrix M with vec(M) = A^T g. The gradient of X
    is U M^T, and that of U is X M. If U is X, they are added.
    """

    @staticmethod
    def forward(X: Tensor, U: Tensor | None, A: SparseMatrix) -> Tensor:
        weights, pooled = A.matrix(X.dtype), X.new_empty(len(X), A.shape[0])
        moments = X.new_empty(X.shape[2], (X if U is None else U).shape[2])
        for i, x in enumerate(X):
            if U is None:
                upper_gram(x, moments, torch.matmul)
            else:
                torch.matmul(x.mT, U[i], out=moments)
            pooled[i] = torch.from_numpy(weights @ moments.flatten().numpy())
        return pooled

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Tensor) -> None:
        X, U, ctx.A = inputs
        ctx.save_for_backward(X, U)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Any:
        X, U = ctx.saved_tensors
        if torch.is_grad_enabled():  # of a gradient: by functions that have one
            M = _Product.apply(gradient, ctx.A, True).unflatten(1, (X.shape[2], -1))
            return (X @ (M + M.mT), None, None) if U is None else (U @ M.mT, X @ M, None)
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

    @staticmethod
    def vmap(info: Any, in_dims: Any, X: Tensor, U: Tensor | None, A: SparseMatrix) -> Any:
        size = info.batch_size
        flat = [
            part if part is None else _flat(part, at, size)
            for part, at in zip((X, U), in_dims[:2], strict=True)
        ]
        return _OfMoments.apply(*flat, A).unflatten(0, (size, -1)), 0


def _flat(X: Tensor, at: int | None, size: int) -> Tensor:
    """Return the images of all examples of vmap in one dimension."""
    return (X.expand(size, *X.shape) if at is None else X.movedim(at, 0)).flatten(0, 1)


def _single(moved: Tensor, held: Tensor) -> Tensor:
    """Return moved numbers, from those held before in place of 16-bit ones: sums need them."""
    return held.to(moved.device) if moved.dtype in LOW_PRECISION else moved


def _index_dtype(largest: int) -> Any:
    return np.int32 if largest <= np.iinfo(np.int32).max else np.int64


def fixed_matrix(A: Any) -> DenseMatrix | SparseMatrix:
    """Return a module that holds a dense or sparse matrix."""
    return SparseMatrix(sparse.csr_array(A)) if sparse.issparse(A) else DenseMatrix(A)
