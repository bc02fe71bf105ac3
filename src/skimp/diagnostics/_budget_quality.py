"""Quality of a budget, measured without fitting a model."""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from skimp._core._linalg import check_representable, condition_number, eigenpairs, inverse_root
from skimp._core._lines import Lined, Lines
from skimp._core._objects import as_real
from skimp._core._random import as_generator, draw_seed
from skimp._core._types import Array, RandomState
from skimp._params._rules import RANDOM_STATE, Rule, check_values, integer, number
from skimp.budgets import Budget, are_classes, check_points
from skimp.data import LOCAL, Rows, open_rows
from skimp.diagnostics._inputs import is_data
from skimp.kernels import Kernel, as_kernel, require

_DOUBLE = np.dtype(np.float64)
_SHOWN = 5
"""Number of classes whose shares are printed."""
_JUDGING = 0x5851F42D4C957F2D
_RULES = {
    "budget": Rule(
        "a Budget, or points such as budget_.points of a fitted Nystroem",
        lambda value: isinstance(value, Budget) or is_data(value),
    ),
    "alpha": number(above=0),
    "sample": integer(at_least=2),
    "random_state": RANDOM_STATE,
}


@dataclass(frozen=True, repr=False)
class BudgetQuality(Lined):
    r"""How well a budget of m points represents the data.

    The residual of a row is :math:`r(x) = k(x, x) - k(x, B) K_{mm}^+ k(B, x)`.

    Attributes
    ----------
    size : int
        Number of points, m.
    residual_trace : float
        The sum of r(x) over the rows, divided by the sum of k(x, x), estimated on a sample. It is
        0 if the approximation is exact, and at most 1.
    standard_error : float
        Standard error of ``residual_trace``. Zero if the sample holds all rows.
    effective_dimension : float
        Number of directions that a ridge model with this penalty uses: the trace of
        :math:`\tilde K (\tilde K + n \alpha I)^{-1}`, with K approximated by the points. If it is
        close to m, the budget is too small for the penalty.
    largest_distance, mean_distance : float
        Distances from the sampled rows to the nearest point, in feature space.
    condition_number : float
        Condition number of the kernel matrix of the points, in the 1-norm, as estimated by LAPACK.
        It is infinite, and not printed, if the matrix is singular up to rounding.
    sample_error : float or None
        Leave-one-out error, on the sample, of the ridge model with this penalty: the share of wrong
        labels for classes, one minus R^2 for numbers. Use it to compare budgets of the same size;
        larger budgets overfit the small sample. None without y.
    class_shares : dict or None
        Share of each label in the budget. A point that is not a row takes the label of the nearest
        sampled row. None without y, or if y holds numbers.
    class_imbalance : float or None
        Half the sum of the absolute differences between the shares in the budget and in the data.
    """

    size: int
    residual_trace: float
    standard_error: float
    effective_dimension: float
    largest_distance: float
    mean_distance: float
    condition_number: float
    sample_error: float | None = None
    class_shares: dict[Any, float] | None = None
    class_imbalance: float | None = None

    def _lines(self) -> Lines:
        lines = [
            ("size", f"{self.size:,}"),
            ("residual trace", f"{self.residual_trace:.3g} +- {self.standard_error:.2g}"),
            ("effective dimension", f"{self.effective_dimension:,.0f}"),
            ("distances", f"mean {self.mean_distance:.3g}, largest {self.largest_distance:.3g}"),
        ]
        if np.isfinite(self.condition_number):
            lines.append(("condition number", f"{self.condition_number:.2g}"))
        if self.sample_error is not None:
            lines.append(("sample error", f"{self.sample_error:.3g}"))
        if self.class_shares is not None:
            shares = [f"{label}: {share:.3g}" for label, share in self.class_shares.items()]
            more = f" and {len(shares) - _SHOWN} more" if len(shares) > _SHOWN else ""
            lines.append(("class shares", ", ".join(shares[:_SHOWN]) + more))
        if self.class_imbalance is not None:
            lines.append(("class imbalance", f"{self.class_imbalance:.3g}"))
        return lines

    def to_dict(self) -> dict[str, Any]:
        """Return the attributes by name."""
        return asdict(self)


def budget_quality(
    budget: Budget | Any,
    kernel: Kernel | str,
    X: Any,
    y: Any = None,
    alpha: float | None = None,
    *,
    sample: int = 2000,
    random_state: RandomState = 0,
) -> BudgetQuality:
    """Measure how well a budget represents the rows, without fitting a model.

    To compare budgets of different sizes, use ``residual_trace``: it ranks them nearly as the error
    of the fitted models does. To compare budgets of one size for a classifier, use
    ``sample_error``. Takes O(s m d + s m^2 + m^3) time for a sample of s rows.

    Parameters
    ----------
    budget : Budget, or array or CSR matrix of shape (m, d)
        The points: from a selector's ``select``, the ``budget_`` of `Nystroem`, or your own.
    kernel : Kernel or str
        The kernel. It must be positive definite.
    X : array, CSR matrix, frame or Rows of shape (n, d)
        The rows that the points should represent.
    y : array of shape (n,) or (n, k), optional
        Labels or numbers. Integers with more than thirty distinct values count as numbers. `Rows`
        hold their own targets.
    alpha : float, optional
        The ridge penalty, as in `KernelRegressor`, for ``effective_dimension`` and
        ``sample_error``. 1e-6 by default.
    sample : int, default=2000
        Number of rows to measure on; at least two per point are used.
    random_state : int, Generator, RandomState or None, default=0
        Seed of the sample. The default compares all budgets on the same rows.

    Returns
    -------
    BudgetQuality

    Examples
    --------
    >>> import numpy as np
    >>> from skimp.budgets import Uniform
    >>> from skimp.diagnostics import budget_quality
    >>> from skimp.kernels import Gaussian
    >>> X = np.random.default_rng(0).normal(size=(1000, 2))
    >>> kernel = Gaussian(gamma=0.1)
    >>> few, many = (Uniform().select(X, m, kernel, np.random.default_rng(0)) for m in (5, 50))
    >>> missed = [budget_quality(budget, kernel, X).residual_trace for budget in (few, many)]
    >>> missed[0] > missed[1]
    True
    """
    owner = "budget_quality"
    alpha = 1e-6 if alpha is None else alpha
    given = {"alpha": alpha, "sample": sample, "random_state": random_state, "budget": budget}
    check_values(owner, _RULES, **given)
    rows = open_rows(X, target=y)
    kernel = as_kernel(kernel, owner=owner).resolve(LOCAL.bind(rows), 0)
    require(kernel, "positive_definite", owner=owner, advice="others have no distance")
    budget = budget if isinstance(budget, Budget) else Budget(budget)
    points = check_points(budget.points, kernel, rows.n_features, owner=owner, name="budget")
    B = as_real(points, _DOUBLE)
    m = B.shape[0]
    if budget.indices is not None:
        _check_indices(np.asarray(budget.indices), m, rows.n_rows)
    # another seed: a rule with the same random state must not be judged on the rows it drew
    drawn = rows.sample(max(sample, 2 * m), draw_seed(as_generator(random_state)) ^ _JUDGING)
    S, weight = as_real(drawn.X, _DOUBLE), drawn.weight / drawn.weight.sum()
    K_mm, K, own = kernel(B), kernel(S, B), kernel.diag(S)
    check_representable(K_mm, K, own)
    W, _ = inverse_root(K_mm, rank=None, eps=float(np.finfo(np.float64).eps))
    Z = K @ W
    residual = np.clip(own - np.einsum("ij,ij->i", Z, Z), 0, None)
    share, error = _ratio(residual, own, weight, len(own) / rows.count_weighted())
    squared = np.clip(own[:, None] - 2 * K + K_mm.diagonal(), 0, None)
    distances = np.sqrt(squared.min(axis=1))
    values, Q = eigenpairs((Z.T * weight) @ Z)
    explained = values.clip(0)
    V = Z @ (Q / np.sqrt(explained + alpha))
    numbers = drawn.indices[squared.argmin(axis=0)] if budget.indices is None else budget.indices
    shares, imbalance = _class_shares(rows, numbers)
    return BudgetQuality(
        size=m,
        residual_trace=share,
        standard_error=error,
        effective_dimension=float((explained / (explained + alpha)).sum()),
        largest_distance=float(distances.max()),
        mean_distance=float(weight @ distances),
        condition_number=condition_number(K_mm),
        sample_error=_left_out(V, weight, drawn.y, rows.labelled),
        class_shares=shares,
        class_imbalance=imbalance,
    )


def _check_indices(indices: Array, m: int, n_rows: int) -> None:
    whole = indices.shape == (m,) and indices.dtype.kind in "iu"
    if not (whole and indices.min() >= 0 and indices.max() < n_rows):
        raise ValueError(f"budget_quality: budget must have {m} indices of rows of X, one a point.")


def _ratio(part: Array, whole: Array, weight: Array, fraction: float) -> tuple[float, float]:
    """Return the ratio of two weighted means, and its standard error for a share of all rows."""
    mean = float(weight @ whole)
    if mean == 0:
        return 0.0, 0.0
    ratio = float(weight @ part) / mean
    deviations = weight * (part - ratio * whole) / mean
    return ratio, float(np.sqrt((deviations @ deviations) * max(0.0, 1 - fraction)))


def _left_out(V: Array, weight: Array, y: Array | None, labelled: bool | None) -> float | None:
    r"""Return the leave-one-out error of the ridge model whose hat matrix is :math:`V V^T W`."""
    if y is None:
        return None
    classes = are_classes(y, len(y), labelled)
    if not (classes or y.dtype.kind in "biuf"):
        return None
    labels, codes = np.unique(y.ravel(), return_inverse=True) if classes else (y, y)
    Y = np.eye(len(labels))[codes] if classes else y.reshape(len(y), -1).astype(np.float64)
    centred = Y - weight @ Y
    leverage = np.minimum(weight * np.einsum("ij,ij->i", V, V), 1 - np.finfo(np.float64).eps)
    missed = (centred - V @ (V.T @ (weight[:, None] * centred))) / (1 - leverage)[:, None]
    if classes:
        return float(weight @ ((Y - missed).argmax(axis=1) != codes))
    spread = float(weight @ (centred**2).sum(axis=1))
    return float(weight @ (missed**2).sum(axis=1)) / spread if spread > 0 else 0.0


def _class_shares(rows: Rows, numbers: Array) -> tuple[dict[Any, float] | None, float | None]:
    """Return the share of each class in a budget, and the imbalance."""
    y = rows.targets()
    if y is None or not are_classes(y, len(y), rows.labelled):
        return None, None
    labels, codes = np.unique(y.ravel(), return_inverse=True)
    in_data = np.bincount(codes, rows.weights())
    in_budget = np.bincount(codes[numbers], minlength=len(labels))
    shares = in_budget / in_budget.sum()
    imbalance = 0.5 * np.abs(shares - in_data / in_data.sum()).sum()
    return dict(zip(labels.tolist(), shares.tolist(), strict=True)), float(imbalance)
