"""
Which solver, and how fast
==========================

A solver looks for the coefficients that minimise a loss and a penalty. All solvers here minimise
the same objective, so one question is left: how far from its minimum are they, after so many passes
over the rows, and after so many seconds?
"""

# %%
# The problem: 12,000 rows, two classes with some overlap, 300 features of a Gaussian kernel, and the
# squared hinge loss. There is no intercept, because some of the solvers would penalise it and others
# would not. scikit-learn's ``LinearSVC`` and ``SGDClassifier`` are given the same features.

# sphinx_gallery_thumbnail_number = 1
import warnings
from time import perf_counter

import matplotlib.pyplot as plt
import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import SGDClassifier
from sklearn.svm import LinearSVC

from skimp.data import open_rows
from skimp.features import Nystroem
from skimp.kernels import Gaussian
from skimp.losses import EpsilonInsensitive, Huber, Quantile, hinge, log, squared, squared_hinge
from skimp.solvers import DualCD, Newton, Problem

INK, FAINT = "#333333", "#9a9a9a"
COLORS = {
    "Newton": "#c8443c",
    "DualCD": "#2166ac",
    "LinearSVC": "#d8973c",
    "SGDClassifier": "#7b7b7b",
}
plt.rcParams.update(
    {
        "figure.dpi": 130,
        "font.size": 9.5,
        "axes.titlesize": 10.5,
        "axes.edgecolor": FAINT,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "xtick.color": INK,
        "ytick.color": INK,
    }
)

rng = np.random.default_rng(0)
n = 12_000
X = rng.normal(size=(n, 8)).astype(np.float32)
score = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + np.cos(X[:, 3]) - 0.5
y = np.where(score + rng.normal(0, 0.5, n) > 0, 1, -1).astype(np.float32)
Z = Nystroem(Gaussian(gamma=0.1), budget=300, random_state=0).fit_transform(X)


def objective(coef, alpha):
    """Return the mean loss plus the penalty."""
    return squared_hinge.value(y, Z @ coef).mean(dtype=float) + alpha * coef @ coef


# %%
# A solver calls the problem's ``monitor`` after each iteration, and the rows ``report`` how many of
# them are done, which counts the passes. The coefficients are kept and judged afterwards, so that
# nothing but the solver is timed. The first, tiny fit compiles the loops.


def follow(solver, alpha, rows=n):
    """Return passes, seconds and coefficients after each iteration."""
    trace, passes = [], 0

    def report(done):
        nonlocal passes
        passes += done == rows

    def monitor(coef, intercept):
        trace.append((passes, perf_counter() - start, coef[:, 0].copy()))
        return False

    source = open_rows(Z[:rows], target=y[:rows, None]).copy_with(report=report)
    problem = Problem(source, squared_hinge, alpha, fit_intercept=False, monitor=monitor)
    start = perf_counter()
    solver.solve(problem)
    return trace


def follow_liblinear(alpha, sweeps=(1, 2, 4, 8, 16, 32, 64)):
    """Return the same for LinearSVC, one fit for each number of sweeps."""
    trace = []
    for limit in sweeps:
        model = LinearSVC(C=1 / (2 * n * alpha), dual=True, fit_intercept=False, max_iter=limit)
        start = perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.set_params(tol=1e-9, random_state=0).fit(Z, y)
        trace.append((limit, perf_counter() - start, model.coef_[0]))
    return trace


def follow_sgd(alpha, epochs=64):
    """Return the same for SGDClassifier, whose coefficients are averaged."""
    model = SGDClassifier("squared_hinge", alpha=2 * alpha, fit_intercept=False, random_state=0)
    # its own schedule of steps is too bold for the squared hinge loss
    model.set_params(learning_rate="invscaling", eta0=0.3, power_t=0.25, average=True)
    trace, seconds = [], 0.0
    for epoch in range(1, epochs + 1):
        start = perf_counter()
        model.partial_fit(Z, y, classes=[-1, 1])
        seconds += perf_counter() - start
        trace.append((epoch, seconds, model.coef_[0].copy()))
    return trace


for solver in (Newton(), DualCD()):
    follow(solver, alpha=1e-2, rows=200)

alpha = 1e-5
best = objective(follow(Newton(tol=1e-14), alpha)[-1][2], alpha)
best = min(best, objective(follow(DualCD(tol=1e-9), alpha)[-1][2], alpha))
traces = {
    "Newton": follow(Newton(tol=1e-9), alpha),
    "DualCD": follow(DualCD(tol=1e-7), alpha),
    "LinearSVC": follow_liblinear(alpha),
    "SGDClassifier": follow_sgd(alpha),
}
for k,v in traces.items(): print(k,[(p,round(t,3),float(objective(c,alpha)/best-1)) for p,t,c in v][:70:4])
