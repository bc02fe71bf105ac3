import numpy as np
import pytest
from scipy import linalg

from skimp._core.loops._hadamard import SMALLEST, fastfood, hadamard, rotated_parts, structured
from tests.pairs import in_turn

SIZES = [16, 32, 64, 128, 256, 512, 1024, 2048]
DTYPES = [np.float32, np.float64]


def order(n):
    """Where entry ``16 r + c`` of the loop is among the usual ones: at ``c n / 16 + r``."""
    return [c * (n // 16) + r for r in range(n // 16) for c in range(16)]


def matrix(n):
    return linalg.hadamard(n)[order(n)].astype(np.float64)


def transformed(x):
    y = x.copy()
    hadamard(y, np.empty_like(y))
    return y


@in_turn(dtype=DTYPES, n=SIZES)
def test_the_transform_is_hadamards_in_transposed_order(n, dtype):
    # whole numbers, whose sums are below 2^24: nothing is rounded
    x = np.random.default_rng(n).integers(-9, 10, n).astype(dtype)
    y = transformed(x)
    assert y.dtype == dtype
    assert np.array_equal(y, matrix(n) @ x)


@in_turn(dtype=DTYPES, n=SIZES)
def test_real_numbers_are_transformed_to_rounding(n, dtype):
    x = np.random.default_rng(n).normal(size=n).astype(dtype)
    # log2(n) additions a number, each of a relative error of eps, in the Euclidean norm
    bound = 2 * np.log2(n) * np.finfo(dtype).eps * np.sqrt(n) * linalg.norm(x)
    assert linalg.norm(transformed(x) - matrix(n) @ x.astype(np.float64)) <= bound


@in_turn(dtype=DTYPES, n=SIZES)
def test_twice_in_the_usual_order_is_n_times_the_identity(n, dtype):
    def usual(x):
        y = np.empty_like(x)
        y[order(n)] = transformed(x)
        return y

    x = np.random.default_rng(n).integers(-1, 2, n).astype(dtype)
    assert np.array_equal(usual(usual(x)), n * x)


def test_the_smallest_transform_is_in_the_usual_order():
    assert SMALLEST == 16
    assert np.array_equal(np.array([transformed(e) for e in np.eye(16)]).T, linalg.hadamard(16))


def padded(scale, n):
    """Return the n x d matrix that scales d columns and appends zeros."""
    return np.eye(n, len(scale)) * scale


def structured_matrix(scale, signs, lengths):
    H = matrix(signs.shape[2])
    blocks = [
        H @ np.diag(D[2]) @ H @ np.diag(D[1]) @ H @ np.diag(D[0]) @ padded(scale, len(H))
        for D in signs
    ]
    return (np.vstack(blocks)[: len(lengths)] * lengths[:, None]).T


def fastfood_matrix(scale, signs, orders, normals, lengths):
    H = matrix(signs.shape[1])
    blocks = [
        H @ np.diag(g) @ np.eye(len(H))[p] @ H @ np.diag(b) @ padded(scale, len(H))
        for b, p, g in zip(signs, orders, normals, strict=True)
    ]
    return (np.vstack(blocks)[: len(lengths)] * lengths[:, None]).T


SHAPES = [
    # length of a block, columns, frequencies
    (16, 16, 16),
    (16, 1, 1),
    (16, 11, 16),
    (16, 11, 7),
    (16, 5, 37),
    (32, 32, 96),
    (64, 50, 130),
    (128, 128, 129),
    (256, 200, 255),
]


def diagonals(n, d, size, dtype):
    rng = np.random.default_rng(n + d + size)
    X, blocks = rng.normal(size=(6, d)).astype(dtype), -(-size // n)
    scale, lengths = rng.uniform(0.5, 2, d).astype(dtype), rng.uniform(0.5, 2, size).astype(dtype)
    return rng, X, scale, lengths, blocks


def largest_error(out, expected, X, scale, lengths):
    """Return the largest error relative to lengths and to the scaled row, before transforms."""
    X, scale, lengths = (a.astype(np.float64) for a in (X, scale, lengths))
    return np.max(np.abs(out - expected) / lengths / linalg.norm(X * scale, axis=1)[:, None])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("n", "d", "size"), SHAPES)
def test_structured_products_are_those_of_matrices(n, d, size, dtype):
    rng, X, scale, lengths, blocks = diagonals(n, d, size, dtype)
    signs = rng.choice(np.array([-1, 1], dtype), (blocks, 3, n))
    out = np.full((6, size), np.nan, dtype)
    structured(X, scale, signs, lengths, out)
    expected = X.astype(np.float64) @ structured_matrix(scale, signs, lengths)
    # three transforms, each of which multiplies norms by the root of n
    bound = 2 * (3 * np.log2(n) + 3) * np.finfo(dtype).eps * n**1.5
    assert largest_error(out, expected, X, scale, lengths) <= bound


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("n", "d", "size"), SHAPES)
def test_fastfood_products_are_those_of_matrices(n, d, size, dtype):
    rng, X, scale, lengths, blocks = diagonals(n, d, size, dtype)
    signs = rng.choice(np.array([-1, 1], dtype), (blocks, n))
    orders = rng.permuted(np.tile(np.arange(n, dtype=np.int32), (blocks, 1)), axis=1)
    normals = rng.normal(size=(blocks, n)).astype(dtype)
    out = np.full((6, size), np.nan, dtype)
    fastfood(X, scale, signs, orders, normals, lengths, out)
    expected = X.astype(np.float64) @ fastfood_matrix(scale, signs, orders, normals, lengths)
    bound = 2 * (2 * np.log2(n) + 4) * np.finfo(dtype).eps * n * np.abs(normals).max()
    assert largest_error(out, expected, X, scale, lengths) <= bound


def test_rows_are_left_as_they_are():
    rng, X, scale, lengths, blocks = diagonals(16, 5, 20, np.float64)
    signs = rng.choice([-1.0, 1.0], (blocks, 3, 16))
    given = [a.copy() for a in (X, scale, signs, lengths)]
    structured(X, scale, signs, lengths, np.empty((6, 20)))
    for before, after in zip(given, (X, scale, signs, lengths), strict=True):
        assert np.array_equal(before, after)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("n", "d", "size"), SHAPES)
def test_parts_of_rotations_are_entries_of_structured_products(n, d, size, dtype):
    rng, X, scale, _, blocks = diagonals(n, d, size, dtype)
    signs = rng.choice(np.array([-1, 1], dtype), (blocks, 3, n))
    orders = rng.permuted(np.tile(np.arange(n, dtype=np.uint32), (blocks, 1)), axis=1)
    out = np.full((6, size), np.nan, dtype)
    rotated_parts(X, scale, signs, orders.ravel()[:size], out)
    whole = structured_matrix(scale, signs, np.ones(blocks * n))
    entries = (orders + n * np.arange(blocks)[:, None]).ravel()[:size]
    expected = X.astype(np.float64) @ whole[:, entries]
    bound = 2 * (3 * np.log2(n) + 3) * np.finfo(dtype).eps * n**1.5
    assert largest_error(out, expected, X, scale, np.ones(size)) <= bound
