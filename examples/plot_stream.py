"""
Learning from a stream
======================

``partial_fit`` adds rows to a model. This example follows the test error of three models while
they learn from a stream, and the time that they take.
"""

# %%
# The stream has eight columns and two classes that overlap. Each block of 2,000 rows is generated,
# passed to the models, and forgotten. All models use the same 1,000 random Fourier features and the
# same penalty. ``"direct"`` minimizes the squared loss, ``"pegasos"`` and ``"sgd"`` the hinge loss.

# sphinx_gallery_thumbnail_number = 1
from time import perf_counter

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.ticker import LogLocator

from skimp import KernelClassifier
from skimp.features import RandomFourier
from skimp.kernels import Gaussian

INK, FAINT = "#333333", "#9a9a9a"
COLORS = {"direct": "#2166ac", "pegasos": "#c8443c", "sgd": "#d8973c"}
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


def generate(rng, n):
    """Return rows, labels and the labels that are more likely."""
    X = rng.normal(size=(n, 8))
    score = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + np.cos(X[:, 3]) - 0.5
    return X, score + rng.normal(0, 0.5, n) > 0, score > 0


X_test, y_test, likely = generate(np.random.default_rng(1), 10_000)
best = 100 * np.mean(likely != y_test)
features = RandomFourier(Gaussian(gamma=0.1), n_components=1000, random_state=0)
options = {"approximation": features, "alpha": 1e-5}


def follow(model, blocks, size=2000):
    """Return rows, seconds and test errors in percent after some numbers of blocks."""
    rng, seconds, trace = np.random.default_rng(0), 0.0, []
    for block in range(1, max(blocks) + 1):
        X, y, _ = generate(rng, size)
        start = perf_counter()
        model.partial_fit(X, y, classes=[False, True])
        seconds += perf_counter() - start
        if block in blocks:
            trace.append((block * size, seconds, 100 * np.mean(model.predict(X_test) != y_test)))
    return np.transpose(trace)


traces = {}
for solver in COLORS:
    model = KernelClassifier(solver=solver, loss="squared" if solver == "direct" else "hinge")
    model.set_params(**options)
    # the first run compiles the loops
    follow(KernelClassifier(**model.get_params(deep=False)), blocks=[1], size=200)
    traces[solver] = follow(model, blocks=[1, 2, 3, 4, 6, 8, 11, 16, 23, 32, 45])

# %%
# ``"direct"`` learns most from each row (left): its model is the exact minimum for all rows so far.
# The other two take one small step for each row, and need several times as many rows for the same
# error. But a step takes 6 D operations for D features, and ``"direct"`` takes D^2 for each row and
# D^3 / 3 for each block. In the same time, the stochastic solvers learn from more rows, if the
# stream has them, and then are better (right). With 500 features instead of 1,000, ``"direct"`` is
# as good. In the end, the hinge loss has a lower error than the squared loss.
#
# ``"sgd"`` first tries step sizes on the rows of the first block. A first block of about 2,000 rows
# is enough for that; ``"pegasos"`` needs no trials.

fig, axes = plt.subplots(1, 2, figsize=(10, 4.2), sharey=True, layout="constrained")
for solver, (rows, seconds, errors) in traces.items():
    for ax, x in zip(axes, (rows, seconds), strict=True):
        ax.plot(x, errors, c=COLORS[solver], lw=1.8, marker="o", ms=3, label=solver)
for ax in axes:
    ax.axhline(best, c=FAINT, lw=1, ls="--")
    ax.set(xscale="log")
    ax.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    ax.xaxis.set_major_formatter("{x:,g}")
    ax.minorticks_off()
    ax.grid(axis="y", c="#eeeeee")
    ax.set_axisbelow(True)
axes[0].set(xlabel="rows seen", ylabel="test error in %")
axes[0].text(2000, best + 0.15, "best possible", c=FAINT)
axes[1].set_xlabel("seconds in partial_fit")
axes[0].legend(frameon=False)
plt.show()

for solver, (rows, seconds, errors) in traces.items():
    print(f"{solver}: {errors[-1]:.1f} % after {rows[-1]:,.0f} rows and {seconds[-1]:.2f} s")
print(f"best possible: {best:.1f} %")
