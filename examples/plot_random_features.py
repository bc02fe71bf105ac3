"""
Kernel error of random features
===============================

Inner products of random features equal the kernel on average. The error of one draw depends on the
number of features and on how the frequencies are sampled. This example measures it and compares it
with bounds.
"""

# %%
# Sampling methods
# ----------------
# `KernelErrorDisplay` fits maps of several sizes and compares them with their kernel on a sample
# of rows. Bars are one standard deviation. Upper row, 3 columns: quasi-random frequencies ("qmc")
# have the smallest error, and it decreases faster than the square root of the size. Lower row, the
# 64 columns of digits: orthogonal and structured frequencies have the smallest error, "fastfood"
# is worse than independent frequencies, and "qmc" needs more features than columns. For random
# binning, with the Laplacian kernel, the size is the number of grids.

# sphinx_gallery_thumbnail_number = 1
import matplotlib.pyplot as plt
import numpy as np
from scipy.spatial.distance import pdist
from sklearn.datasets import load_digits

from skimp.diagnostics import binning_bound, compare_maps, fourier_bound, hoeffding_bound
from skimp.features import RandomBinning, RandomFourier
from skimp.kernels import Gaussian, Laplacian
from skimp.report import KernelErrorDisplay

RED, BLUE, GREEN, FAINT = "#c8443c", "#2166ac", "#3c8d5a", "#b4b4b4"
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

sets = {
    "3 normal columns": np.random.default_rng(0).normal(size=(500, 3)),
    "digits, 64 columns": load_digits().data[:500] / 16,
}
fig, axes = plt.subplots(2, 2, figsize=(10.5, 7.6), layout="constrained")
for row, (name, X) in zip(axes, sets.items(), strict=True):
    gaussian = Gaussian(1 / np.median(pdist(X, "sqeuclidean")))
    maps = {
        kind: RandomFourier(gaussian, sampling=kind)
        for kind in ("iid", "orthogonal", "structured", "fastfood", "qmc")
    }
    maps["binning"] = RandomBinning(Laplacian(1 / np.median(pdist(X, "cityblock"))))
    display = KernelErrorDisplay.from_data(
        maps, X, sizes=[64, 128, 256, 512, 1024], sample=200, repeats=3
    ).plot(axes=row)
    row[0].set_title(name, loc="left")
plt.show()

# %%
# The display also returns its data as a frame. These are the errors on digits.

frame = display.to_frame()
print(frame[frame["size"] == 1024].groupby("map", sort=False)[["frobenius", "max"]].mean().round(3))

# %%
# Error by distance
# -----------------
# The standard deviation of the inner product of two rows, from the variance formulas. Fourier
# features are exact for equal rows in the pair form only, and have the largest error for distant
# rows. Random binning is exact for equal rows and nearly exact for distant rows.

t = np.linspace(0, 4, 201)
k, k_doubled, tent = np.exp(-(t**2)), np.exp(-((2 * t) ** 2)), np.exp(-t)
variances = {
    "RandomFourier(Gaussian(1.0)), pair": (1 + k_doubled - 2 * k**2, BLUE),
    "RandomFourier(Gaussian(1.0)), phase": (1 + k_doubled / 2 - k**2, GREEN),
    "RandomBinning(Laplacian(1.0))": (tent * (1 - tent), RED),
}
fig, ax = plt.subplots(figsize=(6.5, 4), layout="constrained")
for name, (variance, colour) in variances.items():
    ax.plot(t, np.sqrt(variance / 200), c=colour, label=name)
ax.set(xlabel="distance of two rows", ylabel="standard deviation", ylim=(-0.003, 0.1))
ax.set_title("200 features or grids", loc="left")
ax.legend(frameon=False, loc="upper right")
plt.show()

# %%
# Bounds
# ------
# The rows are in the unit square. Dots are the largest errors over all pairs of a grid of 121
# rows, in 5 draws. Lines are errors that are exceeded with a probability of at most 1 %: by one
# given pair (Hoeffding), and by any pair in the square (`fourier_bound`, `binning_bound`). The
# bounds for all pairs also hold for unseen rows. Here they are about six times the measured errors
# of Fourier features, and about three times those of random binning.

side = np.linspace(0, 1, 11)
X = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
sizes = [100, 200, 400, 800, 1600]
smooth, tents = Gaussian(2.0), Laplacian(1.0)
panels = {
    "RandomFourier(Gaussian(2.0))": (
        RandomFourier(smooth),
        lambda eps, size: fourier_bound(smooth, eps, size, diameter=2**0.5, n_features=2),
        lambda eps, size: hoeffding_bound(eps, size),
    ),
    "RandomBinning(Laplacian(1.0))": (
        RandomBinning(tents),
        lambda eps, size: binning_bound(tents, eps, size, diameter=1.0, n_features=2),
        lambda eps, size: hoeffding_bound(eps, size, form="binning"),
    ),
}


def exceeded_rarely(bound, size):
    """Return the error whose bound is 1 %, by bisection."""
    low, high = 1e-4, 2.0
    for _ in range(20):
        middle = (low + high) / 2
        low, high = (low, middle) if bound(middle, size) <= 0.01 else (middle, high)
    return high


fig, axes = plt.subplots(1, 2, figsize=(10, 4.2), sharey=True, layout="constrained")
for ax, (name, (feature_map, of_all, of_one)) in zip(axes, panels.items(), strict=True):
    frame = compare_maps({name: feature_map}, X, sizes=sizes, repeats=5, sample=121).to_frame()
    ax.plot(sizes, [exceeded_rarely(of_all, s) for s in sizes], c=RED, label="bound for any pair")
    ax.plot(sizes, [exceeded_rarely(of_one, s) for s in sizes], c=BLUE, label="bound for one pair")
    ax.plot(
        frame["size"],
        frame["max"],
        "o",
        c="black",
        ms=3,
        alpha=0.5,
        label="largest error of 121 rows",
    )
    ax.set(xscale="log", yscale="log", xlabel="grids" if "Binning" in name else "features")
    ax.set_xticks(sizes, [f"{size:,}" for size in sizes])
    ax.minorticks_off()
    ax.set_title(name, loc="left")
axes[0].set_yticks([0.02, 0.05, 0.1, 0.2, 0.5], ["0.02", "0.05", "0.1", "0.2", "0.5"])
axes[0].set_ylabel("error of k(x, y)")
axes[0].legend(frameon=False)
plt.show()
