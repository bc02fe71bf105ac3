"""Compiled loops: the only modules that import Numba.

They are imported inside the functions that use them, so that ``import skimp`` stays light.
"""
