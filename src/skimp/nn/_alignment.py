"""Alignment of random features with targets."""

import torch
from torch import Tensor
from torch.nn import functional as F

_HALVINGS = 100


def centred_targets(y: Tensor) -> Tensor:
    """Return targets minus their means, in units of the largest; integers are class labels."""
    if not y.is_floating_point():
        y = F.one_hot(y.unique(return_inverse=True)[1])
    y = y.double().reshape(len(y), -1)
    centred = y - y.mean(0)
    largest = centred.abs().max()
    if not largest > torch.finfo(y.dtype).eps * len(y) * y.abs().max():
        raise ValueError("KernelFeatures: align() needs finite targets that are not all equal.")
    return centred / largest


def aligned_weights(scores: Tensor, radius: float) -> Tensor:
    """Return nonnegative weights q that maximise ``q @ scores``.

    Their mean is 1 and their mean square is at most 1 + radius. They are proportional to
    ``max(scores - c, 0)`` for some c, and the mean square grows with c. (Sinha and Duchi solve the
    dual by bisection as well.)
    """
    scores = scores.double()

    def weights(c: Tensor) -> Tensor:
        kept = (scores - c).clamp_min(0)
        return kept / kept.mean()

    ordered = scores.sort().values
    best = (scores == ordered[-1]).double()
    best /= best.mean()
    if best.square().mean() <= 1 + radius:
        return best
    # below every score the weights become equal; at the largest one they are those of the best
    spread = ordered[-1] - ordered[0]
    low, high = ordered[-1] - spread * 2 * (1 + 1 / max(radius, 1e-12) ** 0.5), ordered[-1]
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        if weights(middle).square().mean() <= 1 + radius:
            low = middle
        else:
            high = middle
    return weights(low)
