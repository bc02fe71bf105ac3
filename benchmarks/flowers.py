"""Photographs of 17 flowers, and the feature maps of SqueezeNet v1.1 up to layer fire9."""

import io
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np

from benchmarks.datasets import Array, arrays

CHANNELS = 512
"""Channels of fire9; 227 x 227 pixels give 14 x 14 locations, 224 x 224 give 13 x 13."""
CLASSES = 17
_MEAN, _SCALE = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
_BATCH = 40


@cache
def photographs() -> tuple[Any, Array, Array]:
    """Return the images as a tensor (n, 3, 227, 227) of bytes, classes, and the training part.

    `datasets` has one split, which keeps copies of the same photograph together.
    """
    import torch
    from PIL import Image

    stored = arrays("flowers17")
    jpeg, ends = stored["jpeg"], stored["offsets"]
    files = [jpeg[a:b].tobytes() for a, b in pairwise(ends)]
    pixels = np.stack([np.asarray(Image.open(io.BytesIO(file))) for file in files])
    images = torch.from_numpy(pixels).permute(0, 3, 1, 2).contiguous()
    return images, stored["y"].astype(np.int64), stored["is_train"]


def weights() -> dict[str, Any]:
    """Return new tensors of the weights and biases up to fire9, in single precision."""
    import torch

    stored = arrays("squeezenet11")
    names = [name for name in stored if name.startswith(("conv1_", "fire"))]
    return {name: torch.from_numpy(stored[name].astype(np.float32)) for name in names}


def fire9(weights: dict[str, Any], images: Any) -> Any:
    """Return the feature maps (n, 512, height, width) of images of bytes."""
    import torch
    from torch.nn import functional as F

    def convolved(name: str, maps: Any, **options: int) -> Any:
        kernel, bias = weights[f"{name}_weight"], weights[f"{name}_bias"]
        return F.relu(F.conv2d(maps, kernel, bias, **options))

    mean, scale = (torch.tensor(v).view(1, 3, 1, 1) for v in (_MEAN, _SCALE))
    maps = convolved("conv1", (images / 255 - mean) / scale, stride=2)
    for block in range(2, 10):
        if block in (2, 4, 6):
            maps = F.max_pool2d(maps, 3, stride=2, ceil_mode=True)
        squeezed = convolved(f"fire{block}_squeeze1x1", maps)
        small = convolved(f"fire{block}_expand1x1", squeezed)
        large = convolved(f"fire{block}_expand3x3", squeezed, padding=1)
        maps = torch.cat([small, large], dim=1)
    return maps


@cache
def feature_maps() -> Any:
    """Return the feature maps of all images, by the weights as they are stored."""
    import torch

    layers, images = weights(), photographs()[0]
    with torch.inference_mode():
        return torch.cat([fire9(layers, part) for part in images.split(_BATCH)])
