"""Figures as plain data, and their renderers to SVG and text. No Qt, no plotting library."""

from costlab.figures.spec import Axis, FigureSpec, MapSpec, Mark, Ring, Series
from costlab.figures.svg import figure_svg, map_svg
from costlab.figures.text import figure_text

__all__ = [
    "Axis",
    "FigureSpec",
    "MapSpec",
    "Mark",
    "Ring",
    "Series",
    "figure_svg",
    "figure_text",
    "map_svg",
]
