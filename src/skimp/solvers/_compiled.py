"""Losses and rows in the form that compiled loops take."""

from typing import Any

import numpy as np
from scipy import sparse

from skimp._core._linalg import dense
from skimp._core._types import DType, Matrix
from skimp._params._rules import broken
from skimp.data import Codes
from skimp.losses import Log, Loss, MulticlassHinge, PiecewiseLoss, Softmax

_NATIVE = {np.dtype(kind) for kind in ("f4", "f8", "u1", "i1", "u2", "i2")}
"""Data types of rows for which the loops are compiled."""


def compiled_loss(loss: Loss, n_outputs: int, *, owner: str) -> tuple[int, Any, Any]:
    """Return the (kind, numbers, cost) of `skimp._core.loops._gradients`.

    Raise if no loop is compiled for the loss.
    """
    from skimp._core.loops import _gradients as loops

    numbers, cost = np.zeros(6), np.zeros((1, 1))
    if isinstance(loss, PiecewiseLoss):
        lows, highs = loss.limits(np.array([-1.0, 1.0]))
        numbers[:2], numbers[2:4] = lows, highs
        numbers[4:] = loss.epsilon, loss.curve
        return loops.PIECEWISE, numbers, cost
    if isinstance(loss, Log):
        return loops.LOG, numbers, cost
    if isinstance(loss, MulticlassHinge):
        return loops.MULTICLASS, numbers, loss.costs(n_outputs)
    if isinstance(loss, Softmax):
        return loops.SOFTMAX, numbers, cost
    wording = "piecewise linear or quadratic, 'log', 'softmax' or 'multiclass_hinge'"
    raise broken(owner, "loss", wording, loss)


def as_layout(X: Matrix, dtype: DType) -> Any:
    """Return rows as the arrays of `skimp._core.loops._rows`, converted if necessary."""
    if isinstance(X, Codes):
        return X.layout
    dtype = X.dtype if X.dtype in _NATIVE else dtype
    if sparse.issparse(X):
        return X.data.astype(dtype, copy=False), X.indices, X.indptr
    return dense(X, dtype)
