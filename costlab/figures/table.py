"""The numbers of a figure as CSV, in base units, one row per point."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence

from costlab.figures.map_svg import UNDECIDED
from costlab.figures.spec import (
    AnyFigure,
    FigureSpec,
    MapSpec,
    PatternSpec,
    RooflineSpec,
    StackSpec,
)
from costlab.i18n import _

Cell = str | float | int


def figure_csv(spec: FigureSpec) -> str:
    """Every point of every series: series, kind, x, y, and where known low and high."""
    return _text(_figure_rows(spec))


def map_csv(spec: MapSpec) -> str:
    """Every cell: both sizes, who wins ("" nobody), and whether it is decided."""
    return _text(_map_rows(spec))


def stack_csv(spec: StackSpec) -> str:
    """Every moment: phase, what runs, the value of each kind and their sum."""
    return _text(_stack_rows(spec))


def roofline_csv(spec: RooflineSpec) -> str:
    """The roofs, then every point with its intensity, rate and share."""
    return _text(_roofline_rows(spec))


def rows_of(spec: AnyFigure) -> list[list[Cell]]:
    """The rows of a figure's table, its head first."""
    match spec:
        case FigureSpec():
            return _figure_rows(spec)
        case MapSpec():
            return _map_rows(spec)
        case StackSpec():
            return _stack_rows(spec)
        case RooflineSpec():
            return _roofline_rows(spec)
        case PatternSpec():
            return _pattern_rows(spec)


def to_csv(spec: AnyFigure) -> str:
    """The CSV of any figure."""
    return _text(rows_of(spec))


def to_tsv(spec: AnyFigure) -> str:
    """Tabs instead of commas, as spreadsheets paste it."""
    return _text(rows_of(spec), "\t")


def _pattern_rows(spec: PatternSpec) -> list[list[Cell]]:
    rows: list[list[Cell]] = [[_("output"), _("position"), _("layers")]]
    for output, reached in enumerate(spec.layers, 1):
        rows += [[output, position, layers] for position, layers in enumerate(reached, 1) if layers]
    return rows


def _figure_rows(spec: FigureSpec) -> list[list[Cell]]:
    rows: list[list[Cell]] = [
        [_("series"), _("kind"), spec.x.title, spec.y.title, _("low"), _("high")]
    ]
    for series in spec.series:
        low: Sequence[Cell] = series.low or [""] * len(series.x)
        high: Sequence[Cell] = series.high or [""] * len(series.x)
        for x, y, least, most in zip(series.x, series.y, low, high, strict=True):
            rows.append([series.name, series.kind, x, y, least, most])
    return rows


def _map_rows(spec: MapSpec) -> list[list[Cell]]:
    rows: list[list[Cell]] = [[spec.x.title, spec.y.title, _("cheapest"), _("decided")]]
    for number, (y, cells) in enumerate(zip(spec.y_values, spec.cells, strict=True)):
        best = spec.best[number] if spec.best else cells
        for x, cell, leader in zip(spec.x_values, cells, best, strict=True):
            name = spec.names[leader] if leader >= 0 else ""
            decided = "" if cell < UNDECIDED else _("yes") if cell >= 0 else _("no")
            rows.append([x, y, name, decided])
    return rows


def _stack_rows(spec: StackSpec) -> list[list[Cell]]:
    unit = f" [{spec.y.unit}]" if spec.y.unit else ""
    kinds = [layer.name + unit for layer in spec.layers]
    rows: list[list[Cell]] = [[_("phase"), _("moment"), *kinds, _("together") + unit]]
    for number, (phase, moment) in enumerate(zip(spec.phases, spec.moments, strict=True)):
        values = [layer.values[number] for layer in spec.layers]
        rows.append([phase, moment, *values, spec.total(number)])
    return rows


def _roofline_rows(spec: RooflineSpec) -> list[list[Cell]]:
    rows: list[list[Cell]] = [
        [_("what"), _("name"), f"{_('intensity')} [FLOP/B]", f"{_('rate')} [FLOP/s; B/s]",
         _("share of time")]
    ]  # fmt: skip
    rows += [[_("compute roof"), roof.name, "", roof.rate, ""] for roof in spec.flats]
    rows += [[_("memory roof"), roof.name, "", roof.rate, ""] for roof in spec.slopes]
    rows += [[_("point"), p.name, p.intensity, p.rate, p.share] for p in spec.points]
    return rows


def _text(rows: Iterable[Sequence[Cell]], delimiter: str = ",") -> str:
    text = io.StringIO()
    csv.writer(text, delimiter=delimiter, lineterminator="\n").writerows(rows)
    return text.getvalue()
