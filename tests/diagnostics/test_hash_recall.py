import re

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from skimp.data import open_rows
from skimp.diagnostics import hash_recall
from skimp.features import KernelHash, OrthogonalProjection, RandomLayer
from skimp.kernels import Gaussian, Laplacian, Linear, Polynomial
from tests.problems import regression
from tests.sources import ChunkedRows

CANDIDATES = [1, 3, 10, 40, 1000]


def fit(X, n_bits=40, **params):
    return KernelHash(n_bits=n_bits, random_state=0, **params).fit(X)


def naive(hashing, X, kernel, n_neighbors, candidates):
    """Return the recall of each row: sort all distances, and all numbers of differing bits.

    Rows that are as far as the last of the nearest are as good.
    """
    K, bits = kernel(X), np.unpackbits(hashing.codes_, axis=1)
    exact = np.diag(K)[:, None] + np.diag(K) - 2 * K
    hamming = (bits[:, None] != bits[None]).sum(axis=2)
    shares = np.empty((len(X), len(candidates)))
    for i in range(len(X)):
        others = [j for j in range(len(X)) if j != i]
        last = sorted(exact[i, others])[n_neighbors - 1] + 1e-12 * K[i, i]
        ranked = sorted(others, key=hamming[i].__getitem__)
        found = [sum(exact[i, j] <= last for j in ranked[:c]) for c in candidates]
        shares[i] = [min(count / n_neighbors, 1) for count in found]
    return shares


@pytest.mark.parametrize(
    ("params", "kernel", "n_neighbors"),
    [
        ({"kernel": Gaussian(0.3)}, Gaussian(0.3), 7),
        ({"kernel": Laplacian(0.5), "projection": "dbh"}, Laplacian(0.5), 119),
        ({"projection": "polynomial"}, Polynomial(2, 1.0, 0.0), 1),
        ({"projection": OrthogonalProjection()}, Linear(), 7),
    ],
    ids=str,
)
def test_equals_its_naive_twin(params, kernel, n_neighbors):
    X = regression(120)[0]
    hashing = fit(X, **params)
    found = hash_recall(hashing, X, n_neighbors=n_neighbors, candidates=CANDIDATES)
    shares = naive(hashing, X, kernel, n_neighbors, CANDIDATES)
    assert found.recall == pytest.approx(shares.mean(axis=0), abs=1e-12)
    assert found.standard_error == pytest.approx(shares.std(axis=0) / np.sqrt(120), abs=1e-12)
    assert found.candidates == tuple(CANDIDATES)
    assert (found.n_neighbors, found.n_rows) == (n_neighbors, 120)


@pytest.mark.parametrize("n_neighbors", [10, 60])
def test_rows_that_are_equally_far_are_equally_good(n_neighbors):
    X = np.repeat(regression(6)[0], 50, axis=0)[np.random.default_rng(0).permutation(300)]
    hashing = fit(X, kernel=Gaussian(0.3), n_bits=256)
    found = hash_recall(hashing, X, n_neighbors=n_neighbors, candidates=[49, 5])
    shares = naive(hashing, X, Gaussian(0.3), n_neighbors, [49, 5])
    assert found.recall == pytest.approx(shares.mean(axis=0), abs=1e-12)
    # codes of equal rows are equal, and the nearest 49 rows are equal
    assert found.recall == pytest.approx([min(1, 49 / n_neighbors), 5 / n_neighbors])


@pytest.mark.parametrize("kernel", [Linear(), Polynomial(2, 1.0, 0.0)], ids=repr)
def test_distances_of_rows_far_from_the_origin_keep_their_digits(kernel):
    X = (regression(300)[0] + 3000).astype(np.float32)
    hashing = fit(X, kernel=kernel, n_bits=512)
    found = hash_recall(hashing, X, candidates=[10, 50])
    as_double = hash_recall(hashing, X.astype(np.float64), candidates=[10, 50])
    assert found.recall == pytest.approx(as_double.recall, abs=1e-12)
    assert found.recall[1] > 0.9


def test_the_kernel_that_counts_may_be_another():
    X, other = regression(100)[0], Polynomial(2, 1.0, 0.0)
    hashing = fit(X)
    found = hash_recall(hashing, X, kernel=other, candidates=CANDIDATES)
    expected = naive(hashing, X, other, 10, CANDIDATES).mean(axis=0)
    assert found.recall == pytest.approx(expected, abs=1e-12)
    assert np.abs(hash_recall(hashing, X, candidates=CANDIDATES).recall - expected).max() > 0.01


def test_a_hashing_without_a_kernel_is_judged_by_a_given_one():
    X = regression(60)[0]
    hashing = fit(X, projection=RandomLayer())
    found = hash_recall(hashing, X, kernel=Linear(), candidates=[5])
    assert found.recall == pytest.approx(naive(hashing, X, Linear(), 10, [5]).mean(axis=0))
    with pytest.raises(ValueError, match=r"kernel must be a kernel object.* got None"):
        hash_recall(hashing, X)


def test_queries_are_some_of_the_rows():
    X = regression(100)[0]
    hashing = fit(X)
    whole = hash_recall(hashing, X, candidates=CANDIDATES)
    found = [
        hash_recall(hashing, X, queries=12, candidates=CANDIDATES, random_state=seed)
        for seed in range(2)
    ]
    assert not np.array_equal(found[0].recall, found[1].recall)
    for some in found:
        # means of 12 shares of 10 neighbours, about the mean of all
        np.testing.assert_allclose(some.recall * 120, np.round(some.recall * 120), atol=1e-9)
        assert (np.abs(some.recall - whole.recall) <= 5 * np.sqrt(0.25 / 12)).all()
        assert (some.standard_error <= np.sqrt(0.25 / 12)).all()


def test_recall_grows_with_candidates_up_to_one():
    X = regression(150)[0]
    sizes = [*range(1, 150), 150, 10**6]
    found = hash_recall(fit(X), X, candidates=sizes)
    assert (np.diff(found.recall) >= 0).all()
    # as many candidates as all others find everything, fewer than the neighbours not
    assert np.array_equal(found.recall[148:], [1, 1, 1])
    assert not found.standard_error[148:].any()
    assert (found.recall[:9] <= np.arange(1, 10) / 10 + 1e-12).all()
    assert found.recall[0] > 0


def test_rows_from_any_source():
    X = regression(120)[0]
    hashing = fit(X, kernel=Gaussian(0.3))
    expected = hash_recall(hashing, X, candidates=CANDIDATES)
    for source in (
        sparse.csr_matrix(X),
        pd.DataFrame(X),
        open_rows(X, block_rows=7),
        ChunkedRows(X),
    ):
        found = hash_recall(hashing, source, candidates=CANDIDATES)
        assert found.recall == pytest.approx(expected.recall, abs=1e-12)


def test_rows_of_a_partial_fit_count_too():
    X = regression(90)[0]
    hashing = fit(X[:50]).partial_fit(X[50:])
    found = hash_recall(hashing, X, candidates=CANDIDATES)
    expected = naive(hashing, X, hashing.projection_.kernel_, 10, CANDIDATES)
    assert found.recall == pytest.approx(expected.mean(axis=0), abs=1e-12)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("hashing", "dbh"),
        ("kernel", "rbf"),
        ("n_neighbors", 0),
        ("n_neighbors", 30),
        ("candidates", []),
        ("candidates", [5, 0]),
        ("candidates", 5),
        ("queries", 0),
        ("random_state", -1),
    ],
)
def test_rules(name, value):
    X = regression(30)[0]
    message = f"hash_recall: {name} must be .*got {re.escape(repr(value))}"
    with pytest.raises(ValueError, match=message):
        hash_recall(**{"hashing": fit(X), "X": X, name: value})


def test_rows_are_those_of_the_hashing():
    X = regression(30)[0]
    with pytest.raises(ValueError, match=r"hash_recall: X .*30 rows"):
        hash_recall(fit(X), X[1:])
