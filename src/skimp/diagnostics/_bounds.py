"""Probability bounds on the error of random features, and sufficient sizes."""

from collections.abc import Callable
from typing import Any

import numpy as np

from skimp._params._rules import FRACTION, broken, check_values, number, one_of
from skimp.diagnostics._inputs import KERNEL, POSITIVE
from skimp.kernels import Kernel, require

_SHARES = np.linspace(0.01, 0.9, 60)
"""Shares of eps that are reserved for points between the anchors."""
_LOG_RADII = np.linspace(-30.0, 2.0, 1600)
_MOST = 2**40
_RULES = {
    "kernel": KERNEL,
    "eps": number(above=0),
    "delta": FRACTION,
    "n_components": POSITIVE,
    "n_grids": POSITIVE,
    "n_features": POSITIVE,
    "diameter": number(above=0),
    "form": one_of("pair", "phase"),
}
_FORMS = {"form": one_of("pair", "phase", "binning")}


def hoeffding_bound(eps: float, n_components: int, *, form: str = "pair") -> float:
    r"""Bound the probability of an error of eps in k(x, y), for one pair of rows.

    The error is relative to k(0, 0). By Hoeffding's inequality, its probability is at most
    :math:`2 e^{-D \epsilon^2 / 4}` for D Fourier features in the pair form,
    :math:`2 e^{-D \epsilon^2 / 8}` in the phase form, and :math:`2 e^{-2 P \epsilon^2}` for P
    grids of random binning.

    Parameters
    ----------
    eps : float
        The error.
    n_components : int
        Number of features D, or of grids P.
    form : "pair", "phase" or "binning", default="pair"
        Form of the features: "pair" and "phase" as in `~skimp.features.RandomFourier`.

    Returns
    -------
    float
        At most 1.

    References
    ----------
    Rahimi and Recht (2007), Random features for large-scale kernel machines, section 3.

    Examples
    --------
    >>> from skimp.diagnostics import hoeffding_bound
    >>> round(hoeffding_bound(0.1, 4000), 6)
    9.1e-05
    """
    given = {"eps": eps, "n_components": n_components, "form": form}
    check_values("hoeffding_bound", _RULES | _FORMS, **given)
    return float(min(1.0, 2 * np.exp(-_exponent(n_components, form) * eps**2)))


def hoeffding_size(eps: float, delta: float, *, form: str = "pair") -> int:
    """Return the smallest size whose error exceeds eps with probability at most delta.

    The number is even in the pair form.

    Parameters
    ----------
    eps, delta, form
        ``delta`` is a probability between 0 and 1; the others are those of `hoeffding_bound`.

    Examples
    --------
    >>> from skimp.diagnostics import hoeffding_size
    >>> hoeffding_size(0.1, 0.01)
    2120
    """
    check_values("hoeffding_size", _RULES, delta=delta)
    return _least(lambda size: hoeffding_bound(eps, size, form=form), delta, form)


def fourier_bound(
    kernel: Kernel,
    eps: float,
    n_components: int,
    *,
    n_features: int,
    diameter: float,
    form: str = "pair",
) -> float:
    r"""Bound the probability of an error of eps in k(x, y), for any pair of rows.

    The bound holds for all x and y in a set of diameter :math:`\ell` at once, and for independent
    frequencies. Cover the differences x - y with balls of radius r. Hoeffding's inequality holds at
    their centres. Between them the error changes by at most r times its Lipschitz constant L, and
    :math:`E L^2 \leq 4 \sigma_p^2`, where :math:`\sigma_p^2` is the ``spectral_moment``. For N
    frequencies in the pair form, any radius r and any share s of eps,

    .. math::
        P \leq 2 \left(1 + \frac{2 \ell}{r}\right)^d e^{-N (1 - s)^2 \epsilon^2 / 2}
        + \frac{4 \sigma_p^2 r^2}{s^2 \epsilon^2}

    The function returns the minimum over r and s. The phase form needs a cover of pairs (x, y)
    instead of differences: replace d by 2 d, :math:`\ell` by :math:`\sqrt 2 \, \ell`, 4 by
    :math:`(2 + \sqrt 2)^2` and 1/2 by 1/8. An odd D in the pair form has one feature of the phase
    form: the same replacements hold, with a factor between 1/8 and 1/2.

    Parameters
    ----------
    kernel : Kernel
        A stationary kernel with numeric parameters. Its spectrum must have a finite second moment.
        `Laplacian`, and `Matern` with nu up to 1, do not qualify.
    eps : float
        The error, relative to k(0, 0).
    n_components, n_features : int
        Number of features D, and of columns d.
    diameter : float
        The largest Euclidean distance between two rows.
    form : "pair" or "phase", default="pair"
        As in `~skimp.features.RandomFourier`.

    Returns
    -------
    float
        At most 1.

    References
    ----------
    Rahimi and Recht (2007), claim 1. Sutherland and Schneider (2015), On the error of random
    Fourier features, propositions 1 and 2. They fix r and s = 1/2, and have 1 instead of 4, which
    is the expectation of L^2 at a fixed point; we need it at a random one.

    Examples
    --------
    >>> from skimp.diagnostics import fourier_bound
    >>> from skimp.kernels import Gaussian
    >>> fourier_bound(Gaussian(0.5), 0.2, 6000, n_features=2, diameter=4.0) < 0.01
    True
    """
    owner, given = "fourier_bound", {"kernel": kernel, "eps": eps, "n_components": n_components}
    check_values(owner, _RULES, **given, n_features=n_features, diameter=diameter, form=form)
    kernel.check_resolved()
    require(kernel, "stationary", owner=owner, advice="other kernels have no spectrum")
    moment = kernel.spectral_moment(n_features)
    if not np.isfinite(moment):
        wording = "one whose spectrum has a finite second moment"
        raise broken(owner, "kernel", wording, kernel)
    # the last of an odd number of features has the phase form, which depends on x and y
    paired = form == "pair" and n_components % 2 == 0
    radius, dimension = (diameter, n_features) if paired else (2**0.5 * diameter, 2 * n_features)
    growth = (4.0 if paired else (2 + 2**0.5) ** 2) * moment
    # r / s, scaled so that the second term is a square
    rho = eps * np.exp(_LOG_RADII)[:, None] / np.sqrt(growth)
    cover = dimension * np.log1p(2 * radius / (rho * _SHARES))
    anchors = cover - _exponent(n_components, form) * ((1 - _SHARES) * eps) ** 2
    between = growth * (rho / eps) ** 2
    return float(min(1.0, np.min(2 * np.exp(np.minimum(anchors, 0)) + between)))


def fourier_size(
    kernel: Kernel,
    eps: float,
    delta: float,
    *,
    n_features: int,
    diameter: float,
    form: str = "pair",
) -> int:
    """Return the smallest size whose error exceeds eps for any pair with probability <= delta.

    The number is even in the pair form.

    Parameters
    ----------
    kernel, eps, delta, n_features, diameter, form
        ``delta`` is a probability between 0 and 1; the others are those of `fourier_bound`.

    Examples
    --------
    >>> from skimp.diagnostics import fourier_size
    >>> from skimp.kernels import Gaussian
    >>> 1000 < fourier_size(Gaussian(0.5), 0.2, 0.01, n_features=2, diameter=4.0) < 6000
    True
    """
    check_values("fourier_size", _RULES, delta=delta)
    known: dict[str, Any] = {"n_features": n_features, "diameter": diameter, "form": form}
    return _least(lambda size: fourier_bound(kernel, eps, size, **known), delta, form)


def binning_bound(
    kernel: Kernel, eps: float, n_grids: int, *, n_features: int, diameter: Any
) -> float:
    r"""Bound the probability of an error of eps in random binning, for any pair of rows.

    The bound holds for all x and y in a box at once. Cut column j of the box into :math:`c_j` equal
    pieces, which gives T cells. The event that x and y share a bin contains the event that their
    cells lie in one bin, and implies that one bin meets both cells. These two events depend on the
    cells only, so Hoeffding's inequality holds for all pairs of cells. Their probabilities
    differ by at most a share s of eps if :math:`c_j \geq 2 d \, \ell_j \alpha_j / (s \epsilon)`,
    where :math:`\ell_j` is the range of the column and :math:`\alpha_j = E[1/h_j]` are the
    ``pitch_rates``. Therefore

    .. math:: P \leq T (T + 1) \, e^{-2 P_{grids} (1 - s)^2 \epsilon^2}

    for any s, and the function returns the minimum. One of the two rows must have a bin in every
    grid, as training rows do up to ``max_bins``. The bound needs about twenty times fewer grids
    than claim 2 of Rahimi and Recht (2007).

    Parameters
    ----------
    kernel : Kernel
        A kernel with ``sample_pitches`` and numeric parameters. :math:`E[1/h]` must be finite.
    eps : float
        The error, relative to k(0, 0).
    n_grids, n_features : int
        Number of grids, and of columns d.
    diameter : float or array of shape (d,)
        The range of every column, or one range per column.

    Returns
    -------
    float
        At most 1.

    Examples
    --------
    >>> from skimp.diagnostics import binning_bound
    >>> from skimp.kernels import Laplacian
    >>> binning_bound(Laplacian(1.0), 0.1, 3000, n_features=2, diameter=1.0) < 0.01
    True
    """
    owner = "binning_bound"
    check_values(owner, _RULES, kernel=kernel, eps=eps, n_grids=n_grids, n_features=n_features)
    ranges = np.asarray(diameter)
    numeric = ranges.dtype.kind in "fiu" and ranges.shape in ((), (n_features,))
    if not (numeric and np.isfinite(ranges).all() and (ranges >= 0).all() and ranges.any()):
        raise broken(owner, "diameter", "a number > 0, or one number >= 0 per column", diameter)
    kernel.check_resolved()
    rates = kernel.pitch_rates(n_features)
    if not np.isfinite(rates).all():
        wording = "one whose bin widths h have a finite mean of 1/h"
        raise broken(owner, "kernel", wording, kernel)
    steps = rates * ranges
    dimension = max(1, int(np.count_nonzero(steps)))
    cells = np.ceil(2 * dimension * steps[:, None] / (_SHARES * eps))
    log_T = np.sum(np.log(np.maximum(cells, 1)), axis=0)
    exponent = log_T + np.logaddexp(0, log_T) - 2 * n_grids * ((1 - _SHARES) * eps) ** 2
    return float(min(1.0, np.exp(min(0.0, exponent.min()))))


def binning_size(
    kernel: Kernel, eps: float, delta: float, *, n_features: int, diameter: Any
) -> int:
    """Return the fewest grids whose error exceeds eps for any pair with probability <= delta.

    Parameters
    ----------
    kernel, eps, delta, n_features, diameter
        ``delta`` is a probability between 0 and 1; the others are those of `binning_bound`.

    Examples
    --------
    >>> from skimp.diagnostics import binning_size
    >>> from skimp.kernels import Laplacian
    >>> 1000 < binning_size(Laplacian(1.0), 0.1, 0.01, n_features=2, diameter=1.0) < 3000
    True
    """
    check_values("binning_size", _RULES, delta=delta)
    known = {"n_features": n_features, "diameter": diameter}
    return _least(lambda size: binning_bound(kernel, eps, size, **known), delta, "binning")


def _exponent(size: int, form: str) -> float:
    """Return the factor a in the bound 2 exp(-a eps^2)."""
    if form == "binning":
        return 2.0 * size
    # a pair contributes a value in [-1, 1], a random phase one in [-2, 2]
    pairs, alone = divmod(size, 2) if form == "pair" else (0, size)
    return (pairs + alone) ** 2 / (2 * pairs + 8 * alone)


def _least(bound: Callable[[int], float], delta: float, form: str) -> int:
    """Return the smallest size whose bound is at most delta, by bisection."""
    step = 2 if form == "pair" else 1
    high = 1
    while bound(step * high) > delta:
        high *= 2
        if high > _MOST:
            raise ValueError(f"eps is too small: more than {_MOST:,} features would be needed.")
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if bound(step * middle) <= delta else (middle, high)
    return step * high
