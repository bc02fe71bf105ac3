import numpy as np
import pandas as pd
import polars as pl
import pytest

from skimp.effects._levels import encode_levels, find_levels

CITY = ["b", "a", "c", "a"]


NUMBERS = [1.0, 2.0, 3.0, 4.0]
FRAMES = [
    pd.DataFrame({"n": NUMBERS, "city": CITY}),
    pd.DataFrame({"n": NUMBERS, "city": pd.Series(CITY, dtype="string")}),
    pd.DataFrame({"n": NUMBERS, "city": pd.Categorical(CITY)}),
    pl.DataFrame({"n": NUMBERS, "city": CITY}),
    pl.DataFrame({"n": NUMBERS, "city": pl.Series(CITY, dtype=pl.Categorical)}),
]


@pytest.mark.parametrize("frame", FRAMES, ids=["object", "string", "category", "text", "polars"])
def test_text_and_categories_have_levels(frame):
    levels = find_levels(frame)
    assert list(levels) == [1]
    assert sorted(levels[1]) == ["a", "b", "c"]
    encoded = encode_levels(frame, levels)
    codes = np.asarray(encoded["city"], float)
    assert [levels[1][int(code)] for code in codes] == CITY
    assert np.array_equal(np.asarray(encoded["n"]), [1.0, 2.0, 3.0, 4.0])
    assert list(frame["city"]) == CITY


def test_order_of_categories_is_kept_and_empty_ones_are_left_out():
    city = pd.Categorical(CITY, categories=["c", "x", "b", "a"])
    assert find_levels(pd.DataFrame({"city": city})) == {0: ["c", "b", "a"]}
    city = pl.Series(CITY, dtype=pl.Enum(["c", "x", "b", "a"]))
    assert find_levels(pl.DataFrame({"city": city})) == {0: ["c", "b", "a"]}


def test_numbers_have_no_levels():
    frame = pd.DataFrame({"a": [1, 2], "b": [True, False], "c": np.array([1.0, 2], dtype=object)})
    assert find_levels(frame) == {}
    assert encode_levels(frame, {}) is frame
    assert find_levels(np.ones((2, 2))) == {}
    assert find_levels(pl.DataFrame({"a": [1, 2], "b": [True, False]})) == {}


def test_missing_and_strange_values_are_named():
    with pytest.raises(ValueError, match="found some in column 'city'"):
        find_levels(pd.DataFrame({"city": pd.Categorical(["a", None])}))
    with pytest.raises(ValueError, match="found some in column 'city'"):
        find_levels(pd.DataFrame({"city": pd.array(["a", pd.NA], dtype="string")}))
    with pytest.raises(ValueError, match="found some in column 'city'"):
        find_levels(pl.DataFrame({"city": ["a", None]}))
    frame = pd.DataFrame({"city": ["a", "d"]})
    with pytest.raises(ValueError, match=r"levels seen in fit, \['a', 'b'\], found 'd'"):
        encode_levels(frame, {0: ["a", "b"]})


def test_other_columns_and_arrays_are_not_encoded():
    frame = pd.DataFrame({"city": ["a", "b"], "n": [1.0, 2.0]})
    assert encode_levels(frame, {0: ["a", "b"]}, ["n", "city"]) is frame
    with pytest.raises(ValueError, match="X must be a frame"):
        encode_levels(frame.to_numpy(), {0: ["a", "b"]})


@pytest.mark.parametrize("frame", [pd.DataFrame({"city": CITY}), pl.DataFrame({"city": CITY})])
def test_absent_rows_have_no_levels(frame):
    present = np.array([True, False, False, True])
    levels = find_levels(frame, present)
    assert levels == {0: ["a", "b"]}
    codes = np.asarray(encode_levels(frame, levels, present=present)["city"])
    assert codes.tolist() == [1, 0, 0, 0]
