"""Writes a document as one self-contained HTML page: no script, no network, prints well."""

from __future__ import annotations

import re
from html import escape
from importlib.resources import files

from costlab.algebra import Expr
from costlab.figures.render import to_svg
from costlab.i18n import _
from costlab.reporting.document import (
    Block,
    Cell,
    Document,
    Entry,
    Facts,
    Figure,
    Notes,
    Order,
    Paragraph,
    Section,
    Table,
)
from costlab.reporting.mathml import mathml, mathml_of_terms
from costlab.units import CONVENTION

_AMOUNT = re.compile(r"(?<=\d) (?=%|\d{3}\b|[kMGTP]?i?B\b|[kMGTP]?FLOP|[nµm]?s\b)")


def to_html(document: Document) -> str:
    """The whole page."""
    style = (files("costlab.reporting") / "page.css").read_text(encoding="utf-8")
    anchors = _anchors(document.sections)
    links = "".join(
        f'<a href="#{anchor}">{escape(section.title)}</a>'
        for anchor, section in zip(anchors, document.sections, strict=True)
    )
    contents = f'<nav aria-label="{escape(_("Contents"))}">{links}</nav>' if anchors[1:] else ""
    body = "\n".join(
        _section(section, anchor)
        for anchor, section in zip(anchors, document.sections, strict=True)
    )
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(document.title)}</title>
<style>
{style}</style>
</head>
<body>
<main>
<header>
<div class="brand">CostLab</div>
<h1>{escape(document.title)}</h1>
<p>{escape(document.subtitle)}</p>
</header>
{contents}
{body}
<footer>{escape(CONVENTION)}.</footer>
</main>
</body>
</html>
"""


def _anchors(sections: tuple[Section, ...]) -> list[str]:
    found: list[str] = []
    for section in sections:
        stem = re.sub(r"[^a-z0-9]+", "-", section.title.lower()).strip("-") or "section"
        anchor, number = stem, 2
        while anchor in found:
            anchor, number = f"{stem}-{number}", number + 1
        found.append(anchor)
    return found


def _section(section: Section, anchor: str) -> str:
    lead = f'<p class="lead">{escape(section.lead)}</p>' if section.lead else ""
    blocks = "\n".join(_block(block) for block in section.blocks)
    return (
        f'<section id="{anchor}">\n<h2>{escape(section.title)}</h2>\n{lead}\n{blocks}\n</section>'
    )


def _block(block: Block) -> str:
    match block:
        case Paragraph():
            return f"<p>{_unbroken(block.text)}</p>"
        case Notes():
            items = "".join(f"<li>{_unbroken(item)}</li>" for item in block.items)
            return f"<h3>{escape(block.title)}</h3>\n<ul>{items}</ul>"
        case Facts():
            cards = "".join(
                f'<div class="fact"><b>{escape(value)}</b><span>{escape(what)}</span>'
                f"<small>{_unbroken(remark)}</small></div>"
                for value, what, remark in block.items
            )
            return f'<div class="facts">{cards}</div>'
        case Table():
            return _table(block)
        case Figure():
            return _figure(block)


def _unbroken(text: str) -> str:
    """Escaped text in which no line ends between a number and its unit."""
    return escape(_AMOUNT.sub("\N{NO-BREAK SPACE}", text))


def _figure(block: Figure) -> str:
    spec = block.spec
    drawing = to_svg(spec, theme="auto", ground=False)
    caption = f"<figcaption>{escape(spec.caption)}</figcaption>" if spec.caption else ""
    return f"<figure>{drawing}{caption}</figure>"


def _table(table: Table) -> str:
    caption = f"<caption>{escape(table.caption)}</caption>" if table.caption else ""
    head = "".join(
        f'<th scope="col"{_align(side)}>{escape(column)}</th>'
        for column, side in zip(table.columns, table.align, strict=True)
    )
    rows = "\n".join(
        "<tr>"
        + "".join(_cell(entry, side) for entry, side in zip(row, table.align, strict=True))
        + "</tr>"
        for row in table.rows
    )
    return (
        f'<div class="scroll" tabindex="0"><table>{caption}\n<thead><tr>{head}</tr></thead>\n'
        f"<tbody>\n{rows}\n</tbody></table></div>"
    )


def _align(side: str) -> str:
    return ' class="r"' if side == "r" else ""


def _cell(entry: Entry, side: str) -> str:
    if isinstance(entry, Expr):
        return f"<td>{mathml(entry, stacked=True)}</td>"
    if isinstance(entry, Order):
        return f"<td>{mathml_of_terms(entry.expr)}</td>"
    if isinstance(entry, Cell):
        names = " ".join(name for name in ("r" if side == "r" else "", entry.tone) if name)
        style = f' class="{names}"' if names else ""
        return f"<td{style}>{escape(entry.text)}</td>"
    return f"<td{_align(side)}>{escape(entry)}</td>"
