"""Columns without rows, for maps that are drawn before any data."""

from typing import Any

import numpy as np

from skimp._params._rules import Rule, check_values, integer
from skimp.data import ArrayRows, Rows


def _is_real(dtype: Any) -> bool:
    try:
        return np.dtype(dtype).kind in "biuf"
    except TypeError:
        return False


_RULES = {
    "n_features": integer(at_least=1),
    "dtype": Rule("the dtype of real numbers, such as 'float32'", _is_real),
}


def columns_alone(estimator: Any, n_features: int, dtype: Any) -> Rows:
    """Validate the arguments of ``fit_width``, and return rows with these columns.

    Sets ``n_features_in_`` of the estimator, and removes the names of its columns.
    """
    check_values(type(estimator).__name__, _RULES, n_features=n_features, dtype=dtype)
    estimator.n_features_in_ = int(n_features)
    vars(estimator).pop("feature_names_in_", None)
    # selectors refuse zero rows, even if they return points of the user
    return ArrayRows(np.zeros((1, int(n_features)), dtype))
