"""Results print as a few aligned lines, whatever they hold."""

import numpy as np
import pandas as pd
import pytest

from skimp import KRLS, KernelClassifier, KernelRegressor
from skimp.diagnostics import (
    budget_curve,
    budget_quality,
    compare_maps,
    compare_selectors,
    compare_significance,
    hash_recall,
)
from skimp.features import KernelHash, Nystroem, RandomBinning, RandomFourier

rng = np.random.default_rng(0)
X = rng.normal(size=(80, 2))
Y = X[:, 0]
LABELS = np.digitize(Y, np.linspace(-1, 1, 8))
SCORES = rng.normal(np.arange(14), 1, (6, 14))
MODEL = KernelRegressor("rbf", approximation=30, random_state=0)
FRAME = pd.DataFrame({"a": X[:, 0], "b": ["u", "v"] * 40})
RESULTS = {
    "curve": lambda: budget_curve(MODEL, X, Y),
    "curve of one": lambda: budget_curve(MODEL, X, Y, sizes=[8], alphas=[0.1]),
    "confirmed curve": lambda: budget_curve(
        KernelClassifier("rbf", approximation=20, random_state=0), X, Y > 0
    ),
    "curve of grids": lambda: budget_curve(
        KernelRegressor("laplacian", approximation=RandomBinning(n_grids=4)), X, Y
    ),
    "significance": lambda: compare_significance(SCORES),
    "maps": lambda: compare_maps([Nystroem(), RandomFourier()], X, sizes=[5, 10], repeats=2),
    "one map": lambda: compare_maps({"iid": RandomFourier()}, X, sizes=[5], repeats=1),
    "selectors": lambda: compare_selectors(["uniform", "kmeans"], "rbf", X, sizes=[5, 10]),
    "quality": lambda: budget_quality(X[:9], "rbf", X),
    "quality of classes": lambda: budget_quality(X[:9], "rbf", X, LABELS),
    "recall": lambda: hash_recall(KernelHash(n_bits=64, random_state=0).fit(X), X),
    "expectation": lambda: KRLS().fit(X, Y).expectation(0),
    "expectation of levels": lambda: KRLS().fit(FRAME, Y).expectation("b"),
    "expectation of outputs": lambda: KRLS().fit(X, np.c_[Y, -Y]).expectation(1),
}


@pytest.mark.parametrize("result", RESULTS)
def test_results_print_as_a_few_aligned_lines(result):
    found = RESULTS[result]()
    text = repr(found)
    lines = text.split("\n")
    assert str(found) == text
    assert 3 <= len(lines) <= 14
    assert max(map(len, lines)) <= 100
    assert "array" not in text
    names, texts = zip(*found._lines(), strict=True)
    start = max(map(len, names)) + 2
    assert [line[start:] for line in lines] == list(texts)
    assert found._repr_html_().count("<tr>") == len(lines) + 1


def test_a_curve_shows_its_knee():
    curve = RESULTS["curve"]()
    at = curve.sizes.tolist().index(curve.knee)
    error, alpha = curve.best_errors[at], curve.best_alphas[at]
    assert f"{curve.knee} landmarks: {error:.3g} with alpha {alpha:.2g}\n" in repr(curve)


def test_methods_are_listed_best_first():
    found = RESULTS["significance"]()
    frame = found.to_frame().drop(found.control)
    lines = repr(found).split("\n")
    assert lines[1].split()[:2] == ["control", f"{found.control},"]
    assert [line.split()[0] for line in lines[2:]] == [*frame.index[:10], "..."]
    assert f"p {frame.holm.iloc[0]:.3g} (Holm)" in lines[2]


def test_errors_of_maps_are_means_at_the_largest_size():
    found = RESULTS["maps"]()
    frame = found.to_frame().query("size == 10").groupby("map", sort=False).frobenius.mean()
    for name, error in frame.items():
        assert f"{name:<15}  {error:.3g}, " in repr(found)
