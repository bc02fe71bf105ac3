"""
More rows than memory
=====================

A model fits from a Parquet file in memory that does not depend on the number of rows. This example
measures that, kills a fit in the middle, and resumes it.
"""

# %%
# The files have 16 columns of float32, a categorical column and a target. They are written a block
# at a time.

# sphinx_gallery_thumbnail_number = 1
import subprocess
import sys
import tracemalloc
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

import matplotlib.pyplot as plt
import numpy as np
import pyarrow as pa
from pyarrow import parquet

from skimp import KernelRegressor
from skimp.data import open_rows
from skimp.features import RandomFourier
from skimp.kernels import Gaussian

INK, FAINT, BLUE, RED = "#333333", "#9a9a9a", "#2166ac", "#c8443c"
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
folder = TemporaryDirectory()


def write(n_rows):
    """Write a file, and return its path."""
    path, rng, writer = Path(folder.name, f"{n_rows}.parquet"), np.random.default_rng(0), None
    for _ in range(n_rows // 25_000):
        X = rng.normal(size=(25_000, 16)).astype(np.float32)
        city = rng.choice(["Bonn", "Jena", "Ulm"], len(X))
        y = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + (city == "Ulm") + rng.normal(0, 0.3, len(X))
        table = pa.table({f"x{j}": X[:, j] for j in range(16)} | {"city": city, "y": y})
        writer = writer or parquet.ParquetWriter(path, table.schema)
        writer.write_table(table)
    writer.close()
    return path


rows = open_rows(write(25_000), target="y")
print(rows.feature_names[-3:])

# %%
# Each fit uses 300 random Fourier features and may take 50 MB. Besides the seconds, the plot shows
# the largest memory of NumPy's arrays during the fit, and the size of the rows in memory.

features = RandomFourier(Gaussian(gamma=0.05), n_components=300)
options = {"approximation": features, "alpha": 1e-6, "memory_limit": "50MB", "random_state": 0}
sizes, seconds, held = [50_000, 100_000, 200_000, 400_000], [], []
KernelRegressor(**options).fit(rows)  # compiles
for n_rows in sizes:
    rows = open_rows(write(n_rows), target="y")
    tracemalloc.start()
    start = perf_counter()
    model = KernelRegressor(**options).fit(rows)
    seconds.append(perf_counter() - start)
    held.append(tracemalloc.get_traced_memory()[1] / 1e6)
    tracemalloc.stop()

figure, (left, right) = plt.subplots(1, 2, figsize=(8.6, 3.3), layout="constrained")
left.plot(sizes, held, "o-", color=BLUE, ms=4)
left.plot(sizes, [n * 19 * 4 / 1e6 for n in sizes], "--", color=FAINT)
left.annotate("during the fit", (sizes[0], held[0]), (-4, -14), textcoords="offset points", c=BLUE)
left.annotate("the rows as an array", (240_000, 15), c=INK)
right.plot(sizes, seconds, "o-", color=RED, ms=4)
for axes, title in ((left, "memory, MB"), (right, "seconds")):
    axes.set_title(title, loc="left")
    axes.set_xlabel("rows")
    axes.set_ylim(bottom=0)
    axes.set_xticks(range(0, 500_000, 100_000))
    axes.xaxis.set_major_formatter("{x:,.0f}")

# %%
# The model predicts from a file to a file. ``categories`` are those of the training rows.

new = open_rows(write(25_000), target="y", categories=rows.categories)
predicted = model.predict_to(new, Path(folder.name, "predicted.parquet"))
print(parquet.read_table(predicted).slice(0, 3).to_pydict())

# %%
# This program fits with a checkpoint. It is killed as soon as it has stored a part of its work, and
# started again. The model is the same as that of a fit without interruption.

PROGRAM = """
import sys
from time import perf_counter
import numpy as np
from skimp import KernelClassifier
from skimp.data import Checkpoint, open_rows
from skimp.features import RandomFourier
from skimp.kernels import Gaussian

path, checkpoint, result = sys.argv[1:]
rows = open_rows(path, target="city", columns=[f"x{j}" for j in range(16)] + ["y"])
model = KernelClassifier(
    approximation=RandomFourier(Gaussian(gamma=0.05), n_components=300),
    loss="log", alpha=1e-5, memory_limit="50MB", random_state=0,
    checkpoint=Checkpoint(checkpoint, every=0.2),
)
start = perf_counter()
np.save(result, model.fit(rows).coef_)
print(f"{perf_counter() - start:.1f} s, {model.solution_.message}")
"""


def start(name):
    """Start the program with its own checkpoint."""
    arguments = [str(write(200_000)), f"{folder.name}/{name}", f"{folder.name}/{name}.npy"]
    command = [sys.executable, "-c", PROGRAM, *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


print("whole:  ", start("whole").communicate()[0])
process = start("killed")
stored = Path(folder.name, "killed")
while process.poll() is None and len(list(stored.glob("0*"))) < 12:
    pass
process.kill()
process.communicate()
print("killed with", len(list(stored.glob("0*"))), "stored steps\n")
print("resumed:", start("killed").communicate()[0])
same = np.array_equal(np.load(f"{folder.name}/whole.npy"), np.load(f"{folder.name}/killed.npy"))
print("equal models:", same)
