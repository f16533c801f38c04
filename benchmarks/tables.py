"""Tables of figures for the README: written between two markers, so that a command replaces them.

``<!-- NAME:begin -->`` and ``<!-- NAME:end -->`` stay; what stands between them is the command's.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from costlab.devices import fingerprint
from costlab.units import format_value

README = Path(__file__).resolve().parent.parent / "README.md"


def markdown_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table in Markdown, its columns padded so that it reads as plain text too."""
    lines = [list(header), *(list(row) for row in rows)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(header))]
    rule = ["-" * width for width in widths]
    return "\n".join(
        "| " + " | ".join(cell.ljust(w) for cell, w in zip(line, widths, strict=True)) + " |"
        for line in (lines[0], rule, *lines[1:])
    )


def machine() -> str:
    """One line that names the machine and the versions a figure was made with."""
    found = fingerprint()
    cores = f"{len(found.affinity)} of {found.logical_cores} logical cores"
    memory = format_value(found.memory_bytes, "B")
    versions = f"{found.system}, Python {found.python}, torch {found.torch}"
    return f"{found.cpu}, {cores}, {memory}; {versions}"


def write_between(name: str, text: str, path: Path = README) -> None:
    """Put ``text`` between the markers of ``name`` in the file at ``path``.

    Raises:
        ValueError: if the file does not have both markers, in order.
    """
    before, begin, _old, end, after = _parts(name, path)
    path.write_text(before + begin + text.rstrip("\n") + "\n" + end + after, encoding="utf-8")


def rows_between(name: str, path: Path = README) -> list[tuple[str, ...]]:
    """The rows of the table between the markers of ``name``, without its header.

    Raises:
        ValueError: if the file does not have both markers, in order.
    """
    lines = [line for line in _parts(name, path)[2].splitlines() if line.startswith("|")]
    return [tuple(cell.strip() for cell in line.strip("|").split("|")) for line in lines[2:]]


def _parts(name: str, path: Path) -> tuple[str, str, str, str, str]:
    before, begin, rest = path.read_text(encoding="utf-8").partition(f"<!-- {name}:begin -->\n")
    old, end, after = rest.partition(f"<!-- {name}:end -->")
    if not begin or not end:
        raise ValueError(f"{path} has no <!-- {name}:begin --> .. <!-- {name}:end -->")
    return before, begin, old, end, after
