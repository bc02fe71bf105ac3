"""
Losses and what they estimate
=============================

The loss is the cost of a prediction. Its shape determines how much each row influences the model,
and whether the model estimates a mean, a quantile, a probability or a class.
"""

# %%
# Classification
# --------------
# The loss depends on the margin y f, which is positive if the predicted class is correct. The
# hinge losses are zero for margins above 1, so these rows do not influence the model. The logistic
# loss is always positive and gives probabilities. The squared loss also penalizes margins above 1.
#
# Regression
# ----------
# The loss depends on the residual y - f. The squared loss is sensitive to outliers. The Huber loss
# is linear for large residuals. The epsilon-insensitive loss ignores small residuals. The quantile
# loss is asymmetric.

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
        "Classification: loss of a prediction f for y = 1",
        np.ones_like(f),
        [
            (squared, "squared", FAINT, (1.4, 1.4)),
            (squared_hinge, "squared_hinge", RED, (-0.62, 2.9)),
            (hinge, "hinge", BLUE, (-1.62, 2.75)),
            (log, "log", INK, (-2.3, 1.95)),
        ],
    ),
    (
        "Regression: loss of a prediction f for y = 0",
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
# Means and quantiles
# -------------------
# All models use the same kernel. On the left, a few rows are outliers, and the Huber loss limits
# their influence. On the right, the spread of y increases with x, and three quantiles show it.

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
axes[0].set_title("Outliers: squared and Huber loss", loc="left")
axes[1].scatter(t, spread, s=5, c=FAINT, linewidths=0)
for share in (0.1, 0.5, 0.9):
    q = curve(Quantile(share), spread)
    axes[1].plot(line, q, c=RED, lw=1.8)
    axes[1].text(3.05, q[-1], f"{share:.0%}", c=RED, weight="bold", va="center")
below = np.mean(spread < np.interp(t, line[:, 0], curve(Quantile(0.9), spread)))
axes[1].set_title(f"Quantiles: {below:.0%} of the rows are below the upper curve", loc="left")
plt.show()

# %%
# Landmarks near the decision boundary
# ------------------------------------
# Only rows with a margin below 1 have a nonzero hinge loss. This example fits a small model and
# draws the landmarks of the final model from the rows with a margin below 1 in any of the outputs.


def with_cost(model, X, y):
    """Return whether the margin of a row is below 1 in any of the outputs."""
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
# On handwritten digits this improves the accuracy from 100 landmarks on. It can also fail: if few
# landmarks have to cover the plane, as for the spirals of
# :ref:`sphx_glr_gallery_plot_first_model.py`, the rows beyond the margin are needed too.

fig, ax = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
for values, name, color in zip(
    mean, ("all rows", "rows near the boundary"), (BLUE, RED), strict=True
):
    ax.plot(sizes, values, c=color, lw=1.8, marker="o", ms=4)
    ax.text(430, values[-1], name, c=color, weight="bold", va="center")
ax.set(xscale="log", xlim=(45, 800), xlabel="landmarks", ylabel="accuracy in %")
ax.set_xticks(sizes, [str(m) for m in sizes])
ax.minorticks_off()
ax.set_title(f"Digits, {len(X_train)} training rows, mean of {len(splits)} splits", loc="left")
plt.show()

for m, (uniform, chosen) in zip(sizes, mean.T, strict=True):
    print(f"{m:4d} landmarks: all rows {uniform:.2f} %, near the boundary {chosen:.2f} %")
