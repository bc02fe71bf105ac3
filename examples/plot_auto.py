"""
Models that choose themselves
=============================

How many landmarks? Which kernel, which bandwidth, which penalty? By default a fit tries some
models, judges them by rows that are left out, and stops if a larger model is not worth its cost.
"""

# %%
# Two targets, no choices
# -----------------------
# The same rows twice: with a target that is smooth, and with one that jumps. Neither model knows
# which it is.

# sphinx_gallery_thumbnail_number = 2
import matplotlib.pyplot as plt
import numpy as np

from skimp import KernelRegressor
from skimp.diagnostics import budget_curve, plan
from skimp.report import BudgetCurveDisplay

RED, BLUE, GREEN, FAINT = "#c8443c", "#2166ac", "#3a8f5c", "#b4b4b4"
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

rng = np.random.default_rng(0)
X = rng.random((3000, 4))
noise = rng.normal(0, 0.1, len(X))
targets = {
    "a smooth target": np.sin(6 * X[:, 0] * X[:, 1]) + X[:, 2] + noise,
    "a target with jumps": np.floor(4 * X[:, 0]) * (X[:, 1] > 0.3) + np.floor(3 * X[:, 2]) + noise,
}
models = {}
for name, y in targets.items():
    models[name] = KernelRegressor(random_state=0).fit(X[:2000], y[:2000])
    score = models[name].score(X[2000:], y[2000:])
    print(f"{name}: R^2 {score:.3f} with {models[name].certificate_.approximation}")

# %%
# What was tried
# --------------
# Each point is a trial, in the order of trials: landmarks of the Gaussian kernel, landmarks of the
# Laplacian, and a linear model. Numbers are sizes; trials of one kernel and size differ in the
# bandwidth. Every row is left out once, in closed form. The smooth target takes the Gaussian. Jumps
# take the Laplacian, and more landmarks. Beyond 512 landmarks, errors are extrapolated without a
# trial. More than 8,192 rows would have trials of Fourier features and grids as well.

colours = {"Gaussian": BLUE, "Laplacian": RED, "linear": GREEN}
fig, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
for ax, (name, model) in zip(axes, models.items(), strict=True):
    for number, trial in enumerate(model.certificate_.trials, start=1):
        # a linear model has neither a size nor a kernel
        family = trial["kernel"].partition("(")[0] if trial["size"] else "linear"
        ax.scatter(number, trial["error"], s=28, c=colours[family])
        ax.annotate(
            trial["size"] or "",
            (number, trial["error"]),
            textcoords="offset points",
            xytext=(0, 6),
            ha="center",
            fontsize=8,
        )
    ax.axhline(0.01, c="black", lw=0.8, ls=":")
    ax.annotate("variance of the noise", (1, 0.0097), va="top", fontsize=8)
    ax.set(yscale="log", ylim=(0.007, 2), xlabel="trial")
    ax.set_title(f"{name}: {model.approximation_.budget} landmarks", loc="left")
    ax.xaxis.get_major_locator().set_params(integer=True)
for family, colour in colours.items():
    axes[0].scatter([], [], s=28, c=colour, label=family)
axes[0].set_ylabel("squared error of rows left out")
axes[0].legend(frameon=False)
plt.show()

# %%
# The certificate
# ---------------
# What was fitted, how well it represents the kernel, what it cost, and why the search stopped.

y = targets["a smooth target"]
model = models["a smooth target"]
print(model.certificate_)

# %%
# Error against budget
# --------------------
# What would a smaller model have reached? The curve takes one pass over the rows, and one
# factorization for each of twenty penalties. Every point is the error of a model that could be
# fitted by itself.

chosen = KernelRegressor(approximation=model.approximation_, random_state=0)
curve = budget_curve(chosen, X[:2000], y[:2000])
display = BudgetCurveDisplay(curve).plot()
display.ax_.set_title(f"From one pass: error against the number of {curve.what}", loc="left")
plt.show()

# %%
# The plan
# --------
# What a fit would take on this machine, from the shape of the data alone.

for size in (500, 2000):
    print(f"{size} landmarks, 1,000,000 rows of 20 columns")
    print(plan(KernelRegressor("rbf", approximation=size), (1_000_000, 20)), end="\n\n")
