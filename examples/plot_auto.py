"""
Models that choose themselves
=============================

By default, a fit compares several models on left-out rows. It chooses the kernel, the bandwidth,
the number of landmarks and the penalty, and stops when a larger model is not worth its cost.
"""

# %%
# Two targets, default parameters
# -------------------------------
# The same rows with two targets: a smooth one and one with jumps. Both models use default
# parameters.

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
    "smooth target": np.sin(6 * X[:, 0] * X[:, 1]) + X[:, 2] + noise,
    "target with jumps": np.floor(4 * X[:, 0]) * (X[:, 1] > 0.3) + np.floor(3 * X[:, 2]) + noise,
}
models = {}
for name, y in targets.items():
    models[name] = KernelRegressor(random_state=0).fit(X[:2000], y[:2000])
    score = models[name].score(X[2000:], y[2000:])
    print(f"{name}: R^2 {score:.3f} with {models[name].certificate_.approximation}")

# %%
# The trials
# ----------
# Each point is a trial, in order: landmarks of the Gaussian kernel, landmarks of the Laplacian
# kernel, and a linear model. The numbers are sizes. Trials with the same kernel and size differ in
# the bandwidth. The error is the leave-one-out error. For the smooth target, the Gaussian kernel
# is chosen. For the target with jumps, the Laplacian kernel is chosen, with more landmarks. Sizes
# above 512 landmarks are extrapolated without a trial. With more than 8,192 rows, Fourier features
# and random binning would also be tried.

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
axes[0].set_ylabel("leave-one-out squared error")
axes[0].legend(frameon=False)
plt.show()

# %%
# The certificate
# ---------------
# The certificate lists what was fitted, how well it represents the kernel, what it cost, and why
# the search stopped.

y = targets["smooth target"]
model = models["smooth target"]
print(model.certificate_)

# %%
# Error against budget
# --------------------
# ``budget_curve`` estimates the error of other sizes from one pass over the rows and one
# factorization for each of twenty penalties. Each point is the error of a model that could be
# fitted separately.

chosen = KernelRegressor(approximation=model.approximation_, random_state=0)
curve = budget_curve(chosen, X[:2000], y[:2000])
display = BudgetCurveDisplay(curve).plot()
display.ax_.set_title(f"Error against the number of {curve.what}, from one pass", loc="left")
plt.show()

# %%
# The plan
# --------
# ``plan`` predicts the time and memory of a fit on this machine from the shape of the data.

for size in (500, 2000):
    print(f"{size} landmarks, 1,000,000 rows of 20 columns")
    print(plan(KernelRegressor("rbf", approximation=size), (1_000_000, 20)), end="\n\n")
