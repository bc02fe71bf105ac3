"""
Which points stand for the data
===============================

A budget is a few points that stand for all rows. Rules choose them by luck, by clusters, by hashing
or by what earlier points miss. What a budget is worth can be told before anything is trained.
"""

# %%
# Where the points go
# -------------------
# Nine tenths of these rows are in the dense blob, the others on a ring. Uniform rows go where the
# rows are. Centres of k-means spread; so do points that are drawn by what those before them miss.
# Medoids of hashing are central in their buckets. `Balanced` gives both classes as many points.

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
    ax.set_title(f"{name}\nmisses {quality.residual_trace:.2%} of the trace", loc="left")
    ax.set(aspect="equal", xticks=[], yticks=[])
plt.show()

# %%
# Quality against size and seconds
# --------------------------------
# `SelectorDisplay` chooses budgets by several rules, without training, and shows what share of the
# kernel matrix's trace they miss. It gives its numbers as a frame, too.

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X / 16, y, random_state=0)
kernel = Gaussian(gamma=0.3)
digits = {name: rule for name, rule in rules.items() if name != "ColumnSubset()"}
display = SelectorDisplay.from_data(
    digits, kernel, X_train, y_train, sizes=[10, 20, 40, 80, 160], repeats=2
).plot()
display.figure_.suptitle("Digits: what budgets miss, before training", x=0.01, ha="left")
plt.show()

# %%
# Does it tell how a model will do?
# ---------------------------------
# Train on each of 56 budgets, and compare. What a budget misses tells sizes apart, rules hardly: on
# the left, rules that look at labels are better than it says. With labels at hand, the error of
# leaving one out on a sample knows what points are worth, on the right. The sample is all rows
# here, as there are few.

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
    ax.scatter(before[~labelled], error[~labelled], s=16, c=BLUE, label="rules that see rows alone")
    ax.scatter(before[labelled], error[labelled], s=16, c=RED, label="Balanced(KMeans())")
    ax.set(xscale="log", yscale="log", xlabel=f"{label}, before training")
    correlation = spearmanr(before, error).statistic
    ax.set_title(f"{label}: rank correlation {correlation:.2f}", loc="left")
axes[0].set_ylabel("test error, after training")
axes[0].legend(frameon=False)
plt.show()
