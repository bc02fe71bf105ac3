"""
Projections from feature space
==============================

The feature space of a polynomial kernel has thousands of dimensions for a few dozen columns. A
random projection preserves its distances with a few hundred features, without computing the space.
The error depends on the number of features and on how they are built.
"""

# %%
# Distances
# ---------
# The digits have 64 pixels and 2,080 monomials of degree 2. The distortion is the mean relative
# error of squared distances in feature space. Bars are one standard deviation.
#
# Left: the number of features k. The error of maps that do not depend on the data decreases as
# 1 over the square root of k. `PolynomialProjection` and `Degree2Projection` have smaller errors
# than `TensorSketch` and `RandomMaclaurin`. The digits span few dimensions of feature space, which
# favours maps that use rows: `Nystroem` has the smallest error from 256 features on, followed by
# orthonormal directions in the span of 400 rows. Directions that are sums of 30 of these rows
# ("gaussian") shrink squared distances by 30 / 400 on average, for any number of features.
#
# Middle: the number of terms t of 300 features. About ten are enough if the vectors are not shared
# (`Degree2Projection`) or the pool is large.
#
# Right: the pool size p of `PolynomialProjection`. The time to map a row is proportional to p.
# Here the error decreases up to about a thousand vectors. Vectors are assigned so that all are
# used equally often. If they are drawn at random for each feature, as in the last line, the
# error for one term is a tenth larger.

# sphinx_gallery_thumbnail_number = 1
import matplotlib.pyplot as plt
import pandas as pd
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from skimp import KernelClassifier
from skimp.features import (
    Degree2Projection,
    KernelHash,
    KernelProjection,
    Nystroem,
    PolynomialProjection,
    RandomMaclaurin,
    TensorSketch,
)
from skimp.kernels import Polynomial
from skimp.report import HashRecallDisplay, KernelErrorDisplay

FAINT = "#b4b4b4"
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

X, y = load_digits(return_X_y=True)
X = X / 16
kernel = Polynomial(degree=2, gamma=1.0, coef0=0.0)
maps = {
    "PolynomialProjection": PolynomialProjection(n_vectors=2000, n_terms=10),
    "Degree2Projection": Degree2Projection(n_terms=10),
    "TensorSketch": TensorSketch(),
    "RandomMaclaurin": RandomMaclaurin(),
    "KernelProjection, gaussian": KernelProjection(kernel, budget=400),
    "KernelProjection, orthonormal": KernelProjection(kernel, method="orthonormal", budget=400),
    "Nystroem": Nystroem(kernel, selector="uniform"),
}
terms = {
    "PolynomialProjection, p = 3,000": PolynomialProjection(n_components=300, n_vectors=3000),
    "Degree2Projection": Degree2Projection(n_components=300),
    "PolynomialProjection, p = 250": PolynomialProjection(n_components=300, n_vectors=250),
}
pools = {
    f"PolynomialProjection, t = {t}": PolynomialProjection(n_components=300, n_terms=t)
    for t in (10, 1)
}
pools["t = 1, vectors drawn at random"] = PolynomialProjection(n_components=300, spread=False)
panels = {
    "features k": (maps, {"sizes": [64, 128, 256, 512]}),
    "terms t, of 300 features": (terms, {"sizes": [1, 2, 4, 10, 30], "parameter": "n_terms"}),
    "vectors in the pool p, of 300 features": (
        pools,
        {"sizes": [125, 250, 500, 1000, 2000], "parameter": "n_vectors", "repeats": 10},
    ),
}
fig, axes = plt.subplots(1, 3, figsize=(11.5, 4.8), sharey=True, layout="constrained")
for ax, (label, (compared, options)) in zip(axes, panels.items(), strict=True):
    options = {"sample": 120, "repeats": 2, **options}
    KernelErrorDisplay.from_data(compared, X, **options).plot(["distortion"], [ax])
    sizes = options["sizes"]
    ax.set(xlabel=label, ylabel="")
    ax.set_xticks(sizes, [f"{size:,}" for size in sizes])
    ax.minorticks_off()
    ax.legend(frameon=False, fontsize="small", loc="lower left")
axes[0].set_yticks([0.01, 0.02, 0.05, 0.1, 0.2], ["0.01", "0.02", "0.05", "0.1", "0.2"])
axes[0].set_ylabel("mean relative error of squared distances")
plt.show()

# %%
# Linear models
# -------------
# Accuracy of linear models on these features, on held-out digits. With 256 features, all maps are
# better than a linear model of the pixels. The maps differ less in accuracy than in distortion.

X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, random_state=0)


def accuracy(feature_map):
    """Return the accuracy of a linear model on features of a map."""
    model = KernelClassifier(kernel, approximation=feature_map, random_state=0)
    return model.fit(X_train, y_train).score(X_test, y_test)


found = {name: accuracy(feature_map.resized(256)) for name, feature_map in maps.items()}
linear = KernelClassifier("linear", random_state=0).fit(X_train, y_train)
found["64 pixels, linear"] = linear.score(X_test, y_test)
print(pd.Series(found).round(3).to_string())

# %%
# Hash codes
# ----------
# `KernelHash` stores the signs of features, eight to a byte. Rows whose codes differ in few bits
# are candidates for the nearest neighbours in feature space. The plots show the share of the 10
# nearest rows among the candidates. Standard errors are smaller than the markers. The bits of
# `KernelProjection` ("kernel") measure angles around the mean of the rows. Those of
# `PolynomialProjection` ("polynomial"), which do not depend on the rows, measure angles around the
# origin, and say less about distances. Distance-based hashing ("dbh") is good with few bits and
# improves least with more.

bits = (64, 256, 1024)
fig, axes = plt.subplots(1, 3, figsize=(11, 4), sharey=True, layout="constrained")
for ax, n_bits in zip(axes, bits, strict=True):
    hashings = {
        name: KernelHash(kernel, n_bits=n_bits, projection=name, random_state=0)
        for name in ("kernel", "polynomial", "dbh")
    }
    HashRecallDisplay.from_data(hashings, X, candidates=[10, 20, 50, 100, 200, 500]).plot(ax)
    ax.set_title(f"{n_bits:,} bits", loc="left")
    ax.set_xticks([10, 20, 50, 100, 200, 500], ["10", "20", "50", "100", "200", "500"])
    ax.minorticks_off()
    ax.get_legend().remove()
    ax.set_ylabel("")
axes[0].set_ylabel("share of the 10 nearest rows found")
axes[-1].legend(frameon=False, loc="lower right")
plt.show()
