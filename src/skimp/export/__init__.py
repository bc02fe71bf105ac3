"""Model files without pickle, ONNX and SQL."""
