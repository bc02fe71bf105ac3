"""Array-in, array-out numerics that all other folders use.

``_core.loops`` holds the compiled code and is the only folder that imports Numba.
"""
