"""Messages about data that cannot be used: what is wrong, where, and what to do."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.base import clone

from skimp import KRLS, KernelClassifier, KernelRegressor
from skimp.data import open_rows
from skimp.features import Nystroem
from tests.pairs import in_turn

N = 12
X = np.random.default_rng(0).normal(size=(N, 3))
Y = X[:, 0]
LABELS = (Y > 0).astype(int)
NAMES = ["a", "b", "c"]
CLASSIFIER = KernelClassifier(approximation=5, alpha=0.1, loss="squared", random_state=0)
REGRESSOR = KernelRegressor(approximation=5, alpha=0.1, random_state=0)
MODELS = [REGRESSOR, CLASSIFIER, KRLS()]
IMPUTE = r": impute them, .*SimpleImputer"


def fit(model, rows=X, y=None, weight=None):
    y = LABELS if y is None else y
    return clone(model).fit(rows, y, sample_weight=weight)


def with_entries(value):
    rows = X.copy()
    rows[3, 1] = rows[4, 1] = rows[5, 2] = value
    return rows


FORMS = {
    "array": (np.asarray, ["X[:, 1]", "X[:, 2]"]),
    "list": (lambda rows: rows.tolist(), ["X[:, 1]", "X[:, 2]"]),
    "objects": (lambda rows: rows.astype(object), ["X[:, 1]", "X[:, 2]"]),
    "sparse": (sparse.csr_matrix, ["X[:, 1]", "X[:, 2]"]),
    "pandas": (lambda rows: pd.DataFrame(rows, columns=NAMES), ["'b'", "'c'"]),
    "nullable": (lambda rows: pd.DataFrame(rows, columns=NAMES).astype("Float64"), ["'b'", "'c'"]),
    "polars": (lambda rows: pl.DataFrame(rows, schema=NAMES), ["'b'", "'c'"]),
}


@in_turn(form=FORMS, model=MODELS)
def test_missing_entries_are_found_in_their_columns(model, form):
    make, (first, second) = FORMS[form]
    columns = f"columns {first} (2 of 12 rows), {second} (1 of 12 rows)"
    with pytest.raises(ValueError, match=IMPUTE) as error:
        fit(model, make(with_entries(np.nan)))
    assert str(error.value).startswith(f"X contains NaN or other missing values in {columns}: ")


@pytest.mark.parametrize("form", sorted(FORMS))
def test_infinite_entries_are_found_in_their_columns(form):
    make, (first, second) = FORMS[form]
    with pytest.raises(ValueError, match="replace infinite values") as error:
        open_rows(make(with_entries(-np.inf)))
    columns = f"columns {first} (2 of 12 rows), {second} (1 of 12 rows)"
    assert str(error.value).startswith(f"X contains infinity in {columns}: ")


def test_missing_entries_are_found_in_predict_and_transform():
    frame, gap = (pd.DataFrame(rows, columns=NAMES) for rows in (X, with_entries(np.nan)))
    for call in (fit(REGRESSOR, frame).predict, Nystroem(budget=4).fit(frame).transform):
        with pytest.raises(ValueError, match=r"NaN .* in columns 'b' \(2 of 12 rows\), 'c'"):
            call(gap)


def test_a_long_list_of_columns_is_cut():
    rows = np.where(np.arange(30) % 3, np.nan, 1.0) * np.ones((4, 1))
    with pytest.raises(ValueError, match=r"X\[:, 7\] \(4 of 4 rows\) and 15 more"):
        open_rows(rows)


def test_what_pandas_and_polars_have_for_missing_numbers():
    for frame in (
        pd.DataFrame({"a": pd.array([1, None, 3], dtype="Int64"), "b": [1.0, 2, 3]}),
        pd.DataFrame({"a": np.array([1, None, 3], dtype=object), "b": [1.0, 2, 3]}),
        pl.DataFrame({"a": [1, None, 3], "b": [1.0, 2, 3]}),
    ):
        with pytest.raises(
            ValueError, match=r"missing values in column 'a' \(1 of 3 rows\): impute"
        ):
            open_rows(frame)


TEXT = ["u", "v"] * 6
WORDY = pd.DataFrame({"a": Y, "t": TEXT})


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (WORDY, "found column 't' of dtype"),
        (WORDY.astype({"t": "category"}), "found column 't' of dtype category"),
        (WORDY.astype({"t": object}), "found the text 'u' in column 't'"),
        (WORDY.to_numpy(), r"found the text 'u' in column X\[:, 1\]"),
        (np.array([TEXT, TEXT]).T, r"found the text 'u' in column X\[:, 0\]"),
        (pl.DataFrame({"a": Y, "t": TEXT}), "found column 't' of dtype String"),
    ],
)
def test_text_is_found_in_its_column(rows, message):
    for model in (REGRESSOR, CLASSIFIER):
        with pytest.raises(ValueError, match=rf"^X must hold numbers, {message}.*OneHotEncoder"):
            fit(model, rows)


@pytest.mark.parametrize("model", [*MODELS, Nystroem(budget=4)], ids=lambda m: type(m).__name__)
def test_rows_that_are_not_in_memory_masked_or_of_equal_names(model):
    lazy = pl.DataFrame(X, schema=NAMES).lazy()
    masked = np.ma.array(X, mask=np.isin(X, np.sort(X.ravel())[-2:]))
    for rows, message in (
        (lazy, r"X must be in memory, found a LazyFrame: call \.collect\(\) on it first"),
        (masked, r"X must not have masked entries, found 2: fill them with X\.filled"),
        (pd.DataFrame(X, columns=["a", "b", "a"]), "found several columns named 'a'"),
        ("rows.csv", "X must be an array, CSR matrix, frame in memory or Rows, got 'rows.csv'"),
        ({"a": Y}, "X must be an array, CSR matrix, frame in memory or Rows, got <class 'dict'>"),
    ):
        with pytest.raises(ValueError, match=message):
            model.fit(rows, Y)


def test_a_masked_array_without_masked_entries_is_an_array():
    plain = fit(REGRESSOR, X, Y, np.ones(N)).predict(X)
    masked = fit(
        REGRESSOR, np.ma.array(X), np.ma.array(Y, mask=np.zeros(N)), np.ma.array(np.ones(N))
    )
    np.testing.assert_array_equal(masked.predict(np.ma.array(X)), plain)


def test_masked_targets_and_weights():
    masked = np.ma.array(np.ones(N), mask=Y > 1)
    for model in MODELS:
        with pytest.raises(ValueError, match=r"y must not have masked entries, found \d+: fill"):
            fit(model, y=masked)
        with pytest.raises(ValueError, match=r"sample_weight must not have masked entries, found"):
            fit(model, weight=masked)


DATES = np.arange(N).astype("datetime64[D]")
NUMBERS = [REGRESSOR, KRLS()]


@pytest.mark.parametrize("model", NUMBERS, ids=lambda m: type(m).__name__)
@pytest.mark.parametrize(
    ("y", "message"),
    [
        (DATES, r"found dtype datetime64\[D\]: convert it, .* \(y - y\.min\(\)\) / np\.timedelta"),
        (DATES - DATES[0], r"found dtype timedelta64\[D\]: convert it, .* y / np\.timedelta"),
        (pd.Series(DATES), "found dtype datetime64"),
        (pl.Series(DATES), "found dtype datetime64"),
        (np.array(TEXT), r"found the text 'u'.*y\.astype\(float\).*KernelClassifier"),
        (TEXT, "found the text 'u'"),
        (np.array(["1.5", "2"] * 6), "found the text '1.5'"),
        (np.array([1.0, "2"] * 6, dtype=object), "found the text '2'"),
        (pd.Categorical(TEXT), "found the text 'u'"),
    ],
)
def test_targets_that_are_no_numbers(model, y, message):
    owner = type(model).__name__
    with pytest.raises(ValueError, match=f"y must hold numbers for {owner}, {message}"):
        fit(model, y=y)


def test_targets_of_opened_rows_that_are_no_numbers():
    for y in (DATES, np.array(TEXT)):
        with pytest.raises(ValueError, match="y must hold numbers for KernelRegressor, found"):
            clone(REGRESSOR).fit(open_rows(X, target=y))


@pytest.mark.parametrize("make", [sparse.csr_matrix, sparse.csr_array])
@pytest.mark.parametrize("model", MODELS, ids=lambda m: type(m).__name__)
def test_sparse_targets(model, make):
    message = rf"y must be a dense array, found a sparse {make.__name__}: call y\.toarray\(\)"
    with pytest.raises(ValueError, match=message):
        fit(model, y=make(LABELS[:, None]))


@in_turn(
    model=MODELS,
    y=[
        [0, 1, None, 1] * 3,
        np.array([0, 1, np.nan, 1] * 3),
        ["u", "v", np.nan, "v"] * 3,
        np.array(["u", "v", None, "v"] * 3, dtype=object),
        pd.Series(["u", "v", pd.NA, "v"] * 3, dtype="string"),
        pd.Series([0, 1, pd.NA, 1] * 3, dtype="Int64"),
        pd.Categorical(["u", "v", None, "v"] * 3),
        pl.Series(["u", "v", None, "v"] * 3),
        pl.Series([0, 1, None, 1] * 3),
    ],
)
def test_missing_targets(model, y):
    message = "y contains NaN or other missing values in 3 of 12 rows, the first in row 2: drop"
    with pytest.raises(ValueError, match=message):
        fit(model, y=y)
    with pytest.raises(ValueError, match=message):
        open_rows(X, target=y)


def test_labels_may_be_dates_and_a_column():
    day = DATES[:2][LABELS]
    assert set(fit(CLASSIFIER, y=day).predict(X)) <= set(DATES[:2])
    with pytest.warns(UserWarning, match="column-vector y"):
        assert fit(CLASSIFIER, y=LABELS[:, None]).predict(X).shape == (N,)


def test_a_lazy_target():
    with pytest.raises(ValueError, match=r"y must be in memory, found a LazyFrame: call \.collect"):
        fit(REGRESSOR, y=pl.LazyFrame({"y": Y}))


@pytest.mark.parametrize("weight", [1e300, np.full(N, 1e308), np.full(N, 1e-320)])
@pytest.mark.parametrize("model", MODELS, ids=lambda m: type(m).__name__)
def test_weights_that_are_beyond_numbers(model, weight):
    message = r"sample_weight must have a largest value from 1e-300 to 1e\+100, found .*: divide"
    with pytest.raises(ValueError, match=message):
        fit(model, weight=weight)


@pytest.mark.parametrize("scale", [1e-300, 1e100])
def test_weights_of_any_other_scale_are_the_same(scale):
    for model in MODELS:
        near = fit(model, weight=np.ones(N)).predict(X)
        np.testing.assert_allclose(fit(model, weight=scale).predict(X), near, rtol=1e-6)


def test_class_weights_that_are_beyond_numbers():
    model = clone(CLASSIFIER).set_params(class_weight={0: 1e300, 1: 1.0})
    with pytest.raises(ValueError, match=r"class_weight must be a number > 0 and <= 1e\+100 each"):
        fit(model)


def test_weights_that_are_text():
    with pytest.raises(ValueError, match="sample_weight must hold one finite number for each row:"):
        fit(REGRESSOR, weight=TEXT)
