"""PyTorch layers; the only folder that imports torch."""

from skimp.nn._bilinear_pooling import CompactBilinearPooling
from skimp.nn._kernel_features import KernelFeatures
from skimp.nn._kernel_machine import kernel_machine

__all__ = ["CompactBilinearPooling", "KernelFeatures", "kernel_machine"]
