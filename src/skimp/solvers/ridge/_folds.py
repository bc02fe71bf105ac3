"""Cross-validation of penalties over folds of the rows."""

from collections.abc import Callable
from typing import Any

import numpy as np

from skimp._core._blocks import Scratch
from skimp._core._random import row_keys
from skimp._core._types import Array
from skimp._core._work import DOUBLE
from skimp.data import LOCAL, Block, Context, Rows, masked_rows
from skimp.solvers._features import as_targets
from skimp.solvers.ridge._smoother import Smoother

FOLDS = 5
"""Parts that the rows are split into."""


def fold_scores(
    rows: Rows,
    lams: Array,
    seed: int,
    fitted: Callable[[Rows], tuple[Any, Smoother]],
    context: Context = LOCAL,
) -> Array:
    """Return the squared error of each penalty on rows that were left out, in five folds.

    Each output counts relative to its squares. A fold has the ridge penalty of all rows: alpha is
    larger by as much as the fold is smaller.

    Parameters
    ----------
    rows : Rows
        Scaled rows, five or more, with targets of shape (n, k).
    lams : array of shape (n_lams,)
        Penalties, each an alpha times the sum of the weights.
    seed : int
        Seed of the folds.
    fitted : callable
        Given rows, returns the basis and the models of them.
    context : Context
        How to run over the rows.
    """
    # equally many rows in each fold, in random order
    order = np.argsort(row_keys(seed, 0, rows.n_rows), kind="stable")
    fold = np.empty(rows.n_rows, np.int64)
    fold[order] = np.arange(rows.n_rows) % FOLDS
    parts = [
        _fold_errors(
            fitted(masked_rows(rows, fold != i)), masked_rows(rows, fold == i), lams, context
        )
        for i in range(FOLDS)
    ]
    *missed, total = np.sum(parts, axis=0)
    return np.asarray((missed / np.where(total > 0, total, 1.0)).mean(axis=1))


def _fold_errors(fitted: tuple[Any, Smoother], rows: Rows, lams: Array, context: Context) -> Array:
    """Return summed squared errors of each penalty and output, and last those of predicting 0."""
    basis, smoother = fitted
    coefs, intercepts = smoother.models(lams / smoother.weight)

    def of_block(block: Block, _: Scratch) -> Array:
        Y, w = as_targets(block, DOUBLE)
        missed = [Y - block.X @ c - b for c, b in zip(coefs, intercepts, strict=True)]
        return np.array([(w * np.square(errors)).sum(axis=0) for errors in [*missed, Y]])

    initial = np.zeros((len(lams) + 1, coefs.shape[2]))
    return np.asarray(context.map_reduce(rows.mapped(basis), of_block, lambda a, b: a + b, initial))
