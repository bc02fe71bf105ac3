"""What a user says about the errors of y: their kind, and the groups that they share."""

from typing import Any

import numpy as np

from skimp._core._types import Array
from skimp._params._rules import broken, check_values, one_of
from skimp.solvers.ridge import Errors

_RULES = {"errors": one_of("classical", "robust", "clustered")}
_MISSING = {"None", "nan", "NaT", "<NA>"}


def known_errors(
    kind: str, groups: Any, n_rows: int, present: Array | None, fitted: Array | None, *, owner: str
) -> Errors:
    """Return the errors of the rows that were fitted, after checks.

    Parameters
    ----------
    kind : str
        "classical", "robust" or "clustered".
    groups : array of shape (n,), or None
        The group of each row, of those of positive weight or of all, for "clustered".
    n_rows : int
        Number of rows of positive weight.
    present : array of bool, or None
        Which rows these are, None for all.
    fitted : array of int, or None
        Which of them were fitted, None for all.
    owner : str
        Who is named in an error.
    """
    check_values(owner, _RULES, errors=kind)
    if (kind == "clustered") != (groups is not None):
        wording = "given for errors='clustered', and for these alone"
        raise broken(owner, "groups", wording, groups)
    if groups is None:
        return Errors(kind)
    groups = np.asarray(groups)
    given = n_rows if present is None else len(present)
    if groups.ndim != 1 or len(groups) not in (n_rows, given):
        raise broken(owner, "groups", f"one for each of the {n_rows} rows of fit", groups.shape)
    if any(str(group) in _MISSING for group in groups.tolist()):
        raise broken(owner, "groups", "known for every row", "a missing one")
    if present is not None and len(groups) == given:
        groups = groups[present]
    groups = groups if fitted is None else groups[fitted]
    # objects of several kinds have no order
    groups = groups.astype(str) if groups.dtype == object else groups
    found, codes = np.unique(groups, return_inverse=True)
    if len(found) < 2:
        raise broken(owner, "groups", "two or more different ones", found.tolist())
    return Errors(kind, codes)
