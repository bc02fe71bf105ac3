"""Random Fourier and Nystroem features as a layer."""

from collections.abc import Callable
from math import pi
from typing import Any, Self, final

import numpy as np
import torch
from sklearn.utils.validation import check_is_fitted
from torch import Tensor, nn

from skimp._core._linalg import dense
from skimp._core._types import Array
from skimp._params._rules import BOOLEAN, check_values, number
from skimp.features import Basis, Landmarks, Nystroem, RandomFourier, WhitenedLandmarks
from skimp.nn._alignment import aligned_weights, centred_targets
from skimp.nn._inputs import check_tensor, full_precision
from skimp.nn._kernels import KernelColumns


@final
class KernelFeatures(nn.Module):
    r"""Features of a kernel, from a fitted `RandomFourier` or `Nystroem` map.

    The layer computes the same as the map, with gradients, in the dtype of the map: fit the map to
    float32 rows, or draw it with ``fit_width(d, dtype="float32")``. Together with a linear layer it
    is a kernel machine, whose input can be the output of other layers.

    Mapping n rows of d columns to D features takes O(n d D) time with D / 2 frequencies. With m
    landmarks it takes O(n m (d + D)), for the kernel values and their combinations. A forward pass
    keeps O(n (m + D)) numbers for the gradient. Compiled and exported programs keep n m d for the
    Laplacian kernel, Matern with nu = 0.5, and landmarks that are too far apart for inner products.

    Parameters
    ----------
    feature_map : RandomFourier, Nystroem or Landmarks
        The fitted map, or the kernel columns of landmarks alone. Kernels of landmarks can be
        Gaussian, Laplacian, Cauchy, Matern (nu = 0.5, 1.5, 2.5), Linear and Polynomial, without
        sums, products or restrictions. Fourier features can have any kernel of `RandomFourier`.
    trainable : bool, default=False
        Whether frequencies and phases, or landmarks, are trained. The features of trained landmarks
        keep the ``normalization_`` of the map, which the next linear layer can make up for.
    weighted : bool, default=False
        Whether each frequency has a weight q, 1 at first, which is trained or set by `align`:

        .. math:: k_q(x, y) = \sum_j q_j \, z_j(x)^T z_j(y)

        Weighted frequencies are samples of another spectrum, so that the kernel itself is learned.
        Only for Fourier features. The parameter ``gains`` holds the square roots of the weights.

    Attributes
    ----------
    out_features : int
        Number of features.
    gains : Parameter or None
        Square roots of the weights.

    References
    ----------
    Sinha and Duchi (2016), Learning kernels with random features.

    Examples
    --------
    >>> import torch
    >>> from skimp.features import RandomFourier
    >>> from skimp.kernels import Gaussian
    >>> from skimp.nn import KernelFeatures
    >>> drawn = RandomFourier(Gaussian(0.1), n_components=500, random_state=0)
    >>> features = KernelFeatures(drawn.fit_width(16, dtype="float32"), trainable=True)
    >>> network = torch.nn.Sequential(torch.nn.Linear(64, 16), features, torch.nn.Linear(500, 10))
    >>> network(torch.rand(3, 64)).shape
    torch.Size([3, 10])
    """

    def __init__(self, feature_map: Basis, *, trainable: bool = False, weighted: bool = False):
        super().__init__()
        rules = {"trainable": BOOLEAN, "weighted": BOOLEAN}
        check_values(type(self).__name__, rules, trainable=trainable, weighted=weighted)
        if type(feature_map) not in _FORMS:
            raise TypeError(
                "KernelFeatures: feature_map must be a fitted RandomFourier or Nystroem map, or "
                f"Landmarks, found {type(feature_map).__name__}."
            )
        if type(feature_map) in (RandomFourier, Nystroem):
            check_is_fitted(feature_map)
        self.form = _FORMS[type(feature_map)](feature_map, trainable)
        self.in_features, self.out_features = self.form.n_columns, feature_map.width
        n_weights = self.form.n_frequencies if weighted else 0
        if weighted and not n_weights:
            raise ValueError("KernelFeatures: weighted requires RandomFourier features.")
        ones = torch.ones(n_weights, dtype=self.form.dtype)
        self.gains = nn.Parameter(ones) if weighted else None

    def extra_repr(self) -> str:
        """Return the parameters that ``print`` shows."""
        return f"{self.in_features}, {self.out_features}, weighted={self.gains is not None}"

    def forward(self, X: Tensor) -> Tensor:
        """Return the features.

        Parameters
        ----------
        X : tensor of shape (..., d)
            Rows.

        Returns
        -------
        Z : tensor of shape (..., width)
            Features, in the dtype of the layer.
        """
        self._check(X)
        with full_precision(X):
            Z = self._map(X.reshape(-1, self.in_features))
            if self.gains is not None:
                Z = Z * self.form.per_feature(self.gains)
        return Z.to(self.form.dtype).reshape(*X.shape[:-1], self.out_features)

    def _check(self, X: Tensor) -> None:
        check_tensor(X)
        if not X.ndim or X.shape[-1] != self.in_features:
            raise ValueError(
                f"expected an input with {self.in_features} columns, found shape {tuple(X.shape)}."
            )

    def _map(self, X: Tensor) -> Tensor:
        """Return the features of rows, in single precision at least."""
        return self.form(X.to(torch.promote_types(self.form.dtype, torch.float32)))

    @torch.no_grad()
    def align(self, X: Tensor, y: Tensor, *, radius: float = 1.0) -> Self:
        r"""Set the weights that align the kernel best with targets, and return the layer.

        They maximise :math:`\sum_{i j} \langle y_i, y_j \rangle k_q(x_i, x_j)` for centred targets,
        over nonnegative weights with mean 1 and mean square at most 1 + radius. Frequencies that do
        not help get zero weight. Call it once for a part of the data before training.

        Parameters
        ----------
        X : tensor of shape (n, d)
            Rows.
        y : tensor of shape (n,) or (n, k)
            Class labels, if integers, or numeric targets. They must be finite and differ.
        radius : float, default=1.0
            How far the weights may be from equal ones. At least a fraction 1 / (1 + radius) of them
            is positive.

        Returns
        -------
        self

        Examples
        --------
        >>> import torch
        >>> from skimp.features import RandomFourier
        >>> from skimp.kernels import Gaussian
        >>> from skimp.nn import KernelFeatures
        >>> X = torch.randn(1000, 5, generator=torch.Generator().manual_seed(0))
        >>> drawn = RandomFourier(Gaussian(0.5), n_components=400, random_state=0)
        >>> layer = KernelFeatures(drawn.fit_width(5, dtype="float32"), weighted=True)
        >>> round(layer.align(X, (X[:, 0] > 0).long()).gains.square().mean().item(), 3)
        1.0
        """
        if self.gains is None:
            raise ValueError("KernelFeatures: align() requires weighted=True.")
        check_values(type(self).__name__, {"radius": number(at_least=0)}, radius=radius)
        self._check(X)
        check_tensor(y)
        if X.ndim != 2 or y.ndim not in (1, 2) or not len(X) == len(y) > 0:
            raise ValueError(
                "KernelFeatures: align() expects X of shape (n, d) and y of shape (n,) or (n, k), "
                f"found {tuple(X.shape)} and {tuple(y.shape)}."
            )
        Z = self._map(X)
        of_features = (centred_targets(y).to(Z.dtype).mT @ Z).square().sum(0)
        if not of_features.isfinite().all():
            raise ValueError("KernelFeatures: align() found NaN or infinity in X.")
        self.gains.copy_(aligned_weights(self.form.per_frequency(of_features), radius).sqrt())
        return self


@final
class _Fourier(nn.Module):
    """Cosines of all frequencies, then sines of the first ones, as in `RandomFourier`."""

    def __init__(self, drawn: RandomFourier, trainable: bool):
        super().__init__()
        W, offset = drawn.frequencies_, drawn.offset_
        self.n_columns = len(W)
        self.n_frequencies = len(offset)
        self.n_sines = drawn.width - len(offset)
        self.frequencies = nn.Parameter(torch.tensor(2 * pi * W), requires_grad=trainable)
        self.phases = nn.Parameter(torch.tensor(2 * pi * offset), requires_grad=trainable)
        amplitude = np.sqrt(drawn.kernel_.diag(np.zeros((1, len(W)))).item() / len(offset))
        scale = np.full(drawn.width, amplitude)
        # a cosine without a sine has twice the square
        scale[self.n_sines : len(offset)] *= np.sqrt(2)
        self.register_buffer("scale", torch.tensor(scale, dtype=self.dtype))

    @property
    def dtype(self) -> torch.dtype:
        return self.frequencies.dtype

    def per_feature(self, values: Tensor) -> Tensor:
        """Return the value of the frequency of each feature."""
        return torch.cat([values, values[: self.n_sines]])

    def per_frequency(self, values: Tensor) -> Tensor:
        """Return the sums over the features of each frequency."""
        sums = values[: self.n_frequencies].clone()
        sums[: self.n_sines] += values[self.n_frequencies :]
        return sums

    def forward(self, X: Tensor) -> Tensor:
        angles = X @ self.frequencies.to(X.dtype) + self.phases
        return torch.cat([angles.cos(), angles[:, : self.n_sines].sin()], 1) * self.scale


@final
class _Landmarks(nn.Module):
    """Kernel columns of landmarks, times a matrix W unless it is None."""

    n_frequencies = 0

    def __init__(self, landmarks: Landmarks, W: Array | None, trainable: bool):
        super().__init__()
        B = torch.tensor(dense(landmarks.points, landmarks.dtype))
        self.n_columns = B.shape[1]
        self.columns = KernelColumns(landmarks.kernel, B, trainable=trainable)
        self.register_buffer("normalization", None if W is None else torch.tensor(W))

    @property
    def dtype(self) -> torch.dtype:
        return self.columns.points.dtype

    def forward(self, X: Tensor) -> Tensor:
        K = self.columns(X)
        if self.normalization is None:
            return K
        dtype = torch.promote_types(K.dtype, self.normalization.dtype)
        return K.to(dtype) @ self.normalization.to(dtype)


_FORMS: dict[type, Callable[[Any, bool], Any]] = {
    RandomFourier: _Fourier,
    Nystroem: lambda fitted, trainable: _Landmarks(
        fitted.landmarks_, fitted.normalization_, trainable
    ),
    Landmarks: lambda landmarks, trainable: _Landmarks(landmarks, None, trainable),
    WhitenedLandmarks: lambda basis, trainable: _Landmarks(basis.landmarks_, basis.root, trainable),
}
