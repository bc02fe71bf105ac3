"""A scikit-learn transformer as a feature map."""

from dataclasses import KW_ONLY, dataclass
from numbers import Integral
from typing import Any, ClassVar, final

import numpy as np
from sklearn.base import clone
from sklearn.utils import get_tags
from sklearn.utils.validation import has_fit_parameter

from skimp._core._linalg import check_shape, dense
from skimp._core._objects import as_numbers
from skimp._core._random import draw_seed
from skimp._core._types import Array, Matrix, RandomState
from skimp._core._work import Size
from skimp._params._rules import RANDOM_STATE, Rule, one_of
from skimp.data import Context, Rows
from skimp.features._base import FeatureMap
from skimp.features._binning import RandomBinning
from skimp.features._fourier import RandomFourier
from skimp.features._kernel_hash import KernelHash
from skimp.features._nystroem import Nystroem

_SAMPLE = 10_000


def _is_transformer(value: Any) -> bool:
    has_all = all(hasattr(value, name) for name in ("fit", "transform", "get_params"))
    return has_all and not isinstance(value, type | KernelHash)


TRANSFORMER = Rule("a transformer", _is_transformer)
"""The rule for a transformer to features, which bytes of codes are not."""
_NAMES: dict[str, type[FeatureMap]] = {
    "nystroem": Nystroem,
    "fourier": RandomFourier,
    "binning": RandomBinning,
}
MAP_NAMES = one_of(*_NAMES)
"""The rule for names that stand for maps of their default size."""


@final
@dataclass(eq=False, repr=False)
class Transformer(FeatureMap):
    """Features of a scikit-learn transformer, such as its samplers of chi-square kernels.

    Estimators make this of such a transformer. It is fitted to at most 10,000 of the rows: samplers
    look at the number of columns alone.

    Parameters
    ----------
    transformer : estimator with ``fit`` and ``transform``
        The transformer; it is cloned.
    random_state : int, Generator, RandomState or None, default=None
        Seed for a transformer whose own ``random_state`` is None.

    Attributes
    ----------
    transformer_ : estimator
        The fitted transformer.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.kernel_approximation import AdditiveChi2Sampler
    >>> from skimp import KernelClassifier
    >>> X = np.random.default_rng(0).random((500, 4))
    >>> model = KernelClassifier(approximation=AdditiveChi2Sampler(sample_steps=2))
    >>> bool(model.fit(X, X[:, 0] > 0.5).score(X, X[:, 0] > 0.5) > 0.98)
    True
    """

    transformer: Any
    _: KW_ONLY
    random_state: RandomState = None

    rules: ClassVar[dict[str, Rule]] = {"transformer": TRANSFORMER, "random_state": RANDOM_STATE}

    def draw(self, rows: Rows, rng: np.random.Generator, context: Context) -> None:
        seed, transformer = draw_seed(rng), clone(self.transformer)
        params = transformer.get_params()
        unset = [n for n in params if n.endswith("random_state") and params[n] is None]
        transformer.set_params(**dict.fromkeys(unset, seed % 2**32))
        sample = rows.sample(_SAMPLE, seed, context)
        weighted = has_fit_parameter(transformer, "sample_weight")
        weights = {"sample_weight": sample.weight} if weighted else {}
        self.transformer_ = transformer.fit(as_numbers(sample.X, rows.dtype), **weights)
        self._width = self._transform(rows.sample(1, 0, context).X).shape[1]

    def _transform(self, X: Matrix) -> Array:
        return dense(self.transformer_.transform(as_numbers(X, self.dtype_)), self.dtype_)

    def planned_width(self, size: Size | Rows) -> int:
        # a guess for transformers that do not say it
        given = getattr(self.transformer, "n_components", None)
        return int(given) if isinstance(given, Integral) else size.n_features

    @property
    def width(self) -> int:
        return int(self._width)

    def map_block(self, X: Matrix, out: Array) -> None:
        check_shape(out, (X.shape[0], self.width))
        out[...] = self._transform(X)

    def __sklearn_tags__(self) -> Any:
        """Say what scikit-learn may pass in: what the transformer takes."""
        tags = super().__sklearn_tags__()
        inner = get_tags(self.transformer).input_tags
        tags.input_tags.sparse = inner.sparse
        tags.input_tags.positive_only = inner.positive_only
        return tags


def as_map(approximation: Any) -> FeatureMap:
    """Return a feature map for a name, or for a map or a transformer: a clone of it."""
    if MAP_NAMES.test(approximation):
        return _NAMES[approximation]()
    if isinstance(approximation, FeatureMap):
        cloned: FeatureMap = clone(approximation)
        return cloned
    return Transformer(approximation)
