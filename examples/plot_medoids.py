"""
Clusters around rows
====================

`~skimp.KernelKMedoids` represents each cluster by one of its rows, in the distance of any kernel or
metric. This example draws the medoids of digits, and shows how many points a budget needs.
"""

# %%
# Medoids of 1,797 digits of 8 x 8 pixels. Each picture is a row of the data, and its number is the
# share of its cluster that has the same label. The distance decides which differences count:
# the linear kernel gives Euclidean distances, the cosine ignores brightness.

# sphinx_gallery_thumbnail_number = 1
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.metrics import adjusted_rand_score

from skimp import KernelKMedoids
from skimp.kernels import Chi2

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

X, y = load_digits(return_X_y=True)
distances = {
    "linear kernel": {"kernel": "linear"},
    "chi-square kernel": {"kernel": Chi2(0.01)},
    "cosine": {"metric": "cosine"},
}
fig, axes = plt.subplots(len(distances), 12, figsize=(11, 3.2), layout="constrained")
for row, (name, distance) in zip(axes, distances.items(), strict=True):
    model = KernelKMedoids(12, budget=500, random_state=0, **distance).fit(X)
    order = np.argsort(y[model.medoid_indices_], kind="stable")
    for ax, cluster in zip(row, order, strict=True):
        medoid = model.medoid_indices_[cluster]
        share = np.mean(y[model.labels_ == cluster] == y[medoid])
        ax.imshow(X[medoid].reshape(8, 8), cmap="gray_r")
        ax.set(xticks=[], yticks=[])
        ax.set_xlabel(f"{100 * share:.0f} %", labelpad=2)
    agreement = adjusted_rand_score(y, model.labels_)
    row[0].set_ylabel(f"{name}\nadjusted Rand {agreement:.2f}", rotation=0, ha="right", va="center")
plt.show()

# %%
# A budget of points represents the rows in the sum of distances. Centres of k-means represent them
# better than random rows if there are few points. Swaps of medoids find lower sums than the
# alternation of the publication. Lines are means over ten seeds, relative to all rows as points.

rng = np.random.default_rng(0)
means = rng.normal(size=(10, 20)) * 1.5
rows = means[rng.integers(10, size=5000)] + rng.normal(size=(5000, 20))
exact = KernelKMedoids(10, budget=None, random_state=0).fit(rows).inertia_
sizes = [30, 60, 120, 240, 480, 960]
options = {
    "uniform, swap": {},
    "k-means, swap": {"selector": "kmeans"},
    "uniform, alternate": {"method": "alternate"},
}
sums = {
    name: [
        np.mean(
            [
                KernelKMedoids(10, budget=size, random_state=seed, **option).fit(rows).inertia_
                for seed in range(10)
            ]
        )
        for size in sizes
    ]
    for name, option in options.items()
}

fig, axes = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
for (name, values), color in zip(sums.items(), COLORS, strict=False):
    excess = 100 * (np.array(values) / exact - 1)
    axes[0].plot(sizes, excess, "o-", c=color, lw=1.8, ms=4, label=name)
axes[0].set(xscale="log", xlabel="points of the budget", ylabel="excess of the sum in %")
axes[0].set_xticks(sizes, map(str, sizes))
axes[0].minorticks_off()
axes[0].legend(frameon=False)

# %%
# The metric can ignore outliers: with squared distances, a few rows far away attract a medoid.
# Plain distances leave it in the cluster.

cloud = np.concatenate(
    [rng.normal(size=(500, 2)) + centre for centre in ([0, 0], [5, 0], [2.5, 4])]
)
cloud = np.concatenate([cloud, rng.normal([18, 14], 0.5, size=(25, 2))])
for objective, marker, color in (("squared", "X", COLORS[1]), ("distance", "o", COLORS[0])):
    model = KernelKMedoids(3, objective=objective, budget=None, random_state=0).fit(cloud)
    chosen = model.cluster_centers_.T
    axes[1].scatter(
        *chosen, marker=marker, c=color, s=110, edgecolors="white", zorder=3, label=objective
    )
axes[1].scatter(*cloud.T, c=FAINT, s=3)
axes[1].legend(frameon=False, title="objective", loc="lower right")
axes[1].set(xticks=[], yticks=[])
plt.show()
