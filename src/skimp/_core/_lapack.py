"""LAPACK's tridiagonal reduction in panels, so that it can report progress and be interrupted.

SciPy's functions return only at the end and hold the GIL until then. The functions here call the
same compiled routines for one panel of columns at a time. Their results are bit-equal to those of
SciPy if its LAPACK has the block sizes of the reference implementation. Otherwise they differ by
rounding.
"""

import ctypes
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from scipy import linalg

from skimp._core._types import Array

Tick = Callable[[float], None]
"""A callback that receives the completed share of the work."""
_PANEL, _UNBLOCKED = 32, 128
"""Columns of a panel, and columns of Q that are formed without panels, as in reference LAPACK."""
_ROUTINES = {
    "dlatrd": "siididddi",
    "dsytd2": "sididddi",
    "dsyr2k": "ssiiddididdi",
    "dlarft": "ssiididdi",
    "dlarfb": "ssssiiididididi",
    "dorg2r": "iiididdi",
}
"""Parameter types of the routines: pointers to char (s), int (i) and double (d)."""


def tridiagonal_reduction(A: Array, tick: Tick) -> tuple[Array, Array, Array, Array]:
    """Reduce a symmetric matrix to tridiagonal form from its lower triangle, like DSYTRD.

    Parameters
    ----------
    A : array of shape (n, n), column-major
        The matrix, overwritten by reflectors below its first subdiagonal.
    tick : callable
        Called after each panel.

    Returns
    -------
    tuple of arrays
        A, the diagonal, the subdiagonal and the factors of the reflectors.
    """
    A, n = np.asfortranarray(A, np.float64), len(A)
    call = _routines()
    if call is None or n <= _PANEL:
        work = max(1, int(linalg.lapack.dsytrd_lwork(n, lower=1)[0]))
        return linalg.lapack.dsytrd(A, lower=1, lwork=work, overwrite_a=1)[:4]  # type: ignore[no-any-return]
    diagonal, beside, tau = np.empty(n), np.empty(n - 1), np.empty(n - 1)
    W = np.empty((n, _PANEL), order="F")
    firsts = range(0, n - _PANEL, _PANEL)
    for first in firsts:
        after = first + _PANEL
        factors = beside[first:], tau[first:], W, n
        call["dlatrd"](b"L", n - first, _PANEL, A[first:, first:], n, *factors)
        # A[after:, after:] -= V W^T + W V^T, with V the reflectors of the panel
        V, rest, block = A[after:, first:], W[_PANEL:], A[after:, after:]
        call["dsyr2k"](b"L", b"N", n - after, _PANEL, -1.0, V, n, rest, n, 1.0, block, n)
        panel = np.arange(first, after)
        A[panel + 1, panel], diagonal[panel] = beside[panel], A[panel, panel]
        tick(1 - (1 - after / n) ** 3)
    last = firsts[-1] + _PANEL
    call["dsytd2"](
        b"L", n - last, A[last:, last:], n, diagonal[last:], beside[last:], tau[last:], 0
    )
    return A, diagonal, beside, tau


def tridiagonal_rotation(A: Array, tau: Array, tick: Tick) -> Array:
    """Form the matrix Q from the reflectors of `tridiagonal_reduction`, like DORGHR.

    Q overwrites ``A``. ``tick`` is called after each panel.
    """
    n, call = len(A), _routines()
    if call is None or n <= _UNBLOCKED + 2:
        work = int(linalg.lapack.dorghr_lwork(n, 0, n - 1)[0])
        Q, _ = linalg.lapack.dorghr(A, tau, lo=0, hi=n - 1, lwork=work, overwrite_a=1)
        return np.asarray(Q)
    for j in range(n - 1, 0, -1):
        A[:j, j] = 0
        A[j + 1 :, j] = A[j + 1 :, j - 1]
    A[:, 0] = 0
    A[0, 0] = 1
    m, B = n - 1, A[1:, 1:]
    start = (m - _UNBLOCKED - 1) // _PANEL * _PANEL
    rest = start + _PANEL
    B[:rest, rest:] = 0
    T, W = np.empty((_PANEL, _PANEL), order="F"), np.empty((n, _PANEL), order="F")
    size = m - rest
    call["dorg2r"](size, size, size, B[rest:, rest:], n, tau[rest:], W, 0)
    for i in range(start, -1, -_PANEL):
        V, right = B[i:, i:], B[i:, i + _PANEL :]
        call["dlarft"](b"F", b"C", m - i, _PANEL, V, n, tau[i:], T, _PANEL)
        sizes = m - i, m - i - _PANEL, _PANEL
        call["dlarfb"](b"L", b"N", b"F", b"C", *sizes, V, n, T, _PANEL, right, n, W, n)
        call["dorg2r"](m - i, _PANEL, _PANEL, V, n, tau[i:], W, 0)
        B[:i, i : i + _PANEL] = 0
        tick((1 - i / m) ** 3)
    return A


@cache
def _routines() -> dict[str, Callable[..., None]] | None:
    """Return the compiled routines, or None if SciPy lacks one or its parameter types differ."""
    from scipy.linalg import cython_blas, cython_lapack

    blas, lapack = (getattr(module, "__pyx_capi__", {}) for module in (cython_blas, cython_lapack))
    capsules, found = {**blas, **lapack}, {}
    for name, kinds in _ROUTINES.items():
        capsule = capsules.get(name)
        routine = None if capsule is None else _routine(capsule, kinds)
        if routine is None:
            return None
        found[name] = routine
    return found


def _routine(capsule: Any, kinds: str) -> Callable[..., None] | None:
    """Return a compiled routine that releases the GIL, or None if its parameters differ."""
    python, types = ctypes.pythonapi, (ctypes.c_char_p, ctypes.py_object)
    name_of = ctypes.PYFUNCTYPE(*types)(("PyCapsule_GetName", python))
    pointer_to = ctypes.PYFUNCTYPE(ctypes.c_void_p, *types[::-1])(("PyCapsule_GetPointer", python))
    # void (char *, int *, ..._d *): Cython's generated name for double ends in d
    signature = name_of(capsule)
    words = [part.split()[0] for part in signature.partition(b"(")[2].split(b",")]
    letters = {b"char": "s", b"int": "i"}
    if "".join(letters.get(word, word[-1:].decode()) for word in words) != kinds:
        return None
    parameters = [ctypes.c_void_p] * len(kinds)
    call = ctypes.CFUNCTYPE(None, *parameters)(pointer_to(capsule, signature))

    def run(*values: Any) -> None:
        call(*map(_pointer, values))

    return run


def _pointer(value: Any) -> Any:
    """Return a pointer to a character, a number or the first entry of an array."""
    if isinstance(value, np.ndarray):
        return value.ctypes.data
    if isinstance(value, bytes):
        return value
    return ctypes.byref(ctypes.c_int(value) if isinstance(value, int) else ctypes.c_double(value))
