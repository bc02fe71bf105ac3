"""Validation of parameters, strings as short names of objects, and all-or-nothing fits."""
