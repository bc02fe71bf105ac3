"""Classification tables for the soundness of default fits."""

from functools import partial
from typing import Any

import numpy as np
from numpy.random import Generator
from sklearn import datasets as bundled

from benchmarks.datasets import train_test, whole
from benchmarks.tables import Array, one_hot, some
from benchmarks.tables import table as any_table

XY = tuple[Any, Array]
table = partial(any_table, classes=True)

# shapes of the classes


@table(30, 300, 2000)
def moons(rng: Generator, n: int) -> XY:
    return bundled.make_moons(n, noise=0.2, random_state=int(rng.integers(2**31)))  # type: ignore[no-any-return]


@table(500)
def circles(rng: Generator, n: int) -> XY:
    X, y = bundled.make_circles(n, noise=0.1, factor=0.5, random_state=int(rng.integers(2**31)))
    return X, np.where(y == 1, "inner", "outer")


@table(300, 2000)
def spirals(rng: Generator, n: int) -> XY:
    y = rng.integers(2, size=n)
    t = 3 * np.pi * np.sqrt(rng.random(n)) + np.pi / 2
    X = (t * np.array([np.cos(t + np.pi * y), np.sin(t + np.pi * y)])).T
    return X + rng.normal(0, 0.3, X.shape), y


@table(50, 500)
def exclusive_or(rng: Generator, n: int) -> XY:
    X = rng.uniform(-1, 1, (n, 2))
    return X, X[:, 0] * X[:, 1] > 0


@table(1000)
def exclusive_or_among_ten(rng: Generator, n: int) -> XY:
    X = rng.normal(size=(n, 10))
    return X, np.sign(X[:, 0] * X[:, 1]).astype(int)


@table(1500)
def checkerboard(rng: Generator, n: int) -> XY:
    X = rng.uniform(0, 5, (n, 2))
    return X, np.floor(X).sum(axis=1).astype(int) % 2


@table(20, 30, 50, 500, 3000)
def separable(rng: Generator, n: int) -> XY:
    X = rng.normal(size=(n, 5))
    return X, np.where(X @ np.array([2, -1, 1, 0, 0]) > 0, "yes", "no")


@table(500)
def far_apart(rng: Generator, n: int) -> XY:
    y = rng.integers(3, size=n)
    return rng.normal(size=(n, 4)) + 100 * y[:, None], y


@table(20, 50, 500, 3000)
def logistic(rng: Generator, n: int) -> XY:
    X = rng.normal(size=(n, 6))
    chance = 1 / (1 + np.exp(-X @ np.array([1, -1, 0.5, 0, 0, 0])))
    return X, np.where(rng.random(n) < chance, 1, -1)


@table(300, 2000)
def ordered_classes(rng: Generator, n: int) -> XY:
    X = rng.normal(size=(n, 4))
    return X, np.digitize(X[:, 0] + X[:, 1] + rng.normal(0, 0.5, n), [-1.5, -0.5, 0.5, 1.5])


@table(200, 2000)
def twenty_blobs(rng: Generator, n: int) -> XY:
    y = rng.integers(20, size=n)
    return rng.normal(0, 4, (20, 5))[y] + rng.normal(size=(n, 5)), y


@table(100, 1000)
def six_clusters_of_three_classes(rng: Generator, n: int) -> XY:
    return bundled.make_classification(  # type: ignore[no-any-return]
        n,
        n_features=20,
        n_informative=6,
        n_redundant=4,
        n_classes=3,
        random_state=int(rng.integers(2**31)),
    )


@table(300, 3000)
def skewed_frequencies(rng: Generator, n: int) -> XY:
    y = np.minimum(rng.geometric(0.5, n), 8)
    return rng.normal(0, 2, (9, 4))[y] + rng.normal(size=(n, 4)), y


@table(300, 3000)
def rare_class(rng: Generator, n: int) -> XY:
    y = rng.random(n) < 0.03
    y[:2] = True
    return rng.normal(size=(n, 5)) + 1.5 * y[:, None], np.where(y, "fraud", "fine")


@table(2000)
def rare_class_without_signal(rng: Generator, n: int) -> XY:
    y = (rng.random(n) < 0.02).astype(int)
    return rng.normal(size=(n, 8)), y


@table(20, 50, 500, 2000)
def pure_noise(rng: Generator, n: int) -> XY:
    return rng.normal(size=(n, 5)), rng.integers(2, size=n)


@table(30, 1000)
def uneven_noise(rng: Generator, n: int) -> XY:
    return rng.normal(size=(n, 5)), (rng.random(n) < 0.25).astype(int)


@table(1000)
def wrong_labels(rng: Generator, n: int) -> XY:
    X = rng.normal(size=(n, 4))
    y = (X[:, 0] + X[:, 1] ** 2 > 1).astype(int)
    return X, np.where(rng.random(n) < 0.2, 1 - y, y)


# columns


@table(300, 2000)
def lognormals(rng: Generator, n: int) -> XY:
    X = rng.lognormal(0, 1.5, (n, 5))
    return X, np.log(X[:, 0]) + np.log(X[:, 1]) + rng.normal(0, 0.5, n) > 0


@table(500)
def exponentials(rng: Generator, n: int) -> XY:
    X = rng.exponential([1, 10, 100], (n, 3))
    return X, np.where(X[:, 0] * X[:, 1] > 7, "high", "low")


@table(300, 2000)
def cauchy(rng: Generator, n: int) -> XY:
    X = np.column_stack([rng.standard_cauchy((n, 3)), rng.normal(size=n)])
    return X, np.arctan(X[:, 0]) + X[:, 3] > 0


@table(600, splits=2, full=True)
def levels_and_lognormal(rng: Generator, n: int) -> XY:
    level, money = rng.integers(10, size=n), rng.lognormal(8, 1.2, (n, 2))
    y = np.log(money[:, 0]) - 8 + 0.3 * (level - 5) + rng.normal(0, 0.5, n) > 0
    return np.column_stack([one_hot(level, 10), money]), y.astype(int)


@table(500, 3000)
def many_levels(rng: Generator, n: int) -> XY:
    level = rng.integers(100, size=n)
    y = rng.integers(4, size=100)[level]
    y = np.where(rng.random(n) < 0.15, rng.integers(4, size=n), y)
    return np.column_stack([one_hot(level, 100), rng.normal(size=n)]), y


@table(400, 2000)
def census(rng: Generator, n: int) -> XY:
    age = rng.integers(18, 90, n)
    gain = np.where(rng.random(n) < 0.92, 0, rng.lognormal(8, 1.5, n))
    hours, job = rng.normal(40, 10, n), rng.integers(12, size=n)
    weight = rng.lognormal(12, 0.6, n)
    X = np.column_stack([age, gain, hours, weight, one_hot(job, 12)])
    score = 0.05 * (hours - 40) - ((age - 48) / 20) ** 2 + 0.2 * (job - 6) + 0.3 * np.log1p(gain)
    return X, np.where(score + rng.logistic(0, 0.5, n) > 0, ">50K", "<=50K")


@table(400, 2000)
def sentinel(rng: Generator, n: int) -> XY:
    X = rng.normal(size=(n, 5))
    y = X[:, 0] + X[:, 1] * X[:, 2] > 0
    X[rng.random(n) < 0.03, 0] = -99999
    return X, y.astype(int)


@table(300, 2000)
def binary_only(rng: Generator, n: int) -> XY:
    X = rng.integers(2, size=(n, 10)).astype(float)
    return X, (X[:, 0] + X[:, 1] * X[:, 2] + X[:, 3] + rng.normal(0, 0.3, n) > 1.5).astype(int)


@table(1000)
def likert(rng: Generator, n: int) -> XY:
    X = rng.integers(1, 6, (n, 8)).astype(float)
    return X, np.digitize(X[:, :3].sum(axis=1) + rng.normal(size=n), [7, 10, 12])


@table(1000)
def counts(rng: Generator, n: int) -> XY:
    topic = rng.integers(4, size=n)
    rates = rng.gamma(0.3, 2, (4, 60))
    return rng.poisson(0.3 * rates[topic]).astype(float), topic


@table(500)
def units(rng: Generator, n: int) -> XY:
    Z = rng.normal(size=(n, 5))
    return Z * np.array([1e-6, 1e-3, 1, 1e3, 1e6]), (Z[:, 0] + np.sin(2 * Z[:, 2]) > 0).astype(int)


@table(300)
def collinear_and_constant(rng: Generator, n: int) -> XY:
    a, b = rng.normal(size=(2, n))
    X = np.column_stack([a, a + 1e-6 * b, b, a + b, np.full(n, 5), np.zeros(n)])
    return X, (a**2 + b**2 > 1.4).astype(int)


@table(500)
def repeated_rows(rng: Generator, n: int) -> XY:
    base = rng.normal(size=(40, 4))
    X = base[rng.integers(40, size=n)]
    return X, (X[:, 0] + rng.normal(0, 0.5, n) > 0).astype(int)


@table(100)
def wide(rng: Generator, n: int) -> XY:
    X = rng.normal(size=(n, 200))
    return X, (X[:, :5].sum(axis=1) + rng.normal(size=n) > 0).astype(int)


@table(60)
def wide_two_groups(rng: Generator, n: int) -> XY:
    y = rng.integers(2, size=n)
    X = rng.lognormal(3, 1, (n, 500))
    X[:, :20] *= np.exp(1.0 * y)[:, None]
    return X, np.where(y, "case", "control")


@table(1000)
def places(rng: Generator, n: int) -> XY:
    X = np.column_stack([rng.uniform(-120, -110, n), rng.uniform(33, 40, n)])
    centres = rng.uniform([-120, 33], [-110, 40], (15, 2))
    return X, np.argmin(((X[:, None] - centres) ** 2).sum(axis=2), axis=1) % 4


@table(1000)
def timestamps(rng: Generator, n: int) -> XY:
    hours = np.sort(rng.choice(20 * n, n, replace=False))
    X = np.column_stack([1.6e9 + 3600.0 * hours, hours % 24, hours // 24 % 7])
    busy = (X[:, 1] > 7) & (X[:, 1] < 19) & (X[:, 2] < 5)
    return X, np.where(rng.random(n) < 0.1, ~busy, busy).astype(int)


# real data


def _shared(name: str, rng: Generator, n: int) -> XY:
    X, y, _, _ = train_test(name)
    return some(rng, n, X, y)


@table(300, 3000)
def usps(rng: Generator, n: int) -> XY:
    return _shared("usps", rng, n)


@table(500, 2000)
def isolet(rng: Generator, n: int) -> XY:
    return _shared("isolet", rng, n)


@table(300, 3000)
def mnist(rng: Generator, n: int) -> XY:
    return _shared("mnist", rng, n)


@table(500, 3000)
def a9a(rng: Generator, n: int) -> XY:
    return _shared("a9a", rng, n)


@table(500, 3000)
def w8a(rng: Generator, n: int) -> XY:
    return _shared("w8a", rng, n)


@table(500, 5000)
def ijcnn1(rng: Generator, n: int) -> XY:
    return _shared("ijcnn1", rng, n)


@table(500, 3000, full=True)
def covtype(rng: Generator, n: int) -> XY:
    return some(rng, n, *whole("covtype"))


@table(500, 3000)
def covtype_seven(rng: Generator, n: int) -> XY:
    return some(rng, n, *whole("covtype", "y_multiclass"))


@table(500, 2500)
def good_wine(rng: Generator, n: int) -> XY:
    X, y = whole("wine_quality_white")
    return some(rng, n, X, np.where(y > 6, "good", "other"))


@table(100, 1100)
def digits(rng: Generator, n: int) -> XY:
    return some(rng, n, *bundled.load_digits(return_X_y=True))


@table(30, 100)
def iris(rng: Generator, n: int) -> XY:
    data = bundled.load_iris()
    return some(rng, n, data.data, data.target_names[data.target])


@table(50, 110)
def three_wines(rng: Generator, n: int) -> XY:
    return some(rng, n, *bundled.load_wine(return_X_y=True))


@table(50, 370)
def breast_cancer(rng: Generator, n: int) -> XY:
    return some(rng, n, *bundled.load_breast_cancer(return_X_y=True))
