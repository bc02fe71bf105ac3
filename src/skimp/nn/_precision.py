"""The precision in which layers compute."""

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext

import torch
from torch import Tensor

_LOW = (torch.float16, torch.bfloat16)


@contextmanager
def full_precision(X: Tensor) -> Iterator[tuple[torch.dtype, torch.dtype]]:
    """Leave autocast, and yield the dtypes of computation and output for an input."""
    device, low = X.device.type, X.dtype in _LOW
    cast = torch.is_autocast_enabled(device)
    with torch.autocast(device, enabled=False) if cast else nullcontext():
        dtype = torch.float32 if low else X.dtype
        yield dtype, dtype if cast else X.dtype
