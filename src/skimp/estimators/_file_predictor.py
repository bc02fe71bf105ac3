"""Predictions for more rows than memory holds, written to a file."""

from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from skimp._params._rules import one_of
from skimp.data import write_results

_PREFIXES = {
    "predict": "prediction",
    "predict_proba": "probability",
    "predict_log_proba": "log_probability",
    "decision_function": "score",
}
"""Methods that `FilePredictor.predict_to` accepts, and the names of their columns."""
_METHOD = one_of(*_PREFIXES)


class FilePredictor:
    """Mixin for estimators that write their predictions to a file."""

    def predict_to(self, X: Any, path: str | PathLike[str], *, method: str = "predict") -> Path:
        """Write the predictions for all rows to a Parquet file, in constant memory.

        Rows are predicted piece by piece and written in their order. The file appears once it is
        complete; if anything fails, there is none, and an older file is unchanged. Needs pyarrow:
        ``pip install 'skimp[data]'``.

        Parameters
        ----------
        X : array, CSR matrix, frame or Rows of shape (n, d)
            Rows with the columns of ``fit``.
        path : str or path
            The file to write, in an existing folder.
        method : str, default="predict"
            - "predict": the column ``prediction``, or ``prediction_0``, ``prediction_1``, ... for
              several outputs.
            - "predict_proba": a column ``probability_<label>`` for each class.
            - "predict_log_proba": the same as ``log_probability_<label>``.
            - "decision_function": ``score``, or ``score_<label>`` for each class.

        Returns
        -------
        Path
            The path of the file.

        Examples
        --------
        >>> import numpy as np
        >>> from tempfile import TemporaryDirectory
        >>> from skimp import KernelRegressor
        >>> X = np.linspace(0, 1, 200)[:, None]
        >>> model = KernelRegressor("rbf", approximation=20, random_state=0).fit(X, X[:, 0])
        >>> with TemporaryDirectory() as folder:
        ...     written = model.predict_to(X, f"{folder}/predictions.parquet")
        ...     (written.name, written.stat().st_size > 8 * 200)
        ('predictions.parquet', True)
        """
        owner = f"{type(self).__name__}.predict_to"
        if not _METHOD.test(method):
            raise ValueError(f"{owner}: method must be {_METHOD.wording}, got {method!r}.")
        check_is_fitted(self)
        try:
            compute = getattr(self, method)
        except AttributeError as error:
            message = f"{owner}: method={method!r} is not available: {error}"
            raise ValueError(message) from None
        return write_results(self, X, path, compute, partial(self._column_names, method))

    def _column_names(self, method: str, values: Any) -> list[str]:
        """Return the names of the columns of some results."""
        prefix = _PREFIXES[method]
        # outputs of other kinds than arrays are a column of objects
        if not isinstance(values, np.ndarray) or values.ndim < 2:
            return [prefix]
        labels = range(values.shape[1]) if method == "predict" else vars(self)["classes_"]
        return [f"{prefix}_{label}" for label in labels]
