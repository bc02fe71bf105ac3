"""Base class of feature maps: a scikit-learn transformer that maps blocks of rows."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, Protocol, Self

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin, clone
from sklearn.utils.validation import check_is_fitted

from skimp._core._random import as_generator, draw_seed
from skimp._core._types import Array, DType, Matrix, RandomState
from skimp._core._work import DOUBLE, MapCost, Size, Stage, Work, calls, values
from skimp._params._parametrized import Parametrized, all_or_nothing
from skimp._params._rules import RANDOM_STATE, Rule, check_params, integer
from skimp.budgets import Fixed, Selector, as_selector
from skimp.data import LOCAL, BlockMap, Context, Reporting, Rows, as_rows
from skimp.features._columns import columns_alone
from skimp.features._combined import CombinedFeatures
from skimp.features._file_transformer import FileTransformer
from skimp.kernels import Kernel, as_kernel, bandwidth_rules, has_flag, require

SIZED = {"n_components": integer(at_least=1), "random_state": RANDOM_STATE}
"""Parameter rules shared by random feature maps."""


class Basis(BlockMap, Protocol):
    """Functions of which a model's prediction is a weighted sum.

    The squared norm of a model with coefficients c is ``c^T P c``, where P is ``penalty``, or
    ``c^T c`` if ``penalty`` is None.
    """

    @property
    def penalty(self) -> Array | None:
        """Matrix P in float64, or None for the identity."""

    @property
    def factor(self) -> Array | None:
        """Upper triangular factor R of P = R^T R, or None if it is not available."""

    @property
    def kernel_(self) -> Any:
        """Kernel with numeric parameters, or None."""

    @property
    def landmarks_(self) -> Any:
        """`Landmarks` that the functions are made of, or None."""


class Combination(BlockMap, Protocol):
    """Linear combinations of functions, with their coefficients."""

    @property
    def root(self) -> Array:
        """Coefficients of each combination, of shape (functions, width)."""


class FeatureMap(
    ClassNamePrefixFeaturesOutMixin, TransformerMixin, FileTransformer, Reporting, Parametrized, ABC
):
    """Base class of feature maps.

    To write a feature map, implement `draw`, `width` and `map_block`:

    - If the map has a parameter ``kernel``, `draw` finds it in ``kernel_``, with numeric
      parameters.
    - Set ``size_name`` to the parameter for the number of features, or implement `planned_width`.
    - Set ``depends_on = None`` if `draw` uses only the columns of the rows: it enables `fit_width`.
    - Set the other class attributes if they apply: estimators and searches read them.

    Test your map with `skimp.testing.check_feature_map`.

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
    """Kernel or its name; None for the estimator's kernel, or if the map has no such parameter."""
    selector: Any = None
    """Selector of the landmarks; None for a map without landmarks."""
    rank: int | None = None
    """Number of eigenvalues to keep; None keeps all."""
    random_state: RandomState = None
    """Seed; None for a map without randomness."""
    kernel_: Any = None
    """Kernel with numeric parameters; None for a map without a kernel."""
    budget_: Any = None
    """Chosen `Budget`; None for a map without landmarks."""
    landmarks_: Any = None
    """`Landmarks` that the features are made of; None for a map without landmarks."""
    dtype_: DType
    penalty: ClassVar[None] = None
    """None: the squared norm of a model is the sum of its squared coefficients."""
    factor: ClassVar[None] = None
    """None, because the penalty is None."""
    size_name: ClassVar[str | None] = None
    """Name of the parameter that sets the size of the map."""
    unit: ClassVar[str] = "features"
    """What the size counts: landmarks, features or grids."""
    centred: ClassVar[bool] = False
    """Whether features are centred, so that they preserve distances but not inner products."""
    nested: ClassVar[bool] = False
    """Whether the first functions form a smaller map of the same kind, as for landmarks."""
    projects: ClassVar[bool] = False
    """Whether features are coordinates of a projection of the kernel's feature space."""
    codes: ClassVar[bool] = False
    """Whether blocks of features are `skimp.data.Codes`."""
    narrower: ClassVar[float] = 1.0
    """Factor by which a search multiplies its first inverse bandwidth."""
    default_kernel: ClassVar[str] = "rbf"
    """Kernel if the map is used outside an estimator."""
    needs_flag: ClassVar[tuple[str, str] | None] = None
    """Flag that the kernel must have, and the reason."""
    rules: ClassVar[dict[str, Rule]] = {}

    @property
    def kernelled(self) -> bool:
        """Whether the map has a parameter ``kernel``."""
        return "kernel" in self.get_params(deep=False)

    @property
    def fixed(self) -> bool:
        """Whether the user gave the landmarks, so that none may be dropped."""
        return isinstance(self.selector, Fixed)

    @property
    def needed_rows(self) -> int:
        """Number of rows that a fit chooses landmarks from; 1 without such a choice."""
        return 1 if self.selector is None or self.fixed else int(self.get_params()["budget"])

    @property
    def paired(self) -> bool:
        """Whether columns j and j + width // 2 are a pair, such as a cosine and a sine."""
        return False

    @property
    def needs_targets(self) -> bool:
        """Whether `draw` uses the targets y."""
        return self.selector is not None and self.chosen_selector().needs_targets

    @property
    def depends_on(self) -> str | None:
        """What `draw` reads from the rows; None if it needs only their columns."""
        return "rows"

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit the map.

        Parameters
        ----------
        X : array, CSR matrix, frame or Rows of shape (n, d)
            Training rows.
        y : array of shape (n,), optional
            Targets. Used only if the map `needs_targets`, as `Nystroem` does with some selectors.

        Returns
        -------
        self
        """
        with all_or_nothing(self), self._reporting(1, X, y) as context:
            self.check()
            labels = {"y": y, "multi_output": True} if self.needs_targets and y is not None else {}
            rows, rng = as_rows(self, X, **labels), as_generator(self.random_state)
            with context.phase(self.unit):
                return self.fit_rows(rows, rng, context=context)

    def fit_width(self, n_features: int, *, dtype: Any = np.float64) -> Self:
        """Draw the map from the number of columns alone, before any data.

        The result equals that of ``fit`` to any rows with this number of columns and dtype, for the
        same ``random_state``. Use it if rows arrive one by one, or if several machines must draw
        the same map. Maps that choose landmarks or bins from rows raise an error, and so do the
        bandwidth rules "scale", "median" and "auto"; numbers and "dim" do not need rows.

        Parameters
        ----------
        n_features : int
            Number of columns d.
        dtype : dtype, default=float64
            Dtype of the rows to come: features are float32 if it is float32 or float16.

        Returns
        -------
        self

        Examples
        --------
        >>> import numpy as np
        >>> from skimp.features import RandomFourier
        >>> from skimp.kernels import Gaussian
        >>> new = RandomFourier(Gaussian(gamma="dim"), n_components=50, random_state=0)
        >>> Z = new.fit_width(3).transform(np.eye(3))
        >>> bool((Z == new.fit_transform(np.eye(3))).all())
        True
        """
        with all_or_nothing(self):
            self.check()
            self.check_width_suffices()
            rows = columns_alone(self, n_features, dtype)
            return self.fit_rows(rows, as_generator(self.random_state))

    def fit_rows(
        self,
        rows: Rows,
        rng: np.random.Generator,
        kernel: Kernel | None = None,
        context: Context = LOCAL,
    ) -> Self:
        """Fit the map to validated rows; ``kernel`` is used if the map's own kernel is None."""
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
        """Draw the random parts of the map, or choose its landmarks.

        ``rows`` are validated. Use ``rng`` as the only source of randomness and ``context`` to
        iterate over the rows.
        """

    def transform(self, X: Any) -> Array:
        """Compute the features of each row.

        Parameters
        ----------
        X : array, CSR matrix, frame or Rows of shape (n, d)
            Rows with the same columns as in ``fit``.

        Returns
        -------
        Z : array of shape (n, width)
            Features, in the dtype of the training rows.
        """
        check_is_fitted(self)
        rows = as_rows(self, X, reset=False)
        return fill_rows(rows, self.map_block, np.empty((rows.n_rows, self.width), self.dtype_))

    def chosen_kernel(self, given: Kernel | None = None) -> Kernel:
        """Return the map's own kernel, else the given one, else the map's default."""
        kernels = (self.kernel, given, self.default_kernel)
        chosen = next(kernel for kernel in kernels if kernel is not None)
        return as_kernel(chosen, owner=type(self).__name__, other="None", size=self.size_name)

    def chosen_selector(self) -> Selector:
        """Return the selector of the landmarks as an object."""
        return as_selector(self.selector, owner=type(self).__name__)

    def check_kernel(self, kernel: Kernel) -> None:
        """Raise a `ValueError` if the map cannot approximate the kernel."""
        if self.needs_flag is not None:
            flag, advice = self.needs_flag
            require(kernel, flag, owner=type(self).__name__, advice=advice)

    def check(self) -> None:
        """Raise a `ValueError` for an invalid parameter, including the kernel."""
        check_params(self)
        self.chosen_kernel()

    def check_width_suffices(self, kernel: Kernel | None = None, owner: str = "") -> None:
        """Raise a `ValueError` if a fit needs rows; ``kernel`` as in `fit_rows`.

        ``owner`` names the object that uses the map, if it is not the map itself.
        """
        owner = f"{owner or type(self).__name__}: fit_width()"
        if self.depends_on is not None:
            raise ValueError(
                f"{owner} is impossible, the map depends on {self.depends_on}: use fit."
            )
        part = self.chosen_kernel(kernel) if self.kernelled else self
        for name, rule in bandwidth_rules(part).items():
            raise ValueError(f"{owner} has no rows for {name}={rule!r}: give a number or 'dim'.")

    @property
    @abstractmethod
    def width(self) -> int:
        """Number of features."""

    @property
    def size(self) -> int | None:
        """Requested size of the map; None if it has no size parameter."""
        return None if self.size_name is None else int(getattr(self, self.size_name))

    def resized(self, size: int | None) -> Self:
        """Return an unfitted copy of this size; None keeps the current size."""
        copied: Self = clone(self)
        if size is not None and self.size_name is not None:
            copied.set_params(**{self.size_name: size})
        return copied

    def quick(self) -> Self:
        """Return an unfitted copy for trials, with uniform landmarks unless they are fixed."""
        copied: Self = clone(self)
        # other selectors may need labels and take longer than a trial
        random = self.nested and self.selector is not None and not self.fixed
        return copied.set_params(selector="uniform") if random else copied

    def planned_width(self, size: Size | Rows) -> int:
        """Return the maximum number of features after a fit to such rows: by default the size."""
        if self.size is None:
            name = type(self).__name__
            raise NotImplementedError(f"{name} has no size_name: implement planned_width(size).")
        return self.size

    def planned_bytes(self, size: Size | Rows) -> int:
        """Return the maximum memory of a model without its rows, in bytes."""
        return 48 * self.planned_width(size) ** 2

    def cost(self, size: Size, kernel: Kernel | None = None) -> MapCost:
        """Return the cost of fitting the map and of mapping rows.

        ``kernel`` is used if the map's own kernel is None.
        """
        width, dtype = self.planned_width(size), size.dtype
        numbers, mapping = self.count(size)
        held = numbers * (8 + dtype.itemsize)
        draw = Stage("draw", values(4 * numbers, DOUBLE), int(2 * held))
        mapping += calls(size.n_rows)
        return MapCost((draw,), width, dtype, mapping, held, scratch=512 * width * dtype.itemsize)

    def count(self, size: Size) -> tuple[float, Work]:
        """Return how many random numbers the map draws, and the work of mapping all rows.

        The default assumes one inner product and one function value per feature.
        """
        n, width, dtype = size.n_rows, self.planned_width(size), size.dtype
        work = size.rows_times(n, width, dtype) + values(n * width, dtype)
        return size.n_features * width, work

    @property
    def dtype(self) -> DType:
        """Dtype of the features: that of the training rows."""
        return self.dtype_

    @property
    def _n_features_out(self) -> int:
        return self.width

    @abstractmethod
    def map_block(self, X: Matrix, out: Array) -> None:
        """Write the features of a block of validated rows into ``out``."""

    def basis(self) -> Basis:
        """Return the functions that an estimator fits coefficients for: by default the features."""
        return self

    def combine(self, coef: Array) -> "Combination":
        """Return linear combinations of the features, as cheap to compute as possible.

        ``coef`` has shape (width, r). The rows of ``root`` in the result belong to the landmarks of
        a map that consists of their kernel columns, and to the features of any other map.
        """
        return CombinedFeatures(self, np.ascontiguousarray(coef, self.dtype_))

    def __sklearn_tags__(self) -> Any:
        """Return the tags that describe the accepted input."""
        tags = super().__sklearn_tags__()
        declare_inputs(tags, self.kernel)
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def fill_rows(rows: Rows, write: Callable[[Matrix, Array], None], out: Array) -> Array:
    """Fill ``out`` block by block with ``write(X, out)``, and return it."""
    LOCAL.map_reduce(
        rows,
        lambda block, _: write(block.X, out[block.start : block.start + block.size]),
        lambda total, _: total,
        None,
    )
    return out


def declare_inputs(tags: Any, kernel: Any) -> None:
    """Set the scikit-learn tags for the input that a kernel accepts."""
    tags.input_tags.sparse = True
    tags.input_tags.positive_only = has_flag(kernel, "needs_nonnegative")
    tags.input_tags.string = has_flag(kernel, "takes_objects")
