"""
Models that choose themselves
=============================

How many landmarks? Which map, which bandwidth, which penalty? By default a fit tries some models on
a sample of the rows, and takes the one from which more is not worth its cost.
"""

# %%
# Two targets, no choices
# -----------------------
# The same rows twice: with a target that is smooth, and with one that jumps. Neither model is told
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
# Each point is a trial, in the order of trials: landmarks and Fourier features of the Gaussian
# kernel, then grids of the Laplacian, judged by rows that are held out. Numbers are sizes; trials
# of one size differ in the bandwidth. The best family grows until the next doubling promises too
# little for its cost. The smooth target takes landmarks or waves, jumps take grids.

colours = {"Nystroem": BLUE, "RandomFourier": GREEN, "RandomBinning": RED}
fig, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
for ax, (name, model) in zip(axes, models.items(), strict=True):
    for number, trial in enumerate(model.certificate_.trials, start=1):
        ax.scatter(number, trial["error"], s=28, c=colours[trial["map"]])
        ax.annotate(
            trial["size"],
            (number, trial["error"]),
            textcoords="offset points",
            xytext=(0, 6),
            ha="center",
            fontsize=8,
        )
    ax.axhline(0.01, c="black", lw=0.8, ls=":")
    ax.annotate("variance of the noise", (1, 0.0097), va="top", fontsize=8)
    ax.set(yscale="log", ylim=(0.007, 2), xlabel="trial")
    ax.set_title(f"{name}: {type(model.approximation_).__name__}", loc="left")
    ax.xaxis.get_major_locator().set_params(integer=True)
for family, colour in colours.items():
    axes[0].scatter([], [], s=28, c=colour, label=family)
axes[0].set_ylabel("squared error of rows held out")
axes[0].legend(frameon=False)
plt.show()

# %%
# The certificate
# ---------------
# What was fitted, how well it stands for the kernel, what it cost, and why it stopped there.

y = targets["a smooth target"]
model = models["a smooth target"]
print(model.certificate_)

# %%
# Error against budget
# --------------------
# What would a smaller model have reached? The curve takes one pass over the rows, and a
# factorization for each of twenty penalties. Every point of it is the error of a model that could
# be fitted by itself.

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
