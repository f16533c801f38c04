"""Draws LaTeX into small pictures in a thread of its own, and keeps them."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from functools import cache

from PySide6.QtCore import QByteArray, QRectF
from PySide6.QtGui import QImage, QPainter
from PySide6.QtSvg import QSvgRenderer

from costlab_gui.widgets.background import Background

_KEPT = 4000
_BOX = re.compile(r'viewBox="([-\d.]+) ([-\d.]+) ([-\d.]+) ([-\d.]+)"')


@dataclass(frozen=True, slots=True)
class Wanted:
    """A picture: its LaTeX, colour ("#rrggbb"), size of the letters and device pixels per pixel."""

    latex: str
    colour: str
    size: float
    ratio: float


@dataclass(frozen=True, slots=True)
class Picture:
    """A drawn formula; lengths in pixels, ``left`` and ``ascent`` from the origin of its line."""

    image: QImage
    left: float
    ascent: float
    width: float
    height: float

    @property
    def descent(self) -> float:
        return self.height - self.ascent


@cache
def renderer() -> Background:
    """The one cache of pictures of the process; its keys are :class:`Wanted`."""
    return Background(_KEPT)


def known(wanted: Wanted) -> bool:
    """Whether it was drawn (or cannot be); has it drawn where not."""
    return renderer().known(wanted, lambda: draw(wanted))


def picture(wanted: Wanted) -> Picture | None:
    """The picture; None where it is not drawn yet or cannot be drawn."""
    found: Picture | None = renderer().answer(wanted)
    return found


def draw(wanted: Wanted) -> Picture | None:
    """Draw now; None where ziamath is not installed or does not know what is written."""
    svg = to_svg(wanted.latex, wanted.colour, wanted.size)
    box = _BOX.search(svg) if svg else None
    if svg is None or box is None:
        return None
    left, top, width, height = (float(number) * wanted.ratio for number in box.groups())
    # Whole device pixels around the origin, so that lines stay sharp wherever it is put.
    west, north = math.floor(left), math.floor(top)
    image = QImage(
        math.ceil(left + width) - west,
        math.ceil(top + height) - north,
        QImage.Format.Format_ARGB32_Premultiplied,
    )
    image.fill(0)
    painter = QPainter(image)
    area = QRectF(left - west, top - north, width, height)
    QSvgRenderer(QByteArray(svg.encode())).render(painter, area)
    painter.end()
    image.setDevicePixelRatio(wanted.ratio)
    return Picture(
        image,
        left=west / wanted.ratio,
        ascent=-north / wanted.ratio,
        width=image.width() / wanted.ratio,
        height=image.height() / wanted.ratio,
    )


def to_svg(latex: str, colour: str, size: float) -> str | None:
    """SVG text with its base line at 0; None where it cannot be made."""
    try:
        from ziamath import zmath
        from ziamath.config import config
    except ImportError:
        return None
    # QtSvg draws nothing of what SVG 2 allows.
    config.svg2 = False
    try:
        return str(zmath.Latex(latex, size=size, color=colour).svg())
    except Exception:  # whatever the parser raises: the text stands in
        return None
