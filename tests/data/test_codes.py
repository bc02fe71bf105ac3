import numpy as np
import pytest

from skimp.data import ArrayRows, Codes
from tests.pairs import in_turn

HALF = np.float32(0.5)


def random_codes(n=20, *, dtype=np.uint8, value=HALF, seed=0, first=0):
    sizes = np.array([3, 1, 7, 4])
    codes = np.random.default_rng(seed).integers(0, sizes, (n, 4)).astype(dtype)
    return Codes(codes, np.cumsum(sizes) - sizes, value, int(sizes.sum()), first)


def by_hand(given):
    X = np.zeros(given.shape)
    for i, row in enumerate(given.codes):
        for offset, code in zip(given.offsets, row, strict=True):
            if code >= given.first:
                X[i, offset + int(code)] = given.value
    return X


every_first = pytest.mark.parametrize("first", [0, 1])


@in_turn(dtype=[np.uint8, np.uint16, np.uint32], value=[np.float32(0.25), np.float64(0.1)])
@every_first
def test_csr_is_its_naive_twin(dtype, value, first):
    given = random_codes(dtype=dtype, value=value, first=first)
    X = given.tocsr()
    assert given.shape == X.shape == (20, 15)
    assert given.dtype == X.dtype == value.dtype
    assert np.array_equal(X.toarray(), by_hand(given))


@pytest.mark.parametrize("part", [slice(3, 9), slice(None, None, 2), np.array([5, 0, 5])])
@every_first
def test_parts_are_those_rows(part, first):
    given = random_codes(first=first)
    assert np.array_equal(given[part].tocsr().toarray(), by_hand(given)[part])
    assert given[part].codes.flags.c_contiguous


def test_offsets_beyond_the_range_of_the_codes():
    given = Codes(np.array([[255]], np.uint8), np.array([1000]), np.float64(1), 1256)
    assert given.tocsr().indices.tolist() == [1255]


def test_no_rows_and_no_groups():
    assert random_codes()[:0].tocsr().shape == (0, 15)
    empty = Codes(np.empty((3, 0), np.uint8), np.empty(0, np.int64), np.float64(1), 4)
    assert np.array_equal(empty.tocsr().toarray(), np.zeros((3, 4)))


def test_features_that_are_none_are_absent_from_csr():
    given = random_codes(first=1)
    assert given.tocsr().nnz == np.count_nonzero(given.codes) < random_codes().tocsr().nnz == 80
    none = given.trusted(np.zeros((3, 4), np.uint8)).tocsr()
    assert (none.nnz, none.shape) == (0, (3, 15))


@every_first
@pytest.mark.parametrize("k", [1, 3])
def test_products_with_coefficients(first, k):
    given = random_codes(first=first, value=np.float64(0.3))
    C = np.random.default_rng(1).normal(size=(15, k))
    for wide in (C, np.asfortranarray(C), np.repeat(C, 2, axis=1)[:, ::2]):
        product = given @ wide
        assert product.dtype == np.float64
        np.testing.assert_allclose(product, by_hand(given) @ C, rtol=1e-12, atol=1e-14)
    assert (given @ C.astype(np.float32)).dtype == np.float32


@every_first
@pytest.mark.parametrize("k", [1, 3])
def test_products_of_transposed_rows_are_added(first, k):
    given = random_codes(first=first, value=np.float64(0.3))
    rng = np.random.default_rng(1)
    U, before = rng.normal(size=(20, k)), rng.normal(size=(15, k))
    for wide in (U, np.asfortranarray(U), np.repeat(U, 2, axis=1)[:, ::2]):
        out = before.copy()
        given.add_transposed(wide, out)
        expected = before + by_hand(given).T @ U
        np.testing.assert_allclose(out, expected, rtol=1e-12, atol=1e-14)


@every_first
def test_stacked_parts_are_the_whole(first):
    given = random_codes(first=first)
    whole = given[:0].stack([given[:3], given[3:3], given[3:]])
    assert np.array_equal(whole.tocsr().toarray(), by_hand(given))


@every_first
def test_trusted_codes_are_in_the_same_columns(first):
    given = random_codes(first=first)
    codes = random_codes(7, seed=1).codes
    trusted = given.trusted(codes)
    assert trusted.codes is codes
    assert trusted.layout[1:] == given.layout[1:]
    assert (trusted.shape, trusted.dtype) == ((7, 15), given.dtype)
    expected = Codes(codes, given.offsets, given.value, given.width, first)
    assert np.array_equal(trusted.tocsr().toarray(), by_hand(expected))


@every_first
def test_rows_of_codes_know_their_columns(first):
    given = random_codes(first=first)
    coded = ArrayRows(given).coded
    assert coded.shape == (0, 15)
    assert coded.layout[1:] == given.layout[1:]
    assert ArrayRows(given.tocsr()).coded is None


def test_blocks_of_rows():
    given, y = random_codes(), np.arange(20.0)
    rows = ArrayRows(given, y, block_rows=6)
    assert (rows.n_rows, rows.n_features, rows.dtype) == (20, 15, np.float32)
    parts = list(rows.blocks())
    assert [part.size for part in parts] == [6, 6, 6, 2]
    assert np.array_equal(np.vstack([part.X.tocsr().toarray() for part in parts]), by_hand(given))


GOOD = {
    "codes": np.array([[0, 1]], np.uint8),
    "offsets": np.array([0, 2]),
    "value": np.float64(1),
    "width": 4,
}


@pytest.mark.parametrize(
    ("name", "bad", "message"),
    [
        ("codes", np.array([0], np.uint8), r"found uint8 of shape \(1,\)"),
        ("codes", np.array([[0, 1]]), "must be a C-contiguous matrix of unsigned integers"),
        ("codes", np.asfortranarray(np.zeros((3, 2), np.uint8)), "C-contiguous"),
        ("codes", np.array([[0, 2]], np.uint8), "columns must be from 0 to 3, found 0 to 4"),
        ("offsets", np.array([0]), r"offsets must be int64 of shape \(2,\)"),
        ("offsets", np.array([0, 2], np.int32), "offsets must be int64"),
        ("offsets", np.array([-1, 2]), "found -1 to 3"),
        ("first", 2, "first must be 0 or 1, found 2"),
        ("first", -1, "first must be 0 or 1, found -1"),
        ("value", 1.0, "value must be a NumPy float32 or float64, found 1.0"),
    ],
)
def test_bad_codes(name, bad, message):
    Codes(**GOOD)
    with pytest.raises(ValueError, match=message):
        Codes(**{**GOOD, name: bad})


def test_products_of_other_shapes_are_refused():
    given = random_codes()
    for refused, message in (
        (lambda: given @ np.ones((14, 2)), r"C must have 15 rows, found shape \(14, 2\)"),
        (lambda: given.add_transposed(np.ones((20, 2)), np.ones((14, 2))), "out must have shape"),
        (lambda: given.add_transposed(np.ones((19, 2)), np.ones((15, 2))), "U must have 20 rows"),
    ):
        with pytest.raises(ValueError, match=message):
            refused()
