"""What every feature map is: a scikit-learn transformer with a hot path on row blocks."""

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Protocol, Self

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin, clone
from sklearn.utils.validation import check_is_fitted

from skimp._core._random import as_generator
from skimp._core._types import Array, DType, Matrix, RandomState
from skimp._params._parametrized import Parametrized, whole_or_nothing
from skimp._params._rules import check_params
from skimp.data import BlockMap, Rows, as_rows
from skimp.kernels import Kernel, as_kernel, has_flag


class Basis(BlockMap, Protocol):
    """Functions whose weighted sums are a model's predictions.

    The norm of such a sum is ``c^T P c`` with P the ``penalty``, or ``c^T c`` where it is None.
    """

    @property
    def penalty(self) -> Array | None:
        """The matrix P in float64."""

    @property
    def factor(self) -> Array | None:
        """The upper factor R of P = R^T R, where it is known."""


class FeatureMap(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Parametrized, ABC):
    """A feature map.

    `fit_rows` draws or chooses whatever the map is made of; `map_block` computes features of a
    block of rows; `basis` is what estimators fit a linear model in: the map itself, or other
    functions that span the same space and are cheaper.
    """

    random_state: RandomState = None
    """None for a map that draws nothing."""
    dtype_: DType
    size_name: ClassVar[str | None] = None
    """The parameter that says how large the map is: landmarks, features or grids."""
    centred: ClassVar[bool] = False
    """Whether inner products are those around the mean of the rows: distances alone are kept."""
    _default_kernel: ClassVar[str] = "rbf"

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit the map.

        Parameters
        ----------
        X : array, CSR matrix, frame or Rows of shape (n, d)
            Training rows.
        y : array of shape (n,), optional
            Labels, for a map that looks at them (`Nystroem` where its selector does); others
            ignore them.

        Returns
        -------
        self
        """
        with whole_or_nothing(self):
            self.check()
            labels = {"y": y, "multi_output": True} if self._needs_targets and y is not None else {}
            rows = as_rows(self, X, **labels)
            return self.fit_rows(rows, as_generator(self.random_state))

    def fit_rows(self, rows: Rows, rng: np.random.Generator, kernel: Kernel | None = None) -> Self:
        """Fit the map to checked rows; ``kernel`` stands in for a map's ``kernel=None``."""
        self.check()
        self.n_features_in_ = rows.n_features
        self.dtype_ = rows.dtype
        self._fit_rows(rows, rng, kernel)
        return self

    def transform(self, X: Any) -> Array:
        """Return the features of each row.

        Parameters
        ----------
        X : array, CSR matrix, frame or Rows of shape (n, d)
            Rows with the columns of ``fit``.

        Returns
        -------
        Z : array of shape (n, width)
            In the dtype of the rows that the map was fitted to.
        """
        check_is_fitted(self)
        rows = as_rows(self, X, reset=False)
        Z = np.empty((rows.n_rows, self.width), self.dtype_)
        rows.map_reduce(
            lambda block, _: self.map_block(block.X, Z[block.start : block.start + block.size]),
            lambda total, _: total,
            None,
        )
        return Z

    @property
    def _needs_targets(self) -> bool:
        return False

    def _own_kernel(self, given: Kernel | None) -> Kernel:
        """Return the map's kernel, else the one of the estimator, else a default."""
        chosen = getattr(self, "kernel", None)
        chosen = given if chosen is None else chosen
        return as_kernel(
            self._default_kernel if chosen is None else chosen,
            owner=type(self).__name__,
            other="None",
            size=self.size_name,
        )

    def check(self) -> None:
        """Raise a `ValueError` for a parameter that breaks its rule, the kernel included."""
        check_params(self)
        self._own_kernel(None)

    @property
    @abstractmethod
    def width(self) -> int:
        """Number of features."""

    @property
    def size(self) -> int | None:
        """How large the map is asked to be, None where it has no parameter for that."""
        return None if self.size_name is None else int(getattr(self, self.size_name))

    def resized(self, size: int | None) -> Self:
        """Return an unfitted copy of another size, of the same for None."""
        copied: Self = clone(self)
        if size is not None and self.size_name is not None:
            copied.set_params(**{self.size_name: size})
        return copied

    def planned_width(self, rows: Rows) -> int:
        """Return the most features that fitting to these rows can give, before it is done.

        The size, unless a map knows better.
        """
        if self.size is None:
            raise NotImplementedError(f"{type(self).__name__} must say how wide it will be.")
        return self.size

    def planned_bytes(self, rows: Rows) -> int:
        """Return the most memory that a model with this map may take besides the rows.

        That of square matrices of its features, unless a map knows better.
        """
        return 48 * self.planned_width(rows) ** 2

    @property
    def dtype(self) -> DType:
        """What the features are computed in: the dtype of the rows of ``fit``."""
        return self.dtype_

    @property
    def _n_features_out(self) -> int:
        return self.width

    @property
    def penalty(self) -> None:
        """None: the features are orthonormal coordinates."""

    @property
    def factor(self) -> None:
        """None, as the penalty is."""

    @abstractmethod
    def _fit_rows(self, rows: Rows, rng: np.random.Generator, kernel: Kernel | None) -> None: ...

    @abstractmethod
    def map_block(self, X: Matrix, out: Array) -> None:
        """Write the features of a block of checked rows into ``out``: the hot path."""

    def basis(self) -> Basis:
        """Return the functions that an estimator fits its coefficients to: those of the map."""
        return self

    def __sklearn_tags__(self) -> Any:
        """Say what scikit-learn may pass in."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        kernel = getattr(self, "kernel", None)
        tags.input_tags.positive_only = has_flag(kernel, "needs_nonnegative")
        tags.input_tags.string = has_flag(kernel, "takes_objects")
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
