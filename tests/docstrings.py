"""What a numpydoc docstring says."""

import inspect
import re


def section(part, title):
    """Return the lines of a numpydoc section, none if there is no such section."""
    text = f"\n{inspect.getdoc(part)}\n"
    found = re.search(rf"\n{title}\n-{{{len(title)}}}\n(.*?)(?=\n\S+\n-{{3,}}\n|\Z)", text, re.S)
    return [] if found is None else found[1].split("\n")


def described(part, title):
    """Return the names that a section describes."""
    heads = [line.split(" : ")[0] for line in section(part, title) if re.match(r"\S", line)]
    return [name.strip().lstrip("*") for head in heads for name in head.split(",")]


def examples(part):
    """Return the statements of a section of examples."""
    return [line for line in section(part, "Examples") if line.startswith(">>> ")]
