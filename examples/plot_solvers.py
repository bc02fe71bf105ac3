"""
Solvers and their speed
=======================

All solvers minimize the same objective. This example shows how close they come to the minimum
after a number of passes over the rows and a number of seconds.
"""

# %%
# The problem has 10,000 rows, two overlapping classes, 300 features of a Gaussian kernel and the
# squared hinge loss. There is no intercept, because scikit-learn's solvers penalize it
# and ours do not. Its ``LinearSVC`` and ``SGDClassifier`` get the same features.

# sphinx_gallery_thumbnail_number = 1
import warnings
from time import perf_counter

import matplotlib.pyplot as plt
import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import SGDClassifier
from sklearn.svm import LinearSVC

from skimp.data import Context, Listener, Progress, open_rows
from skimp.features import Nystroem
from skimp.kernels import Gaussian
from skimp.losses import squared_hinge
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
n = 10_000
X = rng.normal(size=(n, 8)).astype(np.float32)
score = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + np.cos(X[:, 3]) - 0.5
y = np.where(score + rng.normal(0, 0.5, n) > 0, 1, -1).astype(np.float32)
Z = Nystroem(Gaussian(gamma=0.1), budget=300, random_state=0).fit_transform(X)
Z_double = Z.astype(np.float64)


def objective(coef, alpha):
    """Return the mean loss plus the penalty."""
    return squared_hinge.value(y, Z_double @ coef).mean() + alpha * coef @ coef


# %%
# A solver calls the problem's ``monitor`` after each iteration. A `~skimp.data.Listener` counts the
# passes over the rows. The objective is computed afterwards, so that only the solver is timed. The
# first, tiny fits compile the loops.


class Passes(Listener):
    """Counts passes over all rows."""

    count = 0

    def see_rows(self, phase):
        """Count a complete pass."""
        self.count += phase.rows == phase.n_rows


def follow(solver, alpha, rows=n):
    """Return passes, seconds and coefficients after each iteration."""
    trace, passes = [], Passes()
    progress = Progress(passes)

    def monitor(coef, intercept):
        trace.append((passes.count, perf_counter() - start, coef[:, 0].copy()))
        return False

    source = open_rows(Z[:rows], target=y[:rows, None])
    problem = Problem(source, squared_hinge, alpha, fit_intercept=False, monitor=monitor)
    start = perf_counter()
    with progress.phase("solve"):
        solver.solve(problem, Context(progress=progress))
    return trace


def follow_liblinear(alpha, sweeps=(2, 6, 16, 32, 64)):
    """Return the same for LinearSVC, the better of two fits for each number of sweeps."""
    trace = []
    for limit in sweeps:
        model = LinearSVC(C=1 / (2 * n * alpha), dual=True, fit_intercept=False, max_iter=limit)
        seconds = []
        for _ in range(2):
            start = perf_counter()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                model.set_params(tol=1e-9, random_state=0).fit(Z, y)
            seconds.append(perf_counter() - start)
        trace.append((limit, min(seconds), model.coef_[0]))
    return trace


def follow_sgd(alpha, epochs=40):
    """Return the same for SGDClassifier, whose coefficients are averaged."""
    model = SGDClassifier("squared_hinge", alpha=2 * alpha, fit_intercept=False, random_state=0)
    # the default learning rate is too large for the squared hinge loss
    model.set_params(learning_rate="invscaling", eta0=0.3, power_t=0.25, average=True)
    trace, seconds = [], 0.0
    for epoch in range(1, epochs + 1):
        start = perf_counter()
        model.partial_fit(Z, y, classes=[-1, 1])
        seconds += perf_counter() - start
        trace.append((epoch, seconds, model.coef_[0].copy()))
    return trace


def distances(trace, alpha, best):
    """Return passes, seconds, and the relative distance of the objective from its minimum."""
    passes, seconds, coefs = zip(*trace, strict=True)
    return passes, seconds, [objective(coef, alpha) / best - 1 for coef in coefs]


for solver in (Newton(), DualCD()):
    follow(solver, alpha=1e-2, rows=200)
follow_liblinear(alpha=1e-2, sweeps=[1])

alpha = 1e-5
traces = {
    "Newton": follow(Newton(tol=1e-9), alpha),
    "DualCD": follow(DualCD(tol=1e-7), alpha),
    "LinearSVC": follow_liblinear(alpha),
    "SGDClassifier": follow_sgd(alpha),
}
best = objective(follow(Newton(tol=1e-12, max_iter=15), alpha)[-1][2], alpha)

# %%
# **Newton** needs few passes. Each step solves a linear system by conjugate gradients, and
# convergence is quadratic at the end. It starts on a sample of 16 rows for each feature, here
# almost half of the rows; this is included in the seconds but not in the passes. **DualCD**
# improves from the first pass on and converges linearly. It skips rows beyond the margin, so later
# sweeps are cheap. ``LinearSVC`` uses the same method; about a third of the passes of DualCD
# compute the duality gap. Stochastic gradient descent reaches a few percent quickly and then slows
# down.

fig, axes = plt.subplots(1, 2, figsize=(10, 4.2), sharey=True, layout="constrained")
for name, trace in traces.items():
    *scales, distance = distances(trace, alpha, best)
    for ax, scale in zip(axes, scales, strict=True):
        ax.plot(scale, distance, c=COLORS[name], lw=1.8, marker="o", ms=3)
labels = {  # index of the labelled point, and offset in points
    "Newton": [(1, (-8, 0)), (1, (-8, 0))],
    "DualCD": [(-1, (6, 0)), (-1, (6, 0))],
    "LinearSVC": [(0, (0, 9)), (-1, (8, 0))],
    "SGDClassifier": [(-1, (8, 0)), (-1, (8, 0))],
}
for name, spots in labels.items():
    *scales, distance = distances(traces[name], alpha, best)
    for ax, scale, (point, aside) in zip(axes, scales, spots, strict=True):
        ax.annotate(
            name,
            (scale[point], distance[point]),
            aside,
            textcoords="offset points",
            c=COLORS[name],
            weight="bold",
            ha="right" if aside[0] < 0 else "left",
            va="center",
        )
axes[0].set(
    xscale="log", yscale="log", ylim=(1e-8, 4), xlim=(0.8, 500), xlabel="passes over the rows"
)
axes[1].set(xscale="log", xlim=(None, 6), xlabel="seconds")
axes[0].set_ylabel("objective / minimum - 1")
for ax in axes:
    ax.grid(axis="y", c="#eeeeee")
    ax.set_axisbelow(True)
fig.suptitle(
    f"Squared hinge loss, {n:,} rows, {Z.shape[1]} features, alpha = {alpha:g}",
    fontsize=13,
    x=0.01,
    ha="left",
)
plt.show()

# %%
# Weak penalties
# --------------
# The best solver depends on the penalty. With a weak penalty, the dual variables of single rows
# can be large, and coordinate descent, which changes one at a time, needs many sweeps. Newton's
# method is hardly affected. The plot shows the seconds to come within 0.1 % of the minimum,
# beyond which predictions hardly change.

alphas = [1e-2, 1e-3, 1e-4, 1e-5, 1e-6]
solvers = {"Newton": Newton(tol=1e-6), "DualCD": DualCD(tol=1e-3)}
seconds = {name: [] for name in solvers}
for penalty in alphas:
    minimum = objective(follow(Newton(tol=1e-12, max_iter=15), penalty)[-1][2], penalty)
    for name, solver in solvers.items():
        _, times, distance = distances(follow(solver, penalty), penalty, minimum)
        seconds[name].append(times[int(np.argmax(np.array(distance) < 1e-3))])

fig, ax = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
for name, values in seconds.items():
    ax.plot(alphas, values, c=COLORS[name], lw=1.8, marker="o", ms=4)
    ax.text(alphas[-1] / 1.25, values[-1], name, c=COLORS[name], weight="bold", va="center")
ax.set(xscale="log", yscale="log", xlim=(2e-2, 1.5e-7), xlabel="alpha", ylabel="seconds")
ax.set_xticks(alphas)
ax.set_title("Seconds to come within 0.1 % of the minimum", loc="left", fontsize=12)
ax.grid(axis="y", c="#eeeeee")
plt.show()

# %%
# Which solver to use
# -------------------
# ``solver="auto"`` uses Newton's method for smooth losses such as the squared hinge, normal
# equations (``"direct"``) or conjugate gradients (``"pcg"``) for the squared loss, and dual
# coordinate descent for nonsmooth losses such as the hinge. Choose ``"dual_cd"`` for strong
# penalties, or if you need a bound on the suboptimality: its tolerance is the duality gap.

for name, values in seconds.items():
    print(name, ", ".join(f"{a:g}: {s:.2f} s" for a, s in zip(alphas, values, strict=True)))
