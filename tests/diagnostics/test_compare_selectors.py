import numpy as np
import pytest

from skimp.budgets import DBH, Balanced, KMeans, Selector, Uniform
from skimp.diagnostics import budget_quality, compare_selectors
from skimp.kernels import Laplacian, Tanh
from tests.catalog import SELECTOR_NAMES
from tests.problems import labelled, regression

KERNEL = Laplacian(0.5)


class Recording(Selector):
    """Uniform rows, and a list of the budgets."""

    def __init__(self):
        self.chosen = []

    def select_from(self, rows, size, kernel, rng, context):
        self.chosen.append(Uniform().select(rows, size, kernel, rng))
        return self.chosen[-1]


def compare(selectors, X, y=None, kernel=KERNEL, **options):
    return compare_selectors(selectors, kernel, X, y, **{"sizes": [5, 10], **options})


def without_seconds(comparison):
    return [{**record, "seconds": None} for record in comparison.records]


def test_every_selector_by_name():
    X, y, _ = labelled(150)
    comparison = compare(SELECTOR_NAMES, X, y, repeats=2)
    keys = [(r["selector"], r["size"], r["repeat"]) for r in comparison.records]
    assert keys == [(name, size, i) for name in SELECTOR_NAMES for size in (5, 10) for i in (0, 1)]
    for record in comparison.records:
        assert record["quality"].size == record["size"]
        assert 0 < record["quality"].residual_trace < 1
        assert sum(record["quality"].class_shares.values()) == pytest.approx(1)
        assert record["seconds"] > 0


def test_qualities_are_those_of_the_chosen_budgets():
    X, y, _ = labelled(150)
    selector = Recording()
    comparison = compare([selector], X, y, repeats=2, alpha=1e-3)

    def judged(budget):
        return budget_quality(budget, KERNEL, X, y, 1e-3)

    assert len(selector.chosen) == 4
    for budget, record in zip(selector.chosen, comparison.records, strict=True):
        found, expected = (q.to_dict() for q in (record["quality"], judged(budget)))
        assert found.pop("class_shares") == expected.pop("class_shares")
        assert found == pytest.approx(expected, rel=1e-12)


def test_all_budgets_are_judged_on_the_same_sample():
    X = regression(3000)[0]
    points = X[:5]

    class Same(Selector):
        def select_from(self, rows, size, kernel, rng, context):
            return Uniform().select(points, size, kernel, rng)

    qualities = [record["quality"] for record in compare([Same()], X, sizes=[5], repeats=3).records]
    assert qualities[0].standard_error > 0
    assert len({quality.residual_trace for quality in qualities}) == 1


def test_repeats_have_seeds_of_their_own():
    selector = Recording()
    compare({"a": selector}, regression(150)[0], repeats=3)
    chosen = {tuple(budget.indices) for budget in selector.chosen}
    assert len(chosen) == 6


def test_the_seed_decides():
    X, y, _ = labelled(150)
    found = [compare(["uniform", "kmeans"], X, y, random_state=seed) for seed in (0, 0, 1)]
    assert without_seconds(found[0]) == without_seconds(found[1]) != without_seconds(found[2])
    generator = np.random.default_rng(0)
    other = compare(["uniform", "kmeans"], X, y, random_state=generator)
    assert without_seconds(other) == without_seconds(found[0])
    legacy = [
        compare(["uniform"], X, random_state=np.random.RandomState(seed)) for seed in (0, 0, 1)
    ]
    assert without_seconds(legacy[0]) == without_seconds(legacy[1]) != without_seconds(legacy[2])


def test_names_of_selectors():
    X, y, _ = labelled(100)
    given = [Uniform(), "dbh", DBH(members=1), Balanced(KMeans())]
    records = compare(given, X, y, sizes=[5]).records
    names = ["Uniform()", "dbh", "DBH(members=1)", "Balanced(selector=KMeans())"]
    assert [record["selector"] for record in records] == names
    records = compare({"mine": Uniform(), "other": "uniform"}, X, sizes=[5]).records
    assert [record["selector"] for record in records] == ["mine", "other"]


def test_a_size_beyond_the_rows():
    record = compare(["uniform"], regression(20)[0], sizes=[50]).records[0]
    assert (record["size"], record["quality"].size) == (50, 20)
    assert record["quality"].residual_trace <= 1e-12


def test_the_frame_has_a_row_for_each_budget():
    X, y, _ = labelled(100)
    comparison = compare(["uniform", "kmeans"], X, y, repeats=2, sizes=[5, 200])
    frame = comparison.to_frame()
    assert len(frame) == len(comparison.records) == 8
    assert frame["points"].tolist() == [5, 5, 100, 100] * 2
    for row, record in zip(frame.to_dict("records"), comparison.records, strict=True):
        quality = record["quality"].to_dict()
        del quality["class_shares"]
        quality["points"] = quality.pop("size")
        known = {name: value for name, value in record.items() if name != "quality"}
        assert row == {**known, **quality}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("sizes", [5, 0]),
        ("sizes", 5),
        ("sizes", []),
        ("sizes", None),
        ("repeats", 0),
        ("selectors", []),
        ("selectors", None),
        ("kernel", "wavelet"),
        ("kernel", Tanh(1.0)),
        ("alpha", -1),
        ("random_state", "x"),
    ],
)
def test_rules(name, value):
    given = {"selectors": ["uniform"], "kernel": KERNEL, "X": regression(50)[0], "sizes": [5]}
    with pytest.raises(ValueError, match=f"{name} must be"):
        compare_selectors(**{**given, name: value})


def test_names_and_data_are_checked():
    X = regression(50)[0]
    with pytest.raises(ValueError, match=r"selector must be .*got 'all'"):
        compare(["all"], X)
    with pytest.raises(ValueError, match="Balanced: y must"):
        compare(["balanced"], X)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        compare(["uniform"], X, np.ones(3))
