"""What a report consists of, as frozen plain data; every format is written from this."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Union

from costlab.algebra import Expr
from costlab.figures.spec import AnyFigure

GOOD, BAD, QUIET = "good", "bad", "quiet"


@dataclass(frozen=True, slots=True)
class Cell:
    """A table cell whose tone tells whether it is good news; plain text is the usual cell."""

    text: str
    tone: str = ""


@dataclass(frozen=True, slots=True)
class Order:
    """A table cell with an order of growth, whose terms stand side by side and not factored."""

    expr: Expr


Entry = Union[str, Cell, Expr, Order]


@dataclass(frozen=True, slots=True)
class Paragraph:
    """Running text."""

    text: str


@dataclass(frozen=True, slots=True)
class Notes:
    """A list of short texts: assumptions, gaps, explanations."""

    title: str
    items: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Facts:
    """Few numbers that matter most: (value, what it is, remark)."""

    items: tuple[tuple[str, str, str], ...]


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under ``columns``; ``align`` has one letter per column, l or r."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Entry, ...], ...]
    align: str
    caption: str = ""

    def __post_init__(self) -> None:
        widths = {len(self.columns), len(self.align), *(len(row) for row in self.rows)}
        if len(widths) != 1:
            raise ValueError(f"{self.caption}: rows, columns and align differ in length")


@dataclass(frozen=True, slots=True)
class Figure:
    """A plot, a map, a stack or a roofline."""

    spec: AnyFigure


Block = Union[Paragraph, Notes, Facts, Table, Figure]


@dataclass(frozen=True, slots=True)
class Section:
    """A heading and what stands under it."""

    title: str
    blocks: tuple[Block, ...]
    lead: str = ""


@dataclass(frozen=True, slots=True)
class Document:
    """A report: title, one line under it, sections; ``data`` is the record as JSON.

    ``rows`` are the points as flat mappings, for CSV.
    """

    title: str
    subtitle: str
    sections: tuple[Section, ...]
    data: Mapping[str, Any]
    rows: tuple[Mapping[str, Any], ...] = field(default_factory=tuple)


def figures_of(document: Document) -> tuple[AnyFigure, ...]:
    """Every figure of a document, in order."""
    blocks = (block for section in document.sections for block in section.blocks)
    return tuple(block.spec for block in blocks if isinstance(block, Figure))


def table_text(table: Table) -> str:
    """The table in aligned plain text."""
    rows = [[entry_text(entry) for entry in row] for row in table.rows]
    widths = [
        max(len(cell) for cell in column) for column in zip(table.columns, *rows, strict=True)
    ]

    def line(cells: Sequence[str]) -> str:
        padded = (
            cell.rjust(width) if side == "r" else cell.ljust(width)
            for cell, width, side in zip(cells, widths, table.align, strict=True)
        )
        return "  ".join(padded).rstrip()

    rule = "  ".join("-" * width for width in widths)
    head = [table.caption] if table.caption else []
    return "\n".join([*head, line(table.columns), rule, *(line(row) for row in rows)])


def entry_text(entry: Entry) -> str:
    """A table entry in plain text."""
    if isinstance(entry, Cell):
        return entry.text
    if isinstance(entry, Order):
        return str(entry.expr)
    if isinstance(entry, Expr):
        from costlab.formulas.simplify import pretty

        return pretty(entry)
    return entry
