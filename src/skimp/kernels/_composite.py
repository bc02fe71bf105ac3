"""What kernels made of kernels share."""

from abc import ABC

from skimp.kernels._base import Kernel


class Composite(Kernel, ABC):
    """A kernel whose flags follow from those of the kernels that it is made of."""

    @property
    def positive_definite(self) -> bool:
        """True if all parts are."""
        return all(part.positive_definite for part in self._inner().values())

    @property
    def stationary(self) -> bool:
        """True if all parts are."""
        return all(part.stationary for part in self._inner().values())

    @property
    def rotation_invariant(self) -> bool:
        """True if all parts are."""
        return all(part.rotation_invariant for part in self._inner().values())

    @property
    def needs_nonnegative(self) -> bool:
        """True if any part does."""
        return any(part.needs_nonnegative for part in self._inner().values())

    @property
    def takes_objects(self) -> bool:
        """True if any part does."""
        return any(part.takes_objects for part in self._inner().values())

    @property
    def differentiable(self) -> bool:
        """True if all parts are."""
        return all(part.differentiable for part in self._inner().values())


def grouped(kernel: Kernel, level: int) -> str:
    """Return the text of a kernel, in parentheses if it binds less than a level.

    Sums are of level 0, products of level 1, everything else of level 2.
    """
    return f"({kernel!r})" if getattr(kernel, "_level", 2) < level else repr(kernel)
