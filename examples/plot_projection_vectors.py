"""
Random vectors in feature space
===============================

A random projection takes inner products with vectors whose entries are independent. Polynomial
kernels have feature spaces that are too large for that. Vectors that are made of a few short ones
are cheap, as only the short ones are drawn. Are their entries independent, though?
"""

# %%
# Squares of one vector
# ---------------------
# Rows of 5 columns have 15 monomials of degree 2. A vector of 15 entries can be drawn at once, here
# by Achlioptas' rule for s = 3. Or 5 entries are drawn, r, and the vector is :math:`\phi(r)`:
# inner products with it are :math:`\langle x, r \rangle^2`, which needs no monomials. Or it is the
# sum of 30 of them, half of which are subtracted: one feature of `Degree2Projection`. Each kind is
# drawn 500 times.
#
# Correlations, on top, see no difference. Distance correlations, below, are zero for independent
# entries only, and see which of them share factors: where :math:`r_1^2` is zero, :math:`r_1 r_2` is
# zero too, while :math:`r_1 r_2` and :math:`r_3 r_4` have nothing in common. The sum washes it out,
# to what 500 draws of independent entries show by chance.

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
    axes[0, 0].set_ylabel("correlation, absolute")
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
    "15 entries, drawn": achlioptas(draws, len(pairs)),
    r"$\phi(r)$, of 5 drawn": one[:, order],
    r"30 vectors $\pm \phi(r_i)$, summed": np.einsum(
        "t,ntc->nc", signs, several.reshape(draws, terms, -1)
    )[:, order],
}
labels = [f"$r_{i + 1} r_{j + 1}$" if i != j else f"$r_{i + 1}^2$" for i, j in pairs[order]]
draw_pictures(kinds, labels)

# %%
# Products of two vectors
# -----------------------
# The same for :math:`x \otimes x`, with its 25 entries :math:`x_i x_j`. They are normal numbers; or
# all products of the entries of two normal vectors, :math:`r \otimes w`, with which inner products
# are :math:`\langle x, r \rangle \langle x, w \rangle`; or sums of 30 of these over the root of 30:
# one feature of `PolynomialProjection`. Entries :math:`r_i w_j` with the same i are next to each
# other, in blocks of five on the diagonal; those with the same j are on the lines beside it. They
# share a factor, all others do not. Some correlations on top are off zero by chance, more so of
# products, which have long tails.

r, w = rng.standard_normal((2, draws, terms, d))
products = np.einsum("nti,ntj->ntij", r, w).reshape(draws, terms, d * d)
kinds = {
    "25 entries, drawn": rng.standard_normal((draws, d * d)),
    r"$r \otimes w$, of 10 drawn": products[:, 0],
    r"30 vectors $r_i \otimes w_i$, summed": products.sum(axis=1) / np.sqrt(terms),
}
labels = [f"$r_{i + 1} w_{j + 1}$" for i in range(d) for j in range(d)]
found = draw_pictures(kinds, labels)

# %%
# Averages over pairs of entries that share a factor, and over those that do not. With 500 draws,
# distance correlations of independent entries are not zero either, as the first line shows.

i, j = np.divmod(np.arange(d * d), d)
shared = (i[:, None] == i) ^ (j[:, None] == j)
apart = (i[:, None] != i) & (j[:, None] != j)
print(f"{'mean distance correlation':28s} {'shared':>6s} {'apart':>6s}")
for name, matrix in zip(("drawn", "one product", "30 products"), found.values(), strict=True):
    print(f"{name:28s} {matrix[shared].mean():6.3f} {matrix[apart].mean():6.3f}")
