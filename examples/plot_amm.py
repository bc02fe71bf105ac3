"""
Several hyperplanes per class
=============================

`~skimp.AMMClassifier` gives each class a few linear functions, as many as it needs. This example
shows the regions where they win, compares its two methods, and removes small weights.
"""

# %%
# Three classes form curved arms that overlap a little. The score of a class is the largest value
# of its linear functions. A row is assigned to the class with the largest score.

# sphinx_gallery_thumbnail_number = 1
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import ListedColormap

from skimp import AMMClassifier

INK, FAINT = "#333333", "#9a9a9a"
COLORS = ["#2166ac", "#c8443c", "#d8973c"]
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


def generate(n, seed):
    """Return rows in three curved arms, and the number of the arm."""
    rng = np.random.default_rng(seed)
    arm, radius = rng.integers(0, 3, n), rng.uniform(0.3, 2, n)
    angle = 2 * np.pi * arm / 3 + 1.1 * radius + rng.normal(0, 0.35, n)
    return np.column_stack([radius * np.cos(angle), radius * np.sin(angle)]), arm


X, y = generate(4000, seed=0)
X_test, y_test = generate(10_000, seed=1)


def error(model):
    """Return the test error in percent."""
    return 100 * (1 - model.score(X_test, y_test))


# %%
# With one weight per class, the boundaries are three rays. Without that limit, a row for which all
# functions of its class are negative starts a new one. Thin lines separate the regions in which
# different functions win; together, they follow the arms.

ticks = np.linspace(-2.3, 2.3, 300)
grid = np.stack(np.meshgrid(ticks, ticks), axis=-1).reshape(-1, 2)
fig, axes = plt.subplots(1, 2, figsize=(9, 4.4), layout="constrained")
for ax, most in zip(axes, (1, 20), strict=True):
    model = AMMClassifier(alpha=1e-4, max_weights=most, random_state=0).fit(X, y)
    shape = (len(ticks), len(ticks))
    best = np.argmax(grid @ model.coef_.T + model.intercept_, axis=1).reshape(shape)
    for number in range(len(model.coef_)):
        ax.contour(ticks, ticks, best == number, levels=[0.5], colors=INK, linewidths=0.6)
    regions = model.predict(grid).reshape(shape)
    colors = ListedColormap(COLORS)
    ax.contourf(ticks, ticks, regions, levels=[-0.5, 0.5, 1.5, 2.5], cmap=colors, alpha=0.25)
    ax.scatter(*X[:1200].T, c=y[:1200], cmap=colors, s=3)
    weights = " + ".join(map(str, model.n_weights_))
    ax.set_title(f"{weights} weights, test error {error(model):.1f} %", loc="left")
    ax.set(aspect="equal", xticks=[], yticks=[])
plt.show()

# %%
# ``"online"`` moves the best weight of its class for each row. ``"batch"`` fixes at the start of a
# pass which weight each row moves, and needs more passes here. Averages over the last pass have
# lower errors than the last weights, which the publication uses. Lines are means over five seeds.

passes = [1, 2, 3, 5, 10, 20]
styles = {True: "-", False: ":"}
found = {}
for method, average in (("batch", True), ("online", True), ("batch", False), ("online", False)):
    options = {"method": method, "average": average, "alpha": 1e-4}
    found[method, average] = [
        [error(AMMClassifier(max_iter=n, random_state=s, **options).fit(X, y)) for s in range(5)]
        for n in passes
    ]

# %%
# Every 10,000 steps, the smallest weights are removed. If some labels are wrong, their rows start
# weights that hardly ever win. A larger ``pruning`` removes more of them. At least 99.9 % of the
# sum of squared norms remain, which limits the effect of large values.

rng = np.random.default_rng(2)
noisy = np.where(rng.random(len(y)) < 0.15, rng.integers(0, 3, len(y)), y)
sizes = [0, 1, 2, 5, 10, 20]
pruned = []
for size in sizes:
    models = [AMMClassifier(alpha=1e-4, pruning=size, random_state=s) for s in range(5)]
    pruned.append([(m.fit(X, noisy).n_weights_.sum(), error(m)) for m in models])
n_weights, errors = np.mean(pruned, axis=1).T

fig, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
for (method, average), values in found.items():
    color = COLORS[0] if method == "batch" else COLORS[1]
    label = f"{method}, {'average' if average else 'last weights'}"
    axes[0].plot(passes, np.mean(values, axis=1), styles[average], c=color, lw=1.8, label=label)
axes[0].set(xscale="log", xlabel="passes", ylabel="test error in %")
axes[0].set_xticks(passes, map(str, passes))
axes[0].legend(frameon=False)
places = np.arange(len(sizes))
axes[1].bar(places, n_weights, color=COLORS[0], alpha=0.3, width=0.7)
for place, count, value in zip(places, n_weights, errors, strict=True):
    axes[1].text(place, count + 0.3, f"{value:.1f} %", ha="center", c=INK)
axes[1].set_xticks(places, map(str, sizes))
axes[1].set(xlabel="pruning", ylabel="weights of all classes")
axes[1].set_title("15 % random labels: weights, and test errors", loc="left")
for ax in axes:
    ax.minorticks_off()
    ax.grid(axis="y", c="#eeeeee")
    ax.set_axisbelow(True)
plt.show()

for (method, average), values in found.items():
    last = np.mean(values[-1])
    print(f"{method}, {'average' if average else 'last weights'}: {last:.1f} % after 20 passes")
