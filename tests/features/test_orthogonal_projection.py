import numpy as np
import pytest
from scipy import linalg, sparse

from skimp.data import open_rows
from skimp.features import OrthogonalProjection
from skimp.kernels import Linear
from tests.pairs import in_turn

SHAPES = [
    # columns, features, padded columns
    (1, 1, 16),
    (1, 40, 16),
    (5, 3, 16),
    (16, 16, 16),
    (17, 5, 32),
    (100, 128, 128),
    (100, 300, 128),
    (300, 1000, 512),
]


def normal(n, d, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


def transposed_hadamard(n):
    """Return the normalized matrix with its rows in the order of the loops."""
    return linalg.hadamard(n).reshape(16, n // 16, n).transpose(1, 0, 2).reshape(n, n) / np.sqrt(n)


def matrix(fitted, d):
    """Return what rows are multiplied by, sign by sign and transform by transform."""
    n, k = fitted.signs_.shape[2], fitted.width
    H, columns = transposed_hadamard(n), []
    for block, D in enumerate(fitted.signs_):
        rotation = H @ np.diag(D[2]) @ H @ np.diag(D[1]) @ H @ np.diag(D[0])
        columns.append(rotation[fitted.chosen_[block * n : (block + 1) * n]])
    return np.sqrt(n / k) * np.vstack(columns)[:, :d].T


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("d", "k", "n"), SHAPES)
def test_equals_the_product_with_a_matrix(d, k, n, dtype):
    X = normal(30, d).astype(dtype)
    fitted = OrthogonalProjection(k, random_state=0).fit(X)
    assert fitted.signs_.shape == (-(-k // n), 3, n)
    assert set(np.unique(fitted.signs_)) <= {-1, 1}
    expected = X.astype(np.float64) @ matrix(fitted, d)
    # three transforms, of log2(n) additions each; a rotation has the length of the row
    bound = 2 * (3 * np.log2(n) + 3) * np.finfo(dtype).eps * np.sqrt(n / k)
    lengths = np.linalg.norm(X.astype(np.float64), axis=1)[:, None]
    Z = fitted.transform(X)
    assert Z.dtype == dtype
    assert Z.shape == (30, k)
    assert (np.abs(Z - expected) / lengths).max() <= bound


@pytest.mark.parametrize(("d", "k", "n"), SHAPES)
def test_coordinates_of_a_rotation_are_taken_once(d, k, n):
    chosen = OrthogonalProjection(k, random_state=0).fit(np.ones((2, d))).chosen_
    assert len(chosen) == k
    for start in range(0, k, n):
        part = chosen[start : start + n]
        assert len(np.unique(part)) == len(part)
        assert part.max() < n


@pytest.mark.parametrize(("d", "k"), [(1, 16), (16, 16), (16, 32), (20, 32), (20, 96), (100, 128)])
def test_as_many_features_as_coordinates_are_an_isometry(d, k):
    X = normal(40, d)
    Z = OrthogonalProjection(k, random_state=0).fit_transform(X)
    np.testing.assert_allclose(Z @ Z.T, X @ X.T, atol=1e-12 * d)


@pytest.mark.parametrize(("d", "k"), [(3, 4), (16, 15), (20, 31)])
def test_directions_of_a_rotation_are_orthogonal(d, k):
    X = np.eye(32 if d > 16 else 16)
    n = len(X)
    R = OrthogonalProjection(k, random_state=0).fit_transform(X)
    np.testing.assert_allclose(R.T @ R, n / k * np.eye(k), atol=1e-13 * n)


def products(X, k, draws, seed=0):
    """Return the inner product of the features of two rows, for many draws."""
    rows, rng, found = open_rows(X), np.random.default_rng(seed), np.empty(draws)
    Z = np.empty((2, k))
    for i in range(draws):
        OrthogonalProjection(k).fit_rows(rows, rng).map_block(X, Z)
        found[i] = Z[0] @ Z[1]
    return found


def theory(x, y, k, n):
    """Return the variance, with three rotations (Choromanski, Rowland and Weller 2017).

    A rotation H D turns the sum Q of x_i^2 y_i^2 into (A - 2 Q) / n in the mean; taking k
    coordinates has the variance of a mean without replacement.
    """
    inner, lengths = x @ y, (x @ x) * (y @ y)
    A = 2 * inner**2 + lengths
    terms = inner**2 + lengths - 2 / n * A + 4 / n**2 * A - 8 / n**2 * (x**2 @ y**2)
    return (n - k) / (k * (n - 1)) * terms


PAIRS = {
    "dense": normal(2, 16, 3),
    "padded": normal(2, 3, 4),
    "one entry": np.eye(2, 16)[[0, 0]],
    "other entries": np.array([[1.0, 0.0], [0.0, 1.0]]),
}


@in_turn(k=[1, 5, 15], pair=list(PAIRS.values()))
def test_the_mean_and_the_variance_of_products_are_those_of_theory(pair, k):
    draws, inner = 1000, pair[0] @ pair[1]
    errors = products(pair, k, draws) - inner
    variance = theory(*pair, k, 16)
    assert abs(errors.mean()) <= 5 * np.sqrt(variance / draws)
    squares = errors**2
    assert abs(squares.mean() - variance) <= 5 * squares.std(ddof=1) / np.sqrt(draws)


def test_rotations_are_independent_of_each_other():
    x, y = PAIRS["dense"]
    draws, k = 1000, 20
    errors = products(np.array([x, y]), k, draws) - x @ y
    # sixteen of the features are exact, four have the variance of four alone
    variance = (4 / k) ** 2 * theory(x, y, 4, 16)
    assert abs(errors.mean()) <= 5 * np.sqrt(variance / draws)
    squares = errors**2
    assert abs(squares.mean() - variance) <= 5 * squares.std(ddof=1) / np.sqrt(draws)


def test_wide_sparse_rows_are_made_dense_by_strips():
    d = 150_000
    X = sparse.random(9, d, 1e-4, "csr", random_state=0)
    fitted = OrthogonalProjection(64, random_state=0).fit(X)
    assert fitted.signs_.shape == (1, 3, 2**18)
    Z = fitted.transform(X)
    for i in (0, 3, 8):
        np.testing.assert_allclose(Z[i : i + 1], fitted.transform(X[[i]].toarray()), atol=1e-12)
    for x, z in zip(X.toarray(), Z, strict=True):
        assert abs(z @ z - x @ x) <= 5 * np.sqrt(theory(x, x, 64, 2**18))


def test_the_map_depends_on_the_number_of_columns_alone():
    X = normal(30, 20)
    first = OrthogonalProjection(9, random_state=0).fit(X)
    again = OrthogonalProjection(9, random_state=0).fit(5 * X[:1])
    other = OrthogonalProjection(9, random_state=1).fit(X)
    assert np.array_equal(first.transform(X), again.transform(X))
    assert not np.array_equal(first.transform(X), other.transform(X))
    assert isinstance(first.kernel_, Linear)


@pytest.mark.parametrize("value", [0.0, 1e-30, 1e30])
def test_rows_of_any_scale(value):
    X = np.full((3, 5), value)
    Z = OrthogonalProjection(16, random_state=0).fit_transform(X)
    np.testing.assert_allclose((Z**2).sum(axis=1), 5 * value**2, rtol=1e-12)


def test_features_that_overflow_are_refused():
    X = np.ones((3, 5), np.float32)
    fitted = OrthogonalProjection(16, random_state=0).fit(X)
    with pytest.raises(ValueError, match="rescale the columns of X"):
        fitted.transform(np.full((3, 5), 3e38, np.float32))
