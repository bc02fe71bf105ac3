"""Benchmarks of speed, memory and accuracy."""
