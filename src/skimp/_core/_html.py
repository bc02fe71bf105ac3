"""HTML tables for notebooks."""

from collections.abc import Iterable, Sequence
from html import escape


def table(header: Sequence[str], rows: Iterable[Sequence[object]], caption: str = "") -> str:
    """Return an HTML table with its first column aligned left and the others aligned right."""
    head = "".join(f"<th>{escape(name)}</th>" for name in header)
    body = "".join(
        "<tr>" + "".join(_cell(value, j > 0) for j, value in enumerate(row)) + "</tr>"
        for row in rows
    )
    title = f"<caption>{escape(caption)}</caption>" if caption else ""
    return f"<table>{title}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _cell(value: object, right: bool) -> str:
    style = ' style="text-align: right"' if right else ' style="text-align: left"'
    return f"<td{style}>{escape(str(value))}</td>"
