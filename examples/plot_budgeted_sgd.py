"""
A model that is a short list of points
======================================

``BudgetedSGDClassifier`` learns one row after another, and keeps at most ``budget`` points. Here
are the points that it keeps of the digits in scikit-learn, what each way to keep the budget costs,
and what a cache of kernel values saves if there is no budget.
"""

# %%
# Thirty digits
# -------------
# Merged points are averages of rows. The label of a point is the class with its largest
# coefficient.

import time

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits, make_gaussian_quantiles
from sklearn.model_selection import train_test_split

from skimp import BudgetedSGDClassifier
from skimp.kernels import Gaussian

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X / 16, y, random_state=0)
digits = BudgetedSGDClassifier(budget=30, loss="multiclass_hinge", max_iter=20, random_state=0)
digits.fit(X_train, y_train)
print(f"30 points: error {1 - digits.score(X_test, y_test):.3f}")

labels = digits.coef_.argmax(axis=1)
fig, axes = plt.subplots(3, 10, figsize=(8, 3.2))
for ax, number in zip(axes.flat, np.argsort(labels, kind="stable"), strict=True):
    ax.imshow(digits.points_[number].reshape(8, 8), cmap="gray_r")
    ax.set_title(digits.classes_[labels[number]], fontsize=8)
    ax.axis("off")
fig.suptitle(f"all points of the model, test error {1 - digits.score(X_test, y_test):.3f}")

# %%
# Three ways to keep the budget
# -----------------------------
# One pass over 20,000 rows. Merging and projection keep what a point contributed; removal loses it.

X, y = make_gaussian_quantiles(n_samples=22_000, n_features=5, n_classes=2, random_state=0)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=2000, random_state=0)
budgets = [10, 20, 40, 80, 160]
fig, (left, right) = plt.subplots(1, 2, figsize=(8, 3.5), layout="constrained")
for kind in ("merging", "projection", "removal"):
    errors, seconds = [], []
    for budget in budgets:
        model = BudgetedSGDClassifier(
            Gaussian(0.2), budget=budget, maintenance=kind, max_iter=1, random_state=0
        )
        # compile the loops before the clock starts
        model.fit(X_train[:300], y_train[:300])
        began = time.perf_counter()
        model.fit(X_train, y_train)
        seconds.append(time.perf_counter() - began)
        errors.append(1 - model.score(X_test, y_test))
    print(kind, "errors", np.round(errors, 3), "seconds", np.round(seconds, 2))
    left.loglog(budgets, errors, "o-", label=kind)
    right.semilogx(budgets, seconds, "o-", label=kind)
left.set(xlabel="budget", ylabel="test error")
right.set(xlabel="budget", ylabel="seconds of one pass", ylim=(0, None))
left.legend()

# %%
# Effect of kernel caching
# ------------------------
# Without a budget, every row that had a loss is a point (kernelized Pegasos). In later passes,
# kernel values of the same row and the same points are needed again. Here rows have 500 columns,
# and the values of a row with all points fit into 15 kB.

wide = X_train[:6000] @ np.random.default_rng(0).normal(size=(5, 500)) / np.sqrt(500)

sizes = [0.1, 1, 10, 100]
caches = []
for size in sizes:
    model = BudgetedSGDClassifier(
        Gaussian(0.2), budget=None, cache_size=f"{size}MB", max_iter=5, random_state=0
    )
    caches.append(model.fit(wide, y_train[:6000]).cache_)
    print(caches[-1])
fig, ax = plt.subplots(figsize=(5, 3.2), layout="constrained")
ax.semilogx(sizes, [100 * cache.share for cache in caches], "o-")
ax.set(xlabel="size of the cache in MB", ylabel="kernel values from the cache, %")
ax.twinx().semilogx(sizes, [c.seconds for c in caches], "s--C1")
fig.axes[1].set_ylabel("seconds for kernel values", color="C1")
plt.show()
