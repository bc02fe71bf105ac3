"""Covariances of features and targets, in one pass over the rows."""

from dataclasses import dataclass, replace

import numpy as np

from skimp._core._blocks import Scratch
from skimp._core._linalg import dense
from skimp._core._threads import single_threaded_blas
from skimp._core._types import Array, DType
from skimp.data import LOCAL, Block, Codes, Context, Rows
from skimp.solvers._base import Problem
from skimp.solvers._features import targets

_DOUBLE = np.dtype(np.float64)
_SHIFT_ROWS = 256


def covariance(problem: Problem, dtype: DType, context: Context = LOCAL) -> "Covariance":
    """Return covariances (second moments without an intercept), within blocks in ``dtype``."""
    shift = np.zeros(problem.rows.n_features)
    if problem.fit_intercept and problem.rows.coded is None:
        # the mean of some rows: what is left of the mean, to be subtracted from sums, is small
        with single_threaded_blas(), np.errstate(over="ignore", invalid="ignore"):
            first = next(problem.rows.reblocked(_SHIFT_ROWS).blocks())
            shift = dense(first.X, _DOUBLE).mean(axis=0)
    sums = _moments(problem.rows, dtype, shift, context)
    S = sums.covariance(centred=problem.fit_intercept)
    return replace(S, mean=S.mean + shift)


@dataclass(frozen=True)
class Covariance:
    """Weighted covariances, and the means to be added back.

    ``size`` is how many rows of equal weight they are worth: the squared sum of the weights over
    the sum of their squares, the number of rows where weights are equal.
    """

    n_rows: int
    weight: float
    size: float
    within: Array
    across: Array
    targets: Array
    mean: Array
    target_mean: Array

    @property
    def target(self) -> float:
        """The sum of the variances of the targets."""
        return float(self.targets.sum())

    def ordered(self, order: Array) -> "Covariance":
        """Return the same with the columns in another order."""
        return replace(
            self,
            within=self.within[np.ix_(order, order)],
            across=self.across[order],
            mean=self.mean[order],
        )


@dataclass
class _Moments:
    """Sums over rows: of 1, of squared weights, and with weights of 1, y^2, z, y, z z^T, z y^T."""

    n_rows: int
    squares: float
    weight: float
    yy: Array
    z: Array
    y: Array
    zz: Array
    zy: Array

    def arrays(self) -> tuple[Array, ...]:
        return self.yy, self.z, self.y, self.zz, self.zy

    def covariance(self, *, centred: bool) -> Covariance:
        mean = self.z / self.weight if centred else np.zeros_like(self.z)
        target_mean = self.y / self.weight if centred else np.zeros_like(self.y)
        within = self.zz
        within /= self.weight
        within -= np.outer(mean, mean)
        return Covariance(
            self.n_rows,
            self.weight,
            self.weight**2 / self.squares if self.squares else 0.0,
            within,
            self.zy / self.weight - np.outer(mean, target_mean),
            self.yy / self.weight - target_mean**2,
            mean,
            target_mean,
        )


def _moments(rows: Rows, dtype: DType, shift: Array, context: Context) -> _Moments:
    """Sum ``z - shift``, in ``dtype`` within blocks and in float64 across them."""
    shift = shift.astype(dtype)

    def of_block(block: Block, scratch: Scratch) -> _Moments:
        if isinstance(block.X, Codes):
            return _coded_moments(block, block.X)
        Y = dense(block.y, dtype)
        Z = scratch.array("centred", block.X.shape, dtype)
        np.subtract(dense(block.X, dtype), shift, out=Z)
        weight = block.weights()
        root = np.sqrt(weight).astype(dtype)
        if block.weight is not None:
            Y = Y * root[:, None]
            Z *= root[:, None]
        zz = scratch.array("zz", (Z.shape[1], Z.shape[1]), dtype)
        return _Moments(
            n_rows=len(Z),
            squares=float(np.sum(np.square(weight, dtype=np.float64))),
            weight=float(weight.sum()),
            yy=np.square(Y, dtype=np.float64).sum(axis=0),
            z=root @ Z,
            y=root @ Y,
            zz=np.matmul(Z.T, Z, out=zz),
            zy=Z.T @ Y,
        )

    def add(total: _Moments | None, part: _Moments) -> _Moments:
        if total is None:
            total = _Moments(0, 0.0, 0.0, *(np.zeros(array.shape) for array in part.arrays()))
        total.n_rows += part.n_rows
        total.squares += part.squares
        total.weight += part.weight
        for sums, more in zip(total.arrays(), part.arrays(), strict=True):
            np.add(sums, more, out=sums)
        return total

    initial: _Moments | None = None
    moments = context.map_reduce(rows, of_block, add, initial)
    assert moments is not None, "rows that were checked are not empty"
    return moments


def _coded_moments(block: Block, Z: Codes) -> _Moments:
    """Do the same for codes, whose features are equal or zero: they need no shift."""
    from skimp._core.loops._codes import gram

    Y, weight = targets(block, _DOUBLE)
    zz, zy, z = (np.zeros((Z.width, size)) for size in (Z.width, Y.shape[1], 1))
    gram(*Z.layout, weight[:, 0], zz)
    Z.add_transposed(weight * Y, zy)
    Z.add_transposed(weight, z)
    return _Moments(
        n_rows=block.size,
        squares=float(np.sum(np.square(weight, dtype=np.float64))),
        weight=float(weight.sum()),
        yy=np.sum(weight * Y**2, axis=0),
        z=z[:, 0],
        y=weight[:, 0] @ Y,
        zz=zz,
        zy=zy,
    )
