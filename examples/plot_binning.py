"""
Random binning
==============

Random binning divides the space by random grids. The probability that two rows share a bin is the
Laplacian kernel, so a linear model of the bins approximates a kernel model. It is piecewise
constant, and each row is stored as a few small integers.
"""

# %%
# From grids to the kernel
# ------------------------
# A grid has a random pitch and a random shift for each column, and its bins are boxes. The lower
# row shows the share of grids in which x falls into the same bin as the white point b. With one
# grid it is 0 or 1. With more grids it converges to k(x, b).

# sphinx_gallery_thumbnail_number = 2
import matplotlib.pyplot as plt
import numpy as np

from skimp import KernelRegressor
from skimp.features import RandomBinning, RandomFourier
from skimp.kernels import Laplacian

RED, BLUE, FAINT = "#c8443c", "#2166ac", "#b4b4b4"
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

side = np.linspace(0, 1, 101)
plane = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
centre = np.array([[0.45, 0.55]])
kernel = Laplacian(gamma=4.0)


def show(ax, values, title, **look):
    """Draw values at the points of the plane."""
    image = ax.imshow(values.reshape(len(side), -1), extent=(0, 1, 0, 1), origin="lower", **look)
    ax.set(xticks=[], yticks=[])
    ax.set_title(title, loc="left")
    return image


fig, axes = plt.subplots(2, 4, figsize=(11, 5.9), layout="constrained")
colours = np.random.default_rng(3).permutation(20)
for seed, ax in enumerate(axes[0]):
    binning = RandomBinning(kernel, n_grids=1, random_state=seed).fit(plane)
    codes = np.empty((len(plane), 1), binning.coded.codes.dtype)
    binning.map_codes(plane, codes)
    title = f"one grid: {binning.n_bins_[0]} bins"
    show(ax, colours[codes[:, 0] % 20], title, cmap="tab20", interpolation="nearest")
for ax, size in zip(axes[1], (1, 10, 1000, None), strict=True):
    if size is None:
        values, title = kernel(plane, centre), "k(x, b)"
    else:
        binning = RandomBinning(kernel, n_grids=size, random_state=0).fit(plane)
        values = (binning.transform(plane) @ binning.transform(centre).T).toarray()
        title = f"share of {size:,} grids" if size > 1 else "same bin of 1 grid"
    show(ax, values, title, vmin=0, vmax=1)
    ax.scatter(*centre.T, s=42, c="white", edgecolors="black", linewidths=0.9)
plt.show()

# %%
# A function with jumps
# ---------------------
# The data are 3,000 noisy rows of a function with jumps along the axes and around a disk. All
# models use the same kernel, each with its best penalty. Random binning reproduces the jumps, with
# small steps elsewhere. Fourier features smooth the jumps and overshoot next to them: the spectrum
# of the Laplacian kernel has heavy tails, so many frequencies are too high to be useful.

rng = np.random.default_rng(0)


def jumps(X):
    """Return a staircase, with a disk cut out."""
    stairs = np.minimum(np.floor(3 * X[:, 0]), 2) + 2 * (X[:, 1] > 0.4)
    return np.where(np.linalg.norm(X - [0.65, 0.7], axis=1) < 0.22, -1.0, stairs)


X = rng.random((3000, 2))
y = jumps(X) + rng.normal(0, 0.3, len(X))
truth = jumps(plane)


def best(approximation):
    """Return the smallest RMSE over penalties, and the values of that model on the plane."""
    found = []
    for alpha in (1e-4, 3e-4):
        model = KernelRegressor(kernel, approximation=approximation, alpha=alpha, random_state=0)
        values = model.fit(X, y).predict(plane)
        found.append((np.sqrt(np.mean((values - truth) ** 2)), values))
    return min(found, key=lambda pair: pair[0])


fits = {
    "RandomBinning, 16 grids": RandomBinning(n_grids=16),
    "RandomBinning, 256 grids": RandomBinning(n_grids=256),
    "RandomFourier, 256 features": RandomFourier(n_components=256),
}
fig, axes = plt.subplots(2, 4, figsize=(11, 5.2), layout="constrained", height_ratios=[1.9, 1])
look = {"vmin": -1.5, "vmax": 4.5}
height = side[70]
cut = np.isclose(plane[:, 1], height)
near = np.abs(X[:, 1] - height) < 0.012
show(axes[0, 0], truth, "the function", **look)
axes[1, 0].scatter(X[near, 0], y[near], s=5, c=FAINT)
for column, (name, feature_map) in enumerate(fits.items(), start=1):
    error, values = best(feature_map)
    show(axes[0, column], values, f"{name}\nRMSE {error:.2f}", **look)
    axes[1, column].plot(side, values[cut], c=BLUE if "Fourier" in name else RED, lw=1.2)
for ax in axes[0]:
    ax.axhline(height, c="white", lw=0.8, ls=":")
for ax in axes[1]:
    ax.plot(side, truth[cut], c="black", lw=0.8, zorder=0)
    ax.set(ylim=(-3, 5), xlabel="along the dotted line")
plt.show()

# %%
# Number of grids and features
# ----------------------------
# Both maps converge to the exact kernel model. 16 grids have about the same error as 256 Fourier
# features.

exact, _ = best(None)
sizes = [8, 16, 32, 64, 128, 256]
kinds = {
    "RandomFourier, by features": (BLUE, lambda size: RandomFourier(n_components=size)),
    "RandomBinning, by grids": (RED, lambda size: RandomBinning(n_grids=size)),
}
fig, ax = plt.subplots(figsize=(6.5, 4), layout="constrained")
for name, (colour, make) in kinds.items():
    ax.plot(sizes, [best(make(size))[0] for size in sizes], "o-", c=colour, ms=4, label=name)
ax.axhline(exact, c="black", lw=1, ls=":", label="exact")
ax.set_xscale("log", base=2)
ax.set(xlabel="grids or features", ylabel="RMSE with the best penalty", ylim=(0, None))
ax.xaxis.set_major_formatter("{x:g}")
ax.legend(frameon=False)
plt.show()

# %%
# Memory of a row
# ---------------
# With P grids, a row is P integers: one byte each up to 255 bins for each grid, two bytes up to
# 65,535. As a CSR matrix, the same features take 12 bytes for each grid, and as a dense array 8
# bytes for each bin of all grids. A larger gamma means narrower and more bins, but not more
# integers. Solvers and predictions use the integers.

gammas = np.array([0.5, 1, 2, 4, 8, 16, 32, 64, 128])
in_bytes = {"array": [], "CSR matrix": [], "codes": []}
for gamma in gammas:
    binning = RandomBinning(Laplacian(gamma), n_grids=128, random_state=0).fit(X)
    Z = binning.transform(X)
    codes = np.empty((len(X), 128), binning.coded.codes.dtype)
    binning.map_codes(X, codes)
    in_bytes["array"].append(8 * Z.shape[1])
    in_bytes["CSR matrix"].append((Z.data.nbytes + Z.indices.nbytes + Z.indptr.nbytes) / len(X))
    in_bytes["codes"].append(codes.nbytes / len(X))

fig, ax = plt.subplots(figsize=(6.5, 4), layout="constrained")
for (name, values), colour in zip(in_bytes.items(), (FAINT, BLUE, RED), strict=True):
    ax.plot(gammas, values, "o-", c=colour, ms=4, label=name)
ax.set(xscale="log", yscale="log", xlabel="gamma", ylabel="bytes per row, 128 grids")
ax.xaxis.set_major_formatter("{x:g}")
ax.legend(frameon=False)
plt.show()
