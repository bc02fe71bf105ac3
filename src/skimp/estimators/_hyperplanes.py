"""The state of an adaptive multi-hyperplane machine."""

from typing import Any, final

import numpy as np

from skimp._core._linalg import check_representable
from skimp._core._types import Array, DType, Matrix
from skimp.data import Context, Rows
from skimp.estimators._online_machine import RowLearner
from skimp.features import FeatureMap
from skimp.solvers import as_features

_FIRST = 4
"""Number of weights that there is room for at first."""
_EVERY = 10_000
"""Steps between removals of small weights."""
_SHARE = 1e-3
"""Largest share of all weights to remove, as sums of squares."""


@final
class Hyperplanes(RowLearner):
    """Weights of all classes, which learn from one row after another.

    If ``batch``, each pass over the same rows after the first fixes the weight of its class that a
    row moves: the best one when the rows are received. These are all rows if they fit into memory,
    and otherwise one buffer after another.

    Parameters
    ----------
    rows : Rows
        Rows as the user passes them.
    feature_map : FeatureMap or None
        Fitted map of the rows; None for the rows themselves.
    rule : (float, int, float)
        The factor of the penalty, the largest number of weights of a class, and the size of the
        weights to remove, in rows of norm 1.
    batch, average : bool
        See `AMMClassifier`.
    seed : int
        Seed of the order of the rows.
    """

    coef: Array
    """Weights as of the last `settle`, sorted by class."""
    intercept: Array
    classes: Array
    """The class of each weight."""

    def __init__(
        self,
        rows: Rows,
        feature_map: FeatureMap | None,
        rule: tuple[float, int, float],
        batch: bool,
        average: bool,
        seed: int,
    ):
        self.feature_map, self.batch, self.average, self.seed = feature_map, batch, average, seed
        features = self.features(rows)
        self._dtype: DType = features.dtype
        self._lam, self._most, self._size = rule
        self._fixed = False
        # see `skimp._core.loops._amm`
        self._start, self._t, self._used = 0, 0, 0
        self._V = np.zeros((0, features.n_features + 1))
        self._U = np.zeros_like(self._V)
        self._owner = np.zeros(0, np.int64)

    def features(self, rows: Rows) -> Rows:
        return rows if self.feature_map is None else rows.mapped(self.feature_map)

    def begin_pass(self, number: int) -> None:
        if number > 0:
            self._fixed = self.batch
            # average over this pass only
            self._start, self._U = self._t, np.zeros_like(self._V)

    def visit(self, X: Any, Y: Array, factor: Array, order: Array) -> None:
        from skimp._core.loops._amm import assign, steps

        classes, assigned = Y.argmax(axis=1), np.full(len(Y), -1)
        if self._fixed:
            assign(X, classes, self._used, self._V, self._owner, assigned)
        while len(order):
            if self._used == len(self._V):
                self._grow()
            before, now = self._t, order[: _EVERY - self._t % _EVERY]
            rows = X, now, classes, factor, self._lam, self._most
            state = self._start, before, self._used, self._V, self._U, self._owner
            self._t, self._used = steps(*rows, *state, assigned)
            order = order[self._t - before :]
            if self._t > before and self._t % _EVERY == 0:
                assigned = self._prune(assigned)
        check_representable(self._U)
        self._squares()

    def _squares(self) -> Array:
        """Return the squared norm of each weight; raise if one is infinite."""
        with np.errstate(over="ignore"):
            squares: Array = np.sum(self._V[: self._used] ** 2, axis=1)
        check_representable(squares)
        return squares

    def _grow(self) -> None:
        """Make room for twice as many weights."""
        room = max(_FIRST, 2 * len(self._V))
        for name in ("_V", "_U", "_owner"):
            array = getattr(self, name)
            larger = np.zeros((room, *array.shape[1:]), array.dtype)
            larger[: len(array)] = array
            setattr(self, name, larger)

    def _prune(self, assigned: Array) -> Array:
        """Remove the smallest weights, and return the new numbers of the assigned ones."""
        used, owner = self._used, self._owner[: self._used]
        squares = self._squares()
        order = np.argsort(squares, kind="stable")
        # the largest weight of each class stays: dict keeps the last one
        largest = list(dict(zip(owner[order], order, strict=True)).values())
        order = order[~np.isin(order, largest)]
        # weights are v / (lam t), so that lam t cancels
        limit = min(self._size**2, _SHARE * squares.sum())
        removed = order[np.cumsum(squares[order]) <= limit]
        kept = np.delete(np.arange(used), removed)
        place = np.full(used + 1, -1)
        place[kept] = np.arange(len(kept))
        for array in (self._V, self._U, self._owner):
            array[: len(kept)] = array[kept]
            array[len(kept) :] = 0
        self._used = len(kept)
        return place[assigned]

    def settle(self) -> None:
        """Compute the weights for predictions; the next call starts without fixed weights."""
        self._fixed = False
        start, t = self._start, self._t
        by_class = np.argsort(self._owner[: self._used], kind="stable")
        W, scale = self._V[by_class], self._lam * max(t, 1)
        if self.average and t > start:
            # weights of step t are v / (lam t), and their weight in the average is t
            W = (t - start) * W - self._U[by_class]
            scale = self._lam * (t * (t + 1) - start * (start + 1)) / 2
        W = (W / scale).astype(self._dtype)
        self.classes = self._owner[by_class]
        self.coef, self.intercept = np.ascontiguousarray(W[:, :-1]), W[:, -1].copy()

    def predict(self, rows: Rows, context: Context) -> Array:
        return self.compute(self._outputs, self.features(rows), context)

    def _outputs(self, X: Matrix) -> Array:
        F = np.zeros((X.shape[0], self.n_outputs), self._dtype)
        if len(self.classes):
            products = as_features(X, self._dtype) @ self.coef.T + self.intercept
            present, starts = np.unique(self.classes, return_index=True)
            F[:, present] = np.maximum.reduceat(products, starts, axis=1)
        return F

    def describe(self) -> str:
        return f"{self._used} weights"
