import numpy as np
import pytest

from skimp.budgets import Fixed
from skimp.features import AnchorGraph
from tests.reference import local

X = np.random.default_rng(0).normal(size=(200, 3))


def fitted(**params):
    return AnchorGraph(**{"budget": 20, "random_state": 0, **params}).fit(X)


@pytest.mark.parametrize("k", [1, 4, 20, 99])
def test_features_are_the_formula(k):
    anchors = X[:20]
    model = fitted(selector=Fixed(anchors), n_neighbors=k)
    gamma = np.array([local.coordinates(x, anchors, min(k, 20)) for x in X])
    shares = gamma.mean(axis=0)
    np.testing.assert_allclose(model.transform(X), gamma / np.sqrt(shares), atol=1e-9)


def test_similarities_sum_to_one():
    Z = fitted().transform(X)
    np.testing.assert_allclose((Z @ Z.T).mean(axis=1), 1)
    assert (np.count_nonzero(Z, axis=1) <= 4).all()


def test_weights_count():
    weight = np.random.default_rng(1).integers(0, 3, 200)
    given = {"selector": Fixed(X[:20])}
    from skimp.data import open_rows

    one = AnchorGraph(20, **given).fit(open_rows(X, weight=weight.astype(float)))
    two = AnchorGraph(20, **given).fit(np.repeat(X, weight, axis=0))
    np.testing.assert_allclose(one.scales_, two.scales_)


def test_landmarks_far_from_all_rows_have_no_features():
    far = np.r_[X[:10], [[1e3, 0, 0]]]
    model = fitted(selector=Fixed(far), budget=11, n_neighbors=2)
    assert model.scales_[-1] == 0
    assert np.isfinite(model.transform(X)).all()


def test_rows_share_landmarks():
    assert AnchorGraph(1000).fit(X).width == 40
    assert AnchorGraph().fit(X[:3]).width == 1
