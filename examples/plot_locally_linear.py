"""
Linear models that change from place to place
=============================================

`~skimp.LocallyLinearClassifier` fits a linear model at each of a few anchor points, and mixes the
models of the nearest anchors. Its boundary is curved, and near any row the model is still linear:
it has a weight for each column, which says what decides the class there.
"""

# %%
# From one line to a curve
# ------------------------
# Two spirals, with 1, 10 and 60 anchors (dots) by k-means. With one anchor the model is a linear
# support vector machine. The arrows show the local weights: the direction in which the score grows
# fastest if the coordinates are held fixed.

import matplotlib.pyplot as plt
import numpy as np

from skimp import LocallyLinearClassifier

INK, RED, BLUE, FAINT = "#333333", "#c8443c", "#2166ac", "#b4b4b4"
plt.rcParams.update(
    {
        "figure.dpi": 130,
        "font.size": 9.5,
        "axes.titlesize": 10,
        "axes.edgecolor": FAINT,
        "axes.spines.top": False,
        "axes.spines.right": False,
    }
)
rng = np.random.default_rng(0)


def spirals(n):
    """Return rows on two noisy spirals, and which spiral they are on."""
    y = rng.integers(0, 2, n)
    angle = np.sqrt(rng.random(n)) * 3 * np.pi
    turned = angle + np.pi * y
    points = np.c_[np.cos(turned), np.sin(turned)] * angle[:, None] / 3
    return points + rng.normal(0, 0.17, (n, 2)), y


X, y = spirals(3000)
X_test, y_test = spirals(3000)
grid = np.linspace(-3.7, 3.7, 300)
plane = np.stack(np.meshgrid(grid, grid), axis=-1).reshape(-1, 2)
fig, axes = plt.subplots(1, 3, figsize=(11, 4), layout="constrained")
for ax, n_anchors in zip(axes, (1, 10, 60), strict=True):
    model = LocallyLinearClassifier(n_anchors, n_neighbors=4, random_state=0).fit(X, y)
    score = model.decision_function(plane).reshape(300, 300)
    ax.contourf(grid, grid, score, [-1e9, 0, 1e9], colors=[BLUE, RED], alpha=0.12)
    ax.contour(grid, grid, score, [0], colors=INK, linewidths=1)
    ax.scatter(*X[:1000].T, s=3, c=np.where(y[:1000], RED, BLUE), linewidths=0)
    anchors = model.anchors_
    weights = model.local_coef(anchors)
    arrows = 0.5 * weights / np.linalg.norm(weights, axis=1, keepdims=True)
    ax.quiver(*anchors.T, *arrows.T, angles="xy", scale_units="xy", scale=1, width=0.005, color=INK)
    ax.scatter(*anchors.T, s=18, c=INK, edgecolors="white", linewidths=0.6, zorder=3)
    error = 1 - model.score(X_test, y_test)
    plural = "" if n_anchors == 1 else "s"
    ax.set_title(f"{n_anchors} anchor{plural}: test error {error:.1%}", loc="left")
    ax.set(aspect="equal", xticks=[], yticks=[])
plt.show()

# %%
# Which columns matter where
# --------------------------
# There are ten columns. If the first one is negative, the class depends on the second column, and
# otherwise on the third; the other seven are noise. A linear model needs a single weight for each
# column. `~skimp.LocallyLinearClassifier.local_coef` gives one for each row. Here it is averaged
# over rows with similar values of the first column.

X = rng.normal(size=(20_000, 10))
X[:, 0] *= 3
y = np.where(X[:, 0] < 0, X[:, 1], X[:, 2]) + rng.normal(0, 0.3, len(X)) > 0
model = LocallyLinearClassifier(30, random_state=0).fit(X[:10_000], y[:10_000])
linear = LocallyLinearClassifier(1, random_state=0).fit(X[:10_000], y[:10_000])
errors = [1 - m.score(X[10_000:], y[10_000:]) for m in (linear, model)]

weights = model.local_coef(X[10_000:])
edges = np.linspace(-6, 6, 25)
bins = np.digitize(X[10_000:, 0], edges)
means = np.array([weights[bins == i].mean(axis=0) for i in range(1, len(edges))])
middles = (edges[1:] + edges[:-1]) / 2
fig, ax = plt.subplots(figsize=(7.5, 3.8), layout="constrained")
ax.plot(middles, means[:, 3:], color=FAINT, linewidth=0.9)
ax.plot(middles, means[:, 1], color=BLUE, linewidth=2)
ax.plot(middles, means[:, 2], color=RED, linewidth=2)
ax.text(-6, means[0, 1], "second column ", color=BLUE, ha="right", va="center")
ax.text(6, means[-1, 2], " third column", color=RED, va="center")
ax.text(6, 0, " noise columns", color=INK, va="center")
ax.set(xlabel="first column", ylabel="mean local weight", xlim=(-9.2, 9.2))
ax.set_title(
    f"Weights near each row: test error {errors[1]:.1%}, linear model {errors[0]:.1%}", loc="left"
)
plt.show()
