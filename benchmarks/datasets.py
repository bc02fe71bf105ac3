"""Data sets from a folder of .npz files (``SKIMP_DATA``) or from OpenML."""

import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from benchmarks.harness import MissingData

Array = NDArray[Any]

_OPENML = {
    "mnist": ("mnist_784", 60_000),
    "a9a": ("a9a", 32_561),
    "ijcnn1": ("ijcnn", 49_990),
    "covtype": ("covertype", None),
}
"""Names on OpenML, and rows of the official training part, which come first."""


def train_test(name: str) -> tuple[Any, Array, Any, Array]:
    """Return X_train, y_train, X_test, y_test with the official split, dense or CSR, as stored.

    Raises a `SystemExit` that says what to do where the data cannot be had.
    """
    z = _stored(name)
    if z is not None:
        return _matrix(z, "X_train"), z["y_train"], _matrix(z, "X_test"), z["y_test"]
    X, y = _fetched(name)
    n = _OPENML[name][1]
    return X[:n], y[:n], X[n:], y[n:]


def whole(name: str, target: str = "y") -> tuple[Any, Array]:
    """Return X and y of a set without an official split, or another target that is stored."""
    z = _stored(name)
    return _fetched(name) if z is None else (z["X"], z[target])


def arrays(name: str) -> dict[str, Array]:
    """Return all arrays of a file in ``SKIMP_DATA``, for data that OpenML does not have."""
    z = _stored(name)
    if z is None:
        raise MissingData(f"{name}.npz: set SKIMP_DATA to the folder that has it")
    return z


def _stored(name: str) -> dict[str, Array] | None:
    """Return the arrays of a file in ``SKIMP_DATA``, None where that is not set."""
    folder = os.environ.get("SKIMP_DATA")
    if folder is None:
        return None
    file = Path(folder) / f"{name}.npz"
    if not file.exists():
        raise SystemExit(f"SKIMP_DATA has no {file.name}: {folder}")
    with np.load(file, allow_pickle=False) as z:
        return dict(z)


def _matrix(z: dict[str, Array], name: str) -> Any:
    """Return an array, or the CSR matrix that is stored in parts."""
    if name in z:
        return z[name]
    parts = z[f"{name}_data"], z[f"{name}_indices"], z[f"{name}_indptr"]
    return sparse.csr_matrix(parts, shape=tuple(z[f"{name}_shape"]))


def _fetched(name: str) -> tuple[Any, Array]:
    from sklearn.datasets import fetch_openml

    if name not in _OPENML:
        raise SystemExit(f"{name} is in no repository known here: point SKIMP_DATA at a folder")
    try:
        X, y = fetch_openml(_OPENML[name][0], version=1, as_frame=False, return_X_y=True)
    except OSError as error:
        raise SystemExit(f"cannot fetch {name} ({error}): point SKIMP_DATA at a folder") from None
    # the largest class of covertype against the rest; the others have numbers for labels
    return X, np.where(y == "2", 1, -1) if name == "covtype" else y
