"""Covariances of features and targets in one pass over the rows."""

from dataclasses import dataclass, replace

import numpy as np

from skimp._core._blocks import Scratch
from skimp._core._linalg import dense, triangular_solve, whitened
from skimp._core._threads import single_threaded_blas
from skimp._core._types import Array, DType
from skimp._core._work import DOUBLE
from skimp.data import LOCAL, Block, Codes, Context, Rows
from skimp.solvers._features import as_targets

_SHIFT_ROWS = 256


@dataclass(frozen=True)
class Covariance:
    """Weighted means and covariances of features and targets.

    Attributes
    ----------
    n_rows : int
        Number of rows.
    weight : float
        Sum of the weights.
    size : float
        Effective number of rows: the squared sum of the weights divided by the sum of their
        squares.
    centred : bool
        Whether models have an intercept. Otherwise covariances are second moments and means are
        zero.
    within, across : arrays of shape (D, D) and (D, k)
        Covariances of the features, and of features with targets.
    targets : array of shape (k,)
        Variances of the targets.
    mean, target_mean : arrays of shape (D,) and (k,)
        Means.
    """

    n_rows: int
    weight: float
    size: float
    centred: bool
    within: Array
    across: Array
    targets: Array
    mean: Array
    target_mean: Array

    @property
    def target(self) -> float:
        """Sum of the variances of the targets."""
        return float(self.targets.sum())

    def merged(self, other: "Covariance") -> "Covariance":
        """Return the covariances of the rows of both, to rounding.

        The difference of the means adds to the covariances; see Chan, Golub and LeVeque (1979),
        Updating formulae and a pairwise algorithm for computing sample variances.
        """
        weight = self.weight + other.weight
        a, b = self.weight / weight, other.weight / weight
        z, y = other.mean - self.mean, other.target_mean - self.target_mean
        within = a * self.within
        within += b * other.within
        within += np.outer(a * b * z, z)
        squares = self.weight**2 / self.size + other.weight**2 / other.size
        return Covariance(
            n_rows=self.n_rows + other.n_rows,
            weight=weight,
            size=weight**2 / squares,
            centred=self.centred,
            within=within,
            across=a * self.across + b * other.across + np.outer(a * b * z, y),
            targets=a * self.targets + b * other.targets + a * b * y**2,
            mean=self.mean + b * z,
            target_mean=self.target_mean + b * y,
        )

    def ordered(self, order: Array) -> "Covariance":
        """Return the covariances with the columns in another order."""
        within = self.within[np.ix_(order, order)]
        return replace(self, within=within, across=self.across[order], mean=self.mean[order])

    def whiten(self, factor: Array | None) -> "Covariance":
        """Transform the covariances so that the penalty becomes the identity; keep the means.

        ``factor`` is the upper factor of the penalty matrix; None means the identity.
        """
        if factor is None:
            return self
        across = triangular_solve(factor, self.across, lower=False, transposed=True)
        return replace(self, within=whitened(self.within, factor), across=across)


def covariance(
    rows: Rows, centred: bool, dtype: DType = DOUBLE, context: Context = LOCAL
) -> Covariance:
    """Compute covariances, or second moments if not ``centred``.

    Sums are in ``dtype`` within blocks and in float64 across blocks.
    """
    shift = np.zeros(rows.n_features)
    if centred and rows.coded is None:
        # subtract the mean of some rows first: the remaining mean is small, and so is cancellation
        with single_threaded_blas(), np.errstate(over="ignore", invalid="ignore"):
            first = next(rows.reblocked(_SHIFT_ROWS).blocks())
            shift = dense(first.X, DOUBLE).mean(axis=0)
    n_rows, squares, total, yy, z, y, within, zy = _moments(rows, dtype, shift, context)
    weight = float(total)
    mean = z / weight if centred else np.zeros_like(z)
    target_mean = y / weight if centred else np.zeros_like(y)
    within /= weight
    within -= np.outer(mean, mean)
    return Covariance(
        n_rows=int(n_rows),
        weight=weight,
        size=weight**2 / float(squares) if squares else 0.0,
        centred=centred,
        within=within,
        across=zy / weight - np.outer(mean, target_mean),
        targets=yy / weight - target_mean**2,
        mean=mean + shift,
        target_mean=target_mean,
    )


def _moments(rows: Rows, dtype: DType, shift: Array, context: Context) -> list[Array]:
    """Return the number of rows, the sum of squared weights, and weighted sums.

    The weighted sums are those of 1, y^2, z, y, z z^T and z y^T, where z are features minus
    ``shift``.
    """
    shift = shift.astype(dtype)

    def of_block(block: Block, scratch: Scratch) -> list[Array]:
        weight = block.weights()
        of_weights = [np.array(block.size), weight @ weight, weight.sum()]
        if isinstance(block.X, Codes):
            return [*of_weights, *_coded_moments(block, block.X)]
        Y = dense(block.y, dtype)
        Z = scratch.array("centred", block.X.shape, dtype)
        np.subtract(dense(block.X, dtype), shift, out=Z)
        root = np.sqrt(weight).astype(dtype)
        if block.weight is not None:
            Y = Y * root[:, None]
            Z *= root[:, None]
        zz = scratch.array("zz", (Z.shape[1], Z.shape[1]), dtype)
        np.matmul(Z.T, Z, out=zz)
        yy = np.square(Y, dtype=np.float64).sum(axis=0)
        return [*of_weights, yy, root @ Z, root @ Y, zz, Z.T @ Y]

    def add(total: list[Array], part: list[Array]) -> list[Array]:
        if not total:
            return [np.array(sums, np.float64) for sums in part]
        return [np.add(sums, more, out=sums) for sums, more in zip(total, part, strict=True)]

    initial: list[Array] = []
    return context.map_reduce(rows, of_block, add, initial, record="moments")


def _coded_moments(block: Block, Z: Codes) -> list[Array]:
    """Return the weighted sums for codes, which need no shift."""
    from skimp._core.loops._codes import gram

    Y, weight = as_targets(block, DOUBLE)
    zz, zy, z = (np.zeros((Z.width, size)) for size in (Z.width, Y.shape[1], 1))
    gram(*Z.layout, weight[:, 0], zz)
    Z.add_transposed(weight * Y, zy)
    Z.add_transposed(weight, z)
    return [np.sum(weight * Y**2, axis=0), z[:, 0], weight[:, 0] @ Y, zz, zy]
