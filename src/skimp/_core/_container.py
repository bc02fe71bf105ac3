"""Files of nested lists and dicts with arrays: JSON and NumPy's array format, never pickles.

A file is a zip archive without compression. Its member ``tree.json`` holds the nesting, in which
arrays are numbered, and ``0.npy``, ``1.npy``, ... are the arrays. Reading executes no code, and
allocates no more than the size of the file.
"""

import json
import os
from math import isfinite, prod
from typing import IO, Any, BinaryIO, Protocol, runtime_checkable
from zipfile import ZIP_STORED, ZipFile, ZipInfo

import numpy as np
from scipy import sparse

from skimp._core._files import written_aside
from skimp._core._types import Array, DType

FORMAT, VERSION = "skimp", 1
_TREE = "tree.json"
_KINDS = "biufcSUmM"
"""Kinds of dtypes that have no Python objects."""
_MOST_HEADER = 10_000
_PART = 2**20
_ROWS = 2**16
"""Rows of an array in parts that are written at a time."""
_DATE = (1980, 1, 1, 0, 0, 0)


@runtime_checkable
class ArrayInParts(Protocol):
    """An array that is read in slices of rows, because it may not fit into memory."""

    shape: tuple[int, ...]
    dtype: DType

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        """Read the whole array."""

    def __getitem__(self, part: slice) -> Array:
        """Read some rows."""


class UnstorableError(TypeError):
    """A value that a container cannot hold, such as a function."""


def write_container(path: str | os.PathLike[str], kind: str, tree: Any) -> None:
    """Write a tree to a file, which appears whole or not at all.

    Parameters
    ----------
    path : str or path
        The file.
    kind : str
        What the file is, such as "checkpoint"; `read_container` checks it.
    tree : object
        None, booleans, numbers, strings, NumPy arrays without objects, CSR matrices, and lists,
        tuples and dicts with string keys of these.
    """
    arrays: list[Array | ArrayInParts] = []
    head = {"format": FORMAT, "version": VERSION, "kind": kind, "tree": _encode(tree, arrays)}
    text = json.dumps(head, allow_nan=False)
    with written_aside(path) as aside, ZipFile(aside, "w", ZIP_STORED) as archive:
        # the same tree gives the same bytes: members have no times
        archive.writestr(ZipInfo(_TREE, _DATE), text)
        for number, array in enumerate(arrays):
            with archive.open(ZipInfo(f"{number}.npy", _DATE), "w", force_zip64=True) as member:
                _write_array(member, array)


def read_container(path: str | os.PathLike[str], kind: str) -> Any:
    """Read the tree of a file; raise a ValueError if it is damaged or something else."""
    with open(path, "rb") as file:
        try:
            return _read_tree(file, kind)
        except Exception as error:
            # a damaged archive makes its reader raise errors of many types
            raise ValueError(
                f"{os.fspath(path)!r} is not a {kind} of skimp, or is damaged: {error}"
            ) from error


def _read_tree(file: BinaryIO, kind: str) -> Any:
    with ZipFile(file) as archive:
        members = {info.filename: info for info in archive.infolist()}
        if any(info.compress_type != ZIP_STORED for info in members.values()):
            raise ValueError("members must not be compressed")
        head = json.loads(archive.read(members[_TREE]))
        expected = {"format": FORMAT, "version": VERSION, "kind": kind}
        for name, value in expected.items():
            if head[name] != value:
                raise ValueError(f"its {name} is {head[name]!r}, not {value!r}")
        names = [f"{number}.npy" for number in range(len(members) - 1)]
        return _decode(head["tree"], [_read_array(archive, members[name]) for name in names])


def _write_array(member: IO[bytes], array: Array | ArrayInParts) -> None:
    if isinstance(array, np.ndarray):
        np.lib.format.write_array(member, array, allow_pickle=False)
        return
    about = {"shape": array.shape, "fortran_order": False, "descr": array.dtype.str}
    np.lib.format.write_array_header_1_0(member, about)
    for start in range(0, array.shape[0], _ROWS):
        member.write(np.ascontiguousarray(array[start : start + _ROWS]).data)


def _read_array(archive: ZipFile, info: ZipInfo) -> Array:
    """Read a member, whose header must agree with its size."""
    with archive.open(info) as member:
        version = np.lib.format.read_magic(member)
        if version != (1, 0):
            raise ValueError(f"arrays must have version 1.0 of NumPy's format, found {version}")
        shape, fortran, dtype = np.lib.format.read_array_header_1_0(
            member, max_header_size=_MOST_HEADER
        )
        if dtype.kind not in _KINDS or dtype.fields is not None:
            raise ValueError(f"arrays must hold numbers or text, found {dtype}")
        size = prod(shape) * dtype.itemsize
        if size > info.file_size:
            raise ValueError(f"an array of shape {shape} must fill its member")
        values = np.empty(size, np.uint8)
        for start in range(0, size, _PART):
            part = values[start : start + _PART]
            part[:] = np.frombuffer(member.read(len(part)), np.uint8)
        # the checksum is compared at the end
        if member.read(1):
            raise ValueError("a member must end with its array")
    return values.view(dtype).reshape(shape, order="F" if fortran else "C")


def _encode(tree: Any, arrays: list[Array | ArrayInParts]) -> Any:
    """Return a tree for JSON, and append its arrays to a list.

    Objects of JSON have a single key, which names their type.
    """
    if tree is None or isinstance(tree, bool | int | str):
        return tree
    if isinstance(tree, np.generic):
        return {"scalar": _encode_array(np.asarray(tree), arrays)}
    if isinstance(tree, float):
        return tree if isfinite(tree) else {"float": repr(tree)}
    if isinstance(tree, np.ndarray):
        return {"array": _encode_array(tree, arrays)}
    if isinstance(tree, list):
        return [_encode(item, arrays) for item in tree]
    if isinstance(tree, tuple):
        return {"tuple": [_encode(item, arrays) for item in tree]}
    if isinstance(tree, dict) and all(isinstance(key, str) for key in tree):
        return {"dict": {key: _encode(value, arrays) for key, value in tree.items()}}
    if sparse.issparse(tree) and tree.format == "csr":
        parts = [tree.data, tree.indices, tree.indptr, list(tree.shape)]
        return {"csr": _encode(parts, arrays)}
    if isinstance(tree, ArrayInParts):
        return {"array": _encode_array(tree, arrays)}
    raise UnstorableError(f"a file cannot hold a {type(tree).__name__}")


def _encode_array(array: Array | ArrayInParts, arrays: list[Array | ArrayInParts]) -> int:
    if array.dtype.kind not in _KINDS or array.dtype.fields is not None:
        raise UnstorableError(f"a file cannot hold an array of {array.dtype}")
    arrays.append(array)
    return len(arrays) - 1


def _decode(tree: Any, arrays: list[Array]) -> Any:
    if isinstance(tree, list):
        return [_decode(item, arrays) for item in tree]
    if not isinstance(tree, dict):
        return tree
    ((kind, value),) = tree.items()
    if kind == "scalar":
        return arrays[value][()]
    if kind == "float":
        return float(value)
    if kind == "array":
        return arrays[value]
    if kind == "tuple":
        return tuple(_decode(item, arrays) for item in value)
    if kind == "dict":
        return {key: _decode(item, arrays) for key, item in value.items()}
    if kind == "csr":
        data, indices, indptr, shape = _decode(value, arrays)
        matrix = sparse.csr_matrix((data, indices, indptr), shape=tuple(shape))
        matrix.check_format(full_check=True)
        return matrix
    raise ValueError(f"unknown type {kind!r}")
