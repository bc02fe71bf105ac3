import numpy as np
import pytest
from scipy import sparse

from skimp import KRLS
from skimp.data import open_rows
from skimp.effects import Points, Sketch
from skimp.features import Nystroem, RandomFourier
from skimp.kernels import Gaussian, Linear, Precomputed, Separable, Tanh
from tests.problems import regression
from tests.reference import naive


@pytest.mark.parametrize("layout", ["float32", "csr", "rows", "ints"])
def test_any_rows_will_do(layout):
    X, y, _ = regression(80)
    X = np.round(3 * X)
    model = KRLS(alpha=1e-3).fit(X, y)
    given = {
        "float32": X.astype(np.float32),
        "csr": sparse.csr_matrix(X),
        "ints": X.astype(np.int8),
    }.get(layout, X)
    if layout == "rows":
        other = KRLS(alpha=1e-3).fit(open_rows(X, target=y, block_rows=9))
        given = open_rows(X, block_rows=9)
    else:
        other = KRLS(alpha=1e-3).fit(given, y)
    assert other.predict(given).dtype == (np.float32 if layout == "float32" else np.float64)
    assert np.abs(other.predict(given) - model.predict(X)).max() < 1e-5
    assert np.abs(other.effects(given) - model.effects(X)).max() < 1e-8
    assert np.allclose(other.summary().std_error, model.summary().std_error, rtol=1e-8)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"kernel": Tanh()}, "kernel must be positive definite"),
        ({"kernel": Separable(naive.slow_decay)}, "kernel must be differentiable"),
        ({"kernel": Precomputed(np.eye(3))}, "kernel must be differentiable"),
        ({"approximation": 0}, "approximation must be"),
        ({"approximation": Points("kmeans", 1.5)}, "Points: size must be"),
        ({"approximation": Sketch("normal")}, "Sketch: method must be"),
        ({"approximation": Nystroem(rank=2)}, "rank of approximation must be None"),
        ({"approximation": Nystroem(Gaussian())}, "kernel of approximation must be None"),
        ({"approximation": RandomFourier()}, "approximation must be"),
        ({"alpha": 0.0}, "alpha must be"),
        ({"alpha": "auto"}, "alpha must be"),
        ({"convention": "r"}, "convention must be 'skimp' or 'R'"),
        ({"lams": [0.0, 1.0]}, "lams must be"),
        ({"sigmas": [1e-200]}, "a sequence, each a number > 1e-100"),
        ({"approximation": 40, "memory_limit": "1kB"}, "approximation by 40 functions needs"),
        ({"sigmas": [1.0], "kernel": Linear()}, "sigmas must be None"),
        ({"alpha": 1.0, "lams": np.ones(2)}, "alpha must be a criterion"),
        ({"memory_limit": "1kB"}, "memory limit"),
    ],
    ids=str,
)
def test_bad_parameters_are_named(params, message):
    X, y, _ = regression(50)
    with pytest.raises((ValueError, MemoryError), match=message):
        KRLS(**params).fit(X, y)


def test_bad_data_are_named():
    X, y, _ = regression(50)
    with pytest.raises(ValueError, match="found n_samples = 4"):
        KRLS(alpha="kfold").fit(X[:4], y[:4])
    with pytest.raises(ValueError, match="found n_samples = 1"):
        KRLS().fit(X, y, np.eye(50)[0])
    for scale in (1e-200, 1e155):
        with pytest.raises(ValueError, match="found column 'x0' between"):
            KRLS().fit(scale * X, y)
    for approximation in (None, 20):
        with pytest.raises(ValueError, match="found infinity or NaN"):
            KRLS(approximation=approximation).fit(X, 1e170 * y)
    with pytest.raises(ValueError, match="alpha must be at least"):
        KRLS(lams=[1e-30, 1.0]).fit(np.repeat(X, 2, axis=0), np.repeat(y, 2))
    with pytest.raises(ValueError, match="KRLS requires y"):
        KRLS().fit(open_rows(X))
    with pytest.raises(ValueError, match="NaN"):
        KRLS().fit(np.where(X > 2, np.nan, X), y)
    model = KRLS().fit(X, y)
    with pytest.raises(ValueError, match="features"):
        model.effects(X[:, :2])


def test_constant_columns_have_no_effect():
    X, y, _ = regression(50)
    X[:, 1] = 7.0
    model = KRLS().fit(X, y)
    table = model.summary().to_frame()
    assert table.effect["x1"] == table.std_error["x1"] == 0
    assert np.isnan(table.t["x1"])
    assert "x1 (constant)" in str(model.summary())


def test_a_constant_target_and_one_row():
    X, y, _ = regression(30)
    model = KRLS().fit(X, np.full(30, 5.0))
    assert np.allclose(model.predict(X), 5.0)
    assert np.allclose(model.effects(), 0)
    assert np.isfinite(KRLS(alpha=1.0).fit(X[:1], y[:1]).predict(X)).all()


def test_failed_fits_leave_nothing_behind():
    X, y, _ = regression(50)
    model = KRLS().fit(X, y)
    before = model.predict(X)
    with pytest.raises(ValueError, match="NaN"):
        model.fit(X, np.full(50, np.nan))
    assert np.array_equal(model.predict(X), before)


def test_weights_whose_squares_overflow_are_refused():
    X, y, _ = regression(50)
    for approximation in (None, 10):
        with pytest.raises(ValueError, match=r"largest value from .* to 1e\+100, found 1e\+155"):
            KRLS(approximation=approximation).fit(X, y, np.full(50, 1e155))
    expected = KRLS(alpha=1e-3, approximation=10, random_state=0).fit(X, y).predict(X)
    heavy = KRLS(alpha=1e-3, approximation=10, random_state=0).fit(X, y, np.full(50, 1e90))
    assert np.allclose(heavy.predict(X), expected)
