import numpy as np
import pytest
from scipy import sparse

from skimp.data import LOCAL, digest_rows, open_rows
from tests.problems import regression
from tests.sources import ChunkedRows

X, Y, WEIGHT = regression(n=200, d=3)


def digest(X=X, y=Y, weight=WEIGHT):
    return digest_rows(open_rows(X, target=y, weight=weight), LOCAL)


def changed(values, place):
    other = values.copy()
    other[place] = np.nextafter(other[place], np.inf)
    return other


def test_equal_rows_have_equal_digests():
    rows = ChunkedRows(X, Y, WEIGHT, block_rows=open_rows(X).block_rows)
    assert digest(np.asfortranarray(X), Y.copy()) == digest() == digest_rows(rows, LOCAL)


@pytest.mark.parametrize(
    "other",
    [
        {"X": changed(X, (150, 1))},
        {"X": X[::-1]},
        {"X": X.astype(np.float32)},
        {"X": sparse.csr_matrix(X)},
        {"y": changed(Y, -1)},
        {"y": None},
        {"weight": changed(WEIGHT, 7)},
        {"weight": None},
        {"X": np.array([["a", "b"]] * 200, object)[:, [0]] == "a"},
    ],
)
def test_any_change_gives_another_digest(other):
    assert digest(**other) != digest()


def test_text_targets():
    names = np.array(["a", "b"])[np.arange(200) % 2]
    assert digest(y=names) != digest(y=names[::-1])
    assert digest(y=names.astype(object)) == digest(y=names.astype(object))
