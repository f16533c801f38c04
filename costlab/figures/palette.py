"""How curves are told apart: by colour, dash and marker together, never by colour alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

SOLID, DASH, DOT, DASH_DOT = "solid", "dash", "dot", "dash-dot"
PATTERNS: Mapping[str, tuple[float, ...]] = MappingProxyType({
    DASH: (8.0, 4.0),
    DOT: (2.0, 3.5),
    DASH_DOT: (9.0, 3.5, 2.0, 3.5),
})  # fmt: skip
"""Pixels of line and gap in turn; a solid line has no pattern."""


@dataclass(frozen=True, slots=True)
class Ground:
    """What curves lie on, as "#rrggbb": the surface, axes, grid, texts and the accent."""

    surface: str
    line: str
    grid: str
    text: str
    dim: str
    accent: str


DARK = Ground("#22262e", "#2f343e", "#2a2f39", "#e7e9ee", "#98a0ae", "#5b8cff")
LIGHT = Ground("#ffffff", "#dfe3ea", "#e8ebf0", "#171a21", "#667085", "#2f62e0")


@dataclass(frozen=True, slots=True)
class CurveStyle:
    """Colours on a dark and on a light ground, line pattern, and the marker of measured points.

    ``marker`` is "circle", "square", "triangle", "diamond", "cross", "plus", "down" or "star".
    """

    dark: str
    light: str
    dash: str
    marker: str


CURVES = (
    CurveStyle("#e8743b", "#c2541b", SOLID, "circle"),
    CurveStyle("#f2b134", "#9a6a00", DASH, "triangle"),
    CurveStyle("#2fb380", "#1a7f59", SOLID, "square"),
    CurveStyle("#4aa3df", "#1f78b4", DASH_DOT, "diamond"),
    CurveStyle("#b07aff", "#7a45d1", DOT, "cross"),
    CurveStyle("#e06c9f", "#b83b76", DASH, "plus"),
    CurveStyle("#8a9a5b", "#63722f", SOLID, "down"),
    CurveStyle("#c9c9c9", "#6b6b6b", DOT, "star"),
)


def style(index: int) -> CurveStyle:
    """The style of a series by its ``colour``; from the ninth on, dashes change."""
    found = CURVES[index % len(CURVES)]
    turn = index // len(CURVES)
    if not turn:
        return found
    dashes = (SOLID, DASH, DOT, DASH_DOT)
    dash = dashes[(dashes.index(found.dash) + turn) % len(dashes)]
    return CurveStyle(found.dark, found.light, dash, found.marker)
