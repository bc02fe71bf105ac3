"""The adaptive multi-hyperplane machine, straight from its formulas."""

from itertools import chain

import numpy as np


def amm_weights(X, codes, passes, factor, *, batch, every, share, **options):
    """Return a list of weights per class after passes in the given orders.

    The last entry of a weight is its intercept. The average is over the last pass. Each ``every``
    steps, weights are removed, with at most a ``share`` of all squared norms.
    """
    alpha, average, max_weights, pruning = (
        options[name] for name in ("alpha", "average", "max_weights", "pruning")
    )
    X = np.column_stack([X, np.ones(len(X))])
    lam, t = 2 * alpha, 0
    classes = [[] for _ in range(max(codes) + 1)]
    for number, order in enumerate(passes):
        for weight in chain(*classes):
            weight.total = np.zeros(X.shape[1])
        total_t, fixed = 0, [None] * len(X)
        if batch and number > 0:
            fixed = [_best(classes[y], x) for x, y in zip(X, codes, strict=True)]
        for i in order:
            x, y = X[i], codes[i]
            t += 1
            own = fixed[i] if fixed[i] in classes[y] else _best(classes[y], x)
            if own is None and len(classes[y]) < max_weights:
                own = _Weight(X.shape[1])
                classes[y].append(own)
            elif own is None:
                own = max(classes[y], key=lambda weight: weight.w @ x)
            others = [w for k, weights in enumerate(classes) if k != y for w in weights]
            rival = _best(others, x)
            wrong = 0 if rival is None else rival.w @ x
            is_violated = 1 + wrong - own.w @ x > 0
            for weight in chain(*classes):
                weight.w = (1 - 1 / t) * weight.w
            if is_violated:
                own.w = own.w + factor[i] / (lam * t) * x
            if is_violated and rival is not None:
                rival.w = rival.w - factor[i] / (lam * t) * x
            for weight in chain(*classes):
                weight.total = weight.total + t * weight.w
            total_t += t
            if t % every == 0:
                classes = _pruned(classes, (pruning / (t * lam)) ** 2, share)
    return [
        [weight.total / total_t if average else weight.w for weight in weights]
        for weights in classes
    ]


class _Weight:
    """A weight and its weighted sum over the steps of a pass."""

    def __init__(self, width):
        self.w, self.total = np.zeros(width), np.zeros(width)


def _best(weights, x):
    """Return the weight with the largest product, or None for the zero weight."""
    best = max(weights, key=lambda weight: weight.w @ x, default=None)
    return None if best is None or best.w @ x <= 0 else best


def _pruned(classes, limit, share):
    """Return the classes without their smallest weights, but with the largest of each."""
    squares = {weight: weight.w @ weight.w for weights in classes for weight in weights}
    limit = min(limit, share * sum(squares.values()))
    largest = [max(weights, key=squares.get) for weights in classes if weights]
    removed, total = [], 0.0
    for weight in sorted(squares, key=squares.get):
        if weight not in largest and total + squares[weight] <= limit:
            total += squares[weight]
            removed.append(weight)
    return [[weight for weight in weights if weight not in removed] for weights in classes]
