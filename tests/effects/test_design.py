import numpy as np
import pytest

from skimp.data import open_rows
from skimp.effects._design import Design


def columns(n=200):
    rng = np.random.default_rng(0)
    return np.column_stack(
        [
            rng.normal(5, 3, n),
            rng.integers(0, 2, n),
            rng.integers(0, 3, n),
            np.full(n, 2.0),
            np.where(rng.random(n) < 0.3, -1, 4),
        ]
    )


NAMES, LEVELS = ["number", "flag", "city", "constant", "two"], {2: ["a", "b", "c"]}


def design(X, weight=None, block_rows=None, standardize=True):
    rows = open_rows(X, weight=weight, block_rows=block_rows)
    return Design(rows, NAMES, LEVELS, standardize=standardize)


def mapped(made, X):
    out = np.empty((len(X), made.width))
    made.map_block(X, out)
    return out


def test_every_column_has_the_same_mean_squared_distance():
    X = columns()
    made = design(X)
    Z = mapped(made, X)
    assert made.column_names == ["number", "flag", "city=a", "city=b", "city=c", "constant", "two"]
    for j in (0, 1, 2, 4):
        part = Z[:, made.place(j)]
        distances = ((part[:, None] - part[None]) ** 2).sum(axis=2)
        assert np.isclose(distances.mean(), 2.0)
    assert np.array_equal(Z[:, 5], np.zeros(len(X)))
    plain = mapped(design(X, standardize=False), X)
    assert np.array_equal(plain[:, 0], X[:, 0])
    assert np.array_equal(plain[:, 2:5].sum(axis=1), np.ones(len(X)))


def test_terms_say_what_is_asked_of_each_column():
    terms = {term.name: term for term in design(columns()).terms}
    assert list(terms) == ["number", "flag", "city=b", "city=c", "constant", "two"]
    assert terms["number"].high is None
    assert np.isclose(terms["number"].scale, 1 / columns()[:, 0].std())
    assert (terms["two"].low, terms["two"].high) == (-1.0, 4.0)
    assert terms["two"].kind == "from -1 to 4"
    assert (terms["city=c"].low, terms["city=c"].high) == (0.0, 2.0)
    assert terms["city=c"].kind == "from a"
    assert terms["constant"].kind == "constant"


@pytest.mark.parametrize("block_rows", [1, 7, 200])
def test_weights_count_rows_in_any_blocks(block_rows):
    X = columns()
    weight = np.random.default_rng(1).integers(1, 4, len(X)).astype(float)
    repeated = design(np.repeat(X, weight.astype(int), axis=0))
    made = design(X, weight, block_rows)
    assert np.allclose(mapped(made, X), mapped(repeated, X), rtol=1e-12)
    assert made.terms[1:] == repeated.terms[1:]
    assert np.allclose(made.typical, repeated.typical)
    assert np.array_equal(made.limits, repeated.limits)


def test_typical_values_are_means_and_frequent_ones():
    X = columns()
    made = design(X)
    assert np.isclose(made.typical[0], X[:, 0].mean())
    assert made.typical[1] == np.round(X[:, 1].mean())
    assert made.typical[2] == np.argmax(np.bincount(X[:, 2].astype(int)))
    assert made.typical[4] == 4


def test_three_values_of_different_blocks_are_no_two():
    X = np.repeat(columns()[:3], 2, axis=0)
    X[:, 1] = [0, 1, 0, 2, 0, 1]
    X[:, 4] = [1, 1, 3, 3, 1, 3]
    terms = {term.name: term for term in design(X, block_rows=2).terms}
    assert terms["flag"].high is None
    assert terms["two"].high == 3
