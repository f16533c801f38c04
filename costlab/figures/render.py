"""Any figure as SVG, and where values lie in it."""

from __future__ import annotations

from costlab.figures.frame import Frame
from costlab.figures.map_svg import map_frame, map_svg
from costlab.figures.pattern_svg import pattern_frame, pattern_svg
from costlab.figures.pen import Point
from costlab.figures.roofline_svg import roofline_frame, roofline_svg
from costlab.figures.spec import (
    AnyFigure,
    FigureSpec,
    MapSpec,
    PatternSpec,
    RooflineSpec,
    StackSpec,
)
from costlab.figures.stack_svg import stack_frame, stack_svg
from costlab.figures.svg import figure_frame, figure_svg


def to_svg(
    spec: AnyFigure, *, theme: str = "light", ground: bool = True, size: Point | None = None
) -> str:
    """SVG of a figure; see :func:`costlab.figures.svg.figure_svg` for the arguments.

    Raises:
        ValueError: if there is nothing to draw.
    """
    match spec:
        case FigureSpec():
            return figure_svg(spec, theme=theme, ground=ground, size=size)
        case MapSpec():
            return map_svg(spec, theme=theme, ground=ground, size=size)
        case StackSpec():
            return stack_svg(spec, theme=theme, ground=ground, size=size)
        case RooflineSpec():
            return roofline_svg(spec, theme=theme, ground=ground, size=size)
        case PatternSpec():
            return pattern_svg(spec, theme=theme, ground=ground, size=size)


def frame_of(spec: AnyFigure, size: Point | None = None) -> Frame:
    """The plot area of :func:`to_svg` with the same size.

    Raises:
        ValueError: if there is nothing to draw.
    """
    match spec:
        case FigureSpec():
            return figure_frame(spec, size)
        case MapSpec():
            return map_frame(spec, size)
        case StackSpec():
            return stack_frame(spec, size)
        case RooflineSpec():
            return roofline_frame(spec, size)
        case PatternSpec():
            return pattern_frame(spec, size)
