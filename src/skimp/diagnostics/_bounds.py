"""How far random features can be from their kernel, how probably, and how many it takes."""

from collections.abc import Callable
from typing import Any

import numpy as np

from skimp._params._rules import FRACTION, broken, check_values, number, one_of
from skimp.diagnostics._inputs import KERNEL, POSITIVE
from skimp.kernels import Kernel, require

_SHARES = np.linspace(0.01, 0.9, 60)
"""Shares of eps that are left to what happens between the anchors."""
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
    r"""Bound the probability that features miss k(x, y) of one pair of rows by eps.

    By Hoeffding's inequality: D features of independent frequencies miss it, relative to k(0, 0),
    with a probability of at most :math:`2 e^{-D \epsilon^2 / 4}` in the pair form and
    :math:`2 e^{-D \epsilon^2 / 8}` in the phase form, P grids of random binning with at most
    :math:`2 e^{-2 P \epsilon^2}`.

    Parameters
    ----------
    eps : float
        The error.
    n_components : int
        Number of features D, or of grids P.
    form : "pair", "phase" or "binning", default="pair"
        What features are made of.

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
    """Return the fewest features that miss k(x, y) by eps with a probability of at most delta.

    The number is even in the pair form.

    Parameters
    ----------
    eps, delta, form
        The error, its probability between 0 and 1, and the form, as in `hoeffding_bound`.

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
    r"""Bound the probability that random Fourier features miss k(x, y) of any pair by eps.

    For all x and y of a set of a given diameter :math:`\ell` at once, and independent frequencies.
    Balls of radius r cover the differences x - y; at their centres Hoeffding's inequality holds,
    and between them the error changes by its Lipschitz constant L times r at most, with
    :math:`E L^2 \leq 4 \sigma_p^2` and :math:`\sigma_p^2` the ``spectral_moment``. So, with N
    frequencies of the pair form, for any r and any share s of eps,

    .. math::
        P \leq 2 \left(1 + \frac{2 \ell}{r}\right)^d e^{-N (1 - s)^2 \epsilon^2 / 2}
        + \frac{4 \sigma_p^2 r^2}{s^2 \epsilon^2}

    and the least value is returned. The phase form covers pairs (x, y) instead of differences,
    with 2 d for d, :math:`\sqrt 2 \, \ell` for :math:`\ell`, :math:`(2 + \sqrt 2)^2` for 4 and 1/8
    for 1/2. An odd D in the pair form has the same, except that the last number is in between.

    Parameters
    ----------
    kernel : Kernel
        A stationary kernel with numbers for parameters. Its spectrum must have a second moment;
        those of `Laplacian`, and of `Matern` with nu up to 1, do not.
    eps : float
        The error, relative to k(0, 0).
    n_components, n_features : int
        Number of features D, and of columns d.
    diameter : float
        The largest Euclidean distance of two rows.
    form : "pair" or "phase", default="pair"
        As in `~skimp.features.RandomFourier`.

    Returns
    -------
    float
        At most 1.

    References
    ----------
    Rahimi and Recht (2007), claim 1. Sutherland and Schneider (2015), On the error of random
    Fourier features, propositions 1 and 2, which fix r and s = 1/2, and take the expectation of
    L^2 at a random point for that at a fixed one (4 is 1 there).

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
    require(kernel, "stationary", owner=owner, advice="others have no spectrum")
    moment = kernel.spectral_moment(n_features)
    if not np.isfinite(moment):
        wording = "of a spectrum with a second moment (this one's is infinite)"
        raise broken(owner, "kernel", wording, kernel)
    # the last of an odd number of features is of the phase form, which depends on x and y
    paired = form == "pair" and n_components % 2 == 0
    radius, dimension = (diameter, n_features) if paired else (2**0.5 * diameter, 2 * n_features)
    growth = (4.0 if paired else (2 + 2**0.5) ** 2) * moment
    # r over s, in units in which the second term is a square
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
    """Return the fewest Fourier features that miss any k(x, y) by eps with probability <= delta.

    The number is even in the pair form.

    Parameters
    ----------
    kernel, eps, delta, n_features, diameter, form
        The probability delta, between 0 and 1; the others as in `fourier_bound`.

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
    r"""Bound the probability that random binning misses k(x, y) of any pair of rows by eps.

    For all x and y in a box at once. Cut column j of the box into :math:`c_j` equal pieces, and the
    box into T cells. Whether x and y share a bin of a grid lies between whether all of their two
    cells do and whether any parts of them do. These two depend on the cells alone, so Hoeffding's
    inequality holds for all pairs of cells, and their probabilities differ by a share s of eps
    if :math:`c_j \geq 2 d \, \ell_j \alpha_j / (s \epsilon)`, with :math:`\ell_j` the range of
    the column and :math:`\alpha_j = E[1/h_j]` the ``pitch_rates``. So

    .. math:: P \leq T (T + 1) \, e^{-2 P_{grids} (1 - s)^2 \epsilon^2}

    for any s; the least value is returned. The map has to have all bins of one of the two rows, as
    it has for every row of ``fit`` up to ``max_bins``. The bound needs about twenty times fewer
    grids than claim 2 of Rahimi and Recht.

    Parameters
    ----------
    kernel : Kernel
        A kernel with ``sample_pitches`` and numbers for parameters; :math:`E[1/h]` must be finite.
    eps : float
        The error, relative to k(0, 0).
    n_grids, n_features : int
        Number of grids, and of columns d.
    diameter : float or array of shape (d,)
        The range of all columns, or of each.

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
        raise broken(owner, "diameter", "a number > 0 or one for each column", diameter)
    kernel.check_resolved()
    rates = kernel.pitch_rates(n_features)
    if not np.isfinite(rates).all():
        wording = "of pitches h with a mean of 1/h (here it is infinite: k falls steeply at 0)"
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
    """Return the fewest grids that miss any k(x, y) by eps with a probability of at most delta.

    Parameters
    ----------
    kernel, eps, delta, n_features, diameter
        The probability delta, between 0 and 1; the others as in `binning_bound`.

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
    """Return a of the probability 2 exp(-a eps^2) that a mean is off by eps."""
    if form == "binning":
        return 2.0 * size
    # terms of pairs are in [-1, 1], those of frequencies with a random phase in [-2, 2]
    pairs, alone = divmod(size, 2) if form == "pair" else (0, size)
    return (pairs + alone) ** 2 / (2 * pairs + 8 * alone)


def _least(bound: Callable[[int], float], delta: float, form: str) -> int:
    """Return the least size with a bound of delta at most, by bisection."""
    step = 2 if form == "pair" else 1
    high = 1
    while bound(step * high) > delta:
        high *= 2
        if high > _MOST:
            raise ValueError(f"more than {_MOST} features would be needed: choose a larger eps.")
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if bound(step * middle) <= delta else (middle, high)
    return step * high
