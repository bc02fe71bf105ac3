"""
Every recipe on a small problem
===============================

A recipe returns an estimator that is configured as in a publication. This example fits all of them
to generated rows, and shows what they learn, how long they take and how many test rows they get
wrong. The page :doc:`/methods` says which method has which name.
"""

# sphinx_gallery_thumbnail_number = 1
import time

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons
from sklearn.metrics import adjusted_rand_score

from skimp import recipes
from skimp.kernels import Gaussian

INK, RED, BLUE, FAINT = "#333333", "#c8443c", "#2166ac", "#9a9a9a"
plt.rcParams.update(
    {
        "figure.dpi": 130,
        "font.size": 9.5,
        "axes.titlesize": 10,
        "axes.edgecolor": FAINT,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "xtick.color": INK,
        "ytick.color": INK,
    }
)


def moons(n, seed, noise=0.25):
    return make_moons(n, noise=noise, random_state=seed)


X, y = moons(1000, 0)
X_test, y_test = moons(5000, 1)

# %%
# Classification
# --------------
# The recipes have 200 landmarks, features or nodes, or 64 grids. Kernel bandwidth and penalty are
# chosen automatically, except for the steps of ASSET, whose penalty is given. The last three models
# are linear; ``kernel="rbf"`` makes them like the others. ``krls`` is a regression of 0 and 1.

GIVEN = {
    "budgeted_svm": {"budget": 200},
    "ls_svm": {"budget": 200},
    "nystroem_svm": {"budget": 200},
    "llsvm": {"budget": 200},
    "falkon": {"budget": 200},
    "kitchen_sinks": {"n_components": 200},
    "elm": {"n_components": 200},
    "binning_svm": {"n_grids": 64},
    "polynomial_projection_svm": {"n_components": 200, "degree": 3},
    "kmeans_fourier_svm": {"n_components": 200},
    "asset": {"budget": 200, "alpha": 1e-3},
    "classification_with_reject": {"n_components": 200},
    "krls": {"task": "regression", "approximation": 200},
    "pegasos_svm": {},
    "sarah_svm": {},
    "sdca_svm": {},
}


def labels_of(model, X):
    """Return predicted labels; those of a regression are the nearest ones."""
    return np.clip(np.round(model.predict(X)), -1, 1)


def fitted(name, X, y=None, **given):
    """Return a fitted recipe and its seconds."""
    model = getattr(recipes, name)(random_state=0, **given)
    start = time.perf_counter()
    return model.fit(X, y), time.perf_counter() - start


models, seconds, errors = {}, {}, {}
for name, given in GIVEN.items():
    fitted(name, X, y, **given)  # the first fit of a solver compiles it
    models[name], seconds[name] = fitted(name, X, y, **given)
    found = labels_of(models[name], X_test)
    kept = np.isin(found, (0, 1))  # a rejected row is not an error
    errors[name] = np.mean(found[kept] != y_test[kept])

print(f"{'recipe':<28}{'seconds':>8}{'test error':>12}")
for name in GIVEN:
    print(f"{name:<28}{seconds[name]:>8.2f}{errors[name]:>12.1%}")

# %%
# The boundaries of the nonlinear models differ most in regions of few rows. Grids give a
# piecewise constant model. ``classification_with_reject`` does not classify the tenth of the rows
# that is nearest to the boundary, in white.

low, high = X_test.min(axis=0) - 0.2, X_test.max(axis=0) + 0.2
across, up = np.meshgrid(*(np.linspace(a, b, 120) for a, b in zip(low, high, strict=True)))
grid = np.column_stack([across.ravel(), up.ravel()])
fig, axes = plt.subplots(4, 4, figsize=(10, 8.6), layout="constrained")
for ax, name in zip(axes.flat, GIVEN, strict=True):
    area = labels_of(models[name], grid).reshape(across.shape)
    area = np.where(area < 0, 0.5, area) if name == "classification_with_reject" else area > 0
    ax.contourf(across, up, area, [-0.1, 0.4, 0.6, 1.1], colors=["#d9e6f2", "white", "#f6dcd9"])
    for label, color in ((0, BLUE), (1, RED)):
        ax.plot(*X[y == label][:150].T, ".", color=color, markersize=2.5)
    ax.set_title(name)
    ax.set_xlabel(f"error {errors[name]:.1%}, {seconds[name]:.2f} s", color=INK)
    ax.set(xticks=[], yticks=[])
    ax.spines[:].set_visible(False)

# %%
# Without labels, and with rejection
# -----------------------------------
# Kernel k-means looks for compact clusters in the feature space, and cuts the moons. Spectral
# clustering follows them. The one-class SVM marks about a tenth of the rows as unusual. Kernel PCA
# unfolds two rings.
#
# The last panel belongs to the classifier that rejects rows. Its coverage curve is the error among
# accepted test rows for every share of them. The dot is the threshold that ``fit`` chose to accept
# nine in ten rows.

narrow, groups = moons(1000, 2, noise=0.06)
rng = np.random.default_rng(0)
angle, ring = rng.uniform(0, 2 * np.pi, 600), np.arange(600) % 2
rings = (1 + 2 * ring + 0.15 * rng.normal(size=600))[:, None] * np.column_stack(
    [np.cos(angle), np.sin(angle)]
)

local = {"n_clusters": 2, "kernel": Gaussian(20.0), "budget": 200}
compact, _ = fitted("kernel_kmeans", narrow, **{**local, "kernel": Gaussian(1.0)})
spectral, _ = fitted("spectral_clustering", narrow, **local)
pca, _ = fitted("kernel_pca", rings, kernel=Gaussian(1.0), budget=200)
usual, _ = fitted("one_class", narrow, kernel=Gaussian(3.0), budget=200)

fig, axes = plt.subplots(1, 5, figsize=(11, 2.7), layout="constrained")
for ax, model, name in (
    (axes[0], compact, "kernel_kmeans"),
    (axes[1], spectral, "spectral_clustering"),
):
    labels = model.predict(narrow)
    for label, color in ((0, BLUE), (1, RED)):
        ax.plot(*narrow[labels == label].T, ".", color=color, markersize=2.5)
    ax.set_title(name)
    ax.set_xlabel(f"adjusted Rand index {adjusted_rand_score(groups, labels):.2f}")
unusual = usual.predict(narrow) < 0
axes[2].plot(*narrow[~unusual].T, ".", color=FAINT, markersize=2.5)
axes[2].plot(*narrow[unusual].T, ".", color=RED, markersize=3.5)
axes[2].set_title("one_class")
axes[2].set_xlabel(f"{unusual.mean():.1%} of the rows are unusual")
embedded = pca.transform(rings)
for label, color in ((0, BLUE), (1, RED)):
    axes[3].plot(*embedded[ring == label].T, ".", color=color, markersize=2.5)
axes[3].set_title("kernel_pca")
axes[3].set_xlabel("two rings, first two components")
for ax in axes[:4]:
    ax.set(xticks=[], yticks=[])

rejecting = models["classification_with_reject"]
curve = rejecting.coverage_curve(X_test, y_test)
chosen = np.searchsorted(-curve.threshold, -rejecting.threshold_)
axes[4].plot(100 * curve.coverage, 100 * curve.error, color=BLUE)
axes[4].plot(100 * curve.coverage[chosen], 100 * curve.error[chosen], "o", color=RED)
axes[4].set_title("classification_with_reject")
axes[4].set(xlabel="accepted rows, per cent", ylabel="error, per cent", ylim=(0, None))
print(curve)
plt.show()
