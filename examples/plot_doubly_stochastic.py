"""
Doubly stochastic gradients
===========================

Each step draws a batch of rows and new random Fourier features. The frequencies are drawn again
from their seed whenever they are needed, so that the model is one number per feature and output.
Here is how fast the model approaches the exact one, for both kinds of steps, and how much memory it
takes.
"""

# %%
# Convergence
# -----------
# The exact model is kernel ridge regression with the same penalty. The paper proves an error of f
# that falls as 1 / t in the mean square, up to logarithms.

import pickle

import matplotlib.pyplot as plt
import numpy as np
from sklearn.base import clone
from sklearn.kernel_ridge import KernelRidge

from skimp import DoublyStochasticRegressor
from skimp.kernels import Gaussian

rng = np.random.default_rng(0)
X = rng.normal(size=(2000, 3))
y = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * rng.normal(size=2000)
y -= np.median(y)
alpha = 1e-3
exact = KernelRidge(kernel="rbf", gamma=0.3, alpha=len(X) * alpha).fit(X, y).predict(X)

passes = [1, 2, 4, 8, 16, 32]
model = DoublyStochasticRegressor(
    Gaussian(0.3), alpha=alpha, batch_size=500, n_frequencies=50, random_state=0
)
fig, ax = plt.subplots(figsize=(6, 4), layout="constrained")
for name, step in (("solved steps (auto)", "auto"), ("gradient steps, step=1", 1.0)):
    errors, n_steps = [], []
    learner = clone(model).set_params(step=step)
    for n in passes:
        learner.set_params(max_iter=n).fit(X, y)
        errors.append(np.mean((learner.predict(X) - exact) ** 2) / np.var(exact))
        n_steps.append(learner.n_frequencies_ // 50)
    print(name, np.round(errors, 5))
    ax.loglog(n_steps, errors, "o-", label=name)
ax.loglog(n_steps, errors[0] * n_steps[0] / np.array(n_steps), "k:", label="1 / t")
ax.set(xlabel="step t", ylabel="mean squared distance to the exact model, relative")
ax.legend()

# %%
# Memory
# ------
# A map of D stored frequencies of d columns takes d D numbers. This model takes two numbers per
# frequency, whatever d is.

for n in (4, 40):
    wide = rng.normal(size=(500, 400))
    learner = clone(model).set_params(max_iter=n, batch_size=125).fit(wide, y[:500])
    size, D = len(pickle.dumps(learner)), learner.n_frequencies_
    print(f"{D} frequencies of 400 columns: {size / 1e6:.2f} MB, stored {8 * 400 * D / 1e6:.1f} MB")
plt.show()
