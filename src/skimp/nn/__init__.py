"""PyTorch layers; the only folder that imports torch."""
