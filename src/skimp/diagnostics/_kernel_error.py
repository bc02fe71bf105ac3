"""Error of the inner products of features, relative to the kernel."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from time import perf_counter
from typing import Any

import numpy as np
from scipy import linalg
from sklearn.base import clone

from skimp._core._linalg import centred, dense
from skimp._core._lines import Lines
from skimp._core._objects import as_real
from skimp._core._random import as_generator, draw_seed
from skimp._core._threads import single_threaded_blas
from skimp._core._types import Array, RandomState
from skimp._params._rules import NONE, RANDOM_STATE, broken, check_values, instance, integer
from skimp.data import open_rows
from skimp.diagnostics._distortion import PairErrors
from skimp.diagnostics._inputs import POSITIVE, SIZES
from skimp.diagnostics._table import Comparison, name_parts
from skimp.features import FeatureMap
from skimp.kernels import Kernel

_SAMPLE = 1000
_RULES = {
    "kernel": NONE | instance(Kernel, "a kernel object"),
    "sample": integer(at_least=2),
    "sizes": SIZES,
    "parameter": NONE | instance(str, "the name of a parameter"),
    "repeats": POSITIVE,
    "random_state": RANDOM_STATE,
}
_MAPS = "feature maps with a kernel and one of the parameters n_components, n_grids, budget"


def kernel_error(
    feature_map: Any,
    X: Any,
    *,
    kernel: Kernel | None = None,
    sample: int = _SAMPLE,
    random_state: RandomState = 0,
) -> dict[str, float]:
    r"""Compare the inner products of features with the kernel, on a sample of rows.

    The error matrix of s rows is :math:`E = Z Z^T - K`. If the features of the map are centred, as
    those of `~skimp.features.KernelProjection`, both matrices are centred first. Takes
    O(s^2 (d + D) + s^3) time.

    Parameters
    ----------
    feature_map : fitted transformer
        A feature map of skimp or scikit-learn.
    X : array, CSR matrix, frame or Rows of shape (n, d)
        The rows to draw the sample from.
    kernel : Kernel, optional
        The kernel with numeric parameters. By default ``kernel_`` of the map.
    sample : int, default=1000
        Number of rows to measure on.
    random_state : int, Generator, RandomState or None, default=0
        Seed of the sample. The default compares all maps on the same rows.

    Returns
    -------
    dict
        ``max`` and ``mean`` of the absolute entries of E; ``frobenius`` and ``spectral``, the norms
        of E divided by those of K.

    Examples
    --------
    >>> import numpy as np
    >>> from skimp.diagnostics import kernel_error
    >>> from skimp.features import RandomFourier
    >>> X = np.random.default_rng(0).normal(size=(500, 3))
    >>> errors = [
    ...     kernel_error(RandomFourier(n_components=D, random_state=0).fit(X), X)["frobenius"]
    ...     for D in (100, 10_000)
    ... ]
    >>> bool(errors[0] > 5 * errors[1])
    True
    """
    check_values("kernel_error", _RULES, kernel=kernel, sample=sample, random_state=random_state)
    if isinstance(feature_map, type) or not hasattr(feature_map, "transform"):
        wording = "a fitted feature map, such as approximation_ of a fitted model"
        raise broken("kernel_error", "feature_map", wording, feature_map)
    rows = open_rows(X)
    drawn = rows.sample(int(sample), draw_seed(as_generator(random_state))).X
    kernel = getattr(feature_map, "kernel_", None) if kernel is None else kernel
    if kernel is None:
        wording = "given if the map is not fitted or has no kernel_"
        raise broken("kernel_error", "kernel", wording, None)
    if rows.feature_names is not None:
        kernel = kernel.with_names(rows.feature_names)
    K = kernel(drawn)
    if getattr(feature_map, "feature_names_in_", None) is not None and rows.feature_names:
        import pandas as pd

        drawn = pd.DataFrame(drawn, columns=rows.feature_names)
    return _errors(_gram(feature_map.transform(drawn)), K, feature_map)


@dataclass(frozen=True, repr=False)
class MapComparison(Comparison):
    """Errors of feature maps that were fitted to the same rows.

    Attributes
    ----------
    records : tuple of dict
        One per map: ``map``, its ``size``, ``repeat``, the ``seconds`` to map the sample, the
        errors of `kernel_error`, the ``distortion`` of `distance_distortion`, and the number of
        ``equal_pairs`` that the distortion leaves out.
    parameter : str or None
        The parameter that ``size`` sets. None for the default one of each map.
    """

    parameter: str | None = None

    def _lines(self) -> Lines:
        meaning = "relative error in the Frobenius norm"
        return self._describe("map", "frobenius", meaning, self.parameter or "sizes")

    def _table(self) -> Any:
        return list(self.records)


def compare_maps(
    maps: Mapping[str, FeatureMap] | Sequence[FeatureMap],
    X: Any,
    *,
    sizes: Sequence[int] = (100, 200, 400, 800, 1600, 3200),
    parameter: str | None = None,
    repeats: int = 3,
    sample: int = _SAMPLE,
    random_state: RandomState = 0,
) -> MapComparison:
    """Fit maps of several sizes and measure the kernel error of each.

    Parameters
    ----------
    maps : mapping from names to feature maps, or sequence of feature maps
        The maps. Members of a sequence are named by their repr. Each needs a kernel and a
        parameter that sets its size.
    X : array, CSR matrix, frame or Rows of shape (n, d)
        The rows to fit to.
    sizes : sequence of int
        Numbers of features, grids or landmarks, or values of ``parameter``.
    parameter : str, optional
        The parameter to set, such as ``"n_terms"``. By default ``n_components``, ``n_grids`` or
        ``budget``, whichever the map has.
    repeats : int, default=3
        Number of maps per kind and size, each with its own seed.
    sample : int, default=1000
        Number of rows to measure on.
    random_state : int, Generator, RandomState or None, default=0
        Seed of all maps and of the sample.

    Returns
    -------
    MapComparison

    Examples
    --------
    >>> import numpy as np
    >>> from skimp.diagnostics import compare_maps
    >>> from skimp.features import RandomFourier
    >>> X = np.random.default_rng(0).normal(size=(500, 3))
    >>> kinds = {kind: RandomFourier(sampling=kind) for kind in ("iid", "orthogonal")}
    >>> frame = compare_maps(kinds, X, sizes=[100], repeats=10).to_frame()
    >>> errors = frame.groupby("map")["frobenius"].mean()
    >>> bool(errors["orthogonal"] < errors["iid"])
    True
    """
    owner = "compare_maps"
    named = name_parts(owner, "maps", maps, FeatureMap, "feature maps")
    given = {"sizes": sizes, "parameter": parameter, "repeats": repeats, "sample": sample}
    check_values(owner, _RULES, **given, random_state=random_state)
    rows = open_rows(X)
    rng = as_generator(random_state)
    drawn = rows.sample(int(sample), draw_seed(rng)).X
    seeds = [draw_seed(rng) for _ in range(repeats)]
    known: dict[Kernel, Array] = {}
    records = []
    for name, feature_map in named.items():
        changed = parameter or (isinstance(feature_map, FeatureMap) and feature_map.size_name)
        if not isinstance(feature_map, FeatureMap) or not changed:
            raise broken(owner, "maps", _MAPS, feature_map)
        for size, (repeat, seed) in product(map(int, sizes), enumerate(seeds)):
            fitted = clone(feature_map).set_params(**{changed: size})
            fitted.fit_rows(rows, np.random.default_rng(seed))
            start = perf_counter()
            Z = fitted.transform(drawn)
            seconds = perf_counter() - start
            kernel = fitted.kernel_
            if kernel is None:
                raise broken(owner, "maps", _MAPS, feature_map)
            if kernel not in known:
                known[kernel] = kernel(as_real(drawn, np.dtype(np.float64)))
            G, K, pairs = _gram(Z), known[kernel], PairErrors()
            pairs.add(K, _sums(K), G, _sums(G))
            record = {"map": name, "size": size, "repeat": repeat, "seconds": seconds}
            distances = {"distortion": pairs.mean, "equal_pairs": pairs.left_out}
            records.append(record | _errors(G, K, fitted) | distances)
    return MapComparison(tuple(records), parameter)


def _gram(Z: Any) -> Array:
    return dense(Z @ Z.T, np.dtype(np.float64))


def _sums(K: Array) -> Array:
    sums: Array = K.diagonal()[:, None] + K.diagonal()
    return sums


def _errors(G: Array, K: Array, feature_map: Any) -> dict[str, float]:
    if isinstance(feature_map, FeatureMap) and feature_map.centred:
        G, K = centred(G), centred(K)
    E = G - K
    with single_threaded_blas():
        norms = [np.abs(linalg.eigvalsh(A, check_finite=False)).max() for A in (E, K.astype(float))]
    return {
        "max": float(np.abs(E).max()),
        "mean": float(np.abs(E).mean()),
        "frobenius": float(np.linalg.norm(E) / (np.linalg.norm(K) or 1.0)),
        "spectral": float(norms[0] / (norms[1] or 1.0)),
    }
