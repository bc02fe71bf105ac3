"""What every feature map is: a scikit-learn transformer with a hot path on row blocks."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, Protocol, Self

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin, clone
from sklearn.utils.validation import check_is_fitted

from skimp._core._random import as_generator, draw_seed
from skimp._core._types import Array, DType, Matrix, RandomState
from skimp._core._work import DOUBLE, MapCost, Size, Stage, Work, calls, values
from skimp._params._parametrized import Parametrized, whole_or_nothing
from skimp._params._rules import RANDOM_STATE, Rule, check_params, integer
from skimp.budgets import Fixed, Selector, as_selector
from skimp.data import LOCAL, BlockMap, Context, Reporting, Rows, as_rows
from skimp.kernels import Kernel, as_kernel, has_flag, require

SIZED = {"n_components": integer(at_least=1), "random_state": RANDOM_STATE}
"""The rules for the parameters of a map of random functions."""


class Basis(BlockMap, Protocol):
    """Functions whose weighted sums are a model's predictions.

    The norm of such a sum is ``c^T P c`` with P the ``penalty``, or ``c^T c`` if it is None.
    """

    @property
    def penalty(self) -> Array | None:
        """The matrix P in float64."""

    @property
    def factor(self) -> Array | None:
        """The upper factor R of P = R^T R, if it is known."""

    @property
    def kernel_(self) -> Any:
        """The kernel with numbers for parameters, None if there is none."""

    @property
    def landmarks_(self) -> Any:
        """The `Landmarks` that the functions are made of, None if there are none."""


class FeatureMap(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Reporting, Parametrized, ABC):
    """A feature map.

    A map of your own has three hooks: `draw`, `width` and `map_block`. If it has a parameter
    ``kernel``, `draw` finds that kernel in ``kernel_``, with numbers for parameters. If it has no
    parameter for its size (``size_name``), it also has `planned_width`. The other class attributes
    say what estimators and searches need to know. `skimp.testing.check_feature_map` checks it.

    Examples
    --------
    >>> import numpy as np
    >>> from skimp import KernelRegressor
    >>> from skimp.features import FeatureMap
    >>> from scipy.sparse import issparse
    >>> class Powers(FeatureMap):
    ...     size_name = "degree"
    ...     def __init__(self, degree=3):
    ...         self.degree = degree
    ...     def draw(self, rows, rng, context):
    ...         self.scale_ = 1 / np.sqrt(rows.variance(None, context))
    ...     @property
    ...     def width(self):
    ...         return self.degree
    ...     def map_block(self, X, out):
    ...         x = X[:, :1].toarray() if issparse(X) else X[:, :1]
    ...         out[:] = (self.scale_ * x) ** np.arange(1, self.degree + 1)
    >>> X = np.linspace(-1, 1, 200)[:, None]
    >>> model = KernelRegressor(approximation=Powers(5)).fit(X, np.sin(3 * X[:, 0]))
    >>> bool(model.score(X, np.sin(3 * X[:, 0])) > 0.999)
    True
    """

    kernel: Any = None
    """The kernel, its name, or None for the estimator's; None for a map without this parameter."""
    selector: Any = None
    """How points are chosen; None for a map without points."""
    rank: int | None = None
    """The number of eigenvalues that are kept; None for a map that keeps all."""
    random_state: RandomState = None
    """The seed; None for a map that draws nothing."""
    kernel_: Any = None
    """The kernel with numbers for parameters; None for a map of no kernel."""
    budget_: Any = None
    """The `Budget` that was chosen; None for a map without."""
    landmarks_: Any = None
    """The `Landmarks` that the features are made of; None for a map without."""
    dtype_: DType
    penalty: ClassVar[None] = None
    """None: the features are orthonormal coordinates."""
    factor: ClassVar[None] = None
    """None, as the penalty is."""
    size_name: ClassVar[str | None] = None
    """The parameter that says how large the map is."""
    unit: ClassVar[str] = "features"
    """What that parameter counts: landmarks, features or grids."""
    centred: ClassVar[bool] = False
    """Whether inner products are those around the mean of the rows: only distances are kept."""
    nested: ClassVar[bool] = False
    """Whether the first half of the functions is the map of half the size, as for landmarks."""
    codes: ClassVar[bool] = False
    """Whether features are `skimp.data.Codes`."""
    narrower: ClassVar[float] = 1.0
    """The factor of the inverse bandwidth that a search starts from."""
    default_kernel: ClassVar[str] = "rbf"
    """The kernel of a map that is used alone."""
    needs_flag: ClassVar[tuple[str, str] | None] = None
    """The flag that its kernels must have, and the reason."""
    rules: ClassVar[dict[str, Rule]] = {}

    @property
    def kernelled(self) -> bool:
        """Whether the map has a parameter ``kernel``."""
        return "kernel" in self.get_params(deep=False)

    @property
    def fixed(self) -> bool:
        """Whether its points were given, so that none may be left out."""
        return isinstance(self.selector, Fixed)

    @property
    def paired(self) -> bool:
        """Whether column j belongs to column j + width // 2, as a cosine and its sine do."""
        return False

    @property
    def needs_targets(self) -> bool:
        """Whether `draw` looks at y."""
        return self.selector is not None and self.chosen_selector().needs_targets

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit the map.

        Parameters
        ----------
        X : array, CSR matrix, frame or Rows of shape (n, d)
            Training rows.
        y : array of shape (n,), optional
            Labels, for a map that looks at them (`Nystroem` if its selector does).
        """
        with whole_or_nothing(self), self._reporting(1, X, y) as context:
            self.check()
            labels = {"y": y, "multi_output": True} if self.needs_targets and y is not None else {}
            rows, rng = as_rows(self, X, **labels), as_generator(self.random_state)
            with context.phase(self.unit):
                return self.fit_rows(rows, rng, context=context)

    def fit_rows(
        self,
        rows: Rows,
        rng: np.random.Generator,
        kernel: Kernel | None = None,
        context: Context = LOCAL,
    ) -> Self:
        """Fit the map to checked rows; ``kernel`` is used if the map's own is None."""
        self.check()
        self.n_features_in_ = rows.n_features
        self.dtype_ = rows.dtype
        if self.kernelled:
            chosen = self.chosen_kernel(kernel)
            self.check_kernel(chosen)
            self.kernel_ = chosen.resolve(context.bind(rows), draw_seed(rng))
        self.draw(rows, rng, context)
        return self

    @abstractmethod
    def draw(self, rows: Rows, rng: np.random.Generator, context: Context) -> None:
        """Draw or choose what the map is made of.

        ``rows`` are checked, ``rng`` is the only source of randomness, and ``context`` runs over
        the rows.
        """

    def transform(self, X: Any) -> Array:
        """Return the features of each row, in the dtype of the rows of ``fit``.

        Parameters
        ----------
        X : array, CSR matrix, frame or Rows of shape (n, d)
            Rows with the columns of ``fit``.
        """
        check_is_fitted(self)
        rows = as_rows(self, X, reset=False)
        return fill_rows(rows, self.map_block, np.empty((rows.n_rows, self.width), self.dtype_))

    def chosen_kernel(self, given: Kernel | None = None) -> Kernel:
        """Return the map's kernel, the one that is given if it has none, or its default."""
        kernels = (self.kernel, given, self.default_kernel)
        chosen = next(kernel for kernel in kernels if kernel is not None)
        return as_kernel(chosen, owner=type(self).__name__, other="None", size=self.size_name)

    def chosen_selector(self) -> Selector:
        """Return the rule that chooses the map's points."""
        return as_selector(self.selector, owner=type(self).__name__)

    def check_kernel(self, kernel: Kernel) -> None:
        """Raise a `ValueError` for a kernel that the map has no features of."""
        if self.needs_flag is not None:
            flag, advice = self.needs_flag
            require(kernel, flag, owner=type(self).__name__, advice=advice)

    def check(self) -> None:
        """Raise a `ValueError` for a parameter that breaks its rule, the kernel included."""
        check_params(self)
        self.chosen_kernel()

    @property
    @abstractmethod
    def width(self) -> int:
        """Number of features."""

    @property
    def size(self) -> int | None:
        """How large the map is asked to be, None if it has no parameter for that."""
        return None if self.size_name is None else int(getattr(self, self.size_name))

    def resized(self, size: int | None) -> Self:
        """Return an unfitted copy of another size, of the same for None."""
        copied: Self = clone(self)
        if size is not None and self.size_name is not None:
            copied.set_params(**{self.size_name: size})
        return copied

    def quick(self) -> Self:
        """Return an unfitted copy for trials, whose landmarks are drawn at random unless fixed."""
        copied: Self = clone(self)
        # other rules look at labels, and take longer than a trial
        random = self.nested and self.selector is not None and not self.fixed
        return copied.set_params(selector="uniform") if random else copied

    def planned_width(self, size: Size | Rows) -> int:
        """Return the most features that a fit to such rows can give: the size of the map."""
        if self.size is None:
            name = type(self).__name__
            raise NotImplementedError(f"{name} has no size_name: write planned_width(size).")
        return self.size

    def planned_bytes(self, size: Size | Rows) -> int:
        """Return the most memory of a model besides the rows: that of square matrices."""
        return 48 * self.planned_width(size) ** 2

    def cost(self, size: Size, kernel: Kernel | None = None) -> MapCost:
        """Return what fitting the map takes, and what the fitted map is like.

        ``kernel`` is used if the map's own is None.
        """
        width, dtype = self.planned_width(size), size.dtype
        numbers, mapping = self.count(size)
        held = numbers * (8 + dtype.itemsize)
        draw = Stage("draw", values(4 * numbers, DOUBLE), int(2 * held))
        mapping += calls(size.n_rows)
        return MapCost((draw,), width, dtype, mapping, held, scratch=512 * width * dtype.itemsize)

    def count(self, size: Size) -> tuple[float, Work]:
        """Return how many numbers the map draws, and the work of mapping all rows.

        By default those of a function of products with a random vector for each feature.
        """
        n, width, dtype = size.n_rows, self.planned_width(size), size.dtype
        work = size.rows_times(n, width, dtype) + values(n * width, dtype)
        return size.n_features * width, work

    @property
    def dtype(self) -> DType:
        """What the features are computed in: the dtype of the rows of ``fit``."""
        return self.dtype_

    @property
    def _n_features_out(self) -> int:
        return self.width

    @abstractmethod
    def map_block(self, X: Matrix, out: Array) -> None:
        """Write the features of a block of checked rows into ``out``: the hot path."""

    def basis(self) -> Basis:
        """Return the functions that an estimator fits its coefficients to: those of the map."""
        return self

    def __sklearn_tags__(self) -> Any:
        """Say what scikit-learn may pass in."""
        tags = super().__sklearn_tags__()
        declare_inputs(tags, self.kernel)
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def fill_rows(rows: Rows, write: Callable[[Matrix, Array], None], out: Array) -> Array:
    """Write something of each row into ``out``, block by block, and return it."""
    LOCAL.map_reduce(
        rows,
        lambda block, _: write(block.X, out[block.start : block.start + block.size]),
        lambda total, _: total,
        None,
    )
    return out


def declare_inputs(tags: Any, kernel: Any) -> None:
    """Write into scikit-learn's tags which rows a kernel takes."""
    tags.input_tags.sparse = True
    tags.input_tags.positive_only = has_flag(kernel, "needs_nonnegative")
    tags.input_tags.string = has_flag(kernel, "takes_objects")
