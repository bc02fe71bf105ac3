from sklearn.utils.estimator_checks import parametrize_with_checks

from skimp import estimators
from tests.catalog import ESTIMATORS, MAPS, parts


@parametrize_with_checks(parts(ESTIMATORS) + parts(MAPS))
def test_scikit_learn_check(estimator, check):
    check(estimator)


def test_every_estimator_has_a_row():
    assert set(estimators.__all__) == {type(part).__name__ for part in parts(ESTIMATORS)}
