"""
Random vectors in feature space
===============================

A random projection takes inner products with vectors whose entries are independent. The feature
spaces of polynomial kernels are too large to draw such vectors. Vectors composed of a few short
random vectors are cheap. This example shows how dependent their entries are.
"""

# %%
# Squares of one vector
# ---------------------
# Rows of 5 columns have 15 monomials of degree 2. The left vectors have 15 independent entries,
# drawn by Achlioptas' rule with s = 3. The middle vectors are :math:`\phi(r)` for a random r with
# 5 entries: inner products with them are :math:`\langle x, r \rangle^2`, which needs no monomials.
# The right vectors are sums of 30 of these, half of them subtracted: one feature of
# `Degree2Projection`. Each kind is drawn 500 times.
#
# The correlations in the upper row are close to zero for all three. Distance correlations, in the
# lower row, are zero only for independent entries. They show which entries share factors: if
# :math:`r_1^2` is zero, so is :math:`r_1 r_2`, while :math:`r_1 r_2` and :math:`r_3 r_4` are
# independent. In the sum, the dependence is no larger than the random fluctuation of 500 draws.

# sphinx_gallery_thumbnail_number = 1
import matplotlib.pyplot as plt
import numpy as np

from skimp.features import ExplicitPolynomial

plt.rcParams.update({"figure.dpi": 130, "font.size": 9.5, "axes.titlesize": 10})
d, terms, draws = 5, 30, 500
rng = np.random.default_rng(0)


def achlioptas(*shape, s=3):
    """Return signs, of which all but one in s are zero, with unit variance."""
    return np.sqrt(s) * rng.choice([1, 0, -1], shape, p=[0.5 / s, 1 - 1 / s, 0.5 / s])


def distance_correlation(V):
    """Return the distance correlations of columns, from distances that are centred twice."""
    centred = []
    for v in V.T:
        D = np.abs(v[:, None] - v)
        means = D.mean(axis=0)
        D += means.mean() - means - means[:, None]
        centred.append(D.ravel())
    covariance = np.stack(centred) @ np.stack(centred).T
    scale = np.sqrt(np.diag(covariance))
    return np.sqrt(covariance / np.outer(scale, scale))


def draw_pictures(kinds, labels):
    """Draw both kinds of correlation for each kind of vectors, and return the second."""
    found = {name: distance_correlation(V) for name, V in kinds.items()}
    fig, axes = plt.subplots(
        2, 3, figsize=(10.5, 6.9), sharex=True, sharey=True, layout="constrained"
    )
    for column, (name, V) in zip(axes.T, kinds.items(), strict=True):
        column[0].set_title(name)
        for ax, matrix in zip(column, (np.abs(np.corrcoef(V.T)), found[name]), strict=True):
            image = ax.imshow(matrix, vmin=0, vmax=0.5, cmap="magma_r")
            ax.tick_params(length=0, labelsize=7)
    axes[0, 0].set_ylabel("absolute correlation")
    axes[1, 0].set_ylabel("distance correlation")
    axes[0, 0].set_xticks([])
    axes[0, 0].set_yticks(range(len(labels)), labels)
    fig.colorbar(image, ax=axes, shrink=0.6, pad=0.02, extend="max")
    plt.show()
    return found


phi = ExplicitPolynomial(degree=2).fit(np.zeros((1, d)))
pairs = np.array([(i, j) for i in range(d) for j in range(i, d)])
order = np.argsort(pairs[:, 0] != pairs[:, 1], kind="stable")  # squares first
one = phi.transform(achlioptas(draws, d) / 2**0.25)
several = phi.transform(achlioptas(draws * terms, d) / (2 * terms) ** 0.25)
signs = np.repeat([1, -1], terms // 2)
kinds = {
    "15 independent entries": achlioptas(draws, len(pairs)),
    r"$\phi(r)$, r with 5 entries": one[:, order],
    r"sum of 30 vectors $\pm \phi(r_i)$": np.einsum(
        "t,ntc->nc", signs, several.reshape(draws, terms, -1)
    )[:, order],
}
labels = [f"$r_{i + 1} r_{j + 1}$" if i != j else f"$r_{i + 1}^2$" for i, j in pairs[order]]
draw_pictures(kinds, labels)

# %%
# Products of two vectors
# -----------------------
# The same for :math:`x \otimes x` with its 25 entries :math:`x_i x_j`. The left vectors have
# independent normal entries. The middle vectors are :math:`r \otimes w` for two normal vectors,
# whose inner products are :math:`\langle x, r \rangle \langle x, w \rangle`. The right vectors are
# sums of 30 of these divided by :math:`\sqrt{30}`: one feature of `PolynomialProjection`. Entries
# :math:`r_i w_j` with the same i form blocks of five on the diagonal, and entries with the same j
# form the lines next to it. Only these share a factor. Some correlations in the upper row differ
# from zero by chance, especially for products, which have heavy tails.

r, w = rng.standard_normal((2, draws, terms, d))
products = np.einsum("nti,ntj->ntij", r, w).reshape(draws, terms, d * d)
kinds = {
    "25 independent entries": rng.standard_normal((draws, d * d)),
    r"$r \otimes w$, 10 entries": products[:, 0],
    r"sum of 30 vectors $r_i \otimes w_i$": products.sum(axis=1) / np.sqrt(terms),
}
labels = [f"$r_{i + 1} w_{j + 1}$" for i in range(d) for j in range(d)]
found = draw_pictures(kinds, labels)

# %%
# Mean distance correlations over pairs of entries that share a factor and over those that do not.
# The first line shows that with 500 draws they are not exactly zero for independent entries
# either.

i, j = np.divmod(np.arange(d * d), d)
shared = (i[:, None] == i) ^ (j[:, None] == j)
apart = (i[:, None] != i) & (j[:, None] != j)
print(f"{'mean distance correlation':28s} {'shared':>6s} {'other':>6s}")
for name, matrix in zip(("independent", "one product", "30 products"), found.values(), strict=True):
    print(f"{name:28s} {matrix[shared].mean():6.3f} {matrix[apart].mean():6.3f}")
