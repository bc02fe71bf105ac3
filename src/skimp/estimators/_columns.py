"""A warning about columns that do not suit a bandwidth."""

from skimp.choice import measure_columns
from skimp.data import Context, Rows
from skimp.kernels import Kernel

_MEASURED = 1000
"""Number of rows on which columns are measured."""


def warn_of_columns(owner: str, rows: Rows, kernel: Kernel, context: Context) -> None:
    """Warn if the bandwidth of a kernel does not suit the columns."""
    if kernel.distance_degree is not None:
        drawn = rows.sample(_MEASURED, 0, context)
        columns = measure_columns(drawn.X, drawn.weight, rows.feature_names)
        columns.warn(owner, kernel, " first, for example in a pipeline")
