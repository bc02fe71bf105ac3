"""
Few labels and many rows
========================

`~skimp.KernelFactorization` learns from rows with and without labels. This example spreads ten
labels over two curved clusters, counts how many labels digits need, and draws codes of length two.
"""

# %%
# Two moons with five labels each. A classifier of the labelled rows alone draws a smooth boundary
# between them. `~skimp.features.AnchorGraph` makes rows similar that are near the same landmarks.
# Chains of neighbours carry the labels along the moons.

# sphinx_gallery_thumbnail_number = 1
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import ListedColormap
from sklearn.datasets import load_digits, make_moons

from skimp import KernelClassifier, KernelFactorization
from skimp.features import AnchorGraph

INK, FAINT = "#333333", "#9a9a9a"
COLORS = ["#2166ac", "#c8443c", "#d8973c", "#4d9a5b"]
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


def hide(y, n_labels, seed):
    """Return the labels of some rows, equally many per class, and -1 for the others."""
    rng, classes = np.random.default_rng(seed), np.unique(y)
    some = np.full_like(y, -1)
    for label in classes:
        rows = rng.choice(np.flatnonzero(y == label), n_labels // len(classes), replace=False)
        some[rows] = label
    return some


X, y = make_moons(2000, noise=0.1, random_state=0)
some = hide(y, 10, seed=3)
known = some >= 0
models = {
    "labelled rows alone": KernelClassifier(random_state=0).fit(X[known], y[known]),
    "all rows, anchor graph": KernelFactorization(
        approximation=AnchorGraph(200), random_state=0
    ).fit(X, some),
}
ticks = [np.linspace(low, high, 250) for low, high in ((-1.5, 2.5), (-1.0, 1.5))]
grid = np.stack(np.meshgrid(*ticks), axis=-1).reshape(-1, 2)
fig, axes = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
for ax, (name, model) in zip(axes, models.items(), strict=True):
    regions = model.predict(grid).reshape(250, 250)
    colors = ListedColormap(COLORS[:2])
    ax.contourf(*ticks, regions, levels=[-0.5, 0.5, 1.5], cmap=colors, alpha=0.2)
    ax.scatter(*X.T, c=FAINT, s=2)
    ax.scatter(*X[known].T, c=y[known], cmap=colors, s=40, edgecolors=INK)
    accuracy = model.score(X[~known], y[~known])
    ax.set_title(f"{name}: {100 * accuracy:.1f} %", loc="left")
    ax.set(xticks=[], yticks=[])
plt.show()

# %%
# Digits of 8 x 8 pixels, accuracy on the rows without labels. The graph needs a third to a fifth
# of the labels. Landmarks of a Gaussian kernel represent all rows, too, but do not connect them.
# Lines are means over three draws of labels.

X, y = load_digits(return_X_y=True)
counts = [20, 40, 80, 160, 320]
factories = {
    "labelled rows alone": lambda: KernelClassifier(random_state=0),
    "landmarks of all rows": lambda: KernelFactorization(random_state=0),
    "anchor graph of all rows": lambda: KernelFactorization(
        approximation=AnchorGraph(300), random_state=0
    ),
}
accuracy = {name: np.empty((len(counts), 3)) for name in factories}
for i, count in enumerate(counts):
    for seed in range(3):
        some = hide(y, count, seed)
        known = some >= 0
        for name, make in factories.items():
            given = (X[known], y[known]) if name == "labelled rows alone" else (X, some)
            model = make().fit(*given)
            accuracy[name][i, seed] = 100 * model.score(X[~known], y[~known])

# %%
# Codes of length two of the digits 3, 8 and 9. Half of the rows have a label. With a small weight,
# they are two kernel principal components. A larger weight turns them towards the labels, and rows
# without a label follow.

three = np.isin(y, (3, 8, 9))
X3, y3 = X[three], y[three]
half = np.where(np.arange(len(y3)) % 2, y3, -1)

fig, axes = plt.subplots(1, 3, figsize=(12, 3.8), layout="constrained")
for (name, values), color in zip(accuracy.items(), COLORS, strict=False):
    axes[0].plot(counts, values.mean(axis=1), "o-", c=color, lw=1.8, ms=4, label=name)
axes[0].set(xscale="log", xlabel="labels", ylabel="accuracy in %")
axes[0].set_xticks(counts, map(str, counts))
axes[0].minorticks_off()
axes[0].legend(frameon=False)
for ax, weight in zip(axes[1:], (1e-3, 100.0), strict=True):
    model = KernelFactorization(2, label_weight=weight, random_state=0).fit(X3, half)
    H, free = model.transform(X3), half < 0
    for digit, color in zip((3, 8, 9), COLORS, strict=False):
        ax.scatter(*H[free & (y3 == digit)].T, c=color, s=6)
        ax.annotate(str(digit), np.median(H[y3 == digit], axis=0), fontsize=15, weight="bold")
    accuracy = model.score(X3[free], y3[free])
    ax.set_title(f"label_weight={weight:g}: {100 * accuracy:.0f} % without a label", loc="left")
    ax.set(xticks=[], yticks=[])
plt.show()
