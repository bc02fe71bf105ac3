"""Names that stand for objects wherever an object is accepted."""

from collections.abc import Mapping
from importlib import import_module
from typing import Any, TypeVar

from skimp._params._rules import broken

T = TypeVar("T")


def as_object(
    value: Any,
    kind: type[T],
    names: Mapping[str, str],
    folder: str,
    *,
    owner: str,
    role: str,
    other: str = "",
) -> T:
    """Return an object of a kind, given as it is or by a name that a folder exports it under.

    Parameters
    ----------
    value : object
        What the user passed.
    kind : type
        What it has to be an instance of.
    names : mapping
        From accepted strings to the folder's names of a class, or of an object.
    folder : str
        The folder, such as "skimp.kernels".
    owner, role : str
        The class and the parameter that an error is about.
    other : str
        What the owner takes besides, which an error names first.
    """
    if isinstance(value, kind):
        return value
    if isinstance(value, str) and value in names:
        found = getattr(import_module(folder), names[value])
        named: T = found() if isinstance(found, type) else found
        return named
    accepted = ", ".join(repr(name) for name in names)
    wording = f"a {role} object or one of {accepted}"
    raise broken(owner, role, f"{other}, {wording}" if other else wording, value)
