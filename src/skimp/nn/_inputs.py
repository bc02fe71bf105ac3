"""What layers accept, and the precision in which they compute."""

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import torch
from torch import Tensor

LOW_PRECISION = (torch.float16, torch.bfloat16)


def check_tensor(X: Any) -> None:
    """Raise unless this is a tensor."""
    if not torch.is_tensor(X):
        raise TypeError(
            f"expected a tensor, found {type(X).__name__}; torch.from_numpy makes one of an array."
        )


@contextmanager
def full_precision(X: Tensor) -> Iterator[tuple[torch.dtype, torch.dtype]]:
    """Leave autocast, and yield the dtypes of computation and output for an input."""
    device, low = X.device.type, X.dtype in LOW_PRECISION
    cast = torch.amp.is_autocast_available(device) and torch.is_autocast_enabled(device)
    with torch.autocast(device, enabled=False) if cast else nullcontext():
        dtype = torch.float32 if low else X.dtype
        yield dtype, dtype if cast else X.dtype
