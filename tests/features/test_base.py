import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.base import clone

from skimp.features import Nystroem, RandomFourier
from skimp.kernels import Gaussian
from tests.pairs import in_turn
from tests.problems import regression
from tests.sources import ChunkedRows
from tests.strategies import BAD

MAPS = [
    Nystroem(Gaussian(0.5), budget=15, random_state=0),
    Nystroem(Gaussian(0.5), budget=15, rank=4, random_state=0),
    RandomFourier(Gaussian(0.5), n_components=15, random_state=0),
    RandomFourier(Gaussian(0.5), n_components=15, form="phase", random_state=0),
]
WRAPPERS = [
    sparse.csr_matrix,
    sparse.csc_array,
    pd.DataFrame,
    pl.DataFrame,
    ChunkedRows,
    np.asfortranarray,
    lambda X: np.broadcast_to(X, X.shape),
    np.ndarray.tolist,
]

every_map = pytest.mark.parametrize("feature_map", MAPS)


@every_map
def test_the_dtype_of_fit_decides(feature_map):
    X = regression(50)[0]
    fitted = clone(feature_map).fit(X.astype(np.float32))
    assert fitted.transform(X).dtype == np.float32
    assert clone(feature_map).fit(X).transform(X.astype(np.float32)).dtype == np.float64


@every_map
def test_a_seed_decides(feature_map):
    X = regression(100)[0]
    first, again = (clone(feature_map).fit_transform(X) for _ in range(2))
    other = clone(feature_map).set_params(random_state=1).fit_transform(X)
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


@every_map
def test_names_of_features(feature_map):
    X = regression(50)[0]
    fitted = clone(feature_map).fit(X)
    prefix = type(feature_map).__name__.lower()
    assert list(fitted.get_feature_names_out()) == [f"{prefix}{j}" for j in range(fitted.width)]
    frame = fitted.set_output(transform="pandas").transform(X)
    assert list(frame.columns) == list(fitted.get_feature_names_out())


@in_turn(feature_map=MAPS, bad=BAD)
def test_bad_rows_are_refused(feature_map, bad):
    X, message = BAD[bad]
    with pytest.raises((ValueError, TypeError), match=message):
        clone(feature_map).fit(X)
    fitted = clone(feature_map).fit(np.eye(3))
    with pytest.raises((ValueError, TypeError), match=message):
        fitted.transform(X)
