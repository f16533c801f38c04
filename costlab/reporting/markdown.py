"""Writes a document as Markdown, and its points as CSV."""

from __future__ import annotations

import csv
import io

from costlab.algebra import Expr
from costlab.figures.spec import FigureSpec
from costlab.figures.text import figure_text
from costlab.reporting.document import (
    Block,
    Document,
    Entry,
    Facts,
    Figure,
    Notes,
    Order,
    Paragraph,
    Table,
    entry_text,
)
from costlab.units import CONVENTION


def to_markdown(document: Document) -> str:
    """The document with tables as pipes, formulas as code and plots in plain text."""
    parts = [f"# {document.title}", document.subtitle]
    for section in document.sections:
        parts.append(f"## {section.title}")
        if section.lead:
            parts.append(section.lead)
        parts += [_block(block) for block in section.blocks]
    parts.append(f"---\n{CONVENTION}.")
    return "\n\n".join(part for part in parts if part) + "\n"


def to_csv(document: Document) -> str:
    """The points, one row each; the columns are every field that some point has."""
    columns = list(dict.fromkeys(name for row in document.rows for name in row))
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows({k: "" if v is None else v for k, v in row.items()} for row in document.rows)
    return text.getvalue()


def _block(block: Block) -> str:
    match block:
        case Paragraph():
            return block.text
        case Notes():
            return "\n".join([f"**{block.title}**", "", *(f"- {item}" for item in block.items)])
        case Facts():
            return "\n".join(
                f"- **{value}** {what}" + (f" ({remark})" if remark else "")
                for value, what, remark in block.items
            )
        case Table():
            return _table(block)
        case Figure():
            if isinstance(block.spec, FigureSpec):
                return f"```text\n{figure_text(block.spec)}\n```"
            return f"*{block.spec.title}*"


def _table(table: Table) -> str:
    rows = [[_entry(entry) for entry in row] for row in table.rows]
    rule = ["---:" if side == "r" else "---" for side in table.align]
    lines = [" | ".join(row) for row in (list(table.columns), rule, *rows)]
    body = "\n".join(f"| {line} |" for line in lines)
    return f"{table.caption}\n\n{body}" if table.caption else body


def _entry(entry: Entry) -> str:
    if isinstance(entry, (Expr, Order)):
        return f"`{entry_text(entry)}`"
    return entry_text(entry).replace("|", r"\|").replace("*", r"\*")
