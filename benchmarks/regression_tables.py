"""Regression tables for the soundness of default fits."""

import numpy as np
from numpy.random import Generator
from sklearn import datasets as bundled

from benchmarks.datasets import whole
from benchmarks.tables import Array, one_hot, some, table

XY = tuple[Array, Array]

# skewed and heavy-tailed columns


@table(600, splits=4, full=True)
def income(rng: Generator, n: int) -> XY:
    X = np.column_stack([rng.lognormal(10, 1, n), rng.normal(size=n)])
    return X, np.log(X[:, 0])


@table(100, 600, 3000)
def income_noisy(rng: Generator, n: int) -> XY:
    X = np.column_stack([rng.lognormal(10, 1.5, n), rng.normal(40, 10, n)])
    return X, np.log(X[:, 0]) + 0.02 * X[:, 1] + rng.normal(0, 0.5, n)


@table(300, 2000)
def income_linear(rng: Generator, n: int) -> XY:
    X = np.column_stack([rng.lognormal(0, 2, n), rng.normal(size=(n, 3))])
    return X, 0.5 * X[:, 0] + X[:, 1] + rng.normal(size=n)


@table(500, 3000)
def lognormals(rng: Generator, n: int) -> XY:
    X = rng.lognormal(0, 1.5, (n, 6))
    return X, np.log(X) @ np.array([1, -1, 0.5, 0.5, 0, 0]) + rng.normal(0, 0.3, n)


@table(200, 2000)
def exponentials(rng: Generator, n: int) -> XY:
    X = rng.exponential(5, (n, 5))
    return X, np.sqrt(X[:, 0] * X[:, 1]) + np.minimum(X[:, 2], 3) + rng.normal(0, 0.3, n)


@table(300, 2000)
def student_linear(rng: Generator, n: int) -> XY:
    X = rng.standard_t(2, (n, 5))
    return X, X @ np.array([1, 2, 0, 0, -1]) + rng.normal(size=n)


@table(300, 2000)
def student_smooth(rng: Generator, n: int) -> XY:
    X = rng.standard_t(1.5, (n, 4))
    return X, np.tanh(X[:, 0]) + np.cos(np.clip(X[:, 1], -3, 3)) + rng.normal(0, 0.2, n)


@table(400, 3000)
def cauchy_linear(rng: Generator, n: int) -> XY:
    X = np.column_stack([rng.standard_cauchy((n, 2)), rng.normal(size=(n, 2))])
    return X, X.sum(axis=1) + rng.normal(size=n)


@table(400, 3000)
def cauchy_smooth(rng: Generator, n: int) -> XY:
    X = np.column_stack([rng.standard_cauchy((n, 3)), rng.normal(size=n)])
    return X, np.arctan(X[:, 0]) + X[:, 3] + rng.normal(0, 0.1, n)


@table(500, 3000)
def gains(rng: Generator, n: int) -> XY:
    """Mostly zero, sometimes large, as gains and claims are."""
    X = np.where(rng.random((n, 4)) < 0.9, 0, rng.lognormal(7, 2, (n, 4)))
    return X, np.log1p(X) @ np.array([1, 0.5, -0.5, 0]) + rng.normal(size=n)


@table(500)
def wrong_unit(rng: Generator, n: int) -> XY:
    """Some rows are in metres where the others are in kilometres."""
    X = rng.normal(5, 1, (n, 4))
    y = X[:, 0] ** 2 + X[:, 1] + rng.normal(0, 0.5, n)
    X[rng.random(n) < 0.01, 0] *= 1000
    return X, y


@table(400, 2000, splits=2)
def sentinel(rng: Generator, n: int) -> XY:
    X = rng.normal(20, 5, (n, 5))
    y = 0.1 * X[:, 0] ** 2 + 2 * X[:, 1] - X[:, 2] + rng.normal(size=n)
    X[rng.random(n) < 0.03, 0] = -99999
    return X, y


@table(600)
def sentinels_everywhere(rng: Generator, n: int) -> XY:
    X = rng.lognormal(1, 0.7, (n, 6))
    y = np.log(X).sum(axis=1) + rng.normal(0, 0.3, n)
    X[rng.random(X.shape) < 0.05] = -99999
    return X, y


# one-hot, binary, integer columns


@table(100, 1000)
def few_levels(rng: Generator, n: int) -> XY:
    level = rng.integers(5, size=n)
    x = rng.normal(size=n)
    return np.column_stack([one_hot(level, 5), x]), level * x + rng.normal(0, 0.5, n)


@table(500, 3000)
def many_levels(rng: Generator, n: int) -> XY:
    level = rng.integers(150, size=n)
    effects = rng.normal(size=150)
    X = np.column_stack([one_hot(level, 150), rng.normal(size=(n, 2))])
    return X, effects[level] + X[:, 150] + rng.normal(0, 0.5, n)


@table(1000)
def rare_levels(rng: Generator, n: int) -> XY:
    level = np.minimum(rng.geometric(0.3, n), 12) - 1
    X = np.column_stack([one_hot(level, 12), rng.random((n, 3))])
    return X, 3.0 * (level > 4) + np.sin(5 * X[:, 12]) + rng.normal(0, 0.2, n)


@table(600, splits=4, full=True)
def levels_and_lognormal(rng: Generator, n: int) -> XY:
    level = rng.integers(6, size=n)
    money = rng.lognormal(8, 1.2, (n, 2))
    y = np.log(money[:, 0]) + 0.3 * level + rng.normal(0, 0.2, n)
    return np.column_stack([one_hot(level, 6), money]), y


@table(300, 2000)
def census(rng: Generator, n: int) -> XY:
    age = rng.integers(18, 90, n)
    gain = np.where(rng.random(n) < 0.92, 0, rng.lognormal(8, 1.5, n))
    wage = rng.lognormal(9, 1, n)
    job, place = rng.integers(8, size=n), rng.integers(20, size=n)
    X = np.column_stack([age, gain, wage, one_hot(job, 8), one_hot(place, 20)])
    y = 0.5 * np.log(wage) + 0.1 * np.log1p(gain) - ((age - 50) / 30) ** 2 + 0.2 * job
    return X, y + rng.normal(0, 0.3, n)


@table(50, 300, 2000)
def binary_only(rng: Generator, n: int) -> XY:
    X = rng.integers(2, size=(n, 12)).astype(float)
    return X, X[:, 0] + 2 * X[:, 1] * X[:, 2] - X[:, 3] + rng.normal(0, 0.5, n)


@table(1500)
def rare_flags(rng: Generator, n: int) -> XY:
    X = (rng.random((n, 30)) < 0.02).astype(float)
    return X, X @ rng.normal(0, 3, 30) + rng.normal(0, 0.5, n)


@table(300, 1500)
def likert(rng: Generator, n: int) -> XY:
    X = rng.integers(1, 6, (n, 10)).astype(float)
    return X, np.round(X[:, :3].mean(axis=1) + rng.normal(0, 0.7, n))


@table(300, 2000)
def counts(rng: Generator, n: int) -> XY:
    X = rng.poisson([1, 5, 50, 500], (n, 4)).astype(float)
    return X, rng.poisson(np.exp(0.3 * X[:, 0] + 0.01 * X[:, 2])).astype(float)


@table(400, 2000)
def years(rng: Generator, n: int) -> XY:
    X = np.column_stack([rng.integers(1950, 2021, n), rng.integers(1, 13, n)]).astype(float)
    y = 0.1 * (X[:, 0] - 1980) + np.sin(2 * np.pi * X[:, 1] / 12) + rng.normal(0, 0.3, n)
    return X, y


@table(1000)
def single_column_of_five_values(rng: Generator, n: int) -> XY:
    x = rng.integers(5, size=n)
    return x[:, None].astype(float), np.array([1.0, 5, 2, 2, 9])[x] + rng.normal(0, 0.5, n)


# collinear and constant columns, units, repeated rows


@table(200, 2000)
def collinear(rng: Generator, n: int) -> XY:
    a, b = rng.normal(size=(2, n))
    X = np.column_stack([a, a + 1e-6 * rng.normal(size=n), b, a + b, a - 2 * b, a])
    return X, np.sin(a) + b + rng.normal(0, 0.1, n)


@table(300)
def collinear_noise_free(rng: Generator, n: int) -> XY:
    X = rng.normal(size=(n, 3)) @ rng.normal(size=(3, 12))
    return X, X @ rng.normal(size=12)


@table(300)
def constant_columns(rng: Generator, n: int) -> XY:
    X = np.column_stack([np.full(n, 7.0), rng.normal(size=(n, 2)), np.zeros(n), np.full(n, 1e6)])
    return X, X[:, 1] ** 2 + X[:, 2] + rng.normal(0, 0.2, n)


@table(200)
def nothing_but_constants(rng: Generator, n: int) -> XY:
    return np.ones((n, 3)), rng.normal(3, 1, n)


@table(500, splits=2)
def nearly_constant(rng: Generator, n: int) -> XY:
    X = rng.normal(size=(n, 4))
    X[:, 3] = 1000 + 1e-3 * X[:, 3]
    X[:, 2] = rng.random(n) < 0.004
    return X, X[:, 0] + 500 * (X[:, 3] - 1000) + rng.normal(0, 0.2, n)


@table(300, 2000)
def units(rng: Generator, n: int) -> XY:
    Z = rng.normal(size=(n, 6))
    scale = np.array([1e-6, 1e-3, 1, 1e3, 1e6, 1e9])
    return Z * scale, Z[:, 0] + np.sin(2 * Z[:, 2]) - Z[:, 5] + rng.normal(0, 0.2, n)


@table(1000)
def useless_identifier(rng: Generator, n: int) -> XY:
    X = np.column_stack([rng.permutation(n) * 1e5, rng.normal(size=(n, 3))])
    return X, X[:, 1] * X[:, 2] + X[:, 3] + rng.normal(0, 0.1, n)


@table(500)
def repeated_rows(rng: Generator, n: int) -> XY:
    base = rng.normal(size=(max(10, n // 10), 4))
    X = base[rng.integers(len(base), size=n)]
    return X, X[:, 0] ** 2 + X[:, 1] + rng.normal(0, 0.3, n)


@table(1000)
def repeated_rows_noise_free(rng: Generator, n: int) -> XY:
    base = rng.normal(size=(30, 4))
    X = base[rng.integers(30, size=n)]
    return X, X[:, 0] ** 2 + X[:, 1]


@table(500)
def shares_of_one(rng: Generator, n: int) -> XY:
    X = rng.dirichlet([0.3, 0.5, 1, 2, 5], n)
    return X, -np.sum(X * np.log(X + 1e-9), axis=1) + rng.normal(0, 0.05, n)


# targets


@table(20, 30, 50, 200, splits=2)
def linear(rng: Generator, n: int) -> XY:
    X = rng.normal(size=(n, 4))
    return X, X @ np.array([3, -2, 1, 0]) + rng.normal(size=n)


@table(20, 50, 500, 3000)
def linear_noise_free(rng: Generator, n: int) -> XY:
    X = rng.normal(10, 3, (n, 5))
    return X, X @ np.array([3, -2, 1, 0, 0.1]) + 7


@table(20, 30, 50, 2000)
def friedman1(rng: Generator, n: int) -> XY:
    return bundled.make_friedman1(n, noise=1, random_state=int(rng.integers(2**31)))  # type: ignore[no-any-return]


@table(500, 3000)
def friedman1_noise_free(rng: Generator, n: int) -> XY:
    return bundled.make_friedman1(n, random_state=int(rng.integers(2**31)))  # type: ignore[no-any-return]


@table(50, 500, 2000)
def friedman2(rng: Generator, n: int) -> XY:
    return bundled.make_friedman2(n, noise=100, random_state=int(rng.integers(2**31)))  # type: ignore[no-any-return]


@table(1000)
def friedman2_noise_free(rng: Generator, n: int) -> XY:
    return bundled.make_friedman2(n, random_state=int(rng.integers(2**31)))  # type: ignore[no-any-return]


@table(50, 500, 3000)
def friedman3(rng: Generator, n: int) -> XY:
    return bundled.make_friedman3(n, noise=0.1, random_state=int(rng.integers(2**31)))  # type: ignore[no-any-return]


@table(50, 500, 5000)
def sine(rng: Generator, n: int) -> XY:
    x = rng.uniform(0, 10, n)
    return x[:, None], np.sin(x)


@table(1000)
def fast_sine(rng: Generator, n: int) -> XY:
    x = rng.uniform(0, 1, n)
    return x[:, None], np.sin(100 * x) + rng.normal(0, 0.2, n)


@table(2000)
def square(rng: Generator, n: int) -> XY:
    X = rng.normal(size=(n, 3))
    return X, X[:, 0] ** 2


@table(200, 2000)
def steps(rng: Generator, n: int) -> XY:
    X = rng.random((n, 3))
    return X, np.floor(4 * X[:, 0]) + 2.0 * (X[:, 1] > 0.7) + rng.normal(0, 0.2, n)


@table(1000)
def interaction(rng: Generator, n: int) -> XY:
    X = rng.normal(size=(n, 10))
    return X, X[:, 0] * X[:, 1] + rng.normal(0, 0.1, n)


@table(200, 2000)
def multiplicative(rng: Generator, n: int) -> XY:
    X = rng.normal(size=(n, 4))
    return X, np.exp(X[:, 0] + 0.5 * X[:, 1] + rng.normal(0, 0.3, n))


@table(500)
def very_skewed_target(rng: Generator, n: int) -> XY:
    X = rng.normal(size=(n, 4))
    return X, np.exp(2.5 * X[:, 0] + rng.normal(size=n))


@table(300, 2000)
def heavy_noise(rng: Generator, n: int) -> XY:
    X = rng.uniform(-3, 3, (n, 3))
    return X, 3 * np.sin(X[:, 0]) + X[:, 1] + rng.standard_t(1.5, n)


@table(1000)
def uneven_noise(rng: Generator, n: int) -> XY:
    X = rng.uniform(0, 3, (n, 3))
    return X, X[:, 0] + rng.normal(size=n) * np.exp(X[:, 1] - 1)


@table(20, 30, 50, 300, 3000)
def pure_noise(rng: Generator, n: int) -> XY:
    return rng.normal(size=(n, 6)), 5 + rng.normal(size=n)


@table(600)
def pure_noise_beside_lognormals(rng: Generator, n: int) -> XY:
    return rng.lognormal(0, 2, (n, 4)), rng.lognormal(0, 1, n)


@table(100)
def constant_target(rng: Generator, n: int) -> XY:
    return rng.normal(size=(n, 3)), np.full(n, 4.0)


@table(1000)
def mostly_zero_target(rng: Generator, n: int) -> XY:
    X = rng.normal(size=(n, 5))
    return X, np.where(X[:, 0] + rng.normal(size=n) > 1.5, np.exp(1 + 0.5 * X[:, 1]), 0)


@table(300)
def integer_target(rng: Generator, n: int) -> XY:
    X = rng.normal(size=(n, 4))
    return X, np.round(2 * X[:, 0] + X[:, 1] ** 2 + rng.normal(size=n)).astype(int)


@table(500)
def large_offset(rng: Generator, n: int) -> XY:
    X = rng.normal(size=(n, 3))
    return X, 1e5 + np.sin(2 * X[:, 0]) + X[:, 1] + rng.normal(0, 0.1, n)


@table(500)
def small_unit(rng: Generator, n: int) -> XY:
    X = rng.normal(size=(n, 3))
    return X, 1e-9 * (np.sin(2 * X[:, 0]) + X[:, 1] + rng.normal(0, 0.1, n))


@table(30, 500)
def three_outputs(rng: Generator, n: int) -> XY:
    X = rng.normal(size=(n, 5))
    Y = np.column_stack([X[:, 0] ** 2, X @ np.ones(5), 100 * np.sin(X[:, 1])])
    return X, Y + rng.normal(0, 0.2, Y.shape)


# shapes of the data


@table(80, 150)
def wide_sparse_truth(rng: Generator, n: int) -> XY:
    X = rng.normal(size=(n, 200))
    return X, 3 * X[:, 0] - 2 * X[:, 1] + X[:, 2] + rng.normal(size=n)


@table(100)
def wide_low_rank(rng: Generator, n: int) -> XY:
    factors = rng.normal(size=(n, 4))
    X = factors @ rng.normal(size=(4, 300)) + 0.3 * rng.normal(size=(n, 300))
    return X, factors[:, 0] * 2 + np.sin(factors[:, 1]) + rng.normal(0, 0.2, n)


@table(1000)
def useless_columns(rng: Generator, n: int) -> XY:
    X = rng.normal(size=(n, 100))
    return X, 2 * X[:, 0] + X[:, 1] ** 2 + rng.normal(0, 0.5, n)


@table(500, 3000)
def places(rng: Generator, n: int) -> XY:
    X = np.column_stack([rng.uniform(-120, -110, n), rng.uniform(33, 40, n)])
    centres = rng.uniform([-120, 33], [-110, 40], (12, 2))
    near = ((X[:, None] - centres) ** 2).sum(axis=2)
    return X, np.exp(-2 * near) @ rng.uniform(1, 4, 12) + rng.normal(0, 0.2, n)


@table(1000)
def places_in_towns(rng: Generator, n: int) -> XY:
    towns = rng.uniform(-50, 50, (20, 2))
    town = rng.integers(20, size=n)
    X = towns[town] + rng.normal(0, 0.2, (n, 2))
    return X, rng.normal(0, 3, 20)[town] + rng.normal(0, 0.5, n)


@table(500, 3000)
def timestamps(rng: Generator, n: int) -> XY:
    hours = np.sort(rng.choice(20 * n, n, replace=False))
    X = np.column_stack([1.6e9 + 3600.0 * hours, hours % 24, hours // 24 % 7])
    y = hours / (5 * n) + np.sin(2 * np.pi * X[:, 1] / 24) + 0.5 * (X[:, 2] > 4)
    return X, y + rng.normal(0, 0.3, n)


@table(1000)
def autoregression(rng: Generator, n: int) -> XY:
    y = np.cumsum(rng.normal(size=n + 8))
    X = np.column_stack([y[lag : n + lag] for lag in range(7)])
    return X, y[7 : n + 7]


@table(600)
def distance_in_many_columns(rng: Generator, n: int) -> XY:
    X = rng.normal(size=(n, 20))
    return X, np.linalg.norm(X, axis=1) + rng.normal(0, 0.1, n)


@table(600)
def far_groups(rng: Generator, n: int) -> XY:
    group = rng.choice(3, n, p=[0.9, 0.09, 0.01])
    X = rng.normal(size=(n, 3)) + np.array([0, 30, 1000])[group][:, None]
    return X, X[:, 0] / 100 + np.sin(X[:, 1]) + rng.normal(0, 0.1, n)


# real data


def _shared(name: str, rng: Generator, n: int, output: int | None = None) -> XY:
    X, y = whole(name)
    return some(rng, n, X, (y if output is None else y[:, output]).astype(float))


@table(100, 1000, splits=3, full=True)
def airfoil(rng: Generator, n: int) -> XY:
    return _shared("airfoil", rng, n)


@table(50, 300, 680, splits=2)
def concrete(rng: Generator, n: int) -> XY:
    return _shared("concrete", rng, n)


@table(300, 3000, splits=2, full=True)
def wine_quality_white(rng: Generator, n: int) -> XY:
    return _shared("wine_quality_white", rng, n)


@table(300, 3000, full=True)
def naval_compressor(rng: Generator, n: int) -> XY:
    return _shared("naval_propulsion", rng, n, 0)


@table(3000, full=True)
def naval_turbine(rng: Generator, n: int) -> XY:
    return _shared("naval_propulsion", rng, n, 1)


@table(500)
def naval_both(rng: Generator, n: int) -> XY:
    return _shared("naval_propulsion", rng, n)


@table(500, 3000, full=True)
def appliances_energy(rng: Generator, n: int) -> XY:
    return _shared("appliances_energy", rng, n)


@table(5000)
def appliances_logarithm(rng: Generator, n: int) -> XY:
    X, y = _shared("appliances_energy", rng, n)
    return X, np.log(y)


@table(60, 290)
def diabetes(rng: Generator, n: int) -> XY:
    return some(rng, n, *bundled.load_diabetes(return_X_y=True, scaled=False))


@table(1000)
def digits_as_numbers(rng: Generator, n: int) -> XY:
    X, y = bundled.load_digits(return_X_y=True)
    return some(rng, n, X, y.astype(float))


@table(100)
def petal_width(rng: Generator, n: int) -> XY:
    X = bundled.load_iris().data
    return some(rng, n, X[:, :3], X[:, 3])
