"""Draws figure specs as SVG that reads well on light and dark pages and in print."""

from __future__ import annotations

import math
from html import escape

from costlab.figures.scale import Scale, scale_of
from costlab.figures.spec import MEASURED, FigureSpec, MapSpec, Series
from costlab.i18n import _

# Okabe and Ito's palette without its yellow and black: told apart by the colour-blind, and
# readable on white as on near-black.
PALETTE = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8c6bb1", "#7a7a7a")
WIDTH, HEIGHT = 760, 430
_LEFT, _RIGHT, _TOP, _BOTTOM = 84, 24, 52, 58
_STYLE = (
    "text{font:13px system-ui,-apple-system,'Segoe UI',Roboto,Helvetica,Arial,sans-serif;"
    "fill:currentColor}.title{font-size:15px;font-weight:600}.tick{font-size:12px;opacity:.8}"
    ".grid{stroke:currentColor;stroke-opacity:.13}.axis{stroke:currentColor;stroke-opacity:.55}"
    ".mark{stroke:currentColor;stroke-opacity:.6;stroke-dasharray:2 4}"
)
_STANDALONE = (
    "svg{color:#1d2330;background:#fff}"
    "@media (prefers-color-scheme:dark){svg{color:#e6e9ef;background:#14171d}}"
)


class _Frame:
    """The plot area and the scales on it."""

    def __init__(self, x: Scale, y: Scale, bottom: int) -> None:
        self.x, self.y = x, y
        self.left, self.right = _LEFT, WIDTH - _RIGHT
        self.top, self.bottom = _TOP, bottom

    def at_x(self, value: float) -> float:
        return self.left + self.x.position(value) * (self.right - self.left)

    def at_y(self, value: float) -> float:
        return self.bottom - self.y.position(value) * (self.bottom - self.top)

    def axes(self) -> list[str]:
        parts = []
        for value, label in self.x.ticks():
            at = self.at_x(value)
            parts.append(_line(at, self.top, at, self.bottom, "grid"))
            parts.append(_text(at, self.bottom + 18, label, "tick", "middle"))
        for value, label in self.y.ticks():
            at = self.at_y(value)
            parts.append(_line(self.left, at, self.right, at, "grid"))
            parts.append(_text(self.left - 8, at + 4, label, "tick", "end"))
        parts.append(_line(self.left, self.bottom, self.right, self.bottom, "axis"))
        parts.append(_line(self.left, self.top, self.left, self.bottom, "axis"))
        middle = (self.left + self.right) / 2
        parts.append(_text(middle, self.bottom + 40, self.x.axis.label, "", "middle"))
        half = (self.top + self.bottom) / 2
        parts.append(
            f'<text class="" text-anchor="middle" transform="translate(18 {half:.1f}) '
            f'rotate(-90)">{escape(self.y.axis.label)}</text>'
        )
        return parts


def figure_svg(spec: FigureSpec, *, standalone: bool = True) -> str:
    """SVG of a plot.

    Args:
        spec: what to draw.
        standalone: a file of its own with its background; else a part of a page, whose colour
            it takes.

    Raises:
        ValueError: if no value can be drawn.
    """
    legend, rows = _legend([(s.name, s.colour, s.kind) for s in spec.series])
    bottom = HEIGHT - _BOTTOM
    frame = _Frame(scale_of(spec.x, spec.values("x")), scale_of(spec.y, spec.values("y")), bottom)
    parts = [_text(_LEFT, 24, spec.title, "title"), *frame.axes()]
    for mark in spec.marks:
        if mark.axis == "x":
            at = frame.at_x(mark.value)
            parts.append(_line(at, frame.top, at, frame.bottom, "mark"))
            parts.append(_text(at + 5, frame.top + 12, mark.label, "tick"))
        else:
            at = frame.at_y(mark.value)
            parts.append(_line(frame.left, at, frame.right, at, "mark"))
            parts.append(_text(frame.left + 6, at - 5, mark.label, "tick"))
    for series in spec.series:
        parts += _points(series, frame) if series.kind == MEASURED else _curve(series, frame)
    parts += [f'<g transform="translate(0 {HEIGHT})">', *legend, "</g>"]
    return _document(parts, HEIGHT + 22 * rows + 6, spec.title, spec.caption, standalone)


def map_svg(spec: MapSpec, *, standalone: bool = True) -> str:
    """SVG of a winner map: runs of equal cells are one rectangle."""
    entries = [(name, index, "cell") for index, name in enumerate(spec.names)]
    entries.append((_("undecided"), -1, "cell"))
    legend, rows = _legend(entries)
    x, y = scale_of(spec.x, spec.x_values), scale_of(spec.y, spec.y_values)
    frame = _Frame(
        Scale(spec.x, spec.x_values[0], spec.x_values[-1]) if len(spec.x_values) > 1 else x,
        Scale(spec.y, spec.y_values[0], spec.y_values[-1]) if len(spec.y_values) > 1 else y,
        HEIGHT - _BOTTOM,
    )
    columns, lines = len(spec.x_values), len(spec.y_values)
    width = (frame.right - frame.left) / columns
    height = (frame.bottom - frame.top) / lines
    parts = [_text(_LEFT, 24, spec.title, "title"), '<g shape-rendering="crispEdges">']
    for row, cells in enumerate(spec.cells):
        start = 0
        for column in range(1, columns + 1):
            if column < columns and cells[column] == cells[start]:
                continue
            if cells[start] != -2:
                parts.append(
                    f'<rect x="{frame.left + start * width:.2f}" '
                    f'y="{frame.bottom - (row + 1) * height:.2f}" '
                    f'width="{(column - start) * width:.2f}" height="{height + 0.05:.2f}" '
                    f"{_fill(cells[start])}/>"
                )
            start = column
    parts += ["</g>", *frame.axes(), f'<g transform="translate(0 {HEIGHT})">', *legend, "</g>"]
    return _document(parts, HEIGHT + 22 * rows + 6, spec.title, spec.caption, standalone)


def _fill(index: int) -> str:
    if index < 0:
        return 'fill="currentColor" fill-opacity=".16"'
    return f'fill="{_colour(index)}" fill-opacity=".82"'


def _colour(index: int) -> str:
    return PALETTE[index % len(PALETTE)]


def _curve(series: Series, frame: _Frame) -> list[str]:
    colour = _colour(series.colour)
    parts = []
    if series.low and series.high and all(map(math.isfinite, series.high)):
        edge = [*zip(series.x, series.high, strict=True)]
        edge += reversed([*zip(series.x, series.low, strict=True)])
        outline = " ".join(f"{frame.at_x(a):.1f},{frame.at_y(b):.1f}" for a, b in edge)
        parts.append(f'<polygon points="{outline}" fill="{colour}" fill-opacity=".16"/>')
    path = " ".join(
        f"{frame.at_x(a):.1f},{frame.at_y(b):.1f}" for a, b in zip(series.x, series.y, strict=True)
    )
    dash = "" if series.kind != "formula" else ' stroke-dasharray="7 4"'
    parts.append(
        f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2.2" '
        f'stroke-linejoin="round"{dash}/>'
    )
    return parts


def _points(series: Series, frame: _Frame) -> list[str]:
    colour = _colour(series.colour)
    parts = []
    bands = zip(series.x, series.low, series.high, strict=True) if series.low else ()
    for x, low, high in bands:
        at, top, foot = frame.at_x(x), frame.at_y(high), frame.at_y(low)
        parts.append(
            f'<path d="M{at:.1f} {top:.1f}V{foot:.1f}M{at - 4:.1f} {top:.1f}h8'
            f'M{at - 4:.1f} {foot:.1f}h8" stroke="{colour}" stroke-width="1.4" fill="none"/>'
        )
    for x, y in zip(series.x, series.y, strict=True):
        parts.append(
            f'<circle cx="{frame.at_x(x):.1f}" cy="{frame.at_y(y):.1f}" r="4" fill="{colour}"/>'
        )
    return parts


def _legend(entries: list[tuple[str, int, str]]) -> tuple[list[str], int]:
    """Legend below the plot, wrapped into rows; how many rows."""
    parts: list[str] = []
    x, row = float(_LEFT), 0
    for name, colour, kind in entries:
        width = 34 + 7.2 * len(name) + 16
        if x + width > WIDTH and x > _LEFT:
            x, row = float(_LEFT), row + 1
        y = 22 * row + 6
        if kind == "cell":
            parts.append(
                f'<rect x="{x + 6:.1f}" y="{y - 7}" width="14" height="14" {_fill(colour)}/>'
            )
        elif kind == MEASURED:
            parts.append(f'<circle cx="{x + 13:.1f}" cy="{y}" r="4" fill="{_colour(colour)}"/>')
        else:
            dash = "" if kind != "formula" else ' stroke-dasharray="7 4"'
            parts.append(
                f'<path d="M{x:.1f} {y}h26" stroke="{_colour(colour)}" stroke-width="2.2"{dash}/>'
            )
        parts.append(_text(x + 32, y + 4, name, "tick"))
        x += width
    return parts, row + 1


def _line(x1: float, y1: float, x2: float, y2: float, style: str) -> str:
    return f'<path class="{style}" d="M{x1:.1f} {y1:.1f}L{x2:.1f} {y2:.1f}" fill="none"/>'


def _text(x: float, y: float, text: str, style: str, anchor: str = "start") -> str:
    return (
        f'<text class="{style}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">'
        f"{escape(text)}</text>"
    )


def _document(parts: list[str], height: int, title: str, caption: str, standalone: bool) -> str:
    style = _STYLE + (_STANDALONE if standalone else "")
    described = f"<desc>{escape(caption)}</desc>" if caption else ""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" '
        f'width="{WIDTH}" height="{height}"><title>{escape(title)}</title>{described}'
        f"<style>{style}</style>{''.join(parts)}</svg>"
    )
