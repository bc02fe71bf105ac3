"""Maps that could serve a model, with bandwidths that may be free."""

from dataclasses import dataclass, field

from sklearn.base import clone

from skimp._core._rules import is_auto
from skimp.data import Rows
from skimp.features import FeatureMap, Nystroem, RandomBinning, RandomFourier
from skimp.kernels import Gaussian, Kernel, Laplacian, as_kernel
from skimp.kernels._checks import require

FEW = 1000
"""Rows of which each is a landmark, judged all at once by cross-validation."""
_WIDEST = 256
"""Columns up to which grids are tried: each costs time, and many make all rows far apart."""
_NARROW = 4.0
"""Bandwidths of grids to start from, over those of landmarks."""


@dataclass(frozen=True)
class Candidate:
    """A kind of map with a kernel, whose bandwidth may be free.

    Attributes
    ----------
    approximation : FeatureMap
        The kind of map; it is not fitted.
    kernel : Kernel or None
        A kernel with numbers for parameters, None for a map that has none.
    free : dict
        The parameters of the kernel that are multiplied by ``factor``.
    factor : float
        The bandwidth.
    """

    approximation: FeatureMap
    kernel: Kernel | None = None
    free: dict[str, float] = field(default_factory=dict)
    factor: float = 1.0

    def sized(self, size: int | None) -> FeatureMap:
        """Return the map with its kernel, of a size; of its own for None."""
        sized = self.approximation.resized(size)
        if self.kernel is not None:
            values = {name: self.factor * value for name, value in self.free.items()}
            sized.set_params(kernel=clone(self.kernel).set_params(**values))
        return sized


def candidates(
    kernel: Kernel | str, approximation: FeatureMap | None, rows: Rows, seed: int, *, owner: str
) -> list[Candidate]:
    """Return the maps to choose from: one where it was given, else landmarks, features and grids.

    ``"auto"`` for a kernel is the Gaussian for landmarks and features, the Laplacian for grids, and
    either of them where rows are few, each of them a landmark.
    """
    free = is_auto(kernel)
    smooth = Gaussian(gamma="auto") if free else as_kernel(kernel, owner=owner)
    rough = Laplacian(gamma="auto") if free else smooth
    if approximation is not None:
        if "kernel" not in approximation.get_params(deep=False):
            return [Candidate(approximation)]
        own = approximation.kernel
        given = rough if isinstance(approximation, RandomBinning) else smooth
        return [_opened(approximation, given if own is None else own, rows, seed, owner)]
    families: list[tuple[FeatureMap, Kernel]] = [(Nystroem(), smooth)]
    if rows.n_rows <= FEW:
        families += [(Nystroem(), rough)] if free else []
    elif not smooth.takes_objects:
        families += [(RandomFourier(), smooth)] if smooth.stationary else []
        families += [(RandomBinning(), rough)] if rows.n_features <= _WIDEST else []
    found = [_opened(*family, rows, seed, owner) for family in families]
    return [
        c for c in found if not isinstance(c.approximation, RandomBinning) or _has_pitches(c, rows)
    ]


def _opened(
    approximation: FeatureMap, kernel: Kernel | str, rows: Rows, seed: int, owner: str
) -> Candidate:
    """Return a candidate whose bandwidths of "auto" start from those of "scale"."""
    kernel = as_kernel(kernel, owner=owner)
    if isinstance(approximation, Nystroem):
        # as the map says it, of the kernel as it was written
        require(kernel, "positive_definite", owner="Nystroem", advice="its features need a root")
    names = free_bandwidths(kernel)
    resolved = clone(kernel).set_params(**dict.fromkeys(names, "scale")).resolve(rows, seed)
    values = resolved.get_params(deep=True)
    factor = _NARROW if names and isinstance(approximation, RandomBinning) else 1.0
    return Candidate(approximation, resolved, {name: values[name] for name in names}, factor)


def free_bandwidths(kernel: Kernel) -> list[str]:
    """Return the names of the parameters that are ``gamma="auto"``, inner kernels included."""
    params = kernel.get_params(deep=True).items()
    return [n for n, v in params if n.rpartition("__")[2] == "gamma" and is_auto(v)]


def _has_pitches(candidate: Candidate, rows: Rows) -> bool:
    """Tell whether there are grids for a kernel, the only way to know being to ask for them."""
    assert candidate.kernel is not None, "binning has a kernel"
    try:
        candidate.kernel.pitch_rates(rows.n_features)
    except ValueError:
        return False
    return True
