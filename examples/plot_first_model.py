"""
A first model, at three budgets
===============================

A kernel model on a budget is a weighted sum of kernel functions at a few landmarks. More landmarks
give a more detailed decision boundary and cost more time. This example classifies two interleaved
spirals with 10, 50 and 500 landmarks.
"""

# %%
# The data are two spirals, one for each class.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import train_test_split

from skimp import KernelClassifier
from skimp.kernels import Gaussian

rng = np.random.default_rng(0)
n = 6000
y = rng.integers(2, size=n)
turn = 3.5 * np.pi * np.sqrt(rng.uniform(0.02, 1.0, n))
angle = turn + np.pi * y
X = np.column_stack([turn * np.cos(angle), turn * np.sin(angle)]) / 11
X += rng.normal(scale=0.05, size=X.shape)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)

# %%
# The three models differ only in the number of landmarks. An integer ``approximation`` means that
# many landmarks. For a classifier they are k-means centres, equally many for each class.

budgets = [10, 50, 500]
models = [
    KernelClassifier(Gaussian(gamma=15.0), approximation=m, alpha=1e-5, random_state=0).fit(
        X_train, y_train
    )
    for m in budgets
]
scores = [model.score(X_test, y_test) for model in models]

# %%
# The colour is the decision function, the line is its zero level, and the white points are the
# landmarks. Ten landmarks do not cover every arm of the spirals. With fifty or more, the boundary
# follows the gap between them.

side = np.linspace(-1.25, 1.25, 200)
grid = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
shown = rng.choice(len(X_test), size=600, replace=False)
colors = np.array(["#2166ac", "#b2182b"])

fig, axes = plt.subplots(1, 3, figsize=(11, 4.1), layout="constrained")
for ax, m, model, score in zip(axes, budgets, models, scores, strict=True):
    f = model.decision_function(grid).reshape(len(side), len(side))
    ax.imshow(f, extent=(-1.25, 1.25) * 2, origin="lower", cmap="RdBu_r", vmin=-2.5, vmax=2.5)
    ax.contour(side, side, f, levels=[0.0], colors="#222222", linewidths=1.5)
    ax.scatter(*X_test[shown].T, s=5, c=colors[y_test[shown]], linewidths=0)
    B = model.approximation_.budget_.points
    ax.scatter(*B.T, s=np.interp(m, [10, 500], [45, 5]), c="white", edgecolors="black", lw=0.7)
    ax.set_title(f"{m} landmarks, accuracy {score:.3f}")
    ax.set(xticks=[], yticks=[])
fig.suptitle(f"Gaussian kernel on {len(X_train):,} training rows")
plt.show()

# %%
# The squared hinge loss needs a few passes over the rows. With ``loss="squared"``, a fit is one
# pass and one factorization of an m x m matrix for m landmarks.

for m, score in zip(budgets, scores, strict=True):
    print(f"{m:4d} landmarks: accuracy {score:.3f}")
