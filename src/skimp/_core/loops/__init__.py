"""Compiled loops, the only modules that import Numba.

Functions import them when called, because importing Numba takes about 0.5 s.
"""
