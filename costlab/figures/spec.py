"""What a figure shows, as frozen plain data; the app and the reports draw the same spec."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

LINEAR, LOG = "linear", "log"
PREDICTED, MEASURED, FORMULA = "predicted", "measured", "formula"


@dataclass(frozen=True, slots=True)
class Axis:
    """A label, the base unit of the values (see ``costlab.units``; "" a count) and the scale."""

    label: str
    unit: str = ""
    scale: str = LOG

    def __post_init__(self) -> None:
        if self.scale not in (LINEAR, LOG):
            raise ValueError(f"scale is {LINEAR} or {LOG}, not {self.scale}")


@dataclass(frozen=True, slots=True)
class Series:
    """Values over x. ``low`` and ``high`` are a band for lines and error bars for points.

    Attributes:
        kind: "predicted" or "formula" (drawn as a line) or "measured" (drawn as points).
        colour: index into the palette; series of one architecture share it.
        faint: drawn thinner and paler, as what is compared with.
    """

    name: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    kind: str = PREDICTED
    colour: int = 0
    low: tuple[float, ...] = ()
    high: tuple[float, ...] = ()
    faint: bool = False

    def __post_init__(self) -> None:
        lengths = {len(self.x), len(self.y)}
        lengths |= {len(band) for band in (self.low, self.high) if band}
        if len(lengths) != 1:
            raise ValueError(f"{self.name}: x, y, low and high differ in length")


@dataclass(frozen=True, slots=True)
class Mark:
    """A straight line at ``value`` of the axis "x" or "y" with a label: a ceiling, a crossover."""

    axis: str
    value: float
    label: str


@dataclass(frozen=True, slots=True)
class Ring:
    """A point of interest with a short sentence: where one curve overtakes another."""

    x: float
    y: float
    label: str


@dataclass(frozen=True, slots=True)
class FigureSpec:
    """One plot: title, what it is about (caption), axes, series, marks and rings."""

    title: str
    x: Axis
    y: Axis
    series: tuple[Series, ...]
    marks: tuple[Mark, ...] = field(default_factory=tuple)
    caption: str = ""
    rings: tuple[Ring, ...] = ()

    def values(self, axis: str) -> Iterator[float]:
        """Every value on an axis ("x" or "y"), bands and marks included."""
        for series in self.series:
            if axis == "x":
                yield from series.x
            else:
                yield from series.y
                yield from series.low
                yield from series.high
        yield from (mark.value for mark in self.marks if mark.axis == axis)


@dataclass(frozen=True, slots=True)
class MapSpec:
    """Which of ``names`` wins in each cell of a grid.

    ``cells[row][column]`` is an index into ``names``, -1 undecided, -2 nobody (outside all
    domains); rows go with ``y_values``, columns with ``x_values``, both ascending.
    """

    title: str
    x: Axis
    y: Axis
    x_values: tuple[float, ...]
    y_values: tuple[float, ...]
    names: tuple[str, ...]
    cells: tuple[tuple[int, ...], ...]
    caption: str = ""
