"""Rows with at most one nonzero feature in each group of columns, as integers."""

from dataclasses import dataclass
from typing import final

import numpy as np
from scipy import sparse

from skimp._core._linalg import check_shape
from skimp._core._types import Array, DType


@final
@dataclass(frozen=True, eq=False)
class Codes:
    """Features that are zero but for one in each group of columns, all of them equal.

    What binning makes of a row: the nonzero features of row i are at columns
    ``offsets + codes[i]``. A row takes a code for each group, a quarter or less of its CSR form.
    With ``first`` of 1 the code 0 stands for no feature in the group.

    Attributes
    ----------
    codes : array of shape (n, g), of unsigned integers
        The column of each row within each of g groups.
    offsets : array of shape (g,)
        The first column of each group.
    value : float
        The nonzero feature, a NumPy float32 or float64.
    width : int
        The number of columns.
    first : 0 or 1
        The least code that stands for a feature.

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
        """Raise for codes that are not columns: compiled loops do not check their bounds."""
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
        """Return the number of rows and of columns."""
        return len(self.codes), self.width

    @property
    def dtype(self) -> DType:
        """Return the dtype of the features."""
        return self.value.dtype

    def __getitem__(self, part: slice | Array) -> "Codes":
        """Return a part of the rows."""
        return self.trusted(np.ascontiguousarray(self.codes[part]))

    def stack(self, parts: list["Codes"]) -> "Codes":
        """Return the rows of several parts of one matrix, this one's, as one."""
        return self.trusted(np.concatenate([part.codes for part in parts]))

    def trusted(self, codes: Array) -> "Codes":
        """Return other rows in the same columns, whose codes need no check."""
        rows = object.__new__(Codes)
        vars(rows).update(vars(self), codes=codes)
        return rows

    def __matmul__(self, C: Array) -> Array:
        """Return the product with C, of shape (width, k), in its dtype."""
        from skimp._core.loops._codes import gather

        if C.ndim != 2 or len(C) != self.width:
            raise ValueError(f"C must have {self.width} rows, found shape {C.shape}.")
        product = np.empty((len(self.codes), C.shape[1]), C.dtype)
        gather(*self.layout, np.ascontiguousarray(C), product)
        return product

    @property
    def layout(self) -> tuple[Array, Array, np.floating, int]:
        """Return what compiled loops know the rows by."""
        return self.codes, self.offsets, self.value, self.first

    def add_transposed(self, U: Array, out: Array) -> None:
        """Add the product of the transposed rows with U, of shape (n, k), to ``out``."""
        from skimp._core.loops._codes import scatter

        check_shape(out, (self.width, U.shape[1]))
        if len(U) != len(self.codes):
            raise ValueError(f"U must have {len(self.codes)} rows, found {len(U)}.")
        scatter(*self.layout, np.ascontiguousarray(U), out)

    def tocsr(self) -> sparse.csr_matrix:
        """Return the same features as a CSR matrix."""
        n, g = self.codes.shape
        # half the memory where the numbers of columns and of entries allow it
        index = np.int32 if max(self.width, n * g) < 2**31 else np.int64
        columns = np.add(self.codes, self.offsets, dtype=index, casting="unsafe").ravel()
        starts = np.arange(n + 1, dtype=index) * index(g)
        if self.first:
            present = self.codes != 0
            columns = columns[present.ravel()]
            starts[1:] = np.cumsum(np.count_nonzero(present, axis=1))
        data = np.full(len(columns), self.value)
        return sparse.csr_matrix((data, columns, starts), shape=self.shape)
