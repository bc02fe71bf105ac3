"""PyTorch layers; the only folder that imports torch."""

from skimp.nn._bilinear_pooling import CompactBilinearPooling

__all__ = ["CompactBilinearPooling"]
