"""Array-in, array-out numerics that every other folder stands on.

The modules whose names end in ``loops`` hold compiled code and import Numba: they are imported
inside the functions that use them, so that ``import skimp`` stays light.
"""
