"""Sums over the rows that a factorization needs."""

from dataclasses import dataclass, replace
from functools import cached_property
from operator import add

import numpy as np

from skimp._core._blocks import Scratch
from skimp._core._types import Array
from skimp.data import Block, Context, FilteredRows, Rows
from skimp.estimators._partial_labels import is_labelled, is_unlabelled
from skimp.estimators._targets import Targets
from skimp.features import FeatureMap, mean_length
from skimp.solvers.ridge import Covariance, covariance


@dataclass(frozen=True)
class FactorSums:
    """Weighted sums of products of features z and labels y.

    Attributes
    ----------
    weight, energy : float
        Sums of the weights, and of the squared lengths of the rows in feature space.
    unlabelled : Covariance or None
        Means and covariances of the unlabelled rows; None if there are none.
    labelled : Covariance or None
        Means and covariances of the labelled rows and of their labels.
    yy : array of shape (k, k)
        Sum of y y^T over labelled rows.
    n_labelled : float
        Sum of the weights of labelled rows, without factors of classes.
    """

    weight: float
    energy: float
    unlabelled: Covariance | None
    labelled: Covariance | None
    yy: Array
    n_labelled: float

    def merged(self, other: "FactorSums") -> "FactorSums":
        """Return the sums over the rows of both."""
        return FactorSums(
            self.weight + other.weight,
            self.energy + other.energy,
            _merge(self.unlabelled, other.unlabelled),
            _merge(self.labelled, other.labelled),
            self.yy + other.yy,
            self.n_labelled + other.n_labelled,
        )

    @property
    def labelled_weight(self) -> float:
        """Sum of the weights of labelled rows."""
        return 0.0 if self.labelled is None else self.labelled.weight

    @cached_property
    def unlabelled_zz(self) -> Array | None:
        """Sum of z z^T over unlabelled rows; None if there are none."""
        return _products(self.unlabelled)

    @cached_property
    def labelled_zz(self) -> Array | None:
        """Sum of z z^T over labelled rows; None if there are none."""
        return _products(self.labelled)

    @cached_property
    def zz(self) -> Array:
        """Sum of z z^T over all rows."""
        parts = [A for A in (self.unlabelled_zz, self.labelled_zz) if A is not None]
        total: Array = np.sum(parts, axis=0)
        return total

    @property
    def spread(self) -> Array:
        """Covariance of the features of all rows."""
        both = _merge(self.unlabelled, self.labelled)
        assert both is not None, "there are rows"
        return both.within

    @cached_property
    def zy(self) -> Array:
        """Sum of z y^T over labelled rows."""
        S = self.labelled
        if S is None:
            return np.zeros((len(self.zz), len(self.yy)))
        sums: Array = S.weight * (S.across + np.outer(S.mean, S.target_mean))
        return sums


def collect_sums(
    rows: Rows,
    targets: Targets,
    feature_map: FeatureMap,
    unit: float,
    context: Context,
) -> FactorSums:
    """Compute the sums over rows, of which some have labels.

    Squared lengths are in multiples of ``unit``. Features are computed once, and again for the
    lengths of rows that the kernel's diagonal does not give.
    """
    k, root = targets.n_outputs, np.sqrt(unit)

    def blank(y: Array | None, weight: Array | None) -> tuple[Array, Array | None]:
        return np.zeros((len(np.asarray(y)), k)), weight

    def products(block: Block, _: Scratch) -> Array:
        Y = np.asarray(block.y)
        squares: Array = (block.weights()[:, None] * Y).T @ Y
        return squares

    def covariances(part: Rows, weight: float) -> Covariance | None:
        if not weight:
            return None
        S = covariance(part.mapped(feature_map), True, feature_map.dtype_, context)
        return replace(S, within=S.within / unit, across=S.across / root, mean=S.mean / root)

    totals = context.map_reduce(rows, _count, add, np.zeros(4))
    n_known, n_others, weight_known, weight_others = totals.tolist()
    some, rest = FilteredRows(rows, is_labelled), FilteredRows(rows, is_unlabelled)
    some.remember_n_rows(int(n_known))
    rest.remember_n_rows(int(n_others))
    known = some.with_targets(targets)
    of_labelled = covariances(known, weight_known)
    of_unlabelled = covariances(rest.with_targets(blank), weight_others)
    weight = sum(S.weight for S in (of_labelled, of_unlabelled) if S is not None)
    energy = weight * mean_length(feature_map, rows.with_targets(targets), context) / unit
    yy = context.map_reduce(known, products, add, np.zeros((k, k)))
    return FactorSums(weight, energy, of_unlabelled, of_labelled, yy, weight_known)


def _count(block: Block, _: Scratch) -> Array:
    """Return the numbers and the total weights of rows with and without labels."""
    known, weight = is_labelled(block), block.weights()
    n_known = np.count_nonzero(known)
    return np.array([n_known, block.size - n_known, weight[known].sum(), weight[~known].sum()])


def _products(S: Covariance | None) -> Array | None:
    """Return the sum of z z^T; None if there are no rows."""
    if S is None:
        return None
    sums: Array = S.weight * (S.within + np.outer(S.mean, S.mean))
    return sums


def _merge(one: Covariance | None, other: Covariance | None) -> Covariance | None:
    if one is None or other is None:
        return one or other
    return one.merged(other)
