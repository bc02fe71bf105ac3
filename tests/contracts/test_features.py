import numpy as np
import pytest
from sklearn.base import clone

from skimp import features
from skimp.budgets import Fixed
from skimp.features import FeatureMap, Nystroem
from skimp.testing import check_feature_map
from tests.catalog import MAPS, parts


@pytest.mark.parametrize(("feature_map", "options"), MAPS)
def test_feature_map(feature_map, options):
    check_feature_map(feature_map, **options)


def test_an_output_of_another_shape_is_refused():
    X = np.abs(np.random.default_rng(0).normal(size=(30, 5)))
    for feature_map in parts(MAPS):
        fitted = clone(feature_map).fit(X)
        for shape in ((30, fitted.width + 1), (29, fitted.width)):
            with pytest.raises(ValueError, match="shape"):
                fitted.map_block(X, np.empty(shape))


def test_landmarks_of_the_user():
    X = np.random.default_rng(0).normal(size=(40, 3))
    check_feature_map(Nystroem(selector=Fixed(X)), X, max_error=1e-8)


def test_every_map_has_a_row():
    public = [getattr(features, name) for name in features.__all__]
    maps = {part for part in public if isinstance(part, type) and issubclass(part, FeatureMap)}
    assert {part.__name__ for part in maps - {FeatureMap}} == {
        type(feature_map).__name__ for feature_map in parts(MAPS)
    }
