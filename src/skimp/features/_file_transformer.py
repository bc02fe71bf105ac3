"""Features of more rows than memory holds, written to a file."""

from collections.abc import Callable
from os import PathLike
from pathlib import Path
from typing import Any

from sklearn.utils.validation import check_is_fitted

from skimp._core._types import Array
from skimp.data import write_results


class FileTransformer:
    """Mixin for transformers that write their output to a file."""

    transform: Callable[[Any], Any]
    get_feature_names_out: Callable[[], Array]

    @property
    def _n_features_out(self) -> int:
        raise NotImplementedError

    def transform_to(self, X: Any, path: str | PathLike[str]) -> Path:
        """Write the output of ``transform`` for all rows to a Parquet file, in constant memory.

        Rows are transformed piece by piece and written in their order. The file appears once it is
        complete; if anything fails, there is none, and an older file is unchanged. Sparse output is
        written as ordinary columns, at most 4,096. Needs pyarrow: ``pip install 'skimp[data]'``.

        Parameters
        ----------
        X : array, CSR matrix, frame or Rows of shape (n, d)
            Rows with the columns of ``fit``.
        path : str or path
            The file to write, in an existing folder. Its columns have the names that
            ``get_feature_names_out`` returns.

        Returns
        -------
        Path
            The path of the file.

        Examples
        --------
        >>> import numpy as np
        >>> from tempfile import TemporaryDirectory
        >>> from skimp.features import RandomFourier
        >>> X = np.eye(200)
        >>> features = RandomFourier(n_components=30, random_state=0).fit(X)
        >>> with TemporaryDirectory() as folder:
        ...     written = features.transform_to(X, f"{folder}/features.parquet")
        ...     (written.name, written.stat().st_size > 8 * 200 * 30)
        ('features.parquet', True)
        """
        check_is_fitted(self)

        def names(_: Any) -> list[str]:
            return [str(name) for name in self.get_feature_names_out()]

        return write_results(self, X, path, self.transform, names, self._n_features_out)
