"""Draws programs or operators under the roofs of a machine as SVG."""

from __future__ import annotations

import math
from collections.abc import Iterator

from costlab.figures.frame import (
    HEIGHT,
    WIDTH,
    Frame,
    clip_line,
    draw_title,
    draw_x_axis,
    draw_y_axis,
    frame_of,
)
from costlab.figures.labels import Entry, Placer, draw_legend, legend_height
from costlab.figures.palette import DASH, SOLID, style
from costlab.figures.pen import SMALL, Pen, Point, width_of
from costlab.figures.scale import Scale
from costlab.figures.spec import LOG, MEASURED, Axis, Roof, RooflineSpec, RoofPoint
from costlab.figures.ticks import INTENSITY
from costlab.i18n import _
from costlab.units import format_value

_LEAST = 0.01
_NAMED = 0.01  # share of the time from which a point has its name beside it
_RADII = 4.0, 17.0  # of the smallest point, and of one that takes all the time
_ROW = 18.0


def roofline_scales(spec: RooflineSpec) -> tuple[Scale, Scale]:
    """Whole decades around the roofs, whatever the points are.

    Raises:
        ValueError: if there is no roof.
    """
    if not spec.flats or not spec.slopes:
        raise ValueError(f"{spec.title}: a roofline needs a flat roof and a slope")
    flats = [roof.rate for roof in spec.flats]
    ridges = [flat / slope.rate for flat in flats for slope in spec.slopes]
    top = 10.0 ** math.ceil(math.log10(max(flats) * 1.5))
    # An addition of two numbers is a twelfth of a FLOP per byte; it has to have room.
    left = min(10.0 ** (math.floor(math.log10(min(ridges))) - 1), _LEAST)
    bottom = 10.0 ** math.floor(math.log10(left * min(slope.rate for slope in spec.slopes)))
    right = 10.0 ** (math.floor(math.log10(max(ridges))) + 3)
    return (
        Scale(Axis(_("intensity, FLOP per byte"), INTENSITY, LOG), left, right),
        Scale(Axis(_("arithmetic per second"), "FLOP/s", LOG), bottom, top),
    )


def roofline_frame(spec: RooflineSpec, size: Point | None = None) -> Frame:
    """Where values lie in :func:`roofline_svg` of the same size."""
    size = size or _size(spec)
    x, y = roofline_scales(spec)
    return frame_of(x, y, size, _foot(spec, size[0]))


def roofline_svg(
    spec: RooflineSpec, *, theme: str = "light", ground: bool = True, size: Point | None = None
) -> str:
    """SVG of a roofline; see :func:`costlab.figures.svg.figure_svg` for the arguments.

    Raises:
        ValueError: if there is no roof.
    """
    size = size or _size(spec)
    pen = Pen(theme)
    frame = roofline_frame(spec, size)
    parts = [draw_title(pen, spec.title), *draw_x_axis(pen, frame), *draw_y_axis(pen, frame)]
    placer = Placer(pen, frame)
    parts += _roofs(pen, spec, frame, placer)
    hidden = outside(spec)
    inside = [point for point in spec.points if point not in hidden]
    for point in inside:
        placer.keep_clear(frame.at(point.intensity, point.rate), 0.7 * radius(point))
    for point in sorted(inside, key=lambda p: -p.share):
        parts += _point(pen, point, frame)
    if not _entries(spec):
        named = [point for point in inside if point.share >= _NAMED]
        for point in sorted(named, key=lambda p: -p.share):
            at = frame.at(point.intensity, point.rate)
            parts += placer.place_near(at, point.name, radius(point) * 0.7 + 3)
    for row, point in enumerate(hidden):
        text = _("outside: {name}, {intensity} FLOP/B, {rate}").format(
            name=point.name,
            intensity=format_value(point.intensity, ""),
            rate=format_value(point.rate, "FLOP/s"),
        )
        at = (frame.left, size[1] - _foot(spec, size[0]) + _ROW * row + 6)
        parts.append(pen.text(at, text, colour=pen.ground.dim))
    parts += draw_legend(pen, _entries(spec), size)
    return pen.document(parts, size, spec.title, spec.caption, ground)


def outside(spec: RooflineSpec) -> tuple[RoofPoint, ...]:
    """Points that the frame of the machine does not hold."""
    x, y = roofline_scales(spec)
    return tuple(
        point
        for point in spec.points
        if not (x.low <= point.intensity <= x.high and y.low <= point.rate <= y.high)
    )


def radius(point: RoofPoint) -> float:
    """Radius at which the area goes with the share."""
    return max(_RADII[1] * math.sqrt(min(max(point.share, 0.0), 1.0)), _RADII[0])


def _size(spec: RooflineSpec) -> Point:
    return WIDTH, HEIGHT + _foot(spec, WIDTH)


def _entries(spec: RooflineSpec) -> list[Entry]:
    """A legend where points have colours of their own; operators of one program do not."""
    entries = [Entry(point.name, point.colour, MEASURED) for point in spec.points]
    return entries if len({entry.colour for entry in entries}) > 1 else []


def _foot(spec: RooflineSpec, width: float) -> float:
    """Height of what stands below the axis: points outside, and the legend."""
    return _ROW * len(outside(spec)) + legend_height(_entries(spec), width)


def _roofs(pen: Pen, spec: RooflineSpec, frame: Frame, placer: Placer) -> Iterator[str]:
    highest = max(roof.rate for roof in spec.flats)
    fastest = max(roof.rate for roof in spec.slopes)
    for roof in spec.flats:
        ridge = max(frame.x.low, roof.rate / fastest)
        yield _stroke(pen, roof, frame.at(ridge, roof.rate), frame.at(frame.x.high, roof.rate))
        placer.avoid(_between(frame.at(ridge, roof.rate), frame.at(frame.x.high, roof.rate)))
        label = f"{roof.name} · {format_value(roof.rate, 'FLOP/s')}"
        corner = (frame.right - width_of(label) - 8, frame.at_y(roof.rate) - SMALL - 8)
        yield from placer.put(corner, label, pen.ground.dim)
    for roof in spec.slopes:
        start = frame.at(frame.x.low, frame.x.low * roof.rate)
        end = frame.at(highest / roof.rate, highest)
        (piece, *_rest) = clip_line([start, end], frame) or [[]]
        if not piece:
            continue
        yield _stroke(pen, roof, piece[0], piece[-1])
        placer.avoid(_between(piece[0], piece[-1]))
        yield from _slope_label(pen, roof, frame, piece[0], piece[-1])


def _between(start: Point, end: Point, count: int = 60) -> list[Point]:
    """Points on a straight line."""
    shares = [number / count for number in range(count + 1)]
    return [
        (start[0] + s * (end[0] - start[0]), start[1] + s * (end[1] - start[1])) for s in shares
    ]


def _stroke(pen: Pen, roof: Roof, start: Point, end: Point) -> str:
    if roof.faint:
        return pen.line(start, end, pen.ground.dim, 1.2, DASH)
    return pen.line(start, end, pen.ground.text, 1.8, SOLID)


def _slope_label(pen: Pen, roof: Roof, frame: Frame, start: Point, end: Point) -> Iterator[str]:
    """The name along a slope, just above it."""
    rise = math.degrees(math.atan2(end[1] - start[1], end[0] - start[0]))
    label = f"{roof.name} · {format_value(roof.rate, 'B/s')}"
    at = (start[0] + 0.06 * (end[0] - start[0]), start[1] + 0.06 * (end[1] - start[1]))
    text = pen.text((0, -6), label, colour=pen.ground.dim)
    yield f'<g transform="translate({at[0]:.1f} {at[1]:.1f}) rotate({rise:.2f})">{text}</g>'


def _point(pen: Pen, point: RoofPoint, frame: Frame) -> list[str]:
    at = frame.at(point.intensity, point.rate)
    colour = pen.colour(point.colour)
    halo = (
        f'<circle cx="{at[0]:.1f}" cy="{at[1]:.1f}" r="{radius(point):.1f}" fill="{colour}" '
        f'fill-opacity="0.28" stroke="{colour}" stroke-width="1"/>'
    )
    return [halo, pen.marker(at, style(point.colour).marker, colour, 3.4)]
