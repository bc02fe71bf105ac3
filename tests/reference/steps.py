"""Stochastic gradient steps, straight from their formulas."""

import numpy as np

from skimp.losses import Hinge
from skimp.solvers import Pegasos


def take_steps(solver, problem, n_passes):
    """Return the coefficients and intercepts after some passes of `Pegasos` or `SGD`.

    Rows are visited in the order that the solver draws.
    """
    Z, Y = (np.asarray(part) for part in (problem.rows.collect().X, problem.rows.targets()))
    weight = problem.rows.weights()
    share = np.ones(len(Z)) if weight is None else weight / weight.mean()
    loss, alpha, pegasos = problem.loss, problem.alpha, isinstance(solver, Pegasos)
    raw = not pegasos and solver.coordinates == "raw"
    P = np.eye(Z.shape[1]) if problem.penalty is None or not raw else problem.penalty
    W = np.eye(Z.shape[1])
    if problem.penalty is not None and not raw:
        W = np.linalg.inv(np.linalg.cholesky(problem.penalty).T)
    X = Z @ W
    v, b = np.zeros((X.shape[1], Y.shape[1])), np.zeros(Y.shape[1])
    sums, late, t = [np.zeros_like(v), np.zeros_like(b), 0.0], [], 0
    delay, largest = 0 if pegasos else solver.delay, np.inf
    for number in range(n_passes):
        order, factor = _order(solver, share, number)
        if np.isinf(loss.max_slope):
            norms = factor * (np.sum(X**2, axis=1) + problem.fit_intercept)
            largest = 1 / (loss.max_curvature * norms.max() * (1 + delay))
        batches = np.split(order, range(solver.batch_size, len(order), solver.batch_size))
        for batch in [*batches, *[None] * delay]:
            if batch is not None:
                slopes = factor[batch, None] * loss.gradient(Y[batch], X[batch] @ v + b)
                late.append((X[batch].T @ slopes / len(batch), slopes.mean(axis=0)))
            if batch is not None and len(late) <= delay:
                continue
            gradient, in_b = late.pop(0)
            t += 1
            eta = min(_step_size(solver, alpha, t), largest)
            v = v - eta * (2 * alpha * P @ v + gradient)
            b = b - problem.fit_intercept * eta * (in_b + (2 * alpha * b if pegasos else 0))
            if pegasos and solver.project:
                v, b = _project(v, b, loss, Y, share, alpha)
            sums = [sums[0] + t * v, sums[1] + t * b, sums[2] + t]
    if solver.average:
        v, b = sums[0] / sums[2], sums[1] / sums[2]
    if loss.joint and not pegasos:
        b = b - b.mean()
    return W @ v, b


def _order(solver, share, number):
    seed = [solver.random_state] if solver.order == "fixed" else [solver.random_state, number]
    rng = np.random.default_rng(seed)
    if solver.order == "iid":
        size = int(share.sum() + rng.random())
        drawn = rng.choice(len(share), size, p=share / share.sum())
        return drawn, np.ones(len(share))
    visits = np.ceil(share - 1e-9).astype(int)
    order = rng.permutation(np.repeat(np.arange(len(share)), visits))
    return order, share / visits * visits.sum() / share.sum()


def _step_size(solver, alpha, t):
    if isinstance(solver, Pegasos):
        return 1 / (2 * alpha * t)
    if solver.schedule == "sqrt":
        return solver.theta / np.sqrt(t)
    return solver.theta / (1 + 2 * alpha * solver.theta * t)


def _project(v, b, loss, Y, share, alpha):
    radius = np.sqrt(np.average(loss.value(Y, np.zeros_like(Y)), axis=0, weights=share) / alpha)
    if isinstance(loss, Hinge):
        radius = np.full(1, 1 / np.sqrt(2 * alpha))
    norm = np.sqrt(np.sum(v**2, axis=0) + b**2)
    norm = np.linalg.norm(norm) if loss.joint else norm
    shrink = np.minimum(1, radius / np.maximum(norm, 1e-300))
    return v * shrink, b * shrink


def iterate_sarah(solver, problem, M, n_iterations):
    """Return the coefficients and intercepts after some iterations of `SARAH` with steps of size 1.

    M is the matrix of the metric, with the intercept last.
    """
    Z, Y = (np.asarray(part) for part in (problem.rows.collect().X, problem.rows.targets()))
    weight = problem.rows.weights()
    weight = np.ones(len(Z)) if weight is None else weight / weight.mean()
    W = np.eye(Z.shape[1])
    if problem.penalty is not None:
        W = np.linalg.inv(np.linalg.cholesky(problem.penalty).T)
    X = np.hstack([Z @ W, np.full((len(Z), 1), float(problem.fit_intercept))])
    P = np.diag([1.0] * W.shape[1] + [0.0])

    def gradient(w, rows):
        slopes = weight[rows, None] * problem.loss.gradient(Y[rows], X[rows] @ w)
        return X[rows].T @ slopes / len(rows) + 2 * problem.alpha * P @ w

    w = np.zeros((X.shape[1], Y.shape[1]))
    points = []
    for number in range(n_iterations):
        order = np.random.default_rng([solver.random_state, number]).permutation(len(X))
        n_steps = -(-2 * len(X) // solver.batch_size)
        v = gradient(w, np.arange(len(X)))
        points = [*points[-2:], (w, v)]
        if len(points) == 3:
            steps, changes = ([a[i] - points[2][i] for a in points[:2]] for i in (0, 1))
            H = np.array([[np.sum(a * b) for b in changes] for a in steps])
            t = np.linalg.solve((H + H.T) / 2, [-np.sum(a * v) for a in steps])
            w = w + t[0] * steps[0] + t[1] * steps[1]
            v = v + t[0] * changes[0] + t[1] * changes[1]
        goal = np.sum(v * np.linalg.solve(M, v)) / 8
        last, w = w, w - np.linalg.solve(M, v)
        for t in range(n_steps):
            places = t * solver.batch_size + np.arange(solver.batch_size)
            batch = order[places % len(order)]
            v = v + gradient(w, batch) - gradient(last, batch)
            last, w = w, w - np.linalg.solve(M, v)
            if np.sum(v * np.linalg.solve(M, v)) <= goal:
                break
    return W @ w[:-1], w[-1]
