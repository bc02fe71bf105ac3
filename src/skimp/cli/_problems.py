"""Generated data of the demonstration, with the true effects and accuracies."""

from typing import Any

import numpy as np

EFFECTS = ("x0", "x1", "x2", "x3", "treated")
ENTERS = ("sin(x0)", "(1 + x2) x1 / 2", "x1 x2 / 2", "not at all", "(0.3 + 0.2 x0) if treated")
MEASURED, SOILS, AREAS, COVERS = 20, 40, 4, 7


def land(n: int, seed: int) -> tuple[Any, Any]:
    """Return cells of a map, with measurements, indicators of soil and area, and a kind of cover.

    Measurements are smooth functions of a cell's place in the plane. Soil, area and cover are
    constant in patches: each cell takes those of the nearest of 200, 10 and 2,000 sites. A share
    of 2 % of the covers is drawn at random.
    """
    from scipy.spatial import KDTree

    rng, shape = np.random.default_rng(seed), np.random.default_rng(7)
    place = rng.random((n, 2))
    X = np.zeros((n, MEASURED))
    for column in X.T:
        waves, phases = shape.normal(0, 4, (2, 8)), shape.uniform(0, 2 * np.pi, 8)
        column += np.cos(place @ waves + phases) @ shape.normal(0, 0.5, 8)

    def patches(sites: int, kinds: int) -> Any:
        centres, values = shape.random((sites, 2)), shape.integers(0, kinds, sites)
        return values[KDTree(centres).query(place)[1]]

    soil, area, cover = patches(200, SOILS), patches(10, AREAS), patches(2000, COVERS)
    X = np.column_stack([X, np.eye(SOILS)[soil], np.eye(AREAS)[area]])
    random = rng.random(n) < 0.02
    return X.astype(np.float32), np.where(random, rng.integers(0, COVERS, n), cover)


def noisy_classes(n: int, seed: int) -> tuple[Any, Any, float]:
    """Return rows, two classes that overlap, and the accuracy of the rule that drew them."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 10), dtype=np.float32)
    x = X.T
    f = x[0] * x[1] + x[2] * x[3] - x[4] * x[5] + x[6]
    f += 1.5 * np.sin(2 * x[7]) + 1.5 * np.cos(2 * x[8])
    y = rng.random(n) < 1 / (1 + np.exp(-f))
    return X, y, float(np.mean((f > 0) == y))


def treated_rows(n: int, seed: int) -> tuple[Any, Any, Any]:
    """Return rows, a noisy target, and the true average effect of each column at these rows."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, len(EFFECTS)))
    X[:, -1] = rng.random(n) < 1 / (1 + np.exp(-X[:, 0]))
    x0, x1, x2, _, treated = X.T
    f = np.sin(x0) + 0.5 * (1 + x2) * x1 + treated * (0.3 + 0.2 * x0)
    slopes = np.cos(x0) + 0.2 * treated, 0.5 * (1 + x2), 0.5 * x1, np.zeros(n), 0.3 + 0.2 * x0
    return X, f + rng.standard_normal(n), np.array([slope.mean() for slope in slopes])
