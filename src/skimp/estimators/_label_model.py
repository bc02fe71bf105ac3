"""Predict labels from codes that do not know them."""

from dataclasses import dataclass, replace

import numpy as np

from skimp._core._linalg import eigenpairs, solve_positive
from skimp._core._types import Array
from skimp.estimators._factor_sums import FactorSums
from skimp.estimators._factors import Factors, Weighting
from skimp.solvers.ridge import Covariance, ridge_path

_RIDGES = np.logspace(-6, 2, 25)
"""Ridge penalties of the labels' regression, relative to the mean variance of its features."""
_VANISHING = 1e-2
"""Relative length of a column that the penalties shrink to zero, step by step."""
_ABSENT = 1e-100
"""Probability of a class without a label so far."""
_LEVERAGE = 0.05
"""Mean influence of labels on their own estimates, up to which these are like those of new rows."""
_SPREAD = 1e-6
"""Share of the total covariance to add to that within classes, which may be single points."""


@dataclass(frozen=True)
class LabelModel:
    """Label scores that are linear in codes.

    Attributes
    ----------
    coef, intercept : arrays of shape (k, r) and (k,)
        Coefficients and constants.
    posterior : bool
        Whether scores are log probabilities of classes, up to a constant per row, and not estimates
        of labels.
    """

    coef: Array
    intercept: Array
    posterior: bool


def fit_label_model(
    factors: Factors, weighting: Weighting, sums: FactorSums, eps: float, exclusive: bool
) -> LabelModel:
    """Regress labels on codes that do not know them.

    A ridge regression of the labels on the leading principal components of the rows within the span
    of the basis. Their number and the penalty minimize the error of generalized cross-validation: a
    few labels determine only the coefficients of few components. Components whose share of the
    largest variance is below ``eps``, the resolution of the features, are noise.

    Scores are the estimates of this regression or, if labels are ``exclusive`` and there are many,
    the log probabilities that `discriminate` makes of them.
    """
    S = sums.labelled
    assert S is not None, "there are labels"
    lengths = np.linalg.norm(factors.P, axis=0)
    alive = lengths > _VANISHING * lengths.max(initial=0.0)
    V = np.zeros_like(factors.V)
    if not alive.any():
        return LabelModel(V, S.target_mean, False)
    Q = factors.P[:, alive] / lengths[alive]
    variances, R = eigenpairs(Q.T @ sums.spread @ Q)
    R = R[:, variances >= len(R) * eps * variances[-1]][:, ::-1]
    Q, r = Q @ R, R.shape[1]
    projected = replace(
        S,
        within=Q.T @ S.within @ Q,
        across=Q.T @ S.across,
        mean=Q.T @ S.mean,
        size=max(S.size, sums.n_labelled),
    )
    ridges = _RIDGES * (float(projected.within.trace()) / r or 1.0)
    # one component less than classes separates them, and few labels cannot show that it does
    least = min(r, max(1, len(V) - 1))
    steps = (round(least * 2 ** (i / 2)) for i in range(2 * r.bit_length() + 1))
    sizes = sorted({min(r, size) for size in steps})
    path = ridge_path(projected, ridges, sizes)
    chosen = int(path.cautious.min(axis=1).argmin())
    size, best = sizes[chosen], path.best(chosen)
    coef = path.coefs[chosen][best]
    intercept = S.target_mean - projected.mean[:size] @ coef
    leverage = (path.dimensions[chosen, best] + 1) / projected.size
    posterior = bool(exclusive and leverage <= _LEVERAGE)
    if posterior:
        coef, intercept = discriminate(projected, coef)
    # codes are projections times d / (d^2 + penalty)
    factor = lengths[alive] + weighting.codes / lengths[alive]
    V[:, alive] = (R[:, :size] @ coef * factor[:, None]).T
    return LabelModel(V, intercept, posterior)


def discriminate(S: Covariance, coef: Array) -> tuple[Array, Array]:
    r"""Return coefficients and constants of the log probabilities of classes, up to a constant.

    Linear discriminant analysis on the estimates of a ridge regression of class indicators. The
    estimates f of a class c are taken as normal around their mean :math:`\mu_c`, with the same
    covariance W in all classes, to which a small share of their total covariance is added:

    .. math:: \log p_c - \tfrac{1}{2} (f - \mu_c)^T W^{-1} (f - \mu_c)

    The largest estimate is often that of a wrong class if there are few components, because classes
    that lie between others have small estimates everywhere. See Hastie, Tibshirani and Buja (1994),
    Flexible discriminant analysis by optimal scoring.
    """
    shares, size = np.maximum(S.target_mean, _ABSENT), len(coef)
    # the covariance with an indicator is its share times the distance of means
    means = S.across[:size].T / shares[:, None]
    within = S.within[:size, :size] - (means.T * shares) @ means
    # estimates of a row sum to 1: leave out the direction in which they do not differ
    contrasts = np.linalg.svd(np.ones((1, len(shares))))[2][1:].T
    B = coef @ contrasts
    centres = means @ B
    W = B.T @ (within + _SPREAD * S.within[:size, :size]) @ B
    weights = solve_positive(W, centres.T)[0]
    coef = B @ weights
    constants = np.log(shares) - np.sum(centres.T * weights, axis=0) / 2
    return coef, constants - S.mean[:size] @ coef
