"""KRLS straight from its formulas: inverses, refits and loops; and the data of R's vignette."""

import numpy as np
from scipy import stats
from scipy.special import ndtri


def fit(K, y, lam, weight=None):
    """Solve the equations of c and b, ``(K + lam / w) c + b = y`` and ``sum c = 0``, as one."""
    n = len(K)
    w = np.ones(n) if weight is None else weight / weight.mean()
    A = np.block([[K + lam * np.diag(1 / w), np.ones((n, 1))], [np.ones((1, n)), np.zeros((1, 1))]])
    solution = np.linalg.solve(A, np.append(y, 0.0))
    return solution[:-1], solution[-1]


def fit_without_intercept(K, y, lam):
    """Multiply by an inverse, equation 2.15."""
    return np.linalg.inv(K + lam * np.eye(len(K))) @ y


def left_out(K, y, lam, weight=None):
    """Fit n models of n - 1 rows."""
    w = np.ones(len(y)) if weight is None else weight / weight.mean()
    errors = []
    for i in range(len(y)):
        rest = np.arange(len(y)) != i
        A = np.block(
            [
                [K[np.ix_(rest, rest)] + lam * np.diag(1 / w[rest]), np.ones((len(y) - 1, 1))],
                [np.ones((1, len(y) - 1)), np.zeros((1, 1))],
            ]
        )
        solution = np.linalg.solve(A, np.append(y[rest], 0.0))
        errors.append(y[i] - K[i, rest] @ solution[:-1] - solution[-1])
    return np.array(errors)


def smoother(K, lam, weight=None):
    """Return what turns y into coefficients and into fitted values, column by column."""
    found = [fit(K, unit, lam, weight) for unit in np.eye(len(K))]
    C = np.array([c for c, _ in found]).T
    return C, K @ C + np.array([b for _, b in found])


def gaussian_derivatives(Z, B, gamma):
    """Return the derivatives of exp(-gamma |z - b|^2), of shape (n, m, d), one by one."""
    D = np.empty((len(Z), len(B), Z.shape[1]))
    for i, z in enumerate(Z):
        for j, b in enumerate(B):
            D[i, j] = -2 * gamma * (z - b) * np.exp(-gamma * np.sum((z - b) ** 2))
    return D


class RandomR:
    """R's default generator: its seeds, uniform numbers, and normal ones by inversion."""

    def __init__(self, seed):
        words, word = [], seed
        for step in range(50 + 625):
            word = (69069 * word + 1) % 2**32
            if step > 50:
                words.append(word)
        self._bits = np.random.MT19937()
        state = self._bits.state
        state["state"] = {"key": np.array(words, np.uint32), "pos": 624}
        self._bits.state = state

    def uniform(self, size, low=0.0, high=1.0):
        return low + (high - low) * self._bits.random_raw(size) * 2.3283064365386963e-10

    def normal(self, size):
        first, second = self.uniform(2 * size).reshape(size, 2).T
        return ndtri((np.floor(2**27 * first) + second) / 2**27)


def vignette():
    """Return the simulated data of the quickstart vignette of R's KRLS 1.7."""
    r, n = RandomR(1), 200
    X = np.column_stack([r.uniform(n, -2, 2), r.uniform(n, -2, 2)])
    return X, np.sin(X[:, 0]) + 0.5 * X[:, 1] * (X[:, 0] > 0) + 0.3 * r.normal(n)


def as_in_r(X, y, sigma=None, lam=None):
    """Follow the formulas of R's KRLS: lambda, R2, and effects, errors, t and p of the columns."""
    n, d = X.shape
    sigma = d if sigma is None else sigma
    center, spread, scale = X.mean(axis=0), X.std(axis=0, ddof=1), y.std(ddof=1)
    Z, u = (X - center) / spread, (y - y.mean()) / scale

    def kernel(A):
        return np.array([[np.exp(-np.sum((a - z) ** 2) / sigma) for z in Z] for a in A])

    K = kernel(Z)
    lam = search_in_r(K, u) if lam is None else lam
    inverse = np.linalg.inv(K + lam * np.eye(n))
    c = inverse @ u
    residuals = u - K @ c
    noise = np.sum(residuals**2) / n
    V = noise * inverse @ inverse
    effects, variances = np.empty((n, d)), np.empty(d)
    for j in range(d):
        if len(np.unique(X[:, j])) == 2:
            ends = []
            for end in (X[:, j].max(), X[:, j].min()):
                changed = X.copy()
                changed[:, j] = end
                ends.append(kernel((changed - center) / spread))
            D, factor = ends[0] - ends[1], 2.0
        else:
            D = -2 / sigma * (Z[:, [j]] - Z[:, j]) * K / spread[j]
            factor = 1.0
        effects[:, j] = scale * D @ c
        mean = D.mean(axis=0)
        variances[j] = factor * scale**2 * mean @ V @ mean
    found = {"lambda": lam, "R2": 1 - residuals.var(ddof=1), "pointwise": effects}
    found["effect"], found["std_error"] = effects.mean(axis=0), np.sqrt(variances)
    found["t"] = found["effect"] / found["std_error"]
    found["p"] = 2 * stats.t.sf(np.abs(found["t"]), n - d)
    return found


def search_in_r(K, u):
    """Search lambda by golden section, in the interval and to the tolerance that R takes."""
    n, values = len(K), np.linalg.eigvalsh(K)[::-1]

    def dimension(lam):
        return np.sum(values / (values + lam))

    def loss(lam):
        inverse = np.linalg.inv(K + lam * np.eye(n))
        return np.sum((inverse @ u / inverse.diagonal()) ** 2)

    high = n
    while dimension(high) < 1:
        high -= 1
    low, few = np.finfo(float).eps, 1 + np.argmin(np.abs(values - values[0] / 1000))
    while dimension(low) > few:
        low += 0.05
    a, b = low + 0.381966 * (high - low), high - 0.381966 * (high - low)
    while abs(loss(a) - loss(b)) > n / 1000:
        if loss(a) < loss(b):
            high, b = b, a
            a = low + 0.381966 * (high - low)
        else:
            low, a = a, b
            b = high - 0.381966 * (high - low)
    return a if loss(a) < loss(b) else b


VIGNETTE = {
    "lambda": 0.4049892,
    "sigma": 2.45606,
    "dimension": 14.25015,
    "R2": 0.8755594,
    "effect": (0.5184107, 0.2611639),
    "std_error": (0.02599911, 0.02853130),
    "t": (19.939556, 9.153593),
    "p": (3.091001e-49, 6.901213e-17),
    "ci_low": (0.4671400, 0.2048997),
    "ci_high": (0.5696814, 0.3174282),
    "q25": (0.19724353, 0.07743713),
    "q50": (0.4375873, 0.2845457),
    "q75": (0.7898796, 0.4579881),
}
"""What the vignette prints."""
