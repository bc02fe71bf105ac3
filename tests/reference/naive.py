"""The slow, obvious twin of each fast routine, straight from its formula, in float64."""

import math

import numpy as np
from scipy import special


def as_float64(X):
    """Return a dense float64 array."""
    return np.asarray(X.toarray() if hasattr(X, "toarray") else X, dtype=np.float64)


def _kernel_matrix(k, X, Y):
    X, Y = as_float64(X), as_float64(Y)
    return np.array([[k(x, y) for y in Y] for x in X]).reshape(len(X), len(Y))


def squared_distances(X, Y, gamma=1.0):
    return _kernel_matrix(lambda x, y: sum(gamma * (x - y) ** 2), X, Y)


def manhattan_distances(X, Y, gamma=1.0):
    return _kernel_matrix(lambda x, y: sum(gamma * abs(x - y)), X, Y)


def chi_square_distances(X, Y, gamma=1.0):
    def distance(x, y):
        terms = zip(x, y, np.broadcast_to(gamma, len(x)), strict=True)
        return sum(g * (a - b) ** 2 / (a + b) for a, b, g in terms if a + b > 0)

    return _kernel_matrix(distance, X, Y)


def additive_chi2(X, Y, gamma=1.0):
    def similarity(x, y):
        terms = zip(x, y, np.broadcast_to(gamma, len(x)), strict=True)
        return sum(g * 2 * a * b / (a + b) for a, b, g in terms if a + b > 0)

    return _kernel_matrix(similarity, X, Y)


def inner_products(X, Y, gamma=1.0):
    return _kernel_matrix(lambda x, y: sum(gamma * x * y), X, Y)


def gaussian(X, Y, gamma):
    return np.exp(-squared_distances(X, Y, np.array(gamma)))


def slow_decay(t):
    return 1 / (1 + t)


def separable(X, Y, profile, gamma):
    values = np.ones((len(X), len(Y)))
    for i, x in enumerate(X):
        for j, y in enumerate(Y):
            for width, a, b in zip(np.broadcast_to(gamma, X.shape[1]), x, y, strict=True):
                values[i, j] *= profile(width * abs(a - b))
    return values


def laplacian(X, Y, gamma):
    return np.exp(-manhattan_distances(X, Y, np.array(gamma)))


def matern(X, Y, nu, gamma):
    """Straight from the definition by a Bessel function, one pair at a time."""
    t = 2 * np.sqrt(nu * squared_distances(X, Y, np.array(gamma)))
    with np.errstate(invalid="ignore"):
        K = 2 ** (1 - nu) / math.gamma(nu) * t**nu * special.kv(nu, t)
    return np.where(t > 0, K, 1.0)


def cauchy(X, Y, gamma):
    return 1 / (1 + squared_distances(X, Y, np.array(gamma)))


def chi2(X, Y, gamma):
    return np.exp(-chi_square_distances(X, Y, gamma))


def polynomial(X, Y, degree, gamma, coef0):
    return (inner_products(X, Y, np.array(gamma)) + coef0) ** degree


def tanh(X, Y, gamma, coef0):
    return np.tanh(inner_products(X, Y, np.array(gamma)) + coef0)


def angle(x, y):
    """Half the angle has the tangent |u - v| / |u + v|, with u and v of length one."""
    if not x.any() or not y.any():
        return math.pi / 2
    u, v = x / math.hypot(*x), y / math.hypot(*y)
    return 2 * math.atan2(math.hypot(*(u - v)), math.hypot(*(u + v)))


def cosine(X, Y):
    return _kernel_matrix(lambda x, y: math.cos(angle(x, y)), X, Y)


def arc_cosine(X, Y, order):
    def k(x, y):
        t = angle(x, y)
        J = [
            math.pi - t,
            math.sin(t) + (math.pi - t) * math.cos(t),
            3 * math.sin(t) * math.cos(t) + (math.pi - t) * (1 + 2 * math.cos(t) ** 2),
        ]
        return (math.hypot(*x) * math.hypot(*y)) ** order * J[order] / math.pi

    return _kernel_matrix(k, X, Y)


def neural_tangent(X, Y):
    X, Y = as_float64(X), as_float64(Y)
    return inner_products(X, Y) * arc_cosine(X, Y, 0) + arc_cosine(X, Y, 1)


def products_at_once(X, Y):
    """A kernel of all rows, for kernels made of functions."""
    return as_float64(X) @ as_float64(Y).T


def one_plus_product(x, y):
    """A kernel of two rows, for kernels made of functions."""
    return 1 + float(x @ y)


def second_argument(x, y):
    """The derivative of `one_plus_product` in x."""
    return y


def fourier_pairs(X, W, b, n_components):
    """Cosines, then sines; an odd width leaves the last frequency alone, with its phase."""
    X, size = as_float64(X), W.shape[1]
    Z = np.empty((len(X), n_components))
    for i, x in enumerate(X):
        for j in range(size):
            alone = size + j >= n_components
            scale = math.sqrt((2 if alone else 1) / size)
            Z[i, j] = scale * math.cos(W[:, j] @ x + b[j])
            if not alone:
                Z[i, size + j] = scale * math.sin(W[:, j] @ x)
    return Z


def fourier_phases(X, W, b):
    X, size = as_float64(X), W.shape[1]
    return np.array(
        [
            [math.sqrt(2 / size) * math.cos(w @ x + c) for w, c in zip(W.T, b, strict=True)]
            for x in X
        ]
    )


def pseudo_inverse(A, *, rank=None, cut=1e-12):
    """Return the inverse on the eigenvectors of the largest eigenvalues."""
    values, vectors = np.linalg.eigh(A)
    kept = [i for i in reversed(range(len(A))) if values[i] > cut * values[-1]][:rank]
    return sum((np.outer(vectors[:, i], vectors[:, i]) / values[i] for i in kept), np.zeros_like(A))


def nystroem(K_xb, K_bb, K_by, *, rank=None, weights=None):
    """k(X, B) S (S K_bb S)^+ S k(B, Y) with S the diagonal of weights."""
    S = np.diag(np.ones(len(K_bb)) if weights is None else weights)
    return K_xb @ S @ pseudo_inverse(S @ K_bb @ S, rank=rank) @ S @ K_by


def ridge(Z, Y, *, alpha, weight=None, penalty=None, fit_intercept=True):
    """Return coefficients and constants: the gradient of the objective set to zero."""
    n, width = Z.shape
    w = np.ones(n) if weight is None else weight
    A = np.column_stack([Z, np.ones(n)]) if fit_intercept else Z
    P = np.zeros((A.shape[1], A.shape[1]))
    P[:width, :width] = np.eye(width) if penalty is None else penalty
    solved = np.linalg.solve(
        A.T @ np.diag(w / w.sum()) @ A + alpha * P, A.T @ (w[:, None] * Y) / w.sum()
    )
    return solved[:width], solved[width] if fit_intercept else np.zeros(Y.shape[1])


def left_out(Z, Y, *, alpha, weight=None, penalty=None, fit_intercept=True, counts=None):
    """Return predictions of each row by a refit without one of the equal rows that it stands for.

    The penalty n alpha stays as it is.
    """
    n = len(Z)
    w = np.ones(n) if weight is None else np.asarray(weight, float)
    counts = np.ones(n) if counts is None else counts
    predicted = np.empty(Y.shape)
    for i in range(n):
        kept = w.copy()
        kept[i] -= w[i] / counts[i]
        coef, constant = ridge(
            Z,
            Y,
            alpha=alpha * w.sum() / kept.sum(),
            weight=kept,
            penalty=penalty,
            fit_intercept=fit_intercept,
        )
        predicted[i] = Z[i] @ coef + constant
    return predicted


def kernel_ridge(K, Y, *, alpha, weight=None, fit_intercept=True):
    """Return coefficients and constants: one bordered system, coefficients that sum to zero."""
    n = len(K)
    w = np.ones(n) if weight is None else weight
    ridge = K + alpha * w.sum() * np.diag(1 / w)
    if not fit_intercept:
        return np.linalg.solve(ridge, Y), np.zeros(Y.shape[1])
    bordered = np.block([[ridge, np.ones((n, 1))], [np.ones((1, n)), np.zeros((1, 1))]])
    solved = np.linalg.solve(bordered, np.vstack([Y, np.zeros((1, Y.shape[1]))]))
    return solved[:n], solved[n]


def objective(Y, F, *, alpha, norm, weight=None):
    """Weighted mean of squared errors, summed over outputs, plus the penalty."""
    w = np.ones(len(Y)) if weight is None else weight
    return float(w @ ((Y - F) ** 2).sum(axis=1) / w.sum() + alpha * norm)


def row_key(seed, row):
    """SplitMix64's finalizer of row number and seed, in Python's whole numbers."""
    mask = 2**64 - 1

    def mix(key):
        key = (key ^ (key >> 30)) * 0xBF58476D1CE4E5B9 & mask
        key = (key ^ (key >> 27)) * 0x94D049BB133111EB & mask
        return key ^ (key >> 31)

    return mix((row + mix(seed)) * 0x9E3779B97F4A7C15 & mask)


def sampled_rows(n, size, seed, weight=None):
    """Row numbers of the smallest keys, rising by key, without rows of weight zero."""
    present = [i for i in range(n) if weight is None or weight[i] > 0]
    return np.array(sorted(present, key=lambda i: row_key(seed, i))[:size])


def variance(X, weight=None):
    """Weighted variance of all entries."""
    X = as_float64(X)
    w = np.ones(len(X)) if weight is None else weight
    total = w.sum() * X.shape[1]
    mean = sum(w[i] * X[i].sum() for i in range(len(X))) / total
    return sum(w[i] * ((X[i] - mean) ** 2).sum() for i in range(len(X))) / total


def median_gamma(X):
    """One over the median squared distance of the rows that differ."""
    X = as_float64(X)
    pairs = [sum((X[i] - X[j]) ** 2) for i in range(len(X)) for j in range(i)]
    return 1 / np.median([d for d in pairs if d > 0])


def statistic_gradient(derivative, X, Y, A, gamma=1.0):
    """Sum over j of A_ij times the weighted derivative of a statistic in x_i, one row at a time."""
    X, Y, A = as_float64(X), as_float64(Y), as_float64(A)
    sums = [
        sum(a * gamma * derivative(x, y) for a, y in zip(r, Y, strict=True))
        for x, r in zip(X, A, strict=True)
    ]
    return np.array(sums).reshape(X.shape)


def chi_square_derivative(x, y):
    """One at two zeros, the limit from the right."""
    both = np.where(x + y > 0, x + y, 1)
    return np.where(x + y > 0, (x - y) * (x + 3 * y) / both**2, 1.0)


def harmonic_derivative(x, y):
    both = np.where(x + y > 0, x + y, 1)
    return np.where(x + y > 0, 2 * y**2 / both**2, 0.0)


def losses(loss, Y, F):
    """Return a loss of every entry, or of every row in a column if it is a loss of rows."""
    if loss in (multiclass_hinge_loss, softmax_loss):
        return np.array([[loss(y, f)] for y, f in zip(Y, F, strict=True)])
    return np.vectorize(loss)(as_float64(Y), as_float64(F))


def squared_loss(y, f):
    return (y - f) ** 2


def hinge_loss(y, f):
    return max(0.0, 1 - y * f)


def squared_hinge_loss(y, f):
    return max(0.0, 1 - y * f) ** 2


def log_loss(y, f):
    return math.log(1 + math.exp(-y * f))


def epsilon_insensitive_loss(y, f, epsilon=0.1):
    return max(0.0, abs(y - f) - epsilon)


def squared_epsilon_insensitive_loss(y, f, epsilon=0.1):
    return max(0.0, abs(y - f) - epsilon) ** 2


def huber_loss(y, f, delta=1.0):
    """Twice the loss of the paper, so that it is the squared loss near the target."""
    r = abs(y - f)
    return 2 * (r**2 / 2 if r <= delta else delta * r - delta**2 / 2)


def quantile_loss(y, f, quantile=0.5):
    return quantile * (y - f) if y >= f else (1 - quantile) * (f - y)


def multiclass_hinge_loss(y, f, cost=None):
    """The largest of f_j + cost of j - f_class; the cost of other classes is 1 by default."""
    (own,) = (j for j in range(len(y)) if y[j] > 0)
    costs = [float(j != own) for j in range(len(y))] if cost is None else cost[own]
    return max(f[j] + costs[j] for j in range(len(y))) - f[own]


def softmax_loss(y, f):
    own = [j for j in range(len(y)) if y[j] > 0]
    return -math.log(math.exp(f[own[0]]) / sum(map(math.exp, f)))


def conjugate(loss, y, u, grid):
    """Largest of u f less the loss, over a grid of predictions."""
    return max(np.dot(u, f) - loss(y, f) for f in grid)
