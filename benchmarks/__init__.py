"""Benchmarks: ratios measured in one run, with the machine they were measured on."""
