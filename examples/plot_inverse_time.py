"""
More rows, less time
====================

How long does it take to train a classifier to a given test error? With more training rows, less
time is needed, if the solver is stochastic. Shalev-Shwartz and Srebro (2008) predict this for
Pegasos. This example measures it.
"""

# %%
# With few rows, the minimum of the objective is hardly better than the target, so the solver has to
# come close to the minimum. With many rows, it may stop earlier. A step of Pegasos takes the same
# time for any number of rows.
#
# The data have 200 columns and two classes that overlap: the error of the best possible classifier
# is 25 %. The target is 27 %. The columns are normal, so the error of a linear classifier on new
# rows has a closed form: it is arccos(r) / pi, where r is the correlation of its score with the
# score plus noise from which the labels come.

# sphinx_gallery_thumbnail_number = 1
from time import perf_counter

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.ticker import LogLocator

from skimp.data import open_rows
from skimp.losses import hinge
from skimp.solvers import DualCD, Pegasos, Problem

INK, FAINT, RED, BLUE = "#333333", "#9a9a9a", "#c8443c", "#2166ac"
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
d, n_all, target = 200, 100_000, 0.27
spread = 1 / np.sqrt(np.arange(1, d + 1))
truth = rng.normal(size=d)
truth /= np.linalg.norm(spread * truth)
X = (rng.normal(size=(n_all, d)) * spread).astype(np.float32)
y = np.where(X @ truth + rng.normal(size=n_all) > 0, 1.0, -1.0)[:, None]


def error(coef):
    """Return the expected share of wrong labels on new rows."""
    scaled = spread * coef[:, 0]
    r = scaled @ (spread * truth) / (np.linalg.norm(scaled) * np.sqrt(2))
    return np.arccos(r) / np.pi


print(f"best possible error: {error(truth[:, None]):.3f}")

# %%
# `~skimp.solvers.Pegasos` learns from rows that are drawn at random from the n training rows, in
# blocks, and the error is computed after each block. The time is measured in runs with a single
# block, of which the shortest of three counts. For comparison, `~skimp.solvers.DualCD` makes sweeps
# over the rows until it reaches the target. Both solvers try three penalties, and the fastest
# counts, as in the paper. Numbers are medians over five samples of training rows. The first, tiny
# fits compile the loops.

alphas = [1e-3, 3e-4, 1e-4]
visits = (1000 * 2 ** (np.arange(30) / 4)).astype(int)


def draw(X, y, count, seed):
    """Return rows drawn independently of each other."""
    drawn = np.random.default_rng(seed).integers(len(X), size=count)
    return open_rows(X[drawn], target=y[drawn])


def time_steps(learner, X, y, count):
    """Return the seconds of the shortest of three runs with this number of row visits."""
    seconds = []
    for seed in range(3):
        began = perf_counter()
        learner.learn(draw(X, y, count, seed))
        seconds.append(perf_counter() - began)
    return min(seconds)


def time_pegasos(X, y, alpha):
    """Return row visits and seconds until the target is reached."""
    problem = Problem(open_rows(X, target=y), hinge, alpha, fit_intercept=False)
    start = learner = Pegasos().learner(problem)
    for count, total in zip(np.diff(visits, prepend=0), visits, strict=True):
        learner = learner.learn(draw(X, y, count, seed=total))
        if error(learner.solution().coef) <= target:
            return total, time_steps(start, X, y, total)
    return np.inf, np.inf


def time_dual_cd(X, y, alpha):
    """Return the same for DualCD, which visits all rows in each sweep."""
    times = []

    def monitor(coef, intercept):
        times.append(perf_counter() - began)
        return error(coef) <= target

    began = perf_counter()
    problem = Problem(open_rows(X, target=y), hinge, alpha, fit_intercept=False, monitor=monitor)
    solution = DualCD(max_iter=50).solve(problem)
    return (len(times) * len(X), times[-1]) if error(solution.coef) <= target else (np.inf, np.inf)


def measure(run, n):
    """Return medians over samples of n rows, for the penalty that reaches the target first."""
    starts = np.linspace(0, n_all - n, 5).astype(int)
    samples = [(X[i : i + n], y[i : i + n]) for i in starts]
    medians = [np.median([run(*rows, alpha) for rows in samples], axis=0) for alpha in alphas]
    return min(medians, key=tuple)


for run in (time_pegasos, time_dual_cd):
    run(X[:300], y[:300], alpha=1.0)
sizes = [3500, 3750, 4000, 4500, 5600, 8000, 16_000, 32_000, 64_000, 100_000]
results = {
    name: np.transpose([measure(run, n) for n in sizes])
    for name, run in {"Pegasos": time_pegasos, "DualCD": time_dual_cd}.items()
}

# %%
# With 3,500 rows, the target is barely within reach, and Pegasos visits each row almost twenty
# times. With 16,000 rows or more, it needs a tenth of the visits, and does not use most of the
# rows. The decrease is steep at first and then ends: some thousand rows are necessary to learn 200
# coefficients, however many are available.
#
# DualCD does not reach the target with 3,500 rows in 50 sweeps. With a few more, it takes about as
# long as Pegasos. Then its time grows with the number of rows, because even a single sweep visits
# all of them. You can pass it some of the rows only, so the fair comparison is with its minimum,
# which is two to three times the time of Pegasos with many rows.

fig, axes = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
colors = {"Pegasos": RED, "DualCD": BLUE}
axes[0].plot(sizes, sizes, c=FAINT, lw=1, ls="--")
axes[0].text(4700, 4200, "one pass over the rows", c=FAINT)
for name, values in results.items():
    for ax, value in zip(axes, values, strict=True):
        ax.plot(sizes, value, c=colors[name], lw=1.8, marker="o", ms=3)
        ax.text(sizes[-1], 1.2 * max(value[-3:]), name, c=colors[name], weight="bold", ha="right")
axes[0].set_ylabel("row visits")
axes[1].set_ylabel("seconds")
for ax in axes:
    ax.set(xscale="log", yscale="log", xlabel="training rows")
    ticks = [4000, 8000, 16_000, 32_000, 64_000]
    ax.set_xticks(ticks, labels=[f"{n:,}" for n in ticks])
    ax.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    ax.yaxis.set_major_formatter("{x:,g}")
    ax.minorticks_off()
    ax.grid(axis="y", c="#eeeeee")
    ax.set_axisbelow(True)
fig.suptitle("Work until the error is 27 %", fontsize=13, x=0.01, ha="left")
plt.show()

for name, (counts, seconds) in results.items():
    for i in (1, 4, -1):
        cost = f"{counts[i]:,.0f} row visits, {1000 * seconds[i]:.1f} ms"
        print(f"{name} with {sizes[i]:,} rows: {cost}")
