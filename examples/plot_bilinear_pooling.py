"""
Bilinear pooling of textures
============================

`~skimp.features.BilinearPooling` describes a set, such as the patches of an image, by products of
pairs of channels, summed over the set. Compact pooling approximates all products by few features.
"""

# %%
# Textures of eight directions: noise that is smoothed along a line. The descriptors of an image are
# its patches of 7 x 7 pixels. Their mean is about zero in all classes, so the average patch is
# useless. What distinguishes textures is which pixels of a patch go together: 49 x 49 sums of
# products, which is what bilinear pooling computes. A linear support vector machine does the rest.

# sphinx_gallery_thumbnail_number = 1
import matplotlib.pyplot as plt
import numpy as np
from scipy.ndimage import gaussian_filter1d, rotate
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

from skimp.features import BilinearPooling

INK, FAINT = "#333333", "#9a9a9a"
COLORS = ["#c8443c", "#2166ac", "#4d9a5b"]
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
CLASSES, SIDE, PATCH = 8, 24, 7
rng = np.random.default_rng(0)


def texture(direction):
    """Return an image of smoothed noise with more noise on top."""
    size = 2 * SIDE
    smooth = gaussian_filter1d(rng.normal(size=(size, size)), 1.5, axis=0)
    turned = rotate(smooth, 180 * direction / CLASSES, reshape=False, mode="wrap", order=1)
    middle = slice(size // 4, size // 4 + SIDE)
    image = turned[middle, middle] / turned.std()
    return image + 1.5 * rng.normal(size=image.shape)


y = np.repeat(np.arange(CLASSES), 75)
images = np.array([texture(label) for label in y])
patches = np.lib.stride_tricks.sliding_window_view(images, (PATCH, PATCH), axis=(1, 2))
X = patches.reshape(len(images), -1, PATCH * PATCH)
print("images, patches, pixels of a patch:", X.shape)
X_train, X_test, y_train, y_test = train_test_split(X, y, stratify=y, random_state=0)


def accuracy(pooling):
    model = make_pipeline(pooling, LinearSVC(random_state=0)).fit(X_train, y_train)
    return 100 * model.score(X_test, y_test)


# %%
# Pooling the pixels themselves is as good as guessing (12.5 %). Compact pooling needs a few
# hundred features to be as accurate as all 2,401 sums.

finish = {"pooling": "mean", "signed_sqrt": True, "normalize": True}
average = 100 * LinearSVC().fit(X_train.mean(1), y_train).score(X_test.mean(1), y_test)
full = accuracy(BilinearPooling(method="full", **finish))
sizes = [15, 30, 60, 120, 240, 480, 960]
methods = {"krp": "KRP", "tensor_sketch": "TensorSketch", "maclaurin": "Maclaurin"}
found = {
    method: [
        [
            accuracy(BilinearPooling(k, method=method, random_state=seed, **finish))
            for seed in range(3)
        ]
        for k in sizes
    ]
    for method in methods
}

fig, axes = plt.subplots(
    1, 2, figsize=(9.5, 3.3), layout="constrained", gridspec_kw={"width_ratios": [1.2, 2]}
)
shown = images[:: len(images) // CLASSES].reshape(2, 4, SIDE, SIDE)
tiles = np.pad(shown, ((0, 0), (0, 0), (1, 1), (1, 1)), constant_values=np.nan)
axes[0].imshow(tiles.swapaxes(1, 2).reshape(2 * (SIDE + 2), -1), cmap="gray")
axes[0].set(xticks=[], yticks=[], title="one texture of each class")
axes[0].spines[:].set_visible(False)
axes[1].axhline(full, c=INK, lw=1)
axes[1].annotate("all 2,401 products", (sizes[0], full), xytext=(0, 4), textcoords="offset points")
axes[1].axhline(average, c=FAINT, lw=1, ls=":")
axes[1].annotate(
    "average patch", (sizes[-1], average), xytext=(0, 4), textcoords="offset points", ha="right"
)
for (method, label), color in zip(methods.items(), COLORS, strict=True):
    axes[1].plot(sizes, np.mean(found[method], axis=1), "o-", c=color, lw=1.8, ms=4, label=label)
axes[1].set(xscale="log", xlabel="features", ylabel="accuracy in %", ylim=(0, 105))
axes[1].set_xticks(sizes, map(str, sizes))
axes[1].minorticks_off()
axes[1].legend(frameon=False, loc="lower right", bbox_to_anchor=(1, 0.15))
plt.show()
