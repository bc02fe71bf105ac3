"""PyTorch layers; the only folder that imports torch."""

try:
    import torch  # noqa: F401
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        'skimp.nn needs PyTorch: pip install "skimp[torch]"', name=error.name
    ) from error

from skimp.nn._bilinear_pooling import CompactBilinearPooling
from skimp.nn._kernel_features import KernelFeatures
from skimp.nn._kernel_machine import kernel_machine

__all__ = ["CompactBilinearPooling", "KernelFeatures", "kernel_machine"]
