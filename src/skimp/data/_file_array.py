"""Arrays in temporary files, for numbers that do not fit into memory."""

import errno
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from math import prod
from tempfile import TemporaryFile, gettempdir
from threading import Lock
from typing import Any
from weakref import finalize

import numpy as np
from numpy.typing import DTypeLike

from skimp._core._types import Array
from skimp._params._memory import readable


class FileArray:
    """An array in a temporary file, which is read and written in slices of rows.

    ``array[start:stop]`` is a copy, and ``array[start:stop] = values`` writes to the file. New
    entries are zero. Any number of threads may read and write.

    The file is in the folder of `tempfile.gettempdir`, which the environment variable TMPDIR sets.
    It has no name there, so nothing is left when the process ends, even if it is killed. It is
    read with plain reads: the pages of a memory map would count as memory of the process.

    Parameters
    ----------
    shape : tuple of int
        The shape; the first number is that of the rows.
    dtype : dtype
        The type of the entries.
    """

    def __init__(self, shape: tuple[int, ...], dtype: DTypeLike):
        self.shape, self.dtype = shape, np.dtype(dtype)
        self._row = prod(shape[1:]) * self.dtype.itemsize
        require_disk(self.nbytes)
        self._lock = Lock()
        file = TemporaryFile(buffering=0)  # noqa: SIM115
        finalize(self, file.close)
        self._file: Any = file
        with _explained(self.nbytes):
            file.truncate(self.nbytes)

    @property
    def nbytes(self) -> int:
        """The size of the file."""
        return self.shape[0] * self._row

    def __len__(self) -> int:
        return self.shape[0]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        """Read the whole array."""
        return np.asarray(self[:], dtype)

    def __getitem__(self, part: slice) -> Array:
        start, stop, _ = part.indices(len(self))
        values = np.empty((max(0, stop - start), *self.shape[1:]), self.dtype)
        left = _bytes_of(values)
        with self._lock:
            self._file.seek(start * self._row)
            while len(left):
                left = left[self._file.readinto(left) :]
        return values

    def __setitem__(self, part: slice, values: Any) -> None:
        start, stop, _ = part.indices(len(self))
        shape = (max(0, stop - start), *self.shape[1:])
        left = _bytes_of(np.ascontiguousarray(np.broadcast_to(values, shape), self.dtype))
        with self._lock, _explained(self.nbytes):
            self._file.seek(start * self._row)
            while len(left):
                left = left[self._file.write(left) :]


def _bytes_of(values: Array) -> Array:
    return values.reshape(-1).view(np.uint8)


def require_disk(needed: int) -> None:
    """Raise an `OSError` that names a remedy if temporary files of this size do not fit."""
    if needed > shutil.disk_usage(gettempdir()).free:
        raise _full_disk(needed)


@contextmanager
def _explained(needed: int) -> Iterator[None]:
    """Replace the error of a full disk by one that names a remedy."""
    try:
        yield
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        raise _full_disk(needed) from error


def _full_disk(needed: int) -> OSError:
    folder = gettempdir()
    text = (
        f"a temporary file of {readable(needed)} does not fit into {folder!r}, where "
        f"{readable(shutil.disk_usage(folder).free)} are free: free space there, set the "
        "environment variable TMPDIR to a folder on another disk, or raise memory_limit"
    )
    return OSError(errno.ENOSPC, text)
