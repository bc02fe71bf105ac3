import numpy as np
import pytest
from sklearn.linear_model import ElasticNet, LogisticRegression
from sklearn.svm import LinearSVC

from skimp.data import Context, open_rows
from skimp.losses import (
    hinge,
    huber,
    log,
    softmax,
    squared,
    squared_epsilon_insensitive,
    squared_hinge,
)
from skimp.solvers import L1CD, Problem, Status, l1_cd
from skimp.solvers._l1_steps import minimize_quadratic

N, D = 120, 30
SMOOTH = (squared, huber, squared_epsilon_insensitive, squared_hinge, log)


def data(loss, *, width=D, rows=N):
    """Return correlated features, two outputs of which few features matter, and weights."""
    rng = np.random.default_rng(0)
    Z = rng.normal(0.5, 1.0, (rows, width)) @ (
        np.eye(width) + 0.1 * rng.normal(size=(width, width))
    )
    F = Z[:, :2] - Z[:, 2:4] + 0.5 * rng.normal(size=(rows, 2))
    return Z, np.where(F > 0, 1.0, -1.0) if loss.labels else F, rng.integers(0, 3, rows)


def solved(loss, Z, Y, alpha, l1_ratio=1.0, *, weight=None, tol=1e-13, context=None, **options):
    problem = Problem(open_rows(Z, target=Y, weight=weight), loss, alpha, **options)
    return L1CD(l1_ratio, tol=tol).solve(problem, context or Context(n_jobs=1))


def objective(loss, Z, Y, weight, coef, b, alpha, l1_ratio, P):
    costs = np.average(loss.value(Y, Z @ coef + b), axis=0, weights=weight).sum()
    square = np.sum(coef * (P @ coef))
    return costs + alpha * (l1_ratio * np.abs(coef).sum() + (1 - l1_ratio) * square)


def proximal_gradients(loss, Z, Y, weight, alpha, l1_ratio, P, n_steps=3000):
    """Minimize by accelerated proximal gradient steps (Beck and Teboulle 2009, algorithm FISTA)."""
    w = weight[:, None] / weight.sum()
    A = np.hstack([Z, np.ones((len(Z), 1))])
    bound = loss.max_curvature * np.linalg.eigvalsh(A.T @ (w * A))[-1]
    bound += 2 * alpha * (1 - l1_ratio) * np.linalg.eigvalsh(P)[-1]
    c = ahead = np.zeros((A.shape[1], Y.shape[1]))
    t = 1.0
    for _ in range(n_steps):
        slope = A.T @ (w * loss.gradient(Y, A @ ahead))
        slope[:-1] += 2 * alpha * (1 - l1_ratio) * P @ ahead[:-1]
        new = ahead - slope / bound
        shrunk = np.maximum(np.abs(new[:-1]) - alpha * l1_ratio / bound, 0)
        new[:-1] = np.sign(new[:-1]) * shrunk
        # restart the momentum if it points uphill
        t = 1.0 if np.sum((ahead - new) * (new - c)) > 0 else t
        longer = (1 + np.sqrt(1 + 4 * t**2)) / 2
        c, ahead, t = new, new + (t - 1) / longer * (new - c), longer
    return c[:-1], c[-1]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("loss", SMOOTH, ids=repr)
def test_equals_proximal_gradients(loss, weighted):
    Z, Y, weight = data(loss)
    R = np.random.default_rng(1).normal(size=(D, 2 * D))
    P = R @ R.T / (2 * D)
    weight = weight if weighted else np.ones(N)
    found = solved(loss, Z, Y, 0.1, 0.5, weight=weight, penalty=P)
    expected, b = proximal_gradients(loss, Z, Y, weight, 0.1, 0.5, P)
    assert found.status is Status.CONVERGED
    np.testing.assert_allclose(found.coef, expected, atol=1e-6)
    np.testing.assert_allclose(found.intercept, b, atol=1e-6)
    assert np.array_equal(found.coef == 0, expected == 0)
    assert 0 < np.count_nonzero(found.coef) < found.coef.size
    value = objective(loss, Z, Y, weight, found.coef, found.intercept, 0.1, 0.5, P)
    assert found.history[-1] == pytest.approx(value, rel=1e-12)
    assert (np.diff(found.history) <= 1e-14).all()


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("l1_ratio", [1.0, 0.5])
def test_equals_lasso_and_elastic_net(l1_ratio, fit_intercept):
    Z, Y, _ = data(squared)
    alpha = 0.2
    found = solved(squared, Z, Y, alpha, l1_ratio, fit_intercept=fit_intercept)
    # theirs is half of ours: mean squares / 2 + a r |c|_1 + a (1 - r) |c|^2 / 2
    lasso, ridge = alpha * l1_ratio / 2, alpha * (1 - l1_ratio)
    a, r = lasso + ridge, lasso / (lasso + ridge)
    theirs = ElasticNet(a, l1_ratio=r, fit_intercept=fit_intercept, tol=1e-12, max_iter=100_000)
    theirs.fit(Z, Y[:, 0])
    np.testing.assert_allclose(found.coef[:, 0], theirs.coef_, atol=1e-7)
    np.testing.assert_allclose(found.intercept[0], theirs.intercept_, atol=1e-7)
    assert np.array_equal(found.coef[:, 0] == 0, theirs.coef_ == 0)


@pytest.mark.parametrize("loss", [log, squared_hinge], ids=repr)
def test_equals_liblinear(loss):
    Z, Y, _ = data(loss)
    alpha = 0.02
    options = {"C": 1 / (N * alpha), "fit_intercept": False, "tol": 1e-9, "max_iter": 100_000}
    theirs = LinearSVC(penalty="l1", dual=False, random_state=0, **options)
    if loss is log:
        theirs = LogisticRegression(l1_ratio=1, solver="liblinear", random_state=0, **options)
    found = solved(loss, Z, Y, alpha, fit_intercept=False)
    theirs.fit(Z, Y[:, 0])
    np.testing.assert_allclose(found.coef[:, 0], theirs.coef_[0], atol=1e-6)
    assert np.array_equal(found.coef[:, 0] == 0, theirs.coef_[0] == 0)


@pytest.mark.parametrize("loss", SMOOTH, ids=repr)
@pytest.mark.parametrize("alpha", [0.1, 1e-3])
def test_default_tolerance_bounds_the_distance_to_the_minimum(loss, alpha):
    Z, Y, _ = data(loss)
    best = solved(loss, Z, Y, alpha).history[-1]
    found = solved(loss, Z, Y, alpha, tol=l1_cd.tol)
    assert found.converged
    assert best * (1 - 1e-12) <= found.history[-1] <= best * (1 + l1_cd.tol)


def test_weights_are_repeated_rows():
    Z, Y, weight = data(log)
    once = solved(log, Z, Y, 0.02, weight=weight)
    repeated = solved(log, np.repeat(Z, weight, axis=0), np.repeat(Y, weight, axis=0), 0.02)
    np.testing.assert_allclose(once.coef, repeated.coef, atol=1e-7)
    assert np.array_equal(once.coef == 0, repeated.coef == 0)


@pytest.mark.parametrize("loss", [squared, log], ids=repr)
def test_strong_penalty_leaves_a_constant(loss):
    Z, Y, _ = data(loss)
    constant = solved(loss, Z, Y, 1e6)
    assert not constant.coef.any()
    slopes = loss.gradient(Y, np.broadcast_to(constant.intercept, Y.shape))
    largest = np.abs(Z.T @ slopes / N).max()
    assert not solved(loss, Z, Y, 1.01 * largest).coef.any()
    weaker = solved(loss, Z, Y, 0.99 * largest)
    assert np.count_nonzero(weaker.coef) == 1
    assert weaker.dimension == 1


@pytest.mark.parametrize("loss", [squared, log], ids=repr)
def test_more_features_than_the_first_working_set_holds(loss):
    Z, Y, _ = data(loss, width=400, rows=60)
    # the limit of the logistic loss leaves room for 45 features
    limit = 400_000 if loss is log else None
    found = solved(loss, Z, Y, 0.1, 0.9, memory_limit=limit)
    assert found.converged
    c = found.coef
    assert 20 < np.count_nonzero(c.any(axis=1)) < 120
    slope = Z.T @ loss.gradient(Y, Z @ c + found.intercept) / 60 + 0.02 * c
    np.testing.assert_allclose(slope[c != 0], -0.09 * np.sign(c[c != 0]), atol=1e-7)
    assert np.abs(slope).max() < 0.09 + 1e-7


@pytest.mark.parametrize("loss", [squared, squared_hinge, log], ids=repr)
def test_correlated_features_take_few_steps(loss):
    # kernel columns with a condition number above 1e12 and a weak penalty
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    Z = np.exp(-0.1 * np.sum((X[:, None] - X[:50]) ** 2, axis=2))
    assert np.linalg.cond(Z) > 1e6
    F = np.sin(3 * X[:, :1]) + rng.normal(size=(200, 1))
    found = solved(loss, Z, np.where(F > 0, 1.0, -1.0), 1e-5, tol=1e-9)
    assert found.converged
    assert found.n_iter <= 15
    # proximal gradients would take millions of steps: compare with the optimality conditions
    Y, c = np.where(F > 0, 1.0, -1.0), found.coef
    slope = Z.T @ loss.gradient(Y, Z @ c + found.intercept) / 200
    np.testing.assert_allclose(slope[c != 0], -1e-5 * np.sign(c[c != 0]), atol=1e-8)
    assert np.abs(slope).max() < 1e-5 + 1e-8


def test_rows_without_loss_take_few_steps():
    # separable classes and a weak penalty: most rows have no curvature
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(30, 50))
    Y = np.sign(Z[:, :1] + rng.normal(size=(30, 1)))
    found = solved(squared_hinge, Z, Y, 1e-5, tol=1e-8)
    assert found.converged
    assert found.n_iter <= 100
    slope = Z.T @ squared_hinge.gradient(Y, Z @ found.coef + found.intercept) / 30
    used = found.coef != 0
    np.testing.assert_allclose(slope[used], -1e-5 * np.sign(found.coef[used]), rtol=1e-2)


def test_more_features_in_use_than_memory_holds():
    Z, Y, _ = data(squared, width=400, rows=60)
    with pytest.raises(MemoryError, match=r"features in use needs .*: choose a larger alpha"):
        solved(squared, Z, Y, 1e-3, memory_limit=400_000)


def test_threads_give_equal_bits():
    Z, Y, _ = data(squared_hinge)
    rows = open_rows(Z, target=np.hstack([Y, -Y[:, :1]]), block_rows=16)
    problem = Problem(rows, squared_hinge, 1e-3)
    one, three = (l1_cd.solve(problem, Context(n_jobs=jobs)) for jobs in (1, 3))
    assert np.array_equal(one.coef, three.coef)
    assert np.array_equal(one.history, three.history)


def test_seed_changes_the_order_and_not_the_minimum():
    Z, Y, _ = data(log)
    problem = Problem(open_rows(Z, target=Y), log, 1e-3)
    first, second = (L1CD(tol=1e-12, random_state=seed).solve(problem) for seed in (0, 1))
    assert not np.array_equal(first.coef, second.coef)
    np.testing.assert_allclose(first.coef, second.coef, atol=1e-6)


@pytest.mark.parametrize("threshold", [0.0, 0.3])
def test_quadratic_function_with_dependent_features(threshold):
    rng = np.random.default_rng(0)
    A = rng.normal(size=(8, 5))[:, [0, 1, 2, 3, 4, 0, 1]]
    H, g, c = A.T @ A, A.T @ rng.normal(size=8), rng.normal(size=7)

    def value(new):
        d = new - c
        return g @ d + d @ H @ d / 2 + threshold * np.abs(new).sum()

    new, decrease = minimize_quadratic(H, g, c, threshold, rng)
    assert decrease == pytest.approx(value(c) - value(new), rel=1e-9)
    slope = g + H @ (new - c)
    # the subgradient is zero up to the share of the decrease at which rounds end
    distance = np.where(
        new == 0, np.abs(slope) - threshold, np.abs(slope + threshold * np.sign(new))
    )
    assert distance.max() < 1e-2 * np.abs(g).max()


def test_it_says_where_steps_ran_out():
    Z, Y, _ = data(log)
    found = L1CD(max_iter=2).solve(Problem(open_rows(Z, target=Y), log, 1e-4))
    assert found.status is Status.MAX_ITER
    assert found.n_iter == len(found.history) == 2


@pytest.mark.parametrize(
    ("name", "value"),
    [("l1_ratio", 1.5), ("l1_ratio", -0.1), ("tol", 0.0), ("max_iter", 0), ("random_state", -1)],
)
def test_bad_parameters(name, value):
    Z, Y, _ = data(squared)
    with pytest.raises(ValueError, match=f"L1CD: {name} must be"):
        L1CD(**{name: value}).solve(Problem(open_rows(Z, target=Y), squared, 0.1))


@pytest.mark.parametrize("loss", [hinge, softmax], ids=repr)
def test_losses_without_bounded_curvature_are_refused(loss):
    Z, Y, _ = data(hinge)
    with pytest.raises(ValueError, match=r"L1CD: loss must be a smooth loss .*got"):
        solved(loss, Z, Y, 0.1)


def test_bad_problems():
    Z, Y, _ = data(squared)
    with pytest.raises(ValueError, match=r"L1CD: alpha .* got 0\.0"):
        solved(squared, Z, Y, 0.0)
    with pytest.raises(ValueError, match="infinity or NaN"):
        solved(squared, 1e200 * Z, Y, 0.1)
    with pytest.raises(MemoryError, match=r"l1_cd on 120 rows .* memory limit"):
        solved(squared, Z, Y, 0.1, memory_limit=10_000)
