"""
Selecting landmarks
===================

Landmarks are a few points that represent all rows. They are selected at random, by clustering, by
hashing, or sequentially. The quality of landmarks can be measured before a model is trained.
"""

# %%
# Where the landmarks are
# -----------------------
# Nine tenths of the rows are in the dense blob, the others on a ring. Uniform rows follow the
# density. K-means centres are more spread out, and so are rows selected by what the previous ones
# do not represent (`RPCholesky`). Medoids of hash buckets (`DBH`) are close to the centre.
# `Balanced` selects equally many points of both classes.

# sphinx_gallery_thumbnail_number = 2
import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import spearmanr
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from skimp import KernelClassifier
from skimp.budgets import (
    DBH,
    Agglomerative,
    Balanced,
    ColumnSubset,
    Fixed,
    KMeans,
    Leverage,
    RPCholesky,
    Uniform,
)
from skimp.diagnostics import budget_quality
from skimp.features import Nystroem
from skimp.kernels import Gaussian
from skimp.report import SelectorDisplay

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
blob = rng.normal(0, 0.35, (2700, 2))
angle = rng.uniform(0, 2 * np.pi, 300)
ring = 2 * np.c_[np.cos(angle), np.sin(angle)] + rng.normal(0, 0.12, (300, 2))
X = np.vstack([blob, ring])
y = np.repeat(["blob", "ring"], [2700, 300])
kernel = Gaussian(gamma=1.0)
rules = {
    "Uniform()": Uniform(),
    "KMeans()": KMeans(),
    "Balanced(KMeans())": Balanced(KMeans()),
    "DBH()": DBH(),
    "Agglomerative()": Agglomerative(),
    "ColumnSubset()": ColumnSubset(),
    "Leverage()": Leverage(),
    "RPCholesky()": RPCholesky(),
}
fig, axes = plt.subplots(2, 4, figsize=(11, 5.9), layout="constrained")
for ax, (name, rule) in zip(axes.flat, rules.items(), strict=True):
    budget = rule.select(X, 24, kernel, np.random.default_rng(1), y)
    quality = budget_quality(budget, kernel, X)
    ax.scatter(*X.T, s=2, c=FAINT, linewidths=0)
    ax.scatter(*budget.points.T, s=26, c=RED, edgecolors="white", linewidths=0.6)
    ax.set_title(f"{name}\nresidual trace {quality.residual_trace:.2%}", loc="left")
    ax.set(aspect="equal", xticks=[], yticks=[])
plt.show()

# %%
# Quality against size and time
# -----------------------------
# `SelectorDisplay` selects landmarks by several rules and shows the share of the kernel matrix's
# trace that they do not represent, without training a model. It also returns its data as a frame.

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X / 16, y, random_state=0)
kernel = Gaussian(gamma=0.3)
digits = {name: rule for name, rule in rules.items() if name != "ColumnSubset()"}
display = SelectorDisplay.from_data(
    digits, kernel, X_train, y_train, sizes=[10, 20, 40, 80, 160], repeats=2
).plot()
display.figure_.suptitle("Digits: residual trace of landmarks, before training", x=0.01, ha="left")
plt.show()

# %%
# Does it predict the test error?
# -------------------------------
# A model is trained on each of 56 sets of landmarks. Left: the residual trace distinguishes sizes
# but hardly rules, and rules that use labels are better than it predicts. Right: if labels are
# available, the leave-one-out error on a sample predicts the test error well. The sample is all
# rows here.

found = []
for name, rule in digits.items():
    for size in (10, 20, 40, 80):
        for seed in range(2):
            budget = rule.select(X_train, size, kernel, np.random.default_rng(seed), y_train)
            quality = budget_quality(budget, kernel, X_train, y_train)
            points = Nystroem(budget=size, selector=Fixed(budget.points))
            model = KernelClassifier(kernel, approximation=points, loss="squared")
            error = 1 - model.fit(X_train, y_train).score(X_test, y_test)
            found.append((name, quality.residual_trace, quality.sample_error, error))

labelled = np.array([name.startswith("Balanced") for name, *_ in found])
missed, sampled, error = np.array([values for _, *values in found]).T
fig, axes = plt.subplots(1, 2, figsize=(10, 4.2), sharey=True, layout="constrained")
for ax, before, label in zip(
    axes, (missed, sampled), ("residual_trace", "sample_error"), strict=True
):
    ax.scatter(before[~labelled], error[~labelled], s=16, c=BLUE, label="rules without labels")
    ax.scatter(before[labelled], error[labelled], s=16, c=RED, label="Balanced(KMeans())")
    ax.set(xscale="log", yscale="log", xlabel=f"{label}, before training")
    correlation = spearmanr(before, error).statistic
    ax.set_title(f"{label}: rank correlation {correlation:.2f}", loc="left")
axes[0].set_ylabel("test error, after training")
axes[0].legend(frameon=False)
plt.show()
