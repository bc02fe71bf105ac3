"""Strings as short names of objects, such as ``kernel="rbf"``."""

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
    """Return ``value`` if it is an instance of ``kind``, or the object that a string names.

    Parameters
    ----------
    value : object
        The value that the user passed.
    kind : type
        The required class.
    names : mapping
        Accepted strings, and the name of the class or object that the folder exports for each.
    folder : str
        The folder, such as "skimp.kernels".
    owner, role : str
        The class and the parameter, for the error message.
    other : str
        Other accepted values, which the error message lists first.
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
