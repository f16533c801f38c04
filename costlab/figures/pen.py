"""The elements of an SVG in the colours of one theme.

Every element has its colours as attributes, so that a picture reads without style sheets; the
theme "auto" adds one that swaps the light colours for the dark ones on a dark page.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape

from costlab.figures.palette import (
    CURVES,
    DARK,
    LIGHT,
    PATTERNS,
    SOLID,
    Ground,
    style,
)

LIGHT_THEME, DARK_THEME, AUTO_THEME = "light", "dark", "auto"
FONT = "Inter, system-ui, 'Segoe UI', Roboto, Helvetica, Arial, sans-serif"
TEXT, SMALL, TITLE = 13, 12, 15
_DASHES = {
    name: " ".join(f"{length:g}" for length in lengths) for name, lengths in PATTERNS.items()
}
_COLOUR = re.compile(r'(?:fill|stroke)="(#[0-9a-f]{6})"')
# Mean advance of a character in em, for the layout alone.
_ADVANCE = 0.54

Point = tuple[float, float]


def width_of(text: str, size: float = SMALL) -> float:
    """About how wide ``text`` is drawn."""
    return len(text) * size * _ADVANCE


@dataclass(frozen=True, slots=True)
class Pen:
    """Draws in a theme: "light", "dark", or "auto" (light, and dark where a page is dark)."""

    theme: str = LIGHT_THEME

    def __post_init__(self) -> None:
        if self.theme not in (LIGHT_THEME, DARK_THEME, AUTO_THEME):
            raise ValueError(f"theme is light, dark or auto, not {self.theme}")

    @property
    def ground(self) -> Ground:
        return DARK if self.theme == DARK_THEME else LIGHT

    def colour(self, index: int) -> str:
        """Colour of a series."""
        found = style(index)
        return found.dark if self.theme == DARK_THEME else found.light

    def path(
        self, data: str, colour: str, width: float = 1, dash: str = SOLID, opacity: float = 1
    ) -> str:
        """A stroked path; ``dash`` is a pattern's name."""
        return f'<path d="{data}" {_stroke(colour, width, dash, opacity)}/>'

    def hatching(self, data: str, colour: str) -> str:
        """Many short strokes, one dot wide at every scale, which draws fast."""
        return (
            f'<path d="{data}" fill="none" stroke="{colour}" stroke-width="1" '
            'vector-effect="non-scaling-stroke" shape-rendering="crispEdges"/>'
        )

    def line(self, start: Point, end: Point, colour: str, width: float = 1, dash: str = "") -> str:
        """A straight line."""
        data = f"M{start[0]:.1f} {start[1]:.1f}L{end[0]:.1f} {end[1]:.1f}"
        return self.path(data, colour, width, dash or SOLID)

    def polyline(
        self,
        points: Iterable[Point],
        colour: str,
        width: float,
        dash: str = SOLID,
        opacity: float = 1,
    ) -> str:
        """A broken line."""
        return f'<polyline points="{_pairs(points)}" {_stroke(colour, width, dash, opacity)}/>'

    def polygon(self, points: Iterable[Point], colour: str, opacity: float = 1) -> str:
        """A filled area."""
        pale = f' fill-opacity="{opacity:g}"' if opacity < 1 else ""
        return f'<polygon points="{_pairs(points)}" fill="{colour}"{pale}/>'

    def area(self, data: str, colour: str, opacity: float) -> str:
        """A filled path with sharp edges: parts that meet leave no seam."""
        return (
            f'<path d="{data}" fill="{colour}" fill-opacity="{opacity:g}" '
            'shape-rendering="crispEdges"/>'
        )

    def rect(
        self, corner: Point, size: Point, colour: str, opacity: float = 1, radius: float = 0
    ) -> str:
        """A filled rectangle from its upper left corner."""
        pale = f' fill-opacity="{opacity:g}"' if opacity < 1 else ""
        round_ = f' rx="{radius:g}"' if radius else ""
        return (
            f'<rect x="{corner[0]:.2f}" y="{corner[1]:.2f}" width="{size[0]:.2f}" '
            f'height="{size[1]:.2f}" fill="{colour}"{pale}{round_}/>'
        )

    def circle(self, at: Point, radius: float, fill: str, stroke: str, width: float = 1) -> str:
        """A circle; ``fill`` "none" for a ring."""
        return (
            f'<circle cx="{at[0]:.1f}" cy="{at[1]:.1f}" r="{radius:g}" fill="{fill}" '
            f'stroke="{stroke}" stroke-width="{width:g}"/>'
        )

    def text(
        self,
        at: Point,
        text: str,
        *,
        size: float = SMALL,
        colour: str = "",
        anchor: str = "start",
        bold: bool = False,
        turned: bool = False,
    ) -> str:
        """Text with its baseline at ``at``; ``turned`` reads upwards."""
        weight = ' font-weight="600"' if bold else ""
        turn = f' transform="rotate(-90 {at[0]:.1f} {at[1]:.1f})"' if turned else ""
        return (
            f'<text x="{at[0]:.1f}" y="{at[1]:.1f}" font-size="{size:g}" text-anchor="{anchor}" '
            f'fill="{colour or self.ground.text}"{weight}{turn}>{escape(text)}</text>'
        )

    def marker(self, at: Point, name: str, colour: str, radius: float = 4.2) -> str:
        """A measured point."""
        x, y = at
        r = radius
        if name == "circle":
            return self.circle(at, r, colour, self.ground.surface)
        if name in ("cross", "plus", "star"):
            strokes = ""
            if name in ("cross", "star"):
                strokes += f"M{x - r:.1f} {y - r:.1f}l{2 * r:g} {2 * r:g}"
                strokes += f"M{x - r:.1f} {y + r:.1f}l{2 * r:g} {-2 * r:g}"
            if name in ("plus", "star"):
                strokes += f"M{x - r:.1f} {y:.1f}h{2 * r:g}M{x:.1f} {y - r:.1f}v{2 * r:g}"
            return self.path(strokes, colour, 2)
        corners: dict[str, Sequence[Point]] = {
            "square": ((-r, -r), (r, -r), (r, r), (-r, r)),
            "triangle": ((0, -1.2 * r), (1.1 * r, 0.8 * r), (-1.1 * r, 0.8 * r)),
            "down": ((0, 1.2 * r), (1.1 * r, -0.8 * r), (-1.1 * r, -0.8 * r)),
            "diamond": ((0, -1.3 * r), (1.3 * r, 0), (0, 1.3 * r), (-1.3 * r, 0)),
        }
        outline = _pairs((x + dx, y + dy) for dx, dy in corners[name])
        return (
            f'<polygon points="{outline}" fill="{colour}" stroke="{self.ground.surface}" '
            'stroke-width="1"/>'
        )

    def document(
        self, parts: Sequence[str], size: Point, title: str, caption: str, ground: bool
    ) -> str:
        """The whole picture; ``ground`` paints the surface below it."""
        width, height = size
        body = "".join(parts)
        if ground:
            body = self.rect((0, 0), size, self.ground.surface) + body
        described = f"<desc>{escape(caption)}</desc>" if caption else ""
        swap = f"<style>{_swapped(body)}</style>" if self.theme == AUTO_THEME else ""
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" '
            f'width="{width:g}" height="{height:g}" role="img" class="costlab-figure" '
            f'font-family="{FONT}"><title>{escape(title)}</title>{described}{swap}{body}</svg>'
        )


def _stroke(colour: str, width: float, dash: str, opacity: float) -> str:
    """The attributes of an outline; ``dash`` is a pattern's name."""
    pattern = f' stroke-dasharray="{_DASHES[dash]}"' if dash in _DASHES else ""
    pale = f' stroke-opacity="{opacity:g}"' if opacity < 1 else ""
    return (
        f'fill="none" stroke="{colour}" stroke-width="{width:g}"'
        f'{pattern}{pale} stroke-linejoin="round"'
    )


def _pairs(points: Iterable[Point]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in points)


def _swapped(body: str) -> str:
    """Rules that put the dark colours in for the light ones that ``body`` uses."""
    dark = {getattr(LIGHT, name): getattr(DARK, name) for name in Ground.__slots__}
    dark |= {found.light: found.dark for found in CURVES}
    # A page with a card of its own colour says so, and gaps in lines then show that.
    shown = {**dark, LIGHT.surface: f"var(--card,{DARK.surface})"}
    rules = [
        f'.costlab-figure [{what}="{light}"]{{{what}:{shown[light]}}}'
        for light in dict.fromkeys(_COLOUR.findall(body))
        for what in ("fill", "stroke")
        if f'{what}="{light}"' in body
    ]
    return f"@media screen and (prefers-color-scheme:dark){{{''.join(rules)}}}"
