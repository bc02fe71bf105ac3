"""
Stochastic and exact solvers
============================

Stochastic solvers take a small step for each row. They come near the minimum of the objective in a
few passes over the rows, and most of them then improve slowly. This example compares them with
solvers that converge to the minimum. The plots follow figures 4 and 5 of Shalev-Shwartz, Singer,
Srebro and Cotter (2011).
"""

# %%
# There are two problems with two overlapping classes: a linear one with 100,000 rows and 100
# columns, and one for which a Gaussian kernel is needed, with 30,000 rows and 300 landmarks. The
# features of the landmarks are computed once, before the clock starts. All solvers minimize the
# same objective, without an intercept, which Pegasos would penalize.

# sphinx_gallery_thumbnail_number = 1
from time import perf_counter

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.ticker import LogLocator

from skimp.data import open_rows
from skimp.features import Nystroem
from skimp.kernels import Gaussian
from skimp.losses import hinge, log
from skimp.solvers import SARAH, SGD, DualCD, Newton, Pegasos, Problem

INK, FAINT = "#333333", "#9a9a9a"
COLORS = {
    "Pegasos": "#c8443c",
    "SGD": "#d8973c",
    "DualCD": "#2166ac",
    "Newton": "#333333",
    "SARAH": "#3a9a5b",
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
n_test = 20_000


def labels(score, noise):
    """Return labels 1 and -1 from a score plus noise."""
    return np.where(score + rng.normal(0, noise, len(score)) > 0, 1.0, -1.0)[:, None]


X = rng.normal(size=(100_000 + n_test, 100)) / np.sqrt(np.arange(1, 101))
X = (X / np.sqrt(np.mean(np.sum(X**2, axis=1)))).astype(np.float32)
score = X @ rng.normal(size=100)
linear = X, labels(score, 0.4 * score.std())

X = rng.normal(size=(30_000 + n_test, 8)).astype(np.float32)
score = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + np.cos(X[:, 3]) - 0.5
features = Nystroem(Gaussian(gamma=0.1), budget=300, random_state=0).fit_transform(X)
kernel = features, labels(score, 0.5)

# %%
# A solver calls the problem's ``monitor`` after each pass. The objective and the error on 20,000
# test rows are computed afterwards, so that only the solver is timed. The first, tiny fits compile
# the loops. `~skimp.solvers.SGD` chooses its step size by trials, which are included in the time.


def follow(solver, Z, y, loss, alpha):
    """Return seconds and coefficients after each iteration."""
    trace = []

    def monitor(coef, intercept):
        trace.append((perf_counter() - start, coef))
        return False

    source = open_rows(Z, target=y)
    problem = Problem(source, loss, alpha, fit_intercept=False, monitor=monitor)
    start = perf_counter()
    solver.solve(problem)
    return trace


def compare(solvers, data, loss, alpha, exact):
    """Return seconds, relative distances from the minimum and test errors of each solver."""
    (Z, Z_test), (y, y_test) = ((part[:-n_test], part[-n_test:]) for part in data)

    def run(solver):
        seconds, coefs = zip(*follow(solver, Z, y, loss, alpha), strict=True)
        C = np.hstack(coefs)
        objectives = np.mean(loss.value(y, Z @ C.astype(np.float32)), axis=0)
        objectives += alpha * np.sum(C**2, axis=0)
        errors = 100 * np.mean(np.sign(Z_test @ C.astype(np.float32)) != y_test, axis=0)
        return seconds, objectives, errors

    best = run(exact)[1][-1]
    traces = {}
    for name, solver in solvers.items():
        follow(solver, Z[:300], y[:300], loss, alpha=1.0)
        seconds, objectives, errors = run(solver)
        traces[name] = seconds, objectives / best - 1, errors
    return traces


def draw(axes, traces, row):
    """Draw the distances (row 0) or the errors (row 1) of solvers in all tasks."""
    for ax, title in zip(axes, tasks, strict=True):
        for name, (seconds, *values) in traces[title].items():
            ax.plot(seconds, values[row], c=COLORS[name], lw=1.8, marker="o", ms=3, label=name)
        ax.set(xscale="log", xlabel="seconds")
        ax.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        ax.xaxis.set_major_formatter("{x:g}")
        ax.minorticks_off()
        ax.grid(axis="y", c="#eeeeee")
        ax.set_axisbelow(True)
        if row == 0:
            ax.set(yscale="log", ylim=(1e-6, 1))
            ax.set_yticks([1e-6, 1e-4, 1e-2, 1])
            ax.set_title(title, loc="left")
    axes[0].set_ylabel(["objective / minimum - 1", "test error in %"][row])


# %%
# Support vector machines
# -----------------------
# After one pass over the rows, `~skimp.solvers.Pegasos` and `~skimp.solvers.SGD` have almost the
# test error of the minimum. `~skimp.solvers.DualCD` needs three or four sweeps for that. The
# distance of a stochastic solver from the minimum then falls about as 1 / t after t steps, and that
# of DualCD much faster. These last digits of the objective do not change the test error.
#
# Pegasos is far from the minimum at first, because its first steps, of size 1 / (2 alpha t), are
# too long. Its coefficients are too large then, which does not change the predicted classes.

solvers = {
    "Pegasos": Pegasos(tol=1e-9, max_iter=15),
    "SGD": SGD(tol=1e-9, max_iter=15),
    "DualCD": DualCD(tol=1e-5),
}
tasks = {"Linear, 100,000 rows": linear, "Gaussian kernel, 30,000 rows": kernel}
alpha = 1e-5
svm = {
    title: compare(solvers, data, hinge, alpha, DualCD(tol=1e-6, max_iter=5000))
    for title, data in tasks.items()
}

fig, axes = plt.subplots(2, 2, figsize=(10, 6.6), layout="constrained")
for row in range(2):
    draw(axes[row], svm, row)
axes[0, 0].legend(frameon=False)
fig.suptitle(f"Hinge loss, alpha = {alpha:g}", fontsize=13, x=0.01, ha="left")
plt.show()

# %%
# Logistic regression
# -------------------
# For smooth losses there are also Newton's method, which takes few iterations of several passes
# each, and `~skimp.solvers.SARAH`. SARAH takes stochastic steps, but starts each iteration with the
# gradient of all rows. The noise of its steps therefore vanishes at the minimum, and the distance
# falls by a constant factor in each iteration. SARAH, Newton and DualCD overtake Pegasos and SGD at
# a distance between 1 % and 0.01 %.

solvers |= {"Newton": Newton(tol=1e-8), "SARAH": SARAH(tol=1e-6)}
logistic = {
    title: compare(solvers, data, log, alpha, Newton(tol=1e-12, max_iter=50))
    for title, data in tasks.items()
}

fig, axes = plt.subplots(1, 2, figsize=(10, 3.6), layout="constrained")
draw(axes, logistic, 0)
axes[0].legend(frameon=False)
fig.suptitle(f"Logistic loss, alpha = {alpha:g}", fontsize=13, x=0.01, ha="left")
plt.show()

for title, traces in svm.items():
    for name, (seconds, distances, errors) in traces.items():
        first = f"{seconds[0]:.2f} s, {distances[0]:.1e}, {errors[0]:.1f} %"
        last = f"{seconds[-1]:.2f} s, {distances[-1]:.1e}, {errors[-1]:.1f} %"
        print(f"{title}, {name}: {first} after one pass; {last} at the end")
