"""One-hot features, stored as integer codes."""

from dataclasses import dataclass
from typing import final

import numpy as np
from scipy import sparse

from skimp._core._linalg import check_shape
from skimp._core._types import Array, DType


@final
@dataclass(frozen=True, eq=False)
class Codes:
    """Sparse rows with at most one nonzero feature in each group of columns, stored as integers.

    This is the output of random binning. The nonzero features of row i are in the columns
    ``offsets + codes[i]``, and all have the same value. A row stores one code per group, which
    takes at most a quarter of the memory of a CSR row. With ``first=1``, code 0 means that the row
    has no feature in the group.

    Attributes
    ----------
    codes : array of shape (n, g), of unsigned integers
        The position of the nonzero feature of each row within each of the g groups.
    offsets : array of shape (g,)
        The first column of each group.
    value : float
        The value of all nonzero features, a NumPy float32 or float64.
    width : int
        The number of columns.
    first : 0 or 1
        The smallest code that has a feature.

    Examples
    --------
    >>> import numpy as np
    >>> from skimp.data import Codes
    >>> codes = np.array([[0, 1], [2, 0]], dtype=np.uint8)
    >>> Codes(codes, np.array([0, 3]), np.float64(0.5), 5).tocsr().toarray().tolist()
    [[0.5, 0.0, 0.0, 0.0, 0.5], [0.0, 0.0, 0.5, 0.5, 0.0]]
    """

    codes: Array
    offsets: Array
    value: np.floating
    width: int
    first: int = 0

    def __post_init__(self) -> None:
        """Check that all codes are valid columns; compiled loops do not check bounds."""
        codes, offsets = self.codes, self.offsets
        if codes.ndim != 2 or codes.dtype.kind != "u" or not codes.flags.c_contiguous:
            raise ValueError(
                "codes must be a C-contiguous matrix of unsigned integers, "
                f"found {codes.dtype} of shape {codes.shape}."
            )
        if offsets.shape != codes.shape[1:] or offsets.dtype != np.int64:
            raise ValueError(
                f"offsets must be int64 of shape {codes.shape[1:]}, "
                f"found {offsets.dtype} of shape {offsets.shape}."
            )
        if not isinstance(self.value, np.float32 | np.float64):
            raise ValueError(f"value must be a NumPy float32 or float64, found {self.value!r}.")
        if self.first not in (0, 1):
            raise ValueError(f"first must be 0 or 1, found {self.first!r}.")
        if codes.size == 0:
            return
        first, last = offsets.min(), (offsets + codes.max(axis=0).astype(np.int64)).max()
        if first < 0 or last >= self.width:
            raise ValueError(
                f"columns must be from 0 to {self.width - 1}, found {first} to {last}."
            )

    @property
    def shape(self) -> tuple[int, int]:
        """The number of rows and of columns."""
        return len(self.codes), self.width

    @property
    def dtype(self) -> DType:
        """The dtype of the features."""
        return self.value.dtype

    def __getitem__(self, part: slice | Array) -> "Codes":
        """Return some of the rows."""
        return self.trusted(np.ascontiguousarray(self.codes[part]))

    def stack(self, parts: list["Codes"]) -> "Codes":
        """Concatenate parts that have the same columns as these rows."""
        return self.trusted(np.concatenate([part.codes for part in parts]))

    def trusted(self, codes: Array) -> "Codes":
        """Return other rows with the same columns, without checking their codes."""
        rows = object.__new__(Codes)
        vars(rows).update(vars(self), codes=codes)
        return rows

    def __matmul__(self, C: Array) -> Array:
        """Return the product with C, of shape (width, k), in the dtype of C."""
        from skimp._core.loops._codes import gather

        if C.ndim != 2 or len(C) != self.width:
            raise ValueError(f"C must have {self.width} rows, found shape {C.shape}.")
        product = np.empty((len(self.codes), C.shape[1]), C.dtype)
        gather(*self.layout, np.ascontiguousarray(C), product)
        return product

    @property
    def layout(self) -> tuple[Array, Array, np.floating, int]:
        """The arguments of compiled loops that describe the rows."""
        return self.codes, self.offsets, self.value, self.first

    def add_transposed(self, U: Array, out: Array) -> None:
        """Add ``Z^T U`` to ``out``, where Z are these rows and U has shape (n, k)."""
        from skimp._core.loops._codes import scatter

        check_shape(out, (self.width, U.shape[1]))
        if len(U) != len(self.codes):
            raise ValueError(f"U must have {len(self.codes)} rows, found {len(U)}.")
        scatter(*self.layout, np.ascontiguousarray(U), out)

    def tocsr(self) -> sparse.csr_matrix:
        """Return the same features as a CSR matrix."""
        n, g = self.codes.shape
        # int32 takes half the memory, if it can index all columns and entries
        index = np.int32 if max(self.width, n * g) < 2**31 else np.int64
        columns = np.add(self.codes, self.offsets, dtype=index, casting="unsafe").ravel()
        starts = np.arange(n + 1, dtype=index) * index(g)
        if self.first:
            present = self.codes != 0
            columns = columns[present.ravel()]
            starts[1:] = np.cumsum(np.count_nonzero(present, axis=1))
        data = np.full(len(columns), self.value)
        return sparse.csr_matrix((data, columns, starts), shape=self.shape)
