"""
Kernels and the functions they fit
==================================

This example plots each kernel twice: its value k(x, b) over the plane for a fixed row b, and a fit
to a few points, which shows what functions the kernel can represent.
"""

# %%
# All figures have the same layout. The upper plot shows k(x, b) for x in the plane, where b is the
# white point, scaled by its largest absolute value: yellow is 1, and dark blue is 0, or -1 for
# kernels with negative values. Black lines are level lines, and a white line marks zero. The lower
# plot shows the exact model (``approximation=None``) of the same points: a wave with a gap, then a
# step. The rows are (t, 1). The constant column acts as an intercept for kernels of angles and
# inner products; it does not change distances.

# sphinx_gallery_thumbnail_number = 7
import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import Ridge
from sklearn.neighbors import kneighbors_graph

from skimp import KernelRegressor
from skimp.kernels import (
    AdditiveChi2,
    ArcCosine,
    Cauchy,
    Chi2,
    Cosine,
    FunctionKernel,
    Gaussian,
    Laplacian,
    Linear,
    Matern,
    NeuralTangent,
    Polynomial,
    Precomputed,
    Tanh,
)

INK, LINE, FAINT = "#333333", "#c8443c", "#9a9a9a"
LEVELS = [-0.8, -0.6, -0.4, -0.2, -0.1, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8]
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
        "image.cmap": "viridis",
    }
)

rng = np.random.default_rng(0)
t = np.linspace(-2, 2, 30)
t = t[(t < -0.8) | (t > -0.3)]
wave = np.where(t < 0.4, np.sin(4 * t), np.where(t < 1.2, 0.8, -0.6)) + rng.normal(0, 0.04, len(t))


def plane(low, high, size=161):
    """Return the side of a square and the points of a grid on it."""
    side = np.linspace(low, high, size)
    return side, np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)


def show_values(ax, kernel, B, low=-2.0, high=2.0):
    """Draw the kernel around the rows of B; if there are two, the larger value."""
    side, grid = plane(low, high)
    K = kernel(grid, B).max(axis=1).reshape(len(side), -1)
    K /= np.abs(K).max()
    floor = 0 if K.min() > -0.2 else -1
    ax.imshow(K, extent=(low, high) * 2, origin="lower", vmin=floor, vmax=1)
    ax.contour(side, side, K, levels=LEVELS, colors="k", linewidths=0.4, alpha=0.5)
    if K.min() < -1e-6:
        ax.contour(side, side, K, levels=[0.0], colors="white", linewidths=1.4)
    ax.scatter(*B.T, s=42, c="white", edgecolors="black", linewidths=0.9, zorder=3)
    ax.set(xticks=[low, high], yticks=[low, high], aspect="equal")


def show_fit(ax, kernel, t, y, ends):
    """Draw the function that the kernel fits to points, and its extrapolation."""
    line = np.linspace(*ends, 500)
    rows, new = (np.column_stack([s, np.ones_like(s)]) for s in (t, line))
    if kernel.positive_definite:
        f = KernelRegressor(kernel, approximation=None, alpha=1e-4).fit(rows, y).predict(new)
    else:  # no model takes it, but its columns k(., b) are features like any others
        f = Ridge(alpha=1e-3).fit(kernel(rows), y).predict(kernel(new, rows))
    ax.axvspan(t.min(), t.max(), color="#f2f2f2", lw=0)
    ax.scatter(t, y, s=11, c=INK, linewidths=0, zorder=3)
    ax.plot(line, f, c=LINE, lw=1.8)
    ax.set(xlim=ends, ylim=(-1.7, 1.7), xticks=ends, yticks=[-1, 0, 1])


def gallery(title, columns, *, ends=(-3, 3), data=(t, wave), **box):
    """Draw values and fits of several kernels side by side, with a caption for each."""
    width = 2.75 * len(columns)
    fig, axes = plt.subplots(
        2,
        len(columns),
        figsize=(width, 5.6),
        height_ratios=[1.25, 1],
        layout="constrained",
        squeeze=False,
    )
    for (top, bottom), (kernel, B, words) in zip(axes.T, columns, strict=True):
        show_values(top, kernel, np.atleast_2d(B), **box)
        show_fit(bottom, kernel, *data, ends)
        top.set_title(repr(kernel), family="monospace", fontsize=9)
        bottom.set_xlabel(words, fontsize=9.5, labelpad=4, linespacing=1.35)
    for ax in axes[:, 1:].flat:
        ax.set_yticklabels([])
    fig.suptitle(title, fontsize=13, x=0.01, ha="left")
    plt.show()


# %%
# Kernels of a distance
# ---------------------
# These kernels depend on how close two rows are. Far from the data, their fits return to a
# constant. The shape of the peak determines the smoothness of the fit.
#
# - **Gaussian**: smooth functions, the usual first choice. It oscillates near a step.
# - **Matern**: smoothness controlled by ``nu``.
# - **Laplacian**: the L1 distance, with diamond-shaped levels; for steps, outliers and columns of
#   mixed types.
# - **Cauchy**: a narrow peak and heavy tails; for gaps and clusters of different size.

gallery(
    "Kernels of a distance",
    [
        (Gaussian(gamma=2.0), [0.0, 0.0], "smooth functions;\nthe usual first choice"),
        (Matern(nu=1.5, gamma=4.0), [0.0, 0.0], "less smooth functions;\nhere nu = 1.5"),
        (Laplacian(gamma=1.5), [0.0, 0.0], "steps, outliers,\ncolumns of mixed types"),
        (Cauchy(gamma=6.0), [0.0, 0.0], "gaps, clusters of\ndifferent size"),
    ],
)

# %%
# Kernels of an inner product or an angle
# ---------------------------------------
# These kernels depend on the origin, so centre the columns. Their fits extrapolate beyond the
# data.
#
# - **Linear**: the linear model; a baseline, and a trend in a sum.
# - **Polynomial**: interactions of a few columns up to a known degree; extrapolates strongly.
# - **Cosine**: the direction of a row only; for text and spectra.
# - **Tanh**: not positive definite, so models reject it. Here its columns are features of a ridge
#   regression.

gallery(
    "Kernels of an inner product or an angle",
    [
        (Linear(), [1.0, 0.6], "a baseline, or a\ntrend in a sum"),
        (
            Polynomial(degree=4, gamma=0.5),
            [1.0, 0.6],
            "interactions; extrapolates\nstrongly",
        ),
        (Cosine(), [1.0, 0.6], "text and spectra:\ndirection only"),
        (Tanh(gamma=1.0), [1.0, 0.6], "not positive definite:\nmodels reject it"),
    ],
)

# %%
# Kernels of wide networks
# ------------------------
# An infinitely wide layer with random weights is a kernel of the two norms and the angle.
#
# - **ArcCosine** of order 0, 1 and 2: layers of steps, ReLUs and squared ReLUs.
# - **NeuralTangent**: a trained network with one hidden layer of ReLUs.

gallery(
    "Kernels of wide networks",
    [
        (ArcCosine(order=0), [1.0, 0.6], "steps: constant\nbeyond the data"),
        (ArcCosine(), [1.0, 0.6], "ReLUs: linear\nbeyond the data"),
        (ArcCosine(order=2), [1.0, 0.6], "squared ReLUs: quadratic\nbeyond the data"),
        (NeuralTangent(), [1.0, 0.6], "a wide trained\nnetwork"),
    ],
)

# %%
# Kernels of counts
# -----------------
# Histograms and counts are nonnegative, and a difference of one matters more near zero than near a
# thousand. The bandwidth of these kernels grows with the count, as the two white points on the
# left show. The Gaussian has the same bandwidth everywhere. The target is a wave whose frequency
# decreases.
#
# - **Chi2**: histograms of colours, words or gradients.
# - **AdditiveChi2**: additive in the columns, without a bandwidth.

count = np.linspace(0.05, 2, 40) ** 2
ripple = np.sin(9 * np.sqrt(count)) + rng.normal(0, 0.05, 40)
gallery(
    "Kernels of counts",
    [
        (Chi2(gamma=4.0), [[0.15, 0.6], [3.0, 2.4]], "histograms:\nnarrow near zero"),
        (AdditiveChi2(), [[0.6, 2.4]], "additive in the columns;\nno bandwidth"),
        (
            Gaussian(gamma=2.0),
            [[0.15, 0.6], [3.0, 2.4]],
            "for comparison: the same\nbandwidth everywhere",
        ),
    ],
    ends=(0, 5),
    data=(count, ripple),
    low=0.0,
    high=4.0,
)

# %%
# Data that are not vectors
# -------------------------
# **FunctionKernel** wraps a Python function. This one counts the letter pairs that two words
# share, relative to their lengths. It is an inner product of counts and therefore positive
# definite. Models accept a list of words in the same way as a matrix.


def letter_pairs(x, y):
    """Return the cosine of the sets of letter pairs of two words, with their ends marked."""
    x, y = ({*zip(f"^{word}", f"{word}$", strict=True)} for word in (x, y))
    return len(x & y) / np.sqrt(len(x) * len(y))


words = ["kernel", "colonel", "eternal", "maternal", "budget", "gadget", "widget", "margin",
         "marginal", "origin", "original"]  # fmt: skip
K = FunctionKernel(letter_pairs)(words)

fig, ax = plt.subplots(figsize=(6.4, 5.4), layout="constrained")
image = ax.imshow(K, vmin=0, vmax=1)
ax.set_xticks(range(len(words)), words, rotation=45, ha="right", rotation_mode="anchor")
ax.set_yticks(range(len(words)), words)
ax.tick_params(length=0)
ax.spines[:].set_visible(False)
for i, j in np.argwhere(K.round(1) >= 0.1):
    tone = "black" if K[i, j] > 0.6 else "white"
    ax.text(j, i, f"{K[i, j]:.1f}", ha="center", va="center", fontsize=8, color=tone)
ax.set_title("FunctionKernel(letter_pairs): words that share letter pairs", loc="left", pad=10)
plt.show()

# %%
# **Precomputed** wraps a matrix of kernel values. Rows are row numbers of the matrix. Here it is
# the heat kernel of a nearest-neighbour graph, which follows the two arcs, unlike a distance in the
# plane. The model has 12 landmarks among 300 nodes. About a third of the training labels are
# wrong.

angle = rng.uniform(0, np.pi, 300)
arc = np.repeat([0, 1], 150)
nodes = np.column_stack([np.cos(angle), np.sin(angle)]) * np.where(arc, -1, 1)[:, None]
nodes += np.column_stack([arc, 0.45 * arc]) + rng.normal(0, 0.06, (300, 2))
graph = kneighbors_graph(nodes, 6).toarray()
graph = np.maximum(graph, graph.T)
values, vectors = np.linalg.eigh(np.diag(graph.sum(axis=1)) - graph)
heat = Precomputed(vectors @ np.diag(np.exp(-30 * values)) @ vectors.T * 300)

labels = np.where(arc == 1, 1.0, -1.0)
noisy = np.where(rng.random(300) < 1 / 3, -labels, labels)
numbers = np.arange(300)
model = KernelRegressor(heat, approximation=12, alpha=1e-2, random_state=0).fit(numbers, noisy)
found = model.predict(numbers)
landmarks = model.approximation_.budget_.points.ravel().astype(int)
right = np.mean(np.sign(found) == labels)

fig, axes = plt.subplots(1, 2, figsize=(11, 3.7), layout="constrained")
one = int(np.argmin(nodes[:, 0]))
panels = [
    (heat([one], numbers)[0], [one], "Precomputed: the kernel of one node follows its arc"),
    (found, landmarks, f"12 landmarks, a third of the labels wrong: accuracy {right:.0%}"),
]
for ax, (value, marked, title) in zip(axes, panels, strict=True):
    for i, j in np.argwhere(np.triu(graph)):
        ax.plot(*nodes[[i, j]].T, c=FAINT, lw=0.4, zorder=1)
    ax.scatter(*nodes.T, c=value, s=26, linewidths=0, zorder=2)
    ax.scatter(*nodes[marked].T, s=60, c="white", edgecolors="black", linewidths=1.1, zorder=3)
    ax.set(xticks=[], yticks=[], aspect="equal")
    ax.spines[:].set_visible(False)
    ax.set_title(title, loc="left")
plt.show()

# %%
# Compositions
# ------------
# A sum is large if rows are similar in one respect *or* another, a product if they are similar in
# one respect *and* another. A sum of two Gaussians of different columns (``.on``) is a cross of
# ridges, and its fits are additive. A product is a bump.
#
# The target below is additive, and there are no data in the upper right corner. The additive
# kernel extrapolates into the corner correctly. The product kernel, which can represent any
# function, does not.


def target(X):
    """Return the sum of a curve in each column."""
    return np.sin(2 * X[:, 0]) + np.cos(1.5 * X[:, 1])


X = rng.uniform(-2, 2, (260, 2))
X = X[(X < 0).any(axis=1)]
y = target(X)
G = Gaussian(gamma=2.0)
compositions = [
    (Gaussian(gamma=[2.0, 0.1]), "Gaussian(gamma=[2.0, 0.1])", "a bandwidth for each column"),
    (G.on(0), "G.on(0)", "one column only"),
    (G.on(0) + G.on(1), "G.on(0) + G.on(1)", "additive effects"),
    (G.on(0) * G.on(1), "G.on(0) * G.on(1)", "interactions"),
    (0.3 * G + Linear(), "0.3 * G + Linear()", "a linear trend and a bump"),
]

side, grid = plane(-2, 2)
corner = (grid > 0.3).all(axis=1)
fig, axes = plt.subplots(2, 5, figsize=(13, 5.9), layout="constrained")
for (top, bottom), (kernel, name, use) in zip(axes.T, compositions, strict=True):
    show_values(top, kernel, np.array([[0.5, 0.5]]))
    model = KernelRegressor(kernel, approximation=None, alpha=1e-5).fit(X, y)
    f = model.predict(grid)
    error = np.sqrt(np.mean((f - target(grid))[corner] ** 2))
    bottom.imshow(f.reshape(len(side), -1), extent=(-2, 2) * 2, origin="lower", vmin=-2, vmax=2)
    bottom.scatter(*X.T, s=4, c="white", linewidths=0, alpha=0.8)
    bottom.set(xticks=[-2, 2], yticks=[-2, 2], aspect="equal")
    bottom.set_xlabel(f"RMSE in the empty\ncorner {error:.2f}", fontsize=9.5)
    top.set_title(f"{use}\n", fontsize=10.5)
    top.text(
        0.5, 1.03, name, ha="center", family="monospace", fontsize=8.5, transform=top.transAxes
    )
for ax in axes[:, 1:].flat:
    ax.set_yticklabels([])
fig.suptitle(
    "Compositions, and their fits to data with an empty corner", fontsize=13, x=0.01, ha="left"
)
plt.show()

# %%
# Gradients
# ---------
# ``kernel.gradient(X, Y)`` returns the derivatives of k(x, y) with respect to x, and
# ``kernel.expansion_gradient`` those of a fitted model. The arrows are the gradients.

_, coarse = plane(-1.85, 1.85, 15)
model = KernelRegressor(Gaussian(gamma=0.8), approximation=None, alpha=1e-5).fit(X, y)
slopes = model.kernel_.expansion_gradient(coarse, model.approximation_.points, model.coef_[:, 0])
b = np.array([[0.5, 0.3]])
fields = [
    (Gaussian(gamma=0.8), "Gaussian(gamma=0.8)"),
    (Laplacian(gamma=0.8), "Laplacian(gamma=0.8)"),
    (None, "a fitted model"),
]

fig, axes = plt.subplots(1, 3, figsize=(11, 4.1), layout="constrained")
for ax, (kernel, name) in zip(axes, fields, strict=True):
    if kernel is None:
        f, arrows = model.predict(grid).reshape(len(side), -1), slopes
        ax.imshow(f, extent=(-2, 2) * 2, origin="lower")
        ax.contour(side, side, f, levels=10, colors="k", linewidths=0.4, alpha=0.5)
    else:
        arrows = kernel.gradient(coarse, b)[:, 0]
        show_values(ax, kernel, b)
    ax.quiver(*coarse.T, *arrows.T, color="white", width=0.006, pivot="mid")
    ax.set_title(name, family="monospace" if kernel else None, fontsize=10)
    ax.set(xticks=[-2, 2], yticks=[-2, 2], aspect="equal")
fig.suptitle("Gradients", fontsize=13, x=0.01, ha="left")
plt.show()
