"""
What each loss makes of a row
=============================

A loss says what a prediction costs. Its shape decides which rows pull at the model, and what the
model estimates: a mean, a quantile, a probability, or a side.
"""

# %%
# Classification
# --------------
# The cost depends on y f, which is positive where the side is right. The hinge losses are zero
# beyond 1: rows there do not matter any more. The logistic loss never is, and turns predictions
# into probabilities. The squared loss punishes predictions that are right by too much.
#
# Regression
# ----------
# The cost depends on y - f. Squares follow every outlier. Huber's loss ends in lines, the
# insensitive loss forgives small errors, and the quantile loss leans to one side.

# sphinx_gallery_thumbnail_number = 2
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from skimp import KernelClassifier, KernelRegressor
from skimp.budgets import Fixed
from skimp.features import Nystroem
from skimp.kernels import Gaussian
from skimp.losses import (
    EpsilonInsensitive,
    Huber,
    Quantile,
    hinge,
    log,
    squared,
    squared_hinge,
)

INK, RED, BLUE, FAINT = "#333333", "#c8443c", "#2166ac", "#9a9a9a"
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

f = np.linspace(-2.5, 2.5, 301)
panels = [
    (
        "Classification: the cost of a prediction f where y = 1",
        np.ones_like(f),
        [
            (squared, "squared", FAINT, (1.4, 1.4)),
            (squared_hinge, "squared_hinge", RED, (-0.62, 2.9)),
            (hinge, "hinge", BLUE, (-1.62, 2.75)),
            (log, "log", INK, (-2.3, 1.95)),
        ],
    ),
    (
        "Regression: the cost of a prediction f where y = 0",
        np.zeros_like(f),
        [
            (squared, "squared", FAINT, (1.05, 3.2)),
            (Huber(0.5), "Huber(0.5)", RED, (1.6, 2.2)),
            (EpsilonInsensitive(0.5), "EpsilonInsensitive(0.5)", BLUE, (-2.45, 0.28)),
            (Quantile(0.9), "Quantile(0.9)", "#d8973c", (1.6, 0.32)),
        ],
    ),
]
fig, axes = plt.subplots(1, 2, figsize=(11, 4.1), sharey=True, layout="constrained")
for ax, (title, y, losses) in zip(axes, panels, strict=True):
    for loss, name, color, spot in losses:
        ax.plot(f, loss.value(y, f), c=color, lw=1.8)
        ax.text(*spot, name, c=color, family="monospace", fontsize=8.5)
    ax.set_title(title, loc="left")
    ax.set(xlabel="f", ylim=(-0.08, 3.6), xlim=(-2.5, 2.5))
plt.show()

# %%
# A mean, a robust mean, and quantiles
# ------------------------------------
# The same rows, the same kernel. On the left a few rows are far off, and Huber's loss lets them
# pull with a bounded force. On the right the spread of y grows, and three quantiles tell how far.

rng = np.random.default_rng(0)
t = np.sort(rng.uniform(-3, 3, 600))
line = np.linspace(-3, 3, 300)[:, None]
wave = np.sin(2 * t)
spoiled = wave + rng.normal(0, 0.15, len(t))
off = rng.choice(np.flatnonzero((t > -0.5) & (t < 1.5)), 45, replace=False)
spoiled[off] -= rng.uniform(2, 5, len(off))
spread = wave + rng.normal(0, 0.05 + 0.15 * (t + 3), len(t))


def curve(loss, y):
    """Return the fitted function on a line."""
    model = KernelRegressor(Gaussian(gamma=1.0), approximation=40, loss=loss, alpha=1e-3)
    return model.set_params(random_state=0).fit(t[:, None], y).predict(line)


fig, axes = plt.subplots(1, 2, figsize=(11, 4.1), layout="constrained")
axes[0].scatter(t, spoiled, s=5, c=FAINT, linewidths=0)
axes[0].plot(line, curve("squared", spoiled), c=BLUE, lw=1.8)
axes[0].plot(line, curve(Huber(0.3), spoiled), c=RED, lw=1.8)
axes[0].text(1.0, -1.3, "squared", c=BLUE, weight="bold")
axes[0].text(1.3, 1.25, "Huber(0.3)", c=RED, weight="bold")
axes[0].set_title("Outliers pull at the mean", loc="left")
axes[1].scatter(t, spread, s=5, c=FAINT, linewidths=0)
for share in (0.1, 0.5, 0.9):
    q = curve(Quantile(share), spread)
    axes[1].plot(line, q, c=RED, lw=1.8)
    axes[1].text(3.05, q[-1], f"{share:.0%}", c=RED, weight="bold", va="center")
below = np.mean(spread < np.interp(t, line[:, 0], curve(Quantile(0.9), spread)))
axes[1].set_title(f"Quantiles: {below:.0%} of the rows are below the upper curve", loc="left")
plt.show()

# %%
# Landmarks where it matters
# --------------------------
# Rows that cost nothing tell where the border is *not*. So fit a small model, and draw the
# landmarks of the final one from rows that cost something: those with a margin y f below 1 in any
# of the outputs.


def with_cost(model, X, y):
    """Return the rows that are within the margin of any of the functions."""
    Y = np.where(y[:, None] == model.classes_, 1, -1)
    return X[(Y * model.decision_function(X) < 1).any(axis=1)]


X, y = load_digits(return_X_y=True)
model = KernelClassifier(Gaussian(gamma=0.3), alpha=1e-4)
sizes, splits = [50, 100, 200, 400], range(5)
accuracy = np.empty((2, len(sizes), len(splits)))
for split in splits:
    X_train, X_test, y_train, y_test = train_test_split(
        X / 16, y, test_size=0.5, random_state=split
    )
    model.set_params(approximation=100, random_state=split).fit(X_train, y_train)
    pool = np.random.default_rng(split).permutation(with_cost(model, X_train, y_train))
    for column, m in enumerate(sizes):
        landmarks = Nystroem(budget=m, selector=Fixed(pool))
        anywhere = Nystroem(budget=m, selector="uniform")
        for row, approximation in enumerate((anywhere, landmarks)):
            model.set_params(approximation=approximation).fit(X_train, y_train)
            accuracy[row, column, split] = model.score(X_test, y_test)
mean = 100 * accuracy.mean(axis=2)

# %%
# On handwritten digits that pays once there are enough landmarks. It does not always: where a few
# landmarks must cover the plane, as for the spirals of :ref:`sphx_glr_gallery_plot_first_model.py`,
# those that the margin leaves out are missed.

fig, ax = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
for values, name, color in zip(mean, ("any rows", "rows that cost"), (BLUE, RED), strict=True):
    ax.plot(sizes, values, c=color, lw=1.8, marker="o", ms=4)
    ax.text(430, values[-1], name, c=color, weight="bold", va="center")
ax.set(xscale="log", xlim=(45, 800), xlabel="landmarks", ylabel="accuracy in %")
ax.set_xticks(sizes, [str(m) for m in sizes])
ax.minorticks_off()
ax.set_title(f"Digits, {len(X_train)} training rows, mean of {len(splits)} splits", loc="left")
plt.show()

for m, (uniform, chosen) in zip(sizes, mean.T, strict=True):
    print(f"{m:4d} landmarks: {uniform:.2f} % drawn from all rows, {chosen:.2f} % from costly ones")
