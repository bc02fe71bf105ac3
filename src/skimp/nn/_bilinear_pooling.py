"""Compact bilinear pooling as a layer."""

from functools import reduce
from typing import Any, final

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from skimp._params._rules import NONE, Rule, check_values, integer
from skimp.features import BilinearPooling, product_scale, product_weights, sketch_weights
from skimp.nn._fixed import SparseMatrix, fixed_matrix
from skimp.nn._inputs import check_tensor, full_precision

_COUNT = integer(at_least=1)
_CHANNELS = Rule(
    "an integer >= 1 or two of them",
    lambda v: len(v) in (1, 2) and all(_COUNT.test(each) for each in v),
)


@final
class CompactBilinearPooling(nn.Module):
    r"""Compact bilinear pooling of feature maps.

    Computes the same features as `~skimp.features.BilinearPooling`; see there for formulas and
    costs. Equal seeds give equal features. A layer computes in float32, with vectors of that
    precision, or in the dtype of a float64 input.

    With float16 or bfloat16 input, sums are computed in float32. The output has the dtype of the
    input, but float32 inside an autocast region. Sums over many locations can exceed the range of
    float16: use ``pooling="mean"`` or ``normalize=True``.

    The vectors, buckets and signs are fixed. ``state_dict`` holds them, and a layer with the same
    parameters and any other seed can load them. Weights of second moments, which make pooling fast,
    are derived from them.

    Parameters
    ----------
    in_channels : int or (int, int)
        Number of channels, or those of two inputs.
    out_features : int or None
        Number of features k. "full" ignores it, and has :math:`d^g` features.
    method : "krp", "tensor_sketch", "maclaurin" or "full", default="krp"
        As in `~skimp.features.BilinearPooling`, and likewise the following parameters.
    degree : int, default=2
        Degree of the kernel; 2 for two inputs.
    n_vectors : int, default=5000
        Size of the pool of vectors of "krp".
    n_terms : int, default=2
        Number of products per feature of "krp".
    sparsity : float or "auto", default="auto"
        A fraction 1 / s of the entries of "krp" vectors is nonzero. "auto" is 100 for 500 channels
        or more.
    pooling : "sum" or "mean", default="sum"
        Whether to sum or average over the locations.
    signed_sqrt : bool, default=False
        Apply :math:`y / \sqrt{|y| + 10^{-6}}`, whose slope at 0 is finite.
    normalize : bool, default=False
        Divide the features of an image by their Euclidean norm, after the square root.
    seed : int, default=0
        Seed of the vectors, buckets and signs.

    Attributes
    ----------
    out_features : int
        Number of features.
    weights : module or None
        Weights of the second moments; None if the pooled functions are computed at each location.
        Set it to None to compare the two.

    References
    ----------
    López-Sánchez (2019), Low computational cost machine learning: random projections and polynomial
    kernels (thesis), chapter 5.

    Gao, Beijbom, Zhang and Darrell (2016), Compact bilinear pooling.

    Examples
    --------
    >>> import torch
    >>> from skimp.nn import CompactBilinearPooling
    >>> pool = CompactBilinearPooling(512, 2000, signed_sqrt=True, normalize=True)
    >>> head = torch.nn.Sequential(pool, torch.nn.Linear(2000, 17))
    >>> head(torch.rand(4, 512, 14, 14)).shape
    torch.Size([4, 17])
    """

    def __init__(
        self,
        in_channels: int | tuple[int, int],
        out_features: int | None,
        *,
        method: str = "krp",
        degree: int = 2,
        n_vectors: int = 5000,
        n_terms: int = 2,
        sparsity: float | str = "auto",
        pooling: str = "sum",
        signed_sqrt: bool = False,
        normalize: bool = False,
        seed: int = 0,
    ):
        super().__init__()
        channels = tuple(np.atleast_1d(in_channels).tolist())
        shared: dict[str, Any] = {
            "method": method,
            "degree": degree,
            "n_vectors": n_vectors,
            "n_terms": n_terms,
            "sparsity": sparsity,
            "pooling": pooling,
            "signed_sqrt": signed_sqrt,
            "normalize": normalize,
        }
        own = {"in_channels": channels, "out_features": out_features, "seed": seed}
        rules = {
            **BilinearPooling.rules,
            "in_channels": _CHANNELS,
            "out_features": NONE | _COUNT if method == "full" else _COUNT,
            "seed": integer(at_least=0),
        }
        check_values(type(self).__name__, rules, **own, **shared)
        drawn = BilinearPooling(
            out_features or 1,
            first_channels=channels[0] if len(channels) > 1 else None,
            random_state=seed,
            **shared,
        ).fit_width(sum(channels), dtype=np.float32)
        self.channels, self.out_features = channels, drawn.width
        self.method, self.degree, self.pooling = method, degree, pooling
        self.signed_sqrt, self.normalize = signed_sqrt, normalize
        if drawn.buckets_ is not None and drawn.signs_ is not None:
            self.register_buffer("buckets", torch.from_numpy(drawn.buckets_.astype(np.int32)))
            self.register_buffer("signs", torch.from_numpy(drawn.signs_))
        if drawn.vectors_ is not None and drawn.factors_ is not None:
            self.vectors = fixed_matrix(drawn.vectors_.T)
            factors = drawn.factors_.astype(np.int32, order="C")
            self.register_buffer("factors", torch.from_numpy(factors))
        if method != "full":
            sizes = np.array([*channels, degree, drawn.width], np.int32)
            self.register_buffer("sizes", torch.from_numpy(sizes))
        self.weights: SparseMatrix | None = None
        self.hold_weights(drawn.weights_)
        self.register_load_state_dict_post_hook(_derive_weights)

    def hold_weights(self, weights: Any) -> None:
        """Take over weights of second moments, a SciPy matrix or None."""
        self.weights = None
        if weights is not None:
            device = next(self.buffers()).device
            self.weights = SparseMatrix(weights, persistent=False).to(device)

    def _load_from_state_dict(
        self,
        state_dict: dict[str, Any],
        prefix: str,
        local_metadata: dict[str, Any],
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        """Load a state that fits, or nothing."""
        held = self.state_dict()
        given = {name: state_dict[prefix + name] for name in held if prefix + name in state_dict}
        if len(given) < len(held) or not self._accepts(given):
            if len(given) == len(held):
                expected, found = (
                    {name: tuple(part.shape) for name, part in parts.items()}
                    for parts in (held, given)
                )
                error_msgs.append(
                    f"size mismatch, or indices out of range, in {prefix or 'the layer'}: "
                    f"expected {expected}, found {found}. The state must be one of a layer with "
                    "the same channels, degree and features. Nothing was loaded."
                )
            state_dict.update({prefix + name: held[name] for name in given})
        super()._load_from_state_dict(
            state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs
        )

    def _accepts(self, state: dict[str, Tensor]) -> bool:
        """Return whether a complete state has the shapes of this layer, and indices in range."""
        own = dict(self.named_buffers(recurse=False))
        if any(state[name].shape != part.shape for name, part in own.items()):
            return False
        if self.method == "full":
            return True
        if state["sizes"].tolist() != [*self.channels, self.degree, self.out_features]:
            return False
        if self.method == "tensor_sketch":
            indices, largest = state["buckets"], self.out_features
        else:
            indices, largest = state["factors"], self.vectors.shape[0]
            names = self.vectors.state_dict()
            if not self.vectors.accepts({name: state[f"vectors.{name}"] for name in names}):
                return False
        return bool(((indices >= 0) & (indices < largest)).all())

    def extra_repr(self) -> str:
        """Return the parameters that ``print`` shows."""
        given = self.channels if len(self.channels) > 1 else self.channels[0]
        names = ("method", "degree", "pooling", "signed_sqrt", "normalize")
        options = [f"{name}={getattr(self, name)!r}" for name in names]
        return ", ".join([f"{given}, {self.out_features}", *options])

    def forward(self, X: Tensor, other: Tensor | None = None) -> Tensor:
        """Return the features of each image.

        Parameters
        ----------
        X : tensor of shape (N, C, H, W) or (N, L, C)
            Feature maps, or L descriptors per image.
        other : tensor, optional
            The second of two inputs, at the same locations.

        Returns
        -------
        Y : tensor of shape (N, k)
            Features.
        """
        given = [X] if other is None else [X, other]
        if len(given) != len(self.channels):
            raise ValueError(
                f"expected {len(self.channels)} of the inputs X and other, found {len(given)}. A "
                "layer of two inputs has in_channels=(first, second)."
            )
        inputs = [_descriptors(*pair) for pair in zip(given, self.channels, strict=True)]
        if inputs[0].shape[:2] != inputs[-1].shape[:2] or (
            X.ndim == given[-1].ndim == 4 and X.shape[2:] != given[-1].shape[2:]
        ):
            raise ValueError(
                "inputs must have the same images and locations, found shapes "
                f"{tuple(given[0].shape)} and {tuple(given[-1].shape)}."
            )
        with full_precision(X) as (dtype, out_dtype):
            return self._features([part.to(dtype) for part in inputs]).to(out_dtype)

    def _features(self, inputs: list[Tensor]) -> Tensor:
        Y = self._sums(inputs)
        if self.pooling == "mean":
            Y = Y / inputs[0].shape[1]
        if self.signed_sqrt:
            Y = Y / (Y.abs() + BilinearPooling.root_eps).sqrt()
        if self.normalize:  # squares of very large and small features are out of range
            largest = Y.detach().abs().amax(1, keepdim=True)
            Y = F.normalize(Y / torch.where(largest > 0, largest, 1))
        return Y

    def _sums(self, inputs: list[Tensor]) -> Tensor:
        """Return the sums over the locations."""
        if self.weights is not None:
            return self.weights.of_moments(inputs[0], inputs[1] if len(inputs) > 1 else None)
        if self.method == "full":
            factors = inputs if len(inputs) > 1 else inputs * self.degree
            *first, last = factors
            return (reduce(_pairs, first).mT @ last).flatten(1)
        joined = torch.cat(inputs, -1) if len(inputs) > 1 else inputs[0]
        return (
            self._convolutions(joined) if self.method == "tensor_sketch" else self._products(joined)
        )

    def _products(self, X: Tensor) -> Tensor:
        """Return sums of products of inner products with the vectors."""
        P = self.vectors(X.flatten(0, 1)).unflatten(0, X.shape[:2])
        n_terms, _, width = self.factors.shape
        terms = [
            reduce(torch.mul, (P.index_select(-1, each.int()) for each in factors)).sum(1)
            for factors in self.factors
        ]
        return torch.stack(terms).sum(0) * product_scale(width, n_terms)

    def _convolutions(self, X: Tensor) -> Tensor:
        """Return sums of convolutions of count sketches: all but one transform precede the sum."""
        if not torch.compiler.is_compiling() and not len(X):  # transforms need images
            return X.sum((1, 2))[:, None].expand(-1, self.out_features)
        zeros = X.new_zeros(*X.shape[:2], self.out_features)
        spectra = [
            torch.fft.rfft(zeros.index_add(-1, buckets.long(), X * signs.to(X.dtype)))
            for buckets, signs in zip(self.buckets, self.signs, strict=True)
        ]
        return torch.fft.irfft(reduce(torch.mul, spectra).sum(1), self.out_features)


def _derive_weights(layer: CompactBilinearPooling, _: Any) -> None:
    """Derive the weights of second moments from loaded vectors, or from buckets and signs."""
    if layer.method == "full":
        return
    if layer.method == "tensor_sketch":
        buckets, signs = layer.buckets.cpu().numpy(), layer.signs.float().cpu().numpy()
        weights = sketch_weights(buckets, signs, layer.out_features, layer.channels)
    else:
        vectors = layer.vectors.matrix(torch.float32).T
        weights = product_weights(vectors, layer.factors.cpu().numpy(), layer.channels)
    layer.hold_weights(weights)


def _descriptors(X: Tensor, n_channels: int) -> Tensor:
    """Return descriptors of shape (N, L, C)."""
    check_tensor(X)
    if not X.is_floating_point():
        raise TypeError(f"expected an input of a floating-point dtype, found {X.dtype}.")
    if X.ndim not in (3, 4) or X.shape[1 if X.ndim == 4 else 2] != n_channels:
        raise ValueError(
            f"expected an input of shape (N, {n_channels}, H, W) or (N, L, {n_channels}), found "
            f"{tuple(X.shape)}."
        )
    X = X.flatten(2).mT if X.ndim == 4 else X
    if not X.shape[1]:
        raise ValueError(f"expected at least one location, found {tuple(X.shape)}.")
    return X


def _pairs(X: Tensor, U: Tensor) -> Tensor:
    """Return the products of all pairs of channels at each location."""
    return (X.unsqueeze(-1) * U.unsqueeze(-2)).flatten(-2)
