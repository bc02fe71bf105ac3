"""Doubly stochastic gradients: accuracy on digits, and memory as features are added."""

import time

import numpy as np

from benchmarks.datasets import train_test
from benchmarks.harness import Bar, benchmark, in_fresh_process

_GROWTH = """
import json
import numpy as np
from benchmarks.harness import peak_bytes
from skimp import DoublyStochasticRegressor
from skimp.kernels import Gaussian

rng = np.random.default_rng(0)
X = np.float32(rng.normal(size=(4096, 1000)))
y = X[:, 0] * X[:, 1]
model = DoublyStochasticRegressor(
    Gaussian(5e-4), batch_size=4096, n_frequencies=500, max_iter={passes}, random_state=0
).fit(X, y)
model.predict(X)
print(json.dumps({{"peak": peak_bytes(), "features": 2 * model.n_frequencies_}}))
"""


@benchmark
def doubly_memory() -> Bar:
    """Growth of the peak memory, in a fresh process, while the features grow tenfold."""
    few, many = (in_fresh_process(_GROWTH.format(passes=n)) for n in (4, 40))
    growth = (many["peak"] - few["peak"]) / 1e6
    stored = 4 * 1000 * (many["features"] - few["features"]) / 2 / 1e6
    details = {
        "peak MB": many["peak"] / 1e6,
        "features": f"{few['features']} to {many['features']}",
    }
    details["MB of the frequencies, if they were stored"] = stored
    return Bar(
        "doubly stochastic, ten times the features: growth of the peak, MB",
        growth,
        10,
        details=details,
    )


@benchmark
def doubly_mnist() -> list[Bar]:
    """Ten digits, on 80 principal components, with parameters chosen on 5,000 training rows."""
    from sklearn.decomposition import PCA
    from sklearn.pipeline import make_pipeline

    from skimp import DoublyStochasticClassifier
    from skimp.kernels import Gaussian

    X, y, X_test, y_test = train_test("mnist")
    X, X_test = np.float32(X) / 255, np.float32(X_test) / 255
    machine = DoublyStochasticClassifier(
        Gaussian(0.03), alpha=1e-6, n_frequencies=3000, max_iter=3, random_state=0
    )
    model = make_pipeline(PCA(80, random_state=0), machine)
    began = time.perf_counter()
    model.fit(X, y)
    seconds = time.perf_counter() - began
    accuracy = 100 * model.score(X_test, y_test)
    details = {"features": 2 * machine.n_frequencies_}
    return [
        Bar(
            "doubly stochastic, MNIST: accuracy in %",
            accuracy,
            98.0,
            at_least=True,
            details=details,
        ),
        Bar("doubly stochastic, MNIST: seconds", seconds, 300.0),
    ]
