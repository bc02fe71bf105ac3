"""
What each kernel sees
=====================

A kernel k(x, y) says how much two rows are alike, and a model is a sum of the functions k(., b) of
a few rows b. So one picture tells most about a kernel: its value over the plane, for one row held
fixed. Below it, a fit to some points shows the functions that it makes.
"""

# %%
# Every picture has the same two parts. On top, the colour is k(x, b) for x in the plane and b the
# white point, divided by its largest size: yellow is 1, dark blue is 0, or -1 for kernels that
# change their sign. Black lines are levels, a white line is where the kernel is zero. Below, the
# exact model (``approximation=None``) of the same points: a wave with a gap, then a step. Its rows
# are (t, 1). The constant column gives kernels of angles and of inner products something to turn
# around; distances do not see it.

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
    """Draw the kernel around the rows of B: the larger of its values where there are two."""
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
    """Draw the function that the kernel fits to points, and what it does beyond them."""
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
    """Draw values and fit of several kernels, side by side; their text goes under them."""
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
# They see who is near. Away from the data their functions return to a constant, and the steepness
# of the tip decides how rough they are.
#
# - **Gaussian**: smooth effects, the first one to try; a step makes it ring.
# - **Matern**: as smooth as ``nu`` says; for measurements that are not infinitely smooth.
# - **Laplacian**: distances add up column by column (diamonds); for steps, outliers and columns of
#   different kinds.
# - **Cauchy**: a narrow top and long tails; for gaps, and for clusters of several sizes.

gallery(
    "Near is alike",
    [
        (Gaussian(gamma=2.0), [0.0, 0.0], "smooth effects:\nthe first one to try"),
        (Matern(nu=1.5, gamma=4.0), [0.0, 0.0], "less smooth: nu says how\nmuch, here 1.5"),
        (Laplacian(gamma=1.5), [0.0, 0.0], "steps and outliers;\ncolumns of several kinds"),
        (Cauchy(gamma=6.0), [0.0, 0.0], "gaps, and clusters\nof several sizes"),
    ],
)

# %%
# Kernels of an inner product or an angle
# ---------------------------------------
# They see directions from the origin, so that the origin matters: centre the columns. Beyond the
# data they go on, while kernels of a distance stop.
#
# - **Linear**: the plain linear model; a yardstick, and a trend in a sum.
# - **Polynomial**: a few columns that interact up to a known degree; wild beyond the data.
# - **Cosine**: the direction alone; for texts and spectra, whose length says little.
# - **Tanh**: shaped like a neuron, for comparison with older work. It is not positive definite, so
#   models refuse it; here its columns are the features of a ridge regression.

gallery(
    "Same direction is alike",
    [
        (Linear(), [1.0, 0.6], "a yardstick,\nand a trend in a sum"),
        (
            Polynomial(degree=4, gamma=0.5),
            [1.0, 0.6],
            "few columns that interact;\nwild beyond the data",
        ),
        (Cosine(), [1.0, 0.6], "texts and spectra:\nthe length says little"),
        (Tanh(gamma=1.0), [1.0, 0.6], "to compare with older work;\nnot positive definite"),
    ],
)

# %%
# Kernels of wide networks
# ------------------------
# An infinitely wide layer with random weights is a kernel of the two lengths and the angle. Its
# functions are made of pieces that extend to infinity.
#
# - **ArcCosine** of order 0, 1 and 2: layers of steps, of rectifiers, and of their squares.
# - **NeuralTangent**: a network of two layers with rectifiers, both of them trained.

gallery(
    "A wide layer of neurons",
    [
        (ArcCosine(order=0), [1.0, 0.6], "steps:\nflat beyond the data"),
        (ArcCosine(), [1.0, 0.6], "order 1, rectifiers:\ngoes on straight"),
        (ArcCosine(order=2), [1.0, 0.6], "squared rectifiers:\ngoes on as a parabola"),
        (NeuralTangent(), [1.0, 0.6], "what a wide network would\nlearn, without training it"),
    ],
)

# %%
# Kernels of counts
# -----------------
# Histograms and counts have no negative entries, and a difference of one means much beside zero and
# little beside a thousand. So the width of these kernels grows with the count, as the two white
# points on the left show; a Gaussian has one width everywhere. The target is a wave that slows
# down.
#
# - **Chi2**: histograms of colours, words or gradients.
# - **AdditiveChi2**: the same idea without interaction of columns, and no width to choose.

count = np.linspace(0.05, 2, 40) ** 2
ripple = np.sin(9 * np.sqrt(count)) + rng.normal(0, 0.05, 40)
gallery(
    "Counts that are alike in proportion",
    [
        (Chi2(gamma=4.0), [[0.15, 0.6], [3.0, 2.4]], "histograms:\nfine detail near zero"),
        (AdditiveChi2(), [[0.6, 2.4]], "histograms whose columns\nadd up; no width to choose"),
        (Gaussian(gamma=2.0), [[0.15, 0.6], [3.0, 2.4]], "for comparison:\none width everywhere"),
    ],
    ends=(0, 5),
    data=(count, ripple),
    low=0.0,
    high=4.0,
)

# %%
# Rows that are no vectors
# ------------------------
# **FunctionKernel** is a function of yours. Here it counts the pairs of letters that two words
# share, relative to their lengths: an inner product of counts, hence positive definite. A model
# takes a list of words as it takes a matrix.


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
# **Precomputed** is a matrix of values, for similarities that come from elsewhere. Rows are numbers
# into the matrix. Here it is the diffusion of heat over a graph of neighbours, which follows the
# two arcs where a distance would jump across. The model has 12 landmarks among 300 nodes, and is
# fitted to labels of which about a third are wrong.

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
    (heat([one], numbers)[0], [one], "Precomputed: heat from one node flows along its arc"),
    (found, landmarks, f"12 landmarks, a third of the labels wrong: {right:.0%} right"),
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
# Kernels made of kernels
# -----------------------
# A sum sees rows that are alike in one respect *or* another, a product rows that are alike in one
# respect *and* another. On columns of their own (``.on``), a sum of two Gaussians is a cross of
# ridges, and its functions are sums of a curve for each column; a product is a bump.
#
# The target below is such a sum, and the upper right corner has no data. The sum of ridges fills
# it; the bumps, which could be any function, know nothing there.


def target(X):
    """Return the sum of a curve in each column."""
    return np.sin(2 * X[:, 0]) + np.cos(1.5 * X[:, 1])


X = rng.uniform(-2, 2, (260, 2))
X = X[(X < 0).any(axis=1)]
y = target(X)
G = Gaussian(gamma=2.0)
compositions = [
    (Gaussian(gamma=[2.0, 0.1]), "Gaussian(gamma=[2.0, 0.1])", "a width for each column"),
    (G.on(0), "G.on(0)", "one column only"),
    (G.on(0) + G.on(1), "G.on(0) + G.on(1)", "effects that add up"),
    (G.on(0) * G.on(1), "G.on(0) * G.on(1)", "effects that interact"),
    (0.3 * G + Linear(), "0.3 * G + Linear()", "a trend, and more"),
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
    bottom.set_xlabel(f"error in the empty\ncorner {error:.2f}", fontsize=9.5)
    top.set_title(f"{use}\n", fontsize=10.5)
    top.text(
        0.5, 1.03, name, ha="center", family="monospace", fontsize=8.5, transform=top.transAxes
    )
for ax in axes[:, 1:].flat:
    ax.set_yticklabels([])
fig.suptitle(
    "Ridges and bumps, and what they make of an empty corner", fontsize=13, x=0.01, ha="left"
)
plt.show()

# %%
# Gradients
# ---------
# ``kernel.gradient(X, Y)`` holds the derivatives of k(x, y) in x, and ``kernel.expansion_gradient``
# those of a whole model, a sum of kernel functions. Arrows point uphill, and are longer where it
# is steeper.

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
fig.suptitle("Arrows point to where the function grows", fontsize=13, x=0.01, ha="left")
plt.show()
