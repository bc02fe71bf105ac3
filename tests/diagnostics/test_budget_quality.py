import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

from skimp.budgets import Budget, KMeans, Uniform
from skimp.data import ArrayRows, open_rows
from skimp.diagnostics import budget_quality
from skimp.kernels import FunctionKernel, Gaussian, Laplacian, Linear, Polynomial
from tests.pairs import pairwise
from tests.problems import labelled, regression
from tests.reference import naive
from tests.sources import ChunkedRows
from tests.words import letter_indicators, shared_letters, words

KERNEL = Laplacian(0.5)
NUMBERS = ["residual_trace", "effective_dimension", "largest_distance", "mean_distance"]


def twin(B, kernel, X, alpha=1e-6, weight=None):
    """The numbers of `NUMBERS` from full kernel matrices."""
    weight = np.ones(len(X)) if weight is None else weight
    weight = weight / weight.sum()
    K, K_xb, K_bb = kernel(X), kernel(X, B), kernel(B)
    approximated = naive.nystroem(K_xb, K_bb, K_xb.T)
    whole = weight @ K.diagonal()
    A = np.outer(np.sqrt(weight), np.sqrt(weight)) * approximated
    distances = [
        min(np.sqrt(max(0.0, K[i, i] - 2 * K_xb[i, j] + K_bb[j, j])) for j in range(len(B)))
        for i in range(len(X))
    ]
    return {
        "residual_trace": weight @ (K.diagonal() - approximated.diagonal()) / whole,
        "effective_dimension": np.trace(A @ np.linalg.inv(A + alpha * np.eye(len(X)))),
        "largest_distance": max(d for d, w in zip(distances, weight, strict=True) if w),
        "mean_distance": weight @ distances,
    }


def assert_numbers(quality, expected, tol=1e-8):
    for name in NUMBERS:
        assert getattr(quality, name) == pytest.approx(expected[name], rel=tol, abs=tol), name


def assert_same(quality, other, tol=1e-10):
    assert_numbers(quality, other.to_dict(), tol)
    assert quality.standard_error == pytest.approx(other.standard_error, rel=tol, abs=tol)
    assert quality.class_shares == other.class_shares


def near(X, m, seed=1):
    """Points between the rows."""
    return X[:m] + 0.1 * np.random.default_rng(seed).normal(size=(m, X.shape[1]))


@pairwise(kernel=[KERNEL, Linear(), 3.0 * KERNEL + Linear()], alpha=[1e-6, 1e-2], m=[1, 3, 20])
def test_equals_its_naive_twin(kernel, alpha, m):
    X = regression(80)[0]
    B = near(X, m)
    quality = budget_quality(B, kernel, X, alpha=alpha)
    assert quality.size == m
    assert_numbers(quality, twin(B, kernel, X, alpha))
    assert quality.standard_error == 0


def test_points_that_are_of_no_use_miss_everything():
    X = regression(60)[0]
    quality = budget_quality(np.zeros((2, 3)), Linear(), X)
    assert (quality.residual_trace, quality.effective_dimension) == (1, 0)
    assert quality.largest_distance == pytest.approx(np.linalg.norm(X, axis=1).max())


def test_a_kernel_that_is_zero_has_nothing_to_miss():
    quality = budget_quality(np.zeros((2, 3)), Linear(), np.zeros((9, 3)))
    assert (quality.residual_trace, quality.standard_error) == (0, 0)
    assert quality.condition_number == np.inf


@pytest.mark.parametrize(
    ("kernel", "m"), [(KERNEL, 1), (Gaussian(0.3), 2), (3.0 * KERNEL + Linear(), 8), (KERNEL, 20)]
)
def test_condition_number_is_lapacks_estimate_of_that_of_numpy(kernel, m):
    X = regression(80)[0][:, : 1 if m < 3 else 3]
    B = X[:m]
    exact = np.linalg.cond(kernel(B), 1)
    # the estimate is a lower bound, which is seldom too small by more than a factor of three
    assert exact / 3 <= budget_quality(B, kernel, X).condition_number <= exact * (1 + 1e-6)


def test_a_repeated_point_makes_the_matrix_singular_and_changes_nothing_else():
    X = regression(80)[0]
    quality = budget_quality(X[[0, 1, 2, 1]], KERNEL, X)
    assert quality.condition_number == np.inf
    assert_numbers(quality, budget_quality(X[:3], KERNEL, X).to_dict())


def test_budgets_are_not_judged_on_their_own_rows():
    X = regression(3000)[0]
    budget = Uniform().select(X, 300, KERNEL, np.random.default_rng(0))
    own, other = (
        budget_quality(budget, KERNEL, X, sample=600, random_state=seed) for seed in (0, 1)
    )
    errors = np.hypot(own.standard_error, other.standard_error)
    assert abs(own.residual_trace - other.residual_trace) < 4 * errors


def test_standard_error_is_the_spread_of_estimates():
    X, seeds = regression(500)[0], 400
    found = [
        budget_quality(X[:4], Polynomial(2, 0.3), X, sample=60, random_state=seed)
        for seed in range(seeds)
    ]
    spread = np.var([quality.residual_trace for quality in found], ddof=1)
    claimed = np.mean([quality.standard_error**2 for quality in found])
    # five standard deviations of the variance of normal numbers
    assert abs(spread / claimed - 1) <= 5 * np.sqrt(2 / (seeds - 1))


def test_no_error_where_all_rows_are_drawn():
    X = regression(100)[0]
    assert budget_quality(X[:9], KERNEL, X, sample=100).standard_error == 0
    assert budget_quality(X[:9], KERNEL, X, sample=99).standard_error > 0


def test_at_least_two_rows_a_point_are_drawn():
    X = regression(100)[0]
    few = budget_quality(X[:20], KERNEL, X, sample=2)
    assert few == budget_quality(X[:20], KERNEL, X, sample=40)
    assert few != budget_quality(X[:20], KERNEL, X, sample=41)


def test_weights_count_rows():
    X, _, weight = regression(80)
    quality = budget_quality(X[:9], KERNEL, open_rows(X, weight=weight), alpha=1e-3)
    assert_numbers(quality, twin(X[:9], KERNEL, X, 1e-3, weight))
    repeated = np.repeat(X, weight.astype(int), axis=0)
    assert_numbers(quality, budget_quality(X[:9], KERNEL, repeated, alpha=1e-3).to_dict())


def test_shares_of_classes_are_those_of_the_chosen_rows():
    X, codes, _ = labelled(120)
    y = np.array(["low", "middle", "high"])[codes]
    budget = Uniform().select(X, 12, KERNEL, np.random.default_rng(0))
    quality = budget_quality(budget, KERNEL, X, y)
    shares = {label: np.mean(y[budget.indices] == label) for label in np.unique(y)}
    assert quality.class_shares == pytest.approx(shares)
    expected = sum(abs(shares[label] - np.mean(y == label)) for label in shares) / 2
    assert quality.class_imbalance == pytest.approx(expected)


def test_centres_count_for_the_label_of_the_nearest_row():
    X, y, _ = labelled(120)
    budget = KMeans().select(X, 12, KERNEL, np.random.default_rng(0))
    nearest = KERNEL(X, budget.points).argmax(axis=0)
    expected = np.bincount(y[nearest], minlength=3) / 12
    assert budget_quality(budget, KERNEL, X, y).class_shares == dict(enumerate(expected.tolist()))


def test_imbalance_is_to_the_shares_of_weight():
    X, y = regression(60)[0], np.arange(60) % 2
    rows = open_rows(X, target=y, weight=np.where(y == 0, 3.0, 1.0))
    quality = budget_quality(Budget(X[:10], np.arange(10)), KERNEL, rows)
    assert quality.class_imbalance == pytest.approx(0.25)


SOURCES = {
    "CSR": lambda X, y: (sparse.csr_matrix(X), y),
    "CSC": lambda X, y: (sparse.csc_matrix(X), y),
    "pandas": lambda X, y: (pd.DataFrame(X, columns=list("abc")), pd.Series(y)),
    "polars": lambda X, y: (pl.DataFrame(X, schema=list("abc")), pl.Series(y)),
    "rows": lambda X, y: (open_rows(X, target=y, block_rows=7), None),
    "rows of an unknown number": lambda X, y: (ChunkedRows(X, y), None),
    "list": lambda X, y: (X.tolist(), y.tolist()),
}


@pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES)
def test_rows_from_any_source(source):
    X, y, _ = labelled(150)
    expected = budget_quality(X[:9], KERNEL, X, y, sample=30)
    assert_same(budget_quality(X[:9], KERNEL, *source(X, y), sample=30), expected)


@pytest.mark.parametrize("dtype", [np.float16, np.int8])
def test_numbers_are_computed_in_float64(dtype):
    X = (3 * regression(80)[0]).astype(dtype)
    expected = budget_quality(X[:5].astype(float), KERNEL, X.astype(float))
    assert_same(budget_quality(X[:5], KERNEL, X), expected)


def test_objects():
    W, y = words()
    V = letter_indicators(W)
    rows = ArrayRows(np.array(W, dtype=object)[:, None], np.asarray(y))
    quality = budget_quality(W[:5], FunctionKernel(shared_letters), rows)
    assert_same(quality, budget_quality(V[:5], Linear(), V, y))


def test_the_seed_chooses_the_sample():
    X = regression(300)[0]
    found = [budget_quality(X[:5], KERNEL, X, sample=20, random_state=s) for s in (0, 0, 1)]
    assert found[0] == found[1] != found[2]
    assert budget_quality(X[:5], KERNEL, X, sample=20) == found[0]
    generator = np.random.default_rng(0)
    assert budget_quality(X[:5], KERNEL, X, sample=20, random_state=generator) == found[0]


@pytest.mark.parametrize("weighted", [False, True])
def test_sample_error_is_that_of_models_without_a_row(weighted):
    X, y, weight = labelled(60)
    weight = weight + 1 if weighted else np.ones(60)
    alpha, B = 1e-2, X[:7]
    target = X[:, 0] ** 2 + np.sin(3 * X[:, 1])
    for labels, outputs in (
        (y, (y[:, None] == np.unique(y)).astype(float)),
        (target, target[:, None]),
    ):
        found = budget_quality(B, KERNEL, open_rows(X, target=labels, weight=weight), alpha=alpha)
        left_out = np.array([_without(i, X, B, outputs, weight, alpha) for i in range(60)])
        share = weight / weight.sum()
        if labels is y:
            expected = share @ (outputs.argmax(axis=1) != left_out.argmax(axis=1))
        else:
            spread = share @ (outputs - share @ outputs) ** 2
            expected = share @ (outputs - left_out) ** 2 / spread
        assert found.sample_error == pytest.approx(float(np.squeeze(expected)), rel=1e-8)


def _without(i, X, B, Y, weight, alpha):
    """Predict row i by the ridge model of the others, whose mean and total weight stay."""
    share = weight / weight.sum()
    mean = share @ Y
    K, K_mm = KERNEL(X, B), KERNEL(B)
    others = np.where(np.arange(len(X)) == i, 0, share)
    A = (K.T * others) @ K + alpha * K_mm
    return mean + K[i] @ np.linalg.solve(A, (K.T * others) @ (Y - mean))


def test_numbers_are_classes_where_they_are_whole_and_few():
    X = regression(300)[0]
    few, many = np.arange(300) % 30, np.arange(300) % 31
    assert budget_quality(X[:3], KERNEL, X, few).class_shares is not None
    assert budget_quality(X[:3], KERNEL, X, many).class_shares is None
    said = open_rows(X, target=many).labelled_as(True)
    assert budget_quality(X[:3], KERNEL, said).class_shares is not None
