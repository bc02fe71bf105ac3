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
"""Rule for a transformer whose output are features (excludes `KernelHash`)."""
_NAMES: dict[str, type[FeatureMap]] = {
    "nystroem": Nystroem,
    "fourier": RandomFourier,
    "binning": RandomBinning,
}
MAP_NAMES = one_of(*_NAMES)
"""Rule for the names of maps."""


@final
@dataclass(eq=False, repr=False)
class Transformer(FeatureMap):
    """Feature map that wraps a scikit-learn transformer, such as a chi-square sampler.

    Estimators wrap transformers automatically. The transformer is fitted to a uniform sample of at
    most 10,000 rows: samplers use only the number of columns. Costs are those of the transformer.

    Parameters
    ----------
    transformer : estimator with ``fit`` and ``transform``
        The transformer. It is cloned before it is fitted.
    random_state : int, Generator, RandomState or None, default=None
        Seed of the transformer if its own ``random_state`` is None.

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

    depends_on = "a transformer that is fitted to rows"
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
        # a guess if the transformer has no n_components
        given = getattr(self.transformer, "n_components", None)
        return int(given) if isinstance(given, Integral) else size.n_features

    @property
    def width(self) -> int:
        return int(self._width)

    def map_block(self, X: Matrix, out: Array) -> None:
        check_shape(out, (X.shape[0], self.width))
        out[...] = self._transform(X)

    def __sklearn_tags__(self) -> Any:
        """Return the tags that describe the input that the transformer accepts."""
        tags = super().__sklearn_tags__()
        inner = get_tags(self.transformer).input_tags
        tags.input_tags.sparse = inner.sparse
        tags.input_tags.positive_only = inner.positive_only
        return tags


def as_map(approximation: Any) -> FeatureMap:
    """Return a feature map for a name, or a clone of a map or transformer."""
    if MAP_NAMES.test(approximation):
        return _NAMES[approximation]()
    if isinstance(approximation, FeatureMap):
        cloned: FeatureMap = clone(approximation)
        return cloned
    return Transformer(approximation)
