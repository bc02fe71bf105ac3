import numpy as np
import pytest

from skimp.features import Nystroem, RandomFourier, SpectralProjection
from tests.problems import regression
from tests.reference import recipes


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_projections_are_eigenvectors_of_normalized_similarities(dtype):
    X = regression(60, dtype=dtype)[0]
    Z = Nystroem(budget=30, random_state=0).fit_transform(X)
    model = SpectralProjection(4).fit(Z)
    U = model.transform(Z)
    assert U.dtype == dtype
    tol = 1e-5 if dtype == np.float32 else 1e-12
    A = recipes.normalized_similarities(Z.astype(np.float64))
    np.testing.assert_allclose(model.eigenvalues_, np.linalg.eigvalsh(A)[::-1][:4], atol=tol)
    np.testing.assert_allclose(A @ U, U * model.eigenvalues_, atol=tol)
    np.testing.assert_allclose(U.T @ U, np.eye(4), atol=tol)
    assert model.eigenvalues_[0] == pytest.approx(1)


def test_blocks_give_the_same_as_all_rows_at_once(monkeypatch):
    Z = np.random.default_rng(0).random((50, 6))
    whole = SpectralProjection(2).fit(Z)
    monkeypatch.setattr("skimp.features._spectral._CHUNK", 7)
    found = SpectralProjection(2).fit(Z)
    np.testing.assert_allclose(found.eigenvalues_, whole.eigenvalues_)


def test_a_new_row_is_projected_by_its_similarity_to_the_fitted_rows():
    rng = np.random.default_rng(0)
    Z, new = rng.random((20, 4)), rng.random((3, 4))
    model = SpectralProjection(2).fit(Z)
    degree = (new @ Z.T).sum(axis=1)
    expected = new / np.sqrt(degree)[:, None] @ model.components_
    np.testing.assert_allclose(model.transform(new), expected)


def test_degrees_are_positive():
    Z = RandomFourier(n_components=10, random_state=0).fit_transform(10 * regression(100)[0])
    assert ((Z @ Z.sum(axis=0)) < 0).any()
    assert np.isfinite(SpectralProjection(3).fit_transform(Z)).all()
    rows = np.array([[1.0, 0.0], [2.0, 0.0], [0.0, 0.0]])
    U = SpectralProjection(2).fit_transform(rows)
    np.testing.assert_allclose(np.abs(U), np.sqrt([[1 / 3, 0], [2 / 3, 0], [0, 0]]), atol=1e-12)


def test_number_of_components():
    Z = np.random.default_rng(0).random((20, 3))
    assert SpectralProjection(5).fit_transform(Z).shape == (20, 3)
    names = SpectralProjection(2).fit(Z).get_feature_names_out().tolist()
    assert names == ["spectralprojection0", "spectralprojection1"]
