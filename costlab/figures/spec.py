"""What a figure shows, as frozen plain data; the app and the reports draw the same spec."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Union

LINEAR, LOG = "linear", "log"
PREDICTED, MEASURED, FORMULA = "predicted", "measured", "formula"


@dataclass(frozen=True, slots=True)
class Axis:
    """A label, the base unit of the values (see ``costlab.units``; "" a count) and the scale.

    ``window`` is the part of the axis that is shown, (low, high); None: all values.
    """

    label: str
    unit: str = ""
    scale: str = LOG
    window: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        if self.scale not in (LINEAR, LOG):
            raise ValueError(f"scale is {LINEAR} or {LOG}, not {self.scale}")
        if self.window is not None:
            low, high = self.window
            if not low < high or (self.scale == LOG and low <= 0):
                raise ValueError(f"{self.label}: no window from {low} to {high}")

    @property
    def title(self) -> str:
        """The label with the unit, as the head of a column."""
        return f"{self.label} [{self.unit}]" if self.unit else self.label


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

    Attributes:
        best: like ``cells``, but with the narrow winner where undecided; () unknown.
        colours: palette index of each name; () in order.
        here: the sizes that are looked at, drawn as a cross.
    """

    title: str
    x: Axis
    y: Axis
    x_values: tuple[float, ...]
    y_values: tuple[float, ...]
    names: tuple[str, ...]
    cells: tuple[tuple[int, ...], ...]
    caption: str = ""
    best: tuple[tuple[int, ...], ...] = ()
    colours: tuple[int, ...] = ()
    here: tuple[float, float] | None = None

    def colour(self, index: int) -> int:
        """Palette index of ``names[index]``."""
        return self.colours[index] if self.colours else index


@dataclass(frozen=True, slots=True)
class Layer:
    """One kind of a stack: a value at every moment."""

    name: str
    values: tuple[float, ...]
    colour: int = 0


@dataclass(frozen=True, slots=True)
class StackSpec:
    """Values by kind at the moments of a program, one column each, stacked.

    Attributes:
        moments: what runs at each moment, in program order.
        phases: the phase of each moment, "" none; neighbours with one name are bracketed.
        layers: bottom first.
        peak: index of the moment that is marked; None without one.
        peak_label: a short sentence about it.
        marks: lines across, such as the capacity; those far above all columns are only named.
    """

    title: str
    y: Axis
    moments: tuple[str, ...]
    phases: tuple[str, ...]
    layers: tuple[Layer, ...]
    peak: int | None = None
    peak_label: str = ""
    marks: tuple[Mark, ...] = ()
    caption: str = ""

    def __post_init__(self) -> None:
        lengths = {len(self.moments), len(self.phases), *(len(s.values) for s in self.layers)}
        if len(lengths) != 1:
            raise ValueError(f"{self.title}: moments, phases and layers differ in length")

    def total(self, moment: int) -> float:
        """The height of a column."""
        return sum(layer.values[moment] for layer in self.layers)


@dataclass(frozen=True, slots=True)
class Roof:
    """A ceiling: ``rate`` in FLOP/s, or in B/s for a slope; ``faint`` where it is not in use."""

    name: str
    rate: float
    faint: bool = False


@dataclass(frozen=True, slots=True)
class RoofPoint:
    """A program or an operator: FLOP per byte, FLOP/s, and its share (0 to 1) as an area."""

    name: str
    intensity: float
    rate: float
    colour: int = 0
    share: float = 1.0


@dataclass(frozen=True, slots=True)
class RooflineSpec:
    """Programs or operators under the roofs of a machine.

    The frame follows from the roofs alone (whole decades around them), so that two pictures of
    one machine can be laid over each other; what lies outside is listed.
    """

    title: str
    slopes: tuple[Roof, ...]
    flats: tuple[Roof, ...]
    points: tuple[RoofPoint, ...] = ()
    caption: str = ""


@dataclass(frozen=True, slots=True)
class PatternSpec:
    """Which output (row, from the top) reads which position (column), both counted from 1.

    Attributes:
        layers: ``layers[i][j]``: over how many layers output i + 1 depends on position j + 1;
            0: over none.
        upto: what is reached over up to so many layers is drawn, paler than what is read at once.
        colour: index into the palette.
    """

    title: str
    layers: tuple[tuple[int, ...], ...]
    upto: int = 1
    colour: int = 0
    caption: str = ""

    def __post_init__(self) -> None:
        if not self.layers or {len(row) for row in self.layers} != {len(self.layers)}:
            raise ValueError(f"{self.title}: a pattern has as many columns as rows, at least one")


AnyFigure = Union[FigureSpec, MapSpec, StackSpec, RooflineSpec, PatternSpec]
