"""
Batch sizes and row orders of Pegasos
=====================================

`~skimp.solvers.Pegasos` visits the rows in random order and takes a step after each batch of rows.
This example shows how the batch size and the order affect its distance from the minimum. The plots
follow figures 7 and 8 of Shalev-Shwartz, Singer, Srebro and Cotter (2011).
"""

# %%
# The problem is a linear SVM: the hinge loss, 4,096 rows and 50 columns. ``history`` has the
# objective after each pass, and `~skimp.solvers.DualCD` finds the minimum. All results are means of
# four runs with different seeds.

# sphinx_gallery_thumbnail_number = 1
import matplotlib.pyplot as plt
import numpy as np

from skimp.data import open_rows
from skimp.losses import hinge
from skimp.solvers import DualCD, Pegasos, Problem

INK, FAINT = "#333333", "#9a9a9a"
RED, BLUE = "#c8443c", "#2166ac"
BLUES = ["#8fc0de", "#4292c6", "#2166ac", "#08306b"]
REDS = ["#f0a58f", "#e0705a", "#c8443c", "#7f1d1d"]
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
n, d, alpha = 4096, 50, 1e-4
X = rng.normal(size=(n, d)) / np.sqrt(np.arange(1, d + 1))
X /= np.sqrt(np.mean(np.sum(X**2, axis=1)))
score = X @ rng.normal(size=d)
y = np.where(score + rng.normal(0, 0.4 * score.std(), n) > 0, 1.0, -1.0)
problem = Problem(open_rows(X, target=y[:, None]), hinge, alpha, fit_intercept=False)
best = DualCD(tol=1e-8, max_iter=10_000).solve(problem).history[-1]


def distance(passes, seeds=4, **options):
    """Return the mean relative distance from the minimum after each pass."""
    solvers = [
        Pegasos(**options, tol=1e-12, max_iter=passes, random_state=seed) for seed in range(seeds)
    ]
    return np.mean([solver.solve(problem).history for solver in solvers], axis=0) / best - 1


# %%
# Batch size
# ----------
# The gradient of a batch of k rows has 1/k of the variance of the gradient of a single row, but the
# same number of row visits gives 1/k as many steps. The two effects cancel. With a fixed number of
# row visits (left), the batch size therefore makes no difference, as long as there are enough
# steps. The first steps, of size 1 / (2 alpha t), are too long, and it takes some thousand steps to
# correct them. With a fixed number of steps (right), larger batches help, first in proportion to
# their size and then less, when the number of steps is the limit.
#
# Both plots show the same runs. Large batches do not save time here, because the compiled loop
# visits the rows of a batch one after the other. The default is a batch of one row.

passes = 64
sizes = 4 ** np.arange(7)
runs = np.array([distance(passes, batch_size=k, order="iid") for k in sizes.tolist()])


def draw(ax, x, values, label, color, point, aside):
    """Draw a curve with a label beside one of its points."""
    ax.plot(x, values, c=color, lw=1.8, marker="o", ms=3)
    spot = {"xy": (x[point], values[point]), "xytext": aside, "textcoords": "offset points"}
    ax.annotate(label, **spot, c=color, weight="bold", va="center")


fig, axes = plt.subplots(1, 2, figsize=(10, 4.2), sharey=True, layout="constrained")
for color, p in zip(BLUES, (1, 4, 16, 64), strict=True):
    draw(axes[0], sizes, runs[:, p - 1], f"{p * n:,} row visits", color, 0, (0, 9))
for color, steps in zip(REDS, (32, 256, 2048, 16_384), strict=True):
    # those batch sizes with which the steps are a whole number of passes
    whole = (steps * sizes % n == 0) & (steps * sizes <= passes * n)
    values = runs[whole, steps * sizes[whole] // n - 1]
    aside = (-44, 9) if steps == 32 else (6, 0)
    draw(axes[1], sizes[whole], values, f"{steps:,} steps", color, -1, aside)
axes[0].set(xscale="log", yscale="log", xlabel="rows in a batch")
axes[1].set(xscale="log", xlabel="rows in a batch")
axes[0].set_ylabel("objective / minimum - 1")
axes[0].set_title("Fixed number of row visits", loc="left")
axes[1].set_title("Fixed number of steps", loc="left")
for ax in axes:
    ax.set_xticks(sizes, labels=[f"{k:,}" for k in sizes], minor=False)
    ax.minorticks_off()
    ax.grid(axis="y", c="#eeeeee")
    ax.set_axisbelow(True)
fig.suptitle(f"Pegasos, hinge loss, {n:,} rows, alpha = {alpha:g}", fontsize=13, x=0.01, ha="left")
plt.show()

# %%
# Row order
# ---------
# ``order="iid"`` draws each row independently of the others. In a pass, it misses about a third of
# the rows and visits others several times. ``"fixed"`` visits each row once in a pass, always in
# the same random order. ``"reshuffled"``, the default, draws a new order for each pass. If each
# row is visited once, the errors of the gradients partly cancel within a pass. With a fixed order,
# the remaining errors are the same in each pass and do not average out.

passes = 40
colors = {"iid": FAINT, "fixed": BLUE, "reshuffled": RED}
orders = {order: distance(passes, seeds=6, order=order) for order in colors}

fig, ax = plt.subplots(figsize=(6.4, 4.0), layout="constrained")
for (order, values), place in zip(orders.items(), ("bottom", "top", "center"), strict=True):
    ax.plot(np.arange(1, passes + 1), values, c=colors[order], lw=1.8)
    ax.text(passes * 1.04, values[-1], order, c=colors[order], weight="bold", va=place)
ax.set(xscale="log", yscale="log", xlabel="passes over the rows", ylabel="objective / minimum - 1")
ax.set_xlim(1, 75)
ax.set_xticks([1, 2, 5, 10, 20, 40], labels=["1", "2", "5", "10", "20", "40"])
ax.set_title("Order of the rows, batches of one row", loc="left", fontsize=12)
ax.grid(axis="y", c="#eeeeee")
plt.show()

for order, values in orders.items():
    print(f"{order}: {values[9]:.1e} after 10 passes, {values[-1]:.1e} after {passes}")
