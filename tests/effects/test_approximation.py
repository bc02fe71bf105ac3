import numpy as np
import pytest

from skimp.budgets import KMeans, RPCholesky
from skimp.effects import Points, RowSample, Sketch
from skimp.effects._approximation import as_approximation
from skimp.effects._random_sums import SKETCHES
from skimp.features import Nystroem


@pytest.mark.parametrize(
    ("approximation", "n", "size"),
    [
        (Points(size=np.int64(25)), 10, 10),
        (Points("kmeans"), 500, 100),
        (Points("kmeans"), 5000, 500),
        (Points("kmeans"), 10**6, 1000),
        (RowSample(0.25), 1000, 250),
        (Sketch("gaussian", 7), 1000, 7),
        (Sketch("gaussian", 0.001), 100, 1),
    ],
    ids=str,
)
def test_sizes(approximation, n, size):
    assert approximation.count(n) == size


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        (None, None),
        (20, Points(size=20)),
        (KMeans(), Points(KMeans())),
        (Nystroem(budget=7, selector="kmeans"), Points("kmeans", 7)),
        ("sample", RowSample()),
        ("sign", Sketch("sign")),
        (Sketch("sign", 9), Sketch("sign", 9)),
    ],
    ids=str,
)
def test_spellings(given, meant):
    assert repr(as_approximation(given, owner="KRLS")) == repr(meant)


@pytest.mark.parametrize("given", [0, True, 0.5, "kmean", Points], ids=str)
def test_nonsense_is_refused(given):
    with pytest.raises(ValueError, match="KRLS: approximation must be"):
        as_approximation(given, owner="KRLS")


MADE = [Points(size=10), Points("uniform", 10), Points(RPCholesky(), 10)]
MADE += [Sketch(name, 10) for name in SKETCHES]
