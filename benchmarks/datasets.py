"""Data sets from a folder of .npz files (``SKIMP_DATA``) or from OpenML."""

import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

_OPENML = {"mnist": "mnist_784"}


def train_test(name: str) -> tuple[Array, Array, Array, Array]:
    """Return X_train, y_train, X_test, y_test with the official split, as stored.

    Raises a `SystemExit` that says what to do where the data cannot be had.
    """
    folder = os.environ.get("SKIMP_DATA")
    if folder is not None:
        file = Path(folder) / f"{name}.npz"
        if not file.exists():
            raise SystemExit(f"SKIMP_DATA has no {file.name}: {folder}")
        with np.load(file, allow_pickle=False) as z:
            return z["X_train"], z["y_train"], z["X_test"], z["y_test"]
    from sklearn.datasets import fetch_openml

    try:
        X, y = fetch_openml(_OPENML[name], version=1, as_frame=False, return_X_y=True)
    except OSError as error:
        raise SystemExit(f"cannot fetch {name} ({error}): point SKIMP_DATA at a folder") from None
    return X[:60000], y[:60000], X[60000:], y[60000:]
