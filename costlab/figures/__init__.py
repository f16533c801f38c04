"""Figures as plain data, and their renderers to SVG, text and CSV. No Qt, no plotting library."""

from costlab.figures.map_svg import map_svg
from costlab.figures.render import to_svg
from costlab.figures.roofline_svg import roofline_svg
from costlab.figures.spec import (
    AnyFigure,
    Axis,
    FigureSpec,
    Layer,
    MapSpec,
    Mark,
    Ring,
    Roof,
    RooflineSpec,
    RoofPoint,
    Series,
    StackSpec,
)
from costlab.figures.stack_svg import stack_svg
from costlab.figures.svg import figure_svg
from costlab.figures.table import figure_csv, map_csv, roofline_csv, stack_csv, to_csv, to_tsv
from costlab.figures.text import figure_text

__all__ = [
    "AnyFigure",
    "Axis",
    "FigureSpec",
    "Layer",
    "MapSpec",
    "Mark",
    "Ring",
    "Roof",
    "RoofPoint",
    "RooflineSpec",
    "Series",
    "StackSpec",
    "figure_csv",
    "figure_svg",
    "figure_text",
    "map_csv",
    "map_svg",
    "roofline_csv",
    "roofline_svg",
    "stack_csv",
    "stack_svg",
    "to_csv",
    "to_svg",
    "to_tsv",
]
