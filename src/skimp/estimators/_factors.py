"""Factors of features and labels: alternating closed forms on sums over the rows."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from skimp._core._linalg import eigenpairs, solve_positive
from skimp._core._types import Array
from skimp.estimators._factor_sums import FactorSums

_WINDOW = 5
"""Iterations over which the decrease of the objective is measured."""


@dataclass(frozen=True)
class Weighting:
    """Factors of the terms of the objective.

    Attributes
    ----------
    basis, labels, codes : float
        Penalties of the basis P, of the label weights V, and of the codes.
    label : float
        Factor of the squared errors of labels.
    """

    basis: float
    labels: float
    codes: float
    label: float


@dataclass(frozen=True)
class Factors:
    """A basis P of shape (D, r), and label weights V of shape (k, r)."""

    P: Array
    V: Array

    def moved(self, other: "Factors", share: float) -> "Factors":
        """Return the factors beyond these ones, by a share of the way from other ones."""
        return Factors(self.P + share * (self.P - other.P), self.V + share * (self.V - other.V))

    def inner(self, weighting: Weighting, *, labelled: bool) -> Array:
        """Return the matrix of the equations for the codes of a row."""
        A = self.P.T @ self.P
        if labelled:
            A += weighting.label * (self.V.T @ self.V)
        A.flat[:: len(A) + 1] += weighting.codes
        return A

    def penalty(self, weighting: Weighting) -> float:
        """Return the penalties of the basis and of the label weights."""
        squares = weighting.basis * np.sum(self.P**2) + weighting.labels * np.sum(self.V**2)
        return float(squares) / 2

    def canonical(self) -> "Factors":
        """Rotate the codes so that the columns of P are orthogonal, which changes no penalty.

        The lengths of the columns descend. Signs follow from the label weights, which do not depend
        on the coordinates of the features.
        """
        Q, lengths, R = np.linalg.svd(self.P, full_matrices=False)
        V = self.V @ R.T
        signs = np.where(np.arange(1, len(V) + 1) @ V < 0, -1.0, 1.0)
        return Factors(Q * (signs * lengths), V * signs)


@dataclass(frozen=True)
class CodeSums:
    """Sums over the rows of products with their codes h, which minimize the objective.

    Attributes
    ----------
    zh, hh : arrays of shape (D, r) and (r, r)
        Sums of z h^T and h h^T over all rows.
    yh, labelled_hh : arrays of shape (k, r) and (r, r)
        Sums of y h^T and h h^T over labelled rows.
    """

    zh: Array
    hh: Array
    yh: Array
    labelled_hh: Array

    def objective(self, factors: Factors, weighting: Weighting, sums: FactorSums) -> float:
        """Return the objective of the factors with these codes."""
        P, V = factors.P, factors.V
        of_rows = sums.energy - 2 * np.sum(P * self.zh) + np.sum((P.T @ P) * self.hh)
        of_labels = np.trace(sums.yy) - 2 * np.sum(V * self.yh)
        of_labels += np.sum((V.T @ V) * self.labelled_hh)
        codes = weighting.codes * np.trace(self.hh)
        loss = float(of_rows + weighting.label * of_labels + codes) / 2
        return loss + factors.penalty(weighting)

    def best_factors(self, weighting: Weighting) -> Factors:
        """Return the factors that minimize the objective for these codes."""
        eye, label = np.eye(len(self.hh)), weighting.label
        P = solve_positive(self.hh + weighting.basis * eye, self.zh.T)[0].T
        A = label * self.labelled_hh + weighting.labels * eye
        return Factors(P, solve_positive(A, label * self.yh.T)[0].T)


def sum_codes(factors: Factors, weighting: Weighting, sums: FactorSums) -> CodeSums:
    """Return the sums for the best codes: they are linear in the features and labels of a row."""
    P, V = factors.P, factors.V
    k, r = V.shape
    zh, hh = np.zeros_like(P), np.zeros((r, r))
    yh, labelled_hh = np.zeros((k, r)), np.zeros((r, r))
    if sums.unlabelled_zz is not None:
        T = solve_positive(factors.inner(weighting, labelled=False), P.T)[0]
        zh = sums.unlabelled_zz @ T.T
        hh = T @ zh
    if sums.labelled_zz is not None:
        A = factors.inner(weighting, labelled=True)
        both = np.hstack([P.T, weighting.label * V.T])
        T, U = np.split(solve_positive(A, both)[0], [len(P)], axis=1)
        more = sums.labelled_zz @ T.T + sums.zy @ U.T
        yh = sums.zy.T @ T.T + sums.yy @ U.T
        labelled_hh = T @ more + U @ yh
        zh, hh = zh + more, hh + labelled_hh
    return CodeSums(zh, (hh + hh.T) / 2, yh, (labelled_hh + labelled_hh.T) / 2)


def start_factors(sums: FactorSums, n_components: int, weighting: Weighting) -> Factors:
    r"""Return principal components of the joint features :math:`(z, \sqrt{\beta} y)`.

    If all rows are labelled and the penalties vanish, they minimize the objective. Otherwise the
    products with labels are estimated from the labelled rows.
    """
    D, k = sums.zy.shape
    M, label = np.zeros((D + k, D + k)), weighting.label
    M[:D, :D] = sums.zz / sums.weight
    if sums.labelled_weight:
        # labels count on a share of the rows
        label *= sums.labelled_weight / sums.weight
        M[D:, :D] = np.sqrt(label) * sums.zy.T / sums.labelled_weight
        M[D:, D:] = label * sums.yy / sums.labelled_weight
    M[:D, D:] = M[D:, :D].T
    values, vectors = eigenpairs(M)
    variances = np.maximum(values[::-1][:n_components], np.finfo(float).tiny)
    vectors = vectors[:, ::-1][:, :n_components]
    P, V = vectors[:D], vectors[D:] / np.sqrt(label)
    # the lengths that balance the penalties of factors and codes
    penalty = weighting.basis * np.sum(P**2, axis=0) + weighting.labels * np.sum(V**2, axis=0)
    lengths = (weighting.codes * sums.weight * variances / np.maximum(penalty, 1e-300)) ** 0.25
    return Factors(P * lengths, V * lengths)


@dataclass(frozen=True)
class Factorization:
    """Factors, the objective after each iteration, and whether it stopped decreasing."""

    factors: Factors
    history: tuple[float, ...]
    converged: bool


def alternate(
    sums: FactorSums,
    start: Factors,
    weighting: Weighting,
    *,
    tol: float,
    max_iter: int,
    advance: Callable[[str], bool],
) -> Factorization:
    """Minimize the objective by turns over the codes and over the factors, both in closed form.

    Each iteration starts beyond the last factors, in the direction of the last step. If that
    increases the objective, it is repeated from the last factors. It takes O(r D^2) operations,
    independent of the number of rows.
    """
    last, point, streak = start, start, 0
    history: list[float] = []
    for _ in range(max_iter):
        codes = sum_codes(point, weighting, sums)
        objective = codes.objective(point, weighting, sums)
        if history and objective > history[-1]:
            if streak == 0:
                # without extrapolation, only rounding increases the objective
                return Factorization(last, tuple(history), True)
            point, streak = last, 0
            continue
        history.append(objective)
        best = codes.best_factors(weighting)
        before, last = last, best
        if advance(f"objective {objective:.6g}"):
            break
        if not objective_falls(history, tol):
            return Factorization(last, tuple(history), True)
        streak += 1
        point = best.moved(before, streak / (streak + 3) if streak > 1 else 0.0)
    return Factorization(last, tuple(history), False)


def objective_falls(history: Sequence[float], tol: float) -> bool:
    """Return whether the last iterations have decreased the objective by more than ``tol``."""
    if len(history) <= _WINDOW:
        return True
    return history[-1 - _WINDOW] - history[-1] > tol * abs(history[-1])
